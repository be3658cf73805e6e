package vtime_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// BenchmarkStart makes, starts and unwinds n procs that wait, with the watchdog
// that modelled jobs have, and tells what each step costs for one proc.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1024, 65536} {
		b.Run(fmt.Sprintf("procs=%d", n), func(b *testing.B) {
			var start, unwind time.Duration
			var bytes uint64
			for b.Loop() {
				before := memory()
				k := vtime.New(1)
				k.Watchdog(time.Minute)
				begin := time.Now()
				for range n {
					k.Spawn("waiting", func(p *vtime.Proc) { p.Park(1) })
				}
				k.At(1, do(func() {
					start += time.Since(begin)
					bytes += memory() - before
					begin = time.Now()
					k.Unwind(nil)
				}), 0, 0)
				if err := k.Run(); err != nil {
					b.Fatal(err)
				}
				unwind += time.Since(begin)
			}
			each := float64(n * b.N)
			b.ReportMetric(float64(start.Nanoseconds())/each, "start-ns/proc")
			b.ReportMetric(float64(unwind.Nanoseconds())/each, "unwind-ns/proc")
			b.ReportMetric(float64(bytes)/each, "bytes/proc")
		})
	}
}

// memory returns the bytes of heap and stacks that are in use.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
