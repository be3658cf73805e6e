package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// word is the payload, in bytes, of atomics and values.
const word = 8

// A compared is an operation that has references.
type compared struct {
	op, family string
	quantity   bench.Quantity
	sizes      func(all []int) []int
	refs       func(to against.References, size, iters int) []runner.Ref // of two ranks; nil: of collectives
}

func asked(all []int) []int     { return all }
func onlyWord([]int) []int      { return []int{word} }
func unsized([]int) []int       { return []int{0} }
func alsoEmpty(all []int) []int { return append([]int{0}, all...) }

// comparedOps are the operations with references. Those of blocking calls on a value are the same as those of a word.
var comparedOps = []compared{
	{am.PingPong, "AM", bench.RoundTrip, alsoEmpty, against.References.RoundTrip},
	{am.Flood, "AM", bench.Stream, unsized, func(to against.References, _, n int) []runner.Ref { return to.Flood(n) }},
	{am.Stream, "AM", bench.Stream, asked, against.References.Stream},
	{am.Bandwidth, "AM", bench.Stream, asked, against.References.Bandwidth},
	{"put", "RMA", bench.Access, asked, against.References.Put},
	{"put-nb", "RMA", bench.Stream, asked, against.References.PutNB},
	{"get", "RMA", bench.Access, asked, against.References.Get},
	{"get-nb", "RMA", bench.Stream, asked, against.References.GetNB},
	{"putval", "RMA", bench.Duration, onlyWord, against.References.Put},
	{"getval", "RMA", bench.Duration, onlyWord, against.References.Get},
	{"fetchadd", "RMA", bench.Duration, onlyWord, func(to against.References, _, n int) []runner.Ref { return to.FetchAdd(n) }},
	{"barrier", "Coll", bench.Duration, unsized, nil},
	{"broadcast", "Coll", bench.Duration, asked, nil},
	{"allreduce", "Coll", bench.Duration, asked, nil},
	{"alltoall", "Coll", bench.Duration, asked, nil},
	{kernel.Gups, "Kernel", kernel.Quantity(kernel.Gups), unsized, nil},
	{kernel.Stencil, "Kernel", kernel.Quantity(kernel.Stencil), unsized, nil},
}

// references measures what conduits on the network of the plan are compared with.
func (t *Task) references(ctx context.Context, report func(*bench.Series) error) (err error) {
	var all seriesByRef
	defer func() { // also of what the limit has ended
		for _, s := range all {
			err = errors.Join(err, report(s))
		}
	}()
	for i := range comparedOps {
		c := &comparedOps[i]
		if !slices.Contains(t.plan.Ops, c.op) {
			continue
		}
		ranks := []int{2}
		if c.refs == nil {
			ranks = t.Extent.Ranks
		}
		for _, n := range ranks {
			for _, size := range c.sizes(t.plan.Sizes) {
				if c.op == "alltoall" && size*n > coll.MaxBlocks {
					continue
				}
				if err := t.point(ctx, c, size, n, &all); err != nil {
					return err
				}
			}
		}
	}
	if t.Subject.peers && slices.Contains(t.plan.Ops, am.Startup) {
		return t.starts(ctx, &all)
	}
	return nil
}

// seriesByRef are series of references, one for each operation, reference and number of ranks.
type seriesByRef []*bench.Series

// add adds a result of a reference to its series.
func (all *seriesByRef) add(t *Task, c *compared, unit, what string, r bench.Result) {
	params := []bench.Param{{Key: "op", Value: c.op}, {Key: "conduit", Value: strings.TrimPrefix(unit, "x-") + ":" + t.Subject.network()}}
	for _, s := range *all {
		if slices.Equal(s.Params, params) {
			s.Results = append(s.Results, r)
			return
		}
	}
	s := &bench.Series{Family: c.family, Title: what, Params: params, Quantity: c.quantity, Peer: what, Results: []bench.Result{r}}
	if c.op == "barrier" || c.op == am.Startup || c.family == "Kernel" {
		s.Axis = bench.Ranks
	}
	*all = append(*all, s)
}

