package cost_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// BenchmarkRun is a call of many ranks. One operation is a message.
func BenchmarkRun(b *testing.B) {
	p := cost.LogGP{Latency: vtime.Microsecond, SendOverhead: 300 * vtime.Nanosecond, RecvOverhead: 300 * vtime.Nanosecond, SendGap: 100 * vtime.Nanosecond, ByteGap: 800}
	const n = 1 << 18
	forced, err := coll.ParseForced("barrier=dissemination:2,broadcast=knomial:2,allreduce=doubling")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []coll.Call{
		{Op: coll.Barrier, N: n},
		{Op: coll.Broadcast, N: n, Bytes: 8},
		{Op: coll.AllReduce, N: n, Bytes: 8, Elem: 8, Commutes: true},
	} {
		for _, inOrder := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/ordered=%t", c.Op, inOrder), func(b *testing.B) {
				messages, memory := uint64(0), 0
				for messages < uint64(b.N) {
					r, err := (&cost.Simulation{Ranks: n, Schedules: cost.Collective(c, forced[c.Op]), Model: p.Model(n), InOrder: inOrder}).Run()
					if err != nil {
						b.Fatal(err)
					}
					messages += r.Messages
					memory = r.Memory
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
				b.ReportMetric(float64(memory)/n, "bytes/rank")
			})
		}
	}
}
