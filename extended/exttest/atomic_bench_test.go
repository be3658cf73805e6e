package exttest_test

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// BenchmarkAtomic gives the time of remote atomics in place beside the instruction alone,
// on the same element of a peer's segment.
func BenchmarkAtomic(b *testing.B) {
	err := core.RunGoroutines(2, core.Config{Conduit: "sci", Threads: core.Single}, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
		if err != nil {
			return err
		}
		c := &ep.Context
		ints, err := extended.NewAtomic[int64](c, ep.World(), extended.Int64.Ops())
		if err != nil {
			return err
		}
		doubles, err := extended.NewAtomic[float64](c, ep.World(), extended.Float64.Ops())
		if err != nil || ep.Rank() != 0 {
			return err
		}
		raw := (*int64)(unsafe.Pointer(&ep.Local(1)[64]))
		check := func(b *testing.B, err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Run("raw", func(b *testing.B) {
			for b.Loop() {
				atomic.AddInt64(raw, 1)
			}
		})
		b.Run("FetchAdd", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.FetchAdd(c, 1, 64, 1)
				check(b, err)
			}
		})
		b.Run("Add", func(b *testing.B) {
			for b.Loop() {
				check(b, ints.Add(c, 1, 64, 1))
			}
		})
		b.Run("CompareSwap", func(b *testing.B) {
			var have int64
			for b.Loop() {
				was, err := ints.CompareSwap(c, 1, 64, have, have+1)
				check(b, err)
				if was != have {
					have = was
				} else {
					have++
				}
			}
		})
		b.Run("Get", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.Get(c, 1, 64)
				check(b, err)
			}
		})
		b.Run("raw Swap", func(b *testing.B) {
			for b.Loop() {
				atomic.SwapInt64(raw, 1)
			}
		})
		b.Run("Set", func(b *testing.B) {
			for b.Loop() {
				check(b, ints.Set(c, 1, 64, 1))
			}
		})
		b.Run("Set/Release", func(b *testing.B) {
			for b.Loop() {
				check(b, ints.Set(c, 1, 64, 1, extended.Release))
			}
		})
		b.Run("FetchXor", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.FetchXor(c, 1, 64, 1)
				check(b, err)
			}
		})
		b.Run("FetchMax", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.FetchMax(c, 1, 64, 1)
				check(b, err)
			}
		})
		b.Run("FetchAdd/float64", func(b *testing.B) {
			for b.Loop() {
				_, err := doubles.FetchAdd(c, 1, 128, 1)
				check(b, err)
			}
		})
		b.Run("FetchMax/float64", func(b *testing.B) {
			for b.Loop() {
				_, err := doubles.FetchMax(c, 1, 128, 1)
				check(b, err)
			}
		})
		b.Run("Domain.Do", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.Domain.Do(c, 1, 64, extended.FAdd, 1, 0)
				check(b, err)
			}
		})
		var dst int64
		b.Run("DoNB", func(b *testing.B) {
			for b.Loop() {
				_, err := ints.DoNB(c, &dst, 1, 64, extended.FAdd, 1, 0)
				check(b, err)
			}
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
