package socket

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// BenchmarkKernel is what the kernel takes of the conduit's BenchmarkRoundTrip: two datagrams as long as its.
func BenchmarkKernel(b *testing.B) {
	x, y := open(b, "127.0.0.1", Options{Buffer: 8 << 20}), open(b, "127.0.0.1", Options{Buffer: 8 << 20})
	toX, toY := name(b, x), name(b, y)
	out, in := make([]byte, am2.FixedHead+8), make([]byte, BlockSize)
	pass := func(from, to *Socket, addr *Addr) {
		from.Add(addr, out, nil, false)
		from.Flush()
		if _, _, errno := to.Receive(in); errno != 0 {
			b.Fatal(errno)
		}
	}
	for b.Loop() {
		pass(x, y, toY)
		pass(y, x, toX)
	}
}
