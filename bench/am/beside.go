package am

import (
	"context"
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
)

// beside measures the round trip of a Short by jobs in turn: of the plan's conduit, and of the other. So each sample is of other
// processes, with other places in memory.
func (p *Plan) beside(ctx context.Context, report func(*bench.Series) error) error {
	other := *p
	other.Conduit, other.Profile, _ = strings.Cut(p.Beside, "/")
	other.Settings = nil
	unit := "x-" + other.Conduit
	s := &bench.Series{
		Family: "AM", Title: "Short AM round trip, beside " + p.Beside, Quantity: bench.RoundTrip,
		Params:  p.Params(PingPong, category(core.Short)),
		Against: []bench.Param{{Key: unit, Value: "the same over " + p.Beside + ", by jobs in turn"}},
	}
	out, err := bench.Interleave(ctx, p.Samples, []bench.Reference{{Unit: unit, Peer: true, Meter: other.roundTrip(ctx)}}, p.roundTrip(ctx))
	if err != nil {
		return err
	}
	s.Results = []bench.Result{{Ranks: 2, Iters: p.Count(pingPongs), Outcome: out}}
	return report(s)
}

// roundTrip returns what takes a sample of the round trip of a Short by a job of two ranks.
func (p *Plan) roundTrip(ctx context.Context) bench.Meter {
	q := p.only(PingPong)
	q.Sizes, q.Samples = nil, 1
	return func() (ns float64, err error) {
		err = launch(ctx, q, func(s *bench.Series) error {
			if len(s.Results) > 0 {
				ns = s.Results[0].Samples[0].Ns
			}
			return nil
		})
		if err == nil && ns == 0 {
			err = fmt.Errorf("am: a job over %s ended without a word of rank 0", q.Conduit)
		}
		return ns, err
	}
}
