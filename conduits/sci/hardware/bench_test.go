package hardware_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// BenchmarkStore is what the model of one store costs the host, one after the other: 8 bytes,
// a block, and the 80 bytes of a header, which are two bursts. The machine stalls the CPU, so
// arrivals keep up.
func BenchmarkStore(b *testing.B) {
	for _, c := range []struct {
		machine         string
		nodes, to, size int
	}{
		{"d339", 8, 1, 8},
		{"d339", 8, 1, 64},
		{"d339", 8, 1, 80},
		{"d339", 8, 5, 64}, // around a corner
		{"d339", 512, 1, 64},
		{"scale", 512, 1, 64},
		{"scale", 65536, 1, 64},
	} {
		b.Run(fmt.Sprintf("%s-%d/to=%d/%dB", c.machine, c.nodes, c.to, c.size), func(b *testing.B) {
			memory, data := make([]byte, c.size), make([]byte, c.size)
			b.ReportAllocs()
			run(b, load(b, c.machine), c.nodes, func(p *vtime.Proc, m *hardware.Machine) {
				n, to := m.Node(0), m.Node(c.to)
				var a hardware.Account
				for b.Loop() {
					n.Store(to, memory, data, 0, &a, nil)
				}
				n.Check(&a)
				b.ReportMetric(float64(p.Kernel().Events())/float64(b.N), "events/store")
			})
		})
	}
}

// BenchmarkRounds is the same with all hosts of a machine at work: each stores a block at
// others, farther and farther away, as in a collective, and checks each. What it costs includes
// making the hosts and their coroutines, and the switches between these.
func BenchmarkRounds(b *testing.B) {
	for _, c := range []struct {
		machine string
		nodes   int
	}{{"d339", 8}, {"d339", 512}, {"scale", 512}, {"scale", 65536}} {
		b.Run(fmt.Sprintf("%s-%d", c.machine, c.nodes), func(b *testing.B) {
			profile, memory, data := load(b, c.machine), make([]byte, block), make([]byte, block)
			rounds := bits.Len(uint(c.nodes - 1))
			var events uint64
			hosts := make([]host, c.nodes)
			for i := range hosts {
				hosts[i] = func(p *vtime.Proc, m *hardware.Machine) {
					var a hardware.Account
					for r := range rounds {
						m.Node(i).Store(m.Node((i+1<<r)%c.nodes), memory, data, 0, &a, nil)
						m.Node(i).Check(&a)
					}
					events = p.Kernel().Events()
				}
			}
			for b.Loop() {
				run(b, profile, c.nodes, hosts...)
			}
			stores := float64(b.N * rounds * c.nodes)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/stores, "ns/store")
			b.ReportMetric(float64(events)*float64(b.N)/stores, "events/store")
			b.ReportMetric(0, "ns/op")
		})
	}
}
