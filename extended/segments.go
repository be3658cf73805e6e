package extended

import "github.com/aqueduct-go/aqueduct/core"

// segments are those that this process reaches, by rank from the first to the last such: of
// a job that has no direct reach it is the rank's own, however many ranks there are.
type segments struct {
	first core.Rank
	mem   [][]byte // nil for a rank in between that is out of reach
}

// of returns rank's, nil if it is out of reach.
func (s *segments) of(rank core.Rank) []byte {
	if i := uint(rank) - uint(s.first); i < uint(len(s.mem)) {
		return s.mem[i]
	}
	return nil
}

// set makes mem what is reached of rank's.
func (s *segments) set(rank core.Rank, mem []byte) {
	if s.mem == nil {
		s.first = rank
	}
	if rank < s.first {
		s.mem = append(make([][]byte, s.first-rank), s.mem...)
		s.first = rank
	}
	for int(rank-s.first) >= len(s.mem) {
		s.mem = append(s.mem, nil)
	}
	s.mem[rank-s.first] = mem
}

// without returns the segments less n bytes at the end of each.
func (s *segments) without(n int) segments {
	short := segments{s.first, make([][]byte, len(s.mem))}
	for i, m := range s.mem {
		if m != nil {
			short.mem[i] = m[: len(m)-n : len(m)-n]
		}
	}
	return short
}
