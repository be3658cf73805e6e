package link_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
)

var sizes = []int{32, 512, 4 << 10, 64 << 10}

// BenchmarkRing has one goroutine fill frames and another one take them out.
func BenchmarkRing(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			mem := memory(b, 512<<10)
			frame, got := make([]byte, size), make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			go func() {
				w := link.Producer(mem)
				for i := 0; i < b.N; {
					if room := w.Reserve(size); room != nil {
						copy(room, frame)
						w.Commit(size)
						i++
					} else {
						yield()
					}
				}
			}()
			r := link.Consumer(mem)
			for i := 0; i < b.N; {
				if f, _ := r.Next(); f != nil {
					copy(got, f)
					r.Drop()
					i++
				} else {
					yield()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// BenchmarkPort has a host send to another one through three switches: in one goroutine, and in two. Kept packets are those whose memory is left to the
// collector.
func BenchmarkPort(b *testing.B) {
	for _, way := range []struct {
		name       string
		goroutines int
		keeps      bool
	}{{"1", 1, false}, {"2", 2, false}, {"1-kept", 1, true}} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				n := newNetwork(b, 3, 512<<10, func(c *link.Config) { c.MTU = 65 << 10 })
				from, to := plug(n.ports[0]), plug(n.ports[8])
				to.keeps = way.keeps
				p := fabric.Packet{Head: route(perSwitch, 0, 8), Body: make([]byte, size)}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				var over atomic.Bool
				var done sync.WaitGroup
				send := func() {
					if from.port.Idle() {
						from.port.Inject(p)
					} else {
						from.port.Poll()
					}
				}
				if way.goroutines == 2 {
					done.Go(func() {
						for !over.Load() {
							if send(); !from.port.Idle() {
								yield()
							}
						}
					})
				}
				b.ResetTimer()
				for i := 0; i < b.N; {
					if way.goroutines == 1 {
						send()
					}
					k, err := to.port.Poll() // Helper of testing would take as long
					if err != nil {
						b.Fatal(err)
					}
					if i += k; k == 0 {
						yield()
					}
				}
				b.StopTimer()
				over.Store(true)
				done.Wait() // the rings are its, too
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
			})
		}
	}
}
