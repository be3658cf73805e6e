package loopback_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// BenchmarkModel is the whole active-message stack in virtual time: every rank exchanges
// requests and replies with its neighbour, one at a time. One operation is one exchange.
func BenchmarkModel(b *testing.B) {
	for _, n := range []int{2, 64, 1024} {
		b.Run(fmt.Sprintf("ranks=%d", n), func(b *testing.B) {
			cfg := core.Config{Conduit: "loopback", Segment: "0", Report: func(r core.ModelReport) {
				b.ReportMetric(float64(r.Events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
				b.ReportMetric(float64(r.Switches)/b.Elapsed().Seconds()/1e6, "Mswitches/s")
			}}
			err := core.RunModel(n, cfg, func(job *core.Job) error {
				told := 0
				ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
					{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(129) }},
					{Index: 129, Func: func(*core.Token, []uint32, []byte) { told++ }},
				}})
				if err != nil {
					return err
				}
				if err := ep.Barrier(); err != nil {
					return err
				}
				if job.Rank() == 0 {
					b.ResetTimer()
				}
				next := (job.Rank() + 1) % core.Rank(n)
				for i := range b.N / n {
					if err := ep.RequestShort(next, 128); err != nil {
						return err
					}
					if err := ep.WaitUntil(func() bool { return told > i }); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
