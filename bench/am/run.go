// Package am measures active messages: latency, flood rate, bandwidth, the cost of empty
// polls, the start of a job, exchanges with many ranks per CPU, and round trips of many contexts.
package am

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sync/errgroup"
)

// The operations.
const (
	PingPong = "pingpong" // a request and its reply of the same category and size
	Flood    = "flood"    // one-way Shorts
	Stream   = "stream"   // one-way Mediums or Longs, which the receiver copies out
	// Bandwidth is of one-way Longs that are lent, many under way, and used where they lie.
	Bandwidth = "bandwidth"
	Poll      = "poll"     // polls that find nothing, by number of ranks
	Startup   = "startup"  // from the launch of a job until all its ranks are attached
	Exchange  = "exchange" // a Short from rank 0 to all, and from all to rank 0
	LogGP     = "loggp"    // the parameters of LogGP
	Contexts  = "contexts" // round trips of many goroutines of rank 0, by their number
)

// Ops lists the operations in the order of a report.
func Ops() []string {
	return []string{PingPong, Flood, Stream, Bandwidth, LogGP, Poll, Startup, Exchange, Contexts}
}

// ofPair are the operations of two ranks.
var ofPair = []string{PingPong, Flood, Stream, Bandwidth, LogGP}

// OfPair reports whether an operation is always of two ranks.
func OfPair(op string) bool { return slices.Contains(ofPair, op) || op == Contexts }

// Plan is what to measure.
type Plan struct {
	runner.Plan
	Ranks []int // sizes of job for Poll and Startup
	N     int   // ranks of Exchange
	Width []int // numbers of contexts of Contexts, at most MostContexts
	Peers bool  // Startup beside that of the MPI libraries that are installed, whose jobs take seconds
	// Beside is another conduit, or CONDUIT/PROFILE, beside whose Shorts those of PingPong are measured, each sample by jobs of
	// its own, and nothing else. "": there is none.
	Beside string
}

// Run measures the plan and calls report for each series as it is finished.
func Run(ctx context.Context, p Plan, report func(*bench.Series) error) error {
	var pairs []string
	for _, op := range p.Ops {
		if slices.Contains(ofPair, op) {
			pairs = append(pairs, op)
		}
	}
	for _, op := range p.Ops {
		var err error
		switch op {
		case Poll:
			err = p.each(ctx, "empty poll", op, report, p.pollJob)
		case Startup:
			err = p.each(ctx, "from launch to all ranks attached", op, report, p.startJob)
		case Exchange:
			err = p.exchange(ctx, report)
		case Contexts:
			err = p.contexts(ctx, report)
		case PingPong, Flood, Stream, Bandwidth, LogGP:
			if p.Beside != "" {
				if err := p.beside(ctx, report); err != nil {
					return err
				}
			} else if op == pairs[0] { // one job measures all that two ranks do
				err = launch(ctx, p.only(pairs...), report)
			}
		default:
			err = fmt.Errorf("am: unknown operation %q; known: %v", op, Ops())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// launch runs a job of two ranks.
func launch(ctx context.Context, q runner.Plan, report func(*bench.Series) error) error {
	return runner.Launch(ctx, verb, q, 2, report)
}

// only returns the plan of a job that measures some of the operations.
func (p *Plan) only(ops ...string) runner.Plan {
	q := p.Plan
	q.Ops, q.Idle = ops, runner.Soon
	return q
}

// exchange runs a job of N ranks.
func (p *Plan) exchange(ctx context.Context, report func(*bench.Series) error) error {
	if p.N < 2 {
		return fmt.Errorf("am: an exchange of %d ranks; want at least 2", p.N)
	}
	q := p.only(Exchange)
	q.Idle = 0
	return runner.Launch(ctx, verb, q, p.N, report)
}

// each measures op at every number of ranks, not pinned, and reports one series.
func (p *Plan) each(ctx context.Context, title, op string, report func(*bench.Series) error, one func(context.Context, runner.Plan, int) (bench.Result, []bench.Param, error)) error {
	s := &bench.Series{Family: "AM", Title: title, Params: p.Params(op), Quantity: bench.Duration, Axis: bench.Ranks}
	q := p.only(op)
	q.CPUs = nil
	for _, n := range p.Ranks {
		r, against, err := one(ctx, q, n)
		if err != nil {
			return err
		}
		s.Results, s.Against = append(s.Results, r), against
	}
	return report(s)
}

// pollJob has rank 0 of n poll while the others sleep.
func (p *Plan) pollJob(ctx context.Context, q runner.Plan, n int) (r bench.Result, against []bench.Param, err error) {
	err = runner.Launch(ctx, verb, q, n, func(s *bench.Series) error {
		r = s.Results[0]
		return nil
	})
	return r, nil, err
}

// startJob starts jobs whose rank 0 emits a series when it is attached, which, attaching
// being a barrier, is when all are. The end of the job is another metric.
func (p *Plan) startJob(ctx context.Context, q runner.Plan, n int) (r bench.Result, against []bench.Param, err error) {
	var refs []bench.Reference
	if p.Peers && p.Mode == spawner.Processes {
		if refs, against, err = mpipeer.Starts(ctx, n, p.Hosts); err != nil {
			return r, nil, err
		}
	}
	if len(p.Hosts) > 0 && p.Launcher == "" {
		refs = append(refs, bench.Reference{Unit: "x-ssh", Peer: true, Meter: p.byShell(ctx, min(n, len(p.Hosts)))})
		against = append(against, bench.Param{Key: "x-ssh", Value: "ssh HOST true, for all hosts at once"})
	}
	r = bench.Result{Ranks: n, Iters: 1}
	var whole, memory []float64
	r.Outcome, err = bench.Interleave(ctx, p.Samples, refs, func() (float64, error) {
		start := time.Now()
		var attached time.Duration
		err := runner.Launch(ctx, verb, q, n, func(s *bench.Series) error {
			attached = time.Since(start)
			memory = append(memory, s.Results[0].Values(memoryUnit)...)
			return nil
		})
		if err == nil && attached == 0 {
			err = fmt.Errorf("am: a job of %d ranks ended without a word of rank 0", n)
		}
		whole = append(whole, float64(time.Since(start).Nanoseconds()))
		return float64(attached.Nanoseconds()), err
	})
	for i := range r.Samples { // peers have no sample dropped
		r.Samples[i].Metrics[endUnit] = whole[i]
		if len(memory) == len(whole) {
			r.Samples[i].Metrics[memoryUnit] = memory[i]
		}
	}
	return r, against, err
}

// byShell returns what takes the time in which ssh does nothing on so many of the hosts.
func (p *Plan) byShell(ctx context.Context, n int) bench.Meter {
	return func() (float64, error) {
		start := time.Now()
		group, ctx := errgroup.WithContext(ctx)
		for _, host := range p.Hosts[:n] {
			group.Go(func() error {
				if said, err := exec.CommandContext(ctx, "ssh", "-T", "-o", "BatchMode=yes", "--", host, "true").CombinedOutput(); err != nil {
					return fmt.Errorf("am: ssh %s true: %w: %s", host, err, said)
				}
				return nil
			})
		}
		err := group.Wait()
		return float64(time.Since(start).Nanoseconds()), err
	}
}

// endUnit is the time until a job of Startup has ended.
const endUnit = "end-ns"
