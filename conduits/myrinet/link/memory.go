package link

import (
	"fmt"
	"math/bits"
)

// memory is that of packets which have come. A buffer has a power of two of bytes, and is used again when it is given back. Those that are not
// are collected when nobody refers to any of the same chunk.
type memory struct {
	chunk []byte
	free  [bits.UintSize][][]byte // buffers, by the logarithm of their size
}

const (
	minBuffer = 64
	chunkSize = 512 << 10
)

// take returns n bytes, with any content.
func (m *memory) take(n int) []byte {
	class := bits.Len(uint(max(n, minBuffer) - 1))
	if free := m.free[class]; len(free) > 0 {
		b := free[len(free)-1]
		m.free[class] = free[:len(free)-1]
		return b[:n]
	}
	size := 1 << class
	if size > chunkSize/8 {
		return make([]byte, n, size)
	}
	if size > len(m.chunk) {
		m.chunk = make([]byte, chunkSize)
	}
	b := m.chunk[:n:size]
	m.chunk = m.chunk[size:]
	return b
}

// give takes a buffer back.
func (m *memory) give(b []byte) {
	class := bits.Len(uint(cap(b))) - 1
	if cap(b) < minBuffer || cap(b) != 1<<class {
		panic(fmt.Sprintf("link: %d bytes of memory are given back, in which no packet has come", cap(b)))
	}
	m.free[class] = append(m.free[class], b)
}
