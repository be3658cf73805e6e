package colltest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// never stands for a step or message that is not there.
const never = -1

// member is a member and how far it is.
type member struct {
	*Member
	rank    int
	memory  [3]memory // the caller's, Tmp, Shm
	done    int       // steps
	clock   []int     // by member: how many of its steps have happened before
	sent    []int     // messages, by member
	heard   []bool    // by member: a message from it was awaited
	expects map[source]int
	came    []*message // by message to receive
	awaited []int      // by message to receive: by which step
	waits   int        // for which message
	uses    []use
	writes  []write // of its Shm
}

// source tells a message among those to a member.
type source struct{ peer, number int }

// memory is bytes, and which of them are defined.
type memory struct {
	bytes   []byte
	defined []bool
}

const (
	callers = iota
	private
	shared
)

// place is a span of a memory.
type place struct{ memory, off, n int }

func (p place) overlaps(q place) bool {
	return p.memory == q.memory && p.off < q.off+q.n && q.off < p.off+p.n
}

// use is a step's use of the caller's or private memory.
type use struct {
	step int
	place
}

// write is a step's write of Shm, and read another member's read of it, when they knew what
// of the other's steps.
type write struct {
	use
	clock []int
}

type read struct {
	use
	reader, owner, knew int
}

func (x *member) init(rank int, of *Member, n int) error {
	s := of.Schedule
	*x = member{
		Member: of, rank: rank, waits: never, clock: make([]int, n), sent: make([]int, n), heard: make([]bool, n),
		expects: make(map[source]int, len(s.Recvs)), came: make([]*message, len(s.Recvs)), awaited: make([]int, len(s.Recvs)),
	}
	x.memory[callers] = memory{of.Mem, make([]bool, len(of.Mem))}
	x.memory[private] = memory{make([]byte, s.Tmp), make([]bool, s.Tmp)}
	x.memory[shared] = memory{make([]byte, s.Shm), make([]bool, s.Shm)}
	for i := range of.Src.Len {
		x.memory[callers].defined[of.Src.Off+i] = true
	}
	numbers := make([]int, n)
	for i := range s.Recvs {
		r := &s.Recvs[i]
		x.awaited[i] = never
		if uint(r.Peer) >= uint(n) || r.Peer == rank || r.Number != numbers[r.Peer] {
			return fmt.Errorf("member %d: message %d is number %d from member %d", rank, i, r.Number, r.Peer)
		}
		if r.To.Len > 0 && r.To.Buf != coll.Dst && r.To.Buf != coll.Tmp {
			return fmt.Errorf("member %d: message %d comes to memory that is not the member's to write", rank, i)
		}
		numbers[r.Peer]++
		x.expects[source{r.Peer, r.Number}] = i
	}
	return nil
}

// place returns where a span of the member's own memory lies.
func (x *member) place(s coll.Span) place {
	switch s.Buf {
	case coll.Src:
		return place{callers, x.Src.Off + s.Off, s.Len}
	case coll.Dst:
		return place{callers, x.Dst.Off + s.Off, s.Len}
	case coll.Tmp:
		return place{private, s.Off, s.Len}
	}
	if s.Rank != x.rank {
		return place{memory: never}
	}
	return place{shared, s.Off, s.Len}
}

// bytes returns a span of the member's own memory.
func (x *member) bytes(s coll.Span) ([]byte, []bool, error) {
	limit := map[coll.Buf]int{coll.Src: x.Src.Len, coll.Dst: x.Dst.Len, coll.Tmp: x.Schedule.Tmp, coll.Shm: x.Schedule.Shm}[s.Buf]
	if s.Off < 0 || s.Len < 0 || s.Off+s.Len > limit {
		return nil, nil, fmt.Errorf("bytes %d to %d of %d", s.Off, s.Off+s.Len, limit)
	}
	p := x.place(s)
	m := x.memory[p.memory]
	return m.bytes[p.off:][:p.n], m.defined[p.off:][:p.n], nil
}

// read returns what a step reads.
func (m *machine) read(x *member, s coll.Span) ([]byte, error) {
	if s.Len == 0 {
		return nil, nil
	}
	owner := x
	if s.Buf == coll.Shm && s.Rank != x.rank {
		if uint(s.Rank) >= uint(len(m.members)) || !x.heard[s.Rank] {
			return nil, fmt.Errorf("it does not know where member %d's Shm is", s.Rank)
		}
		owner = &m.members[s.Rank]
		m.reads = append(m.reads, read{use{x.done, place{shared, s.Off, s.Len}}, x.rank, s.Rank, x.clock[s.Rank]})
	} else {
		x.uses = append(x.uses, use{x.done, x.place(s)})
	}
	data, defined, err := owner.bytes(s)
	for i, ok := range defined {
		if !ok {
			return nil, fmt.Errorf("byte %d of what it reads is undefined", i)
		}
	}
	return data, err
}

// write returns what a step writes.
func (x *member) write(s coll.Span) ([]byte, error) {
	if s.Buf == coll.Src || s.Buf == coll.Shm && s.Rank != x.rank {
		return nil, fmt.Errorf("it is not the member's to write")
	}
	data, defined, err := x.bytes(s)
	for i := range defined {
		defined[i] = true
	}
	u := use{x.done, x.place(s)}
	x.uses = append(x.uses, u)
	if s.Buf == coll.Shm {
		x.writes = append(x.writes, write{u, append([]int(nil), x.clock...)})
	}
	return data, err
}

// await takes in a message.
func (x *member) await(i int) error {
	if uint(i) >= uint(len(x.came)) || x.awaited[i] != never {
		return fmt.Errorf("no such message to await")
	}
	x.awaited[i] = x.done
	r, msg := &x.Schedule.Recvs[i], x.came[i]
	for j, n := range msg.clock {
		x.clock[j] = max(x.clock[j], n)
	}
	x.heard[r.Peer] = true
	if r.To.Len == 0 {
		return nil
	}
	data, defined, err := x.bytes(r.To)
	copy(data, msg.data)
	for j := range defined {
		defined[j] = true
	}
	return err
}
