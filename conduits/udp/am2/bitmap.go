package am2

import "math/bits"

// maxWindow is the widest window of a lane, and how many sequence numbers a bitmap tells apart. A
// path of 100 MB/s and 300 ms has 20,000 datagrams of 1472 bytes under way, and one that is lost
// holds the window up for some round trips.
const maxWindow = 1 << 17

// bitmapWords is how many words a bitmap has.
const bitmapWords = maxWindow / 64

// bitmap marks sequence numbers of a window.
type bitmap [bitmapWords]uint64

func (m *bitmap) has(seq uint32) bool { return m[seq/64%bitmapWords]>>(seq%64)&1 != 0 }
func (m *bitmap) set(seq uint32)      { m[seq/64%bitmapWords] |= 1 << (seq % 64) }
func (m *bitmap) clear(seq uint32)    { m[seq/64%bitmapWords] &^= 1 << (seq % 64) }

// count returns how many are marked.
func (m *bitmap) count() (n int) {
	for _, w := range m {
		n += bits.OnesCount64(w)
	}
	return n
}

// before reports whether a comes before b in the circle of sequence numbers.
func before(a, b uint32) bool { return int32(a-b) < 0 }
