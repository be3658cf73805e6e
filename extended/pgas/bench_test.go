package pgas_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// BenchmarkValue measures accesses of 8 bytes in the other rank's segment, reached
// directly, beside plain ones through the same mapping.
func BenchmarkValue(b *testing.B) {
	err := core.RunGoroutines(2, core.Config{Conduit: "sci", Threads: core.Single}, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
		if err != nil || job.Rank() != 0 {
			return err
		}
		c := &ep.Context
		p, err := pgas.At[uint64](1, 64)
		if err != nil {
			return err
		}
		plain, _ := p.LocalSlice(ep, 64)
		var sum uint64
		b.Run("load", func(b *testing.B) {
			for i := range b.N {
				sum += plain[i&63]
			}
		})
		b.Run("Get", func(b *testing.B) {
			for i := range b.N {
				v, err := p.Add(i & 63).Get(c)
				if err != nil {
					b.Fatal(err)
				}
				sum += v
			}
		})
		b.Run("store", func(b *testing.B) {
			for i := range b.N {
				plain[i&63] = sum
			}
		})
		b.Run("Put", func(b *testing.B) {
			for i := range b.N {
				if err := p.Add(i&63).Put(c, sum); err != nil {
					b.Fatal(err)
				}
			}
		})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
