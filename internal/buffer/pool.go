// Package buffer has memory that is used again by whoever knows when.
package buffer

import "fmt"

// Pool hands out buffers. A buffer is used again when it is given back, for one of about the same length. Those that are not given back are collected when nobody refers
// to any of the same chunk. One goroutine uses a pool. The zero value is ready.
type Pool struct {
	chunk []byte
	free  [][][]byte // buffers, by their size in units
}

const (
	unit      = 16 // bytes, of which a buffer has a multiple
	chunkSize = 512 << 10
	large     = chunkSize / 64 // bytes; a longer buffer has an allocation of its own
)

// Take returns n bytes, with any content: zeros, as long as nothing has been given back. Their capacity is not to be changed before Give.
func (p *Pool) Take(n int) []byte {
	units := max(1, (n+unit-1)/unit)
	if units < len(p.free) {
		if free := p.free[units]; len(free) > 0 {
			p.free[units] = free[:len(free)-1]
			return free[len(free)-1][:n]
		}
	}
	size := units * unit
	if size > large {
		return make([]byte, n, size)
	}
	if size > len(p.chunk) {
		p.chunk = make([]byte, chunkSize)
	}
	b := p.chunk[:n:size]
	p.chunk = p.chunk[size:]
	return b
}

// Give takes a buffer back: what Take has returned, or the first bytes of it. Nobody refers to the buffer any more.
func (p *Pool) Give(b []byte) {
	units := cap(b) / unit
	if units == 0 || cap(b)%unit != 0 {
		panic(fmt.Sprintf("buffer: %d bytes of memory are given back, which no pool hands out", cap(b)))
	}
	for units >= len(p.free) {
		p.free = append(p.free, nil)
	}
	p.free[units] = append(p.free[units], b)
}