// refsOf returns the references of an operation, which are asked for so many operations at a time.
func (t *Task) refsOf(c *compared, size, ranks, iters int) (refs []runner.Ref) {
	p := &t.plan
	switch {
	case c.refs != nil:
		refs = c.refs(against.For(p), size, iters)
	case c.op == "barrier" && !t.Subject.peers:
		refs = against.For(p).Barrier(ranks, iters)
	}
	if c.refs == nil {
		for _, peer := range coll.Peers(p) {
			if peer.Missing == "" && (t.Subject.peers && peer.Library == p.Profile || !t.Subject.peers && peer.TCP) {
				refs = append(refs, peer.Ref(c.op, size, p.Spread(ranks), ranks > len(p.CPUs)))
			}
		}
	}
	return slices.DeleteFunc(refs, func(r runner.Ref) bool {
		return r.Unit == "" || slices.Contains(ways, r.Unit) || t.Subject.peers && r.Unit != "x-"+p.Profile || r.Peer && !t.Extent.hasPeers(t.Round)
	})
}

// ways are references that say why a floor takes what it takes: other ways to do the same in C. The verbs of one conduit have them.
var ways = []string{"x-handoff", "x-shared", "x-blocking", "x-sendto"}

// trial is how many operations a floor does to find out how long one takes.
const trial = 50

// point measures all references of an operation at a size.
func (t *Task) point(ctx context.Context, c *compared, size, ranks int, all *seriesByRef) error {
	iters := trial
	for _, ref := range t.refsOf(c, size, ranks, trial) {
		if !ref.Peer {
			ns, err := sampleOf(ctx, ref, 1)
			if err != nil {
				return err
			}
			if len(ns) > 0 && ns[0] > 0 {
				want := t.plan.Weight * float64(10*time.Millisecond)
				iters = max(trial, min(1<<20, int(want/ns[0])))
			}
			break
		}
	}
	for _, ref := range t.refsOf(c, size, ranks, iters) {
		ns, err := sampleOf(ctx, ref, t.plan.Samples)
		if err != nil {
			return err
		}
		if len(ns) > 0 {
			all.add(t, c, ref.Unit, ref.What, resultOf(size, ranks, iters, ns))
		}
	}
	return nil
}

// sampleOf takes samples of a reference; none if there is no such thing here.
func sampleOf(ctx context.Context, ref runner.Ref, samples int) (ns []float64, err error) {
	meter, closer, err := ref.Open(ctx)
	if err != nil || meter == nil {
		return nil, err
	}
	for range samples {
		one, err := meter()
		if err != nil {
			if closer != nil {
				err = errors.Join(err, closer.Close())
			}
			return nil, fmt.Errorf("%s: %w", ref.What, err)
		}
		ns = append(ns, one)
	}
	if closer != nil {
		err = closer.Close()
	}
	return ns, err
}

// starts measures the start of the library's own jobs.
func (t *Task) starts(ctx context.Context, all *seriesByRef) error {
	refs, what, err := mpipeer.Starts(ctx, t.Ranks, nil)
	if err != nil {
		return err
	}
	for i, ref := range refs {
		if ref.Unit != "x-"+t.plan.Profile {
			continue
		}
		var ns []float64
		for range t.plan.Samples {
			one, err := ref.Meter()
			if err != nil {
				return err
			}
			ns = append(ns, one)
		}
		all.add(t, &compared{op: am.Startup, family: "AM", quantity: bench.Duration}, ref.Unit, what[i].Value, resultOf(0, t.Ranks, 1, ns))
	}
	return nil
}

func resultOf(size, ranks, iters int, ns []float64) bench.Result {
	r := bench.Result{Size: size, Ranks: ranks, Iters: iters}
	r.Placement = bench.Unknown
	for _, one := range ns {
		r.Samples = append(r.Samples, bench.Sample{Ns: one, Metrics: map[string]float64{}, Placement: bench.Unknown})
	}
	return r
}

// refer adds to the samples of a live conduit their ratios to the references of the same round, whose lines are given.
func (t *Task) refer(series []*bench.Series, lines []*bench.Line) {
	for _, s := range series {
		for _, l := range lines {
			ref, network, _ := strings.Cut(l.Params["conduit"], ":")
			if network != t.Subject.network() || l.Params["op"] != s.Param("op") {
				continue
			}
			unit := "x-" + ref
			for i := range s.Results {
				r := &s.Results[i]
				if r.Size != l.Size || r.Ranks != l.Ranks {
					continue
				}
				floor := l.Summary[bench.NsPerOp].Median
				for j := range r.Samples {
					if r.Samples[j].Metrics == nil {
						r.Samples[j].Metrics = map[string]float64{}
					}
					r.Samples[j].Metrics[unit] = r.Samples[j].Ns / floor
				}
				if !slices.ContainsFunc(s.Against, func(p bench.Param) bool { return p.Key == unit }) {
					s.Against = append(s.Against, bench.Param{Key: unit, Value: l.Peer})
				}
			}
		}
	}
}
