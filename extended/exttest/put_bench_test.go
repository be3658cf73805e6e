package exttest_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// BenchmarkSmall gives the time of puts and gets of 8 bytes at a peer, in place and by
// messages.
func BenchmarkSmall(b *testing.B) {
	for _, path := range []struct {
		name    string
		noReach bool
	}{{"place", false}, {"messages", true}} {
		b.Run(path.name, func(b *testing.B) {
			err := core.RunGoroutines(2, core.Config{Conduit: "sci", Threads: core.Single, NoReach: path.noReach}, func(job *core.Job) error {
				ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
				if err != nil {
					return err
				}
				if job.Rank() == 0 {
					small(b, &ep.Context)
				}
				return ep.World().Barrier(&ep.Context)
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

func small(b *testing.B, c *extended.Context) {
	buf := make([]byte, 8)
	for _, x := range []struct {
		name string
		call func() error
	}{
		{"Put", func() error { return c.Put(1, 64, buf) }},
		{"Get", func() error { return c.Get(buf, 1, 64) }},
		{"PutNB", func() error {
			ev, err := c.PutNB(1, 64, buf, extended.LCNow)
			if err != nil {
				return err
			}
			return c.Wait(ev)
		}},
		{"GetNB", func() error {
			ev, err := c.GetNB(buf, 1, 64)
			if err != nil {
				return err
			}
			return c.Wait(ev)
		}},
		{"PutValue", func() error { return c.PutValue(1, 64, 7, 8) }},
		{"GetValue", func() error { _, err := c.GetValue(1, 64, 8); return err }},
	} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if err := x.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
