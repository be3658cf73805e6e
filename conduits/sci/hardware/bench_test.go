package hardware_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// BenchmarkStore is what the model of one store of 8 bytes costs the host, with its four
// events. The checks are there so that arrivals keep up.
func BenchmarkStore(b *testing.B) { benchmarkStore(b, 8) }

// BenchmarkStoreHeader is the same for the 80 bytes of a header, which are two bursts.
func BenchmarkStoreHeader(b *testing.B) { benchmarkStore(b, 80) }

func benchmarkStore(b *testing.B, size int) {
	memory, data := make([]byte, size), make([]byte, size)
	b.ReportAllocs()
	run(b, load(b, "d339"), 8, func(p *vtime.Proc, m *hardware.Machine) {
		n, to := m.Node(0), m.Node(5)
		var a hardware.Account
		for b.Loop() {
			n.Store(to, memory, data, 0, &a, nil)
		}
		n.Check(&a)
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "stores/s")
}
