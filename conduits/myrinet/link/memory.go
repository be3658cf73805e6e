package link

import "fmt"

// memory is that of packets which have come. A buffer is used again when it is given back, for a packet of about the same length. Those that are not given
// back are collected when nobody refers to any of the same chunk.
type memory struct {
	chunk []byte
	free  [][][]byte // buffers, by their size in units
}

const (
	unit      = 64 // bytes, of which a buffer has a multiple
	chunkSize = 512 << 10
)

// take returns n bytes, with any content.
func (m *memory) take(n int) []byte {
	units := max(1, (n+unit-1)/unit)
	if units < len(m.free) {
		if free := m.free[units]; len(free) > 0 {
			m.free[units] = free[:len(free)-1]
			return free[len(free)-1][:n]
		}
	}
	size := units * unit
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
	units := cap(b) / unit
	if units == 0 || cap(b)%unit != 0 {
		panic(fmt.Sprintf("link: %d bytes of memory are given back, in which no packet has come", cap(b)))
	}
	for units >= len(m.free) {
		m.free = append(m.free, nil)
	}
	m.free[units] = append(m.free[units], b)
}
