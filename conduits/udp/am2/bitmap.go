package am2

import "math/bits"

// maxWindow is the widest window of a lane, and how many sequence numbers a bitmap tells apart.
const maxWindow = 1024

// bitmap marks sequence numbers of a window.
type bitmap [maxWindow / 64]uint64

func (m *bitmap) has(seq uint32) bool { return m[seq/64%(maxWindow/64)]>>(seq%64)&1 != 0 }
func (m *bitmap) set(seq uint32)      { m[seq/64%(maxWindow/64)] |= 1 << (seq % 64) }
func (m *bitmap) clear(seq uint32)    { m[seq/64%(maxWindow/64)] &^= 1 << (seq % 64) }

// count returns how many are marked.
func (m *bitmap) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// before reports whether a comes before b in the circle of sequence numbers.
func before(a, b uint32) bool { return int32(a-b) < 0 }
