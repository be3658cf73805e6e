package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
	"github.com/aqueduct-go/aqueduct/core"
)

func TestMain(m *testing.M) {
	runner.RankMain("orders", orders)
	runner.RankMain("failure", func(*runner.Plan, *core.Job) error { return errors.New("on purpose") })
	os.Exit(m.Run())
}

// orders is a benchmark's body: rank 0 gives orders, whose sum over all ranks comes out.
func orders(p *runner.Plan, job *core.Job) error {
	r := &runner.Rank{Plan: p, Job: job}
	sum := uint32(0)
	const onSum core.HandlerIndex = core.ClientHandlers
	ep, err := job.Attach(core.AttachSpec{Handlers: r.Handlers(core.HandlerEntry{
		Index: onSum, Func: func(_ *core.Token, args []uint32, _ []byte) { sum += args[0] },
	})})
	if err != nil {
		return err
	}
	r.Do = func(order []uint32) error {
		for _, word := range order {
			if err := ep.RequestShort(0, onSum, word*uint32(job.Rank()+1)); err != nil {
				return err
			}
		}
		return nil
	}
	return r.Run(ep, func() error {
		for _, order := range [][]uint32{{1}, {10, 100}, {}, {1000}} {
			if err := r.Together(order...); err != nil {
				return err
			}
		}
		// The summands of ranks that have answered are here: they were sent before.
		if err := ep.WaitUntil(func() bool { return sum >= uint32(1111*total(job.Size())) }); err != nil {
			return err
		}
		return runner.Emit(&bench.Series{Title: fmt.Sprint(sum), Params: p.Params("orders")})
	})
}

// total returns 1 + 2 + … + n.
func total(n int) int { return n * (n + 1) / 2 }

// TestTogether has ranks of every kind carry out orders.
func TestTogether(t *testing.T) {
	for name, p := range runnertest.Plans() {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 5} {
				var titles []string
				err := runner.Launch(t.Context(), "orders", p, n, func(s *bench.Series) error {
					titles = append(titles, s.Title)
					return nil
				})
				if want := []string{fmt.Sprint(1111 * total(n))}; err != nil || !slices.Equal(titles, want) {
					t.Errorf("%d ranks: %v, %v; want %v", n, titles, err, want)
				}
			}
		})
	}
}

func TestLaunchFails(t *testing.T) {
	p := runnertest.Plans()["processes"]
	if err := runner.Launch(t.Context(), "failure", p, 2, nil); err == nil {
		t.Error("no error of a job that failed")
	}
	refused := errors.New("refused")
	if err := runner.Launch(t.Context(), "orders", p, 2, func(*bench.Series) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of the report", err)
	}
}

// alone runs f in a job of one.
func alone(t *testing.T, f func(r *runner.Rank) error) {
	t.Helper()
	err := aqueduct.Launch(func(job *core.Job) error {
		return f(&runner.Rank{Plan: &runner.Plan{Samples: 2, Weight: 0.01}, Job: job})
	}, aqueduct.Goroutines(1), aqueduct.Conduit("loopback"))
	if err != nil {
		t.Error(err)
	}
}

// program is a reference that counts how often it is opened and closed.
type program struct{ opened, closed int }

func (p *program) Close() error { p.closed++; return nil }

func (p *program) ref(unit string, meter bench.Meter) runner.Ref {
	return runner.Ref{Unit: unit, What: "what " + unit + " is", Open: func(context.Context) (bench.Meter, io.Closer, error) {
		p.opened++
		return meter, p, nil
	}}
}

func steady() (float64, error) { return 10, nil }

// TestPoint checks what a point makes of its references: one that is, one that is not here,
// one that never holds still.
func TestPoint(t *testing.T) {
	alone(t, func(r *runner.Rank) error {
		var even, absent program
		var s bench.Series
		ops := 0
		work := func(n int) error { ops += n; return nil }
		refs := []runner.Ref{even.ref("x-floor", steady), absent.ref("x-absent", nil)}
		for range 2 {
			if err := r.Point(&s, bench.Result{Size: 3, Ranks: 1, Iters: 7}, refs, work); err != nil {
				return err
			}
		}
		if ops != 2*2*2*7 { // points, samples, each with a warm-up
			t.Errorf("%d operations", ops)
		}
		if even.opened != 2 || even.closed != 2 || absent.closed != 2 {
			t.Errorf("opened %d times, closed %d and %d", even.opened, even.closed, absent.closed)
		}
		if diff := cmp.Diff([]bench.Param{{Key: "x-floor", Value: "what x-floor is"}}, s.Against); diff != "" {
			t.Error(diff)
		}
		if len(s.Results) != 2 || len(s.Results[1].Samples) != 2 || len(s.Results[1].Values("x-floor")) != 2 {
			t.Errorf("results %+v", s.Results)
		}

		restless := 1.0
		refs = []runner.Ref{even.ref("x-floor", func() (float64, error) { restless *= 2; return restless, nil })}
		if err := r.Point(&s, bench.Result{Iters: 1}, refs, work); err != nil {
			return err
		}
		if last := s.Results[2]; last.Uneven == 0 || len(last.Samples) != 2 || len(last.Values("x-floor")) != 0 {
			t.Errorf("beside a floor that never holds still: %+v", last)
		}
		return nil
	})
}

// TestPointFails wants what was opened closed again, and the cause returned.
func TestPointFails(t *testing.T) {
	broken := errors.New("broken")
	alone(t, func(r *runner.Rank) error {
		for name, fail := range map[string]struct {
			ref  runner.Ref
			work error
		}{
			"work":      {ref: new(program).ref("x-other", steady), work: broken},
			"reference": {ref: new(program).ref("x-other", func() (float64, error) { return 0, broken })},
			"start": {ref: runner.Ref{Open: func(context.Context) (bench.Meter, io.Closer, error) {
				return nil, nil, broken
			}}},
		} {
			var first program
			var s bench.Series
			refs := []runner.Ref{first.ref("x-first", steady), fail.ref}
			err := r.Point(&s, bench.Result{Iters: 1}, refs, func(int) error { return fail.work })
			if !errors.Is(err, broken) || first.closed != 1 || len(s.Results) != 0 {
				t.Errorf("%s: error %v, closed %d times, results %v", name, err, first.closed, s.Results)
			}
		}
		return nil
	})
}

func TestPlan(t *testing.T) {
	p := runner.Plan{Conduit: "sci", Threads: core.Single, CPUs: []int{4, 6, 5}, Weight: 0.5}
	if got := p.Pair(); !slices.Equal(got, []int{4, 6}) {
		t.Errorf("pair %v", got)
	}
	if got := p.Spread(5); !slices.Equal(got, []int{4, 6, 5, 4, 6}) {
		t.Errorf("spread %v", got)
	}
	if a, b := p.Count(100), p.Count(1); a != 50 || b != 1 {
		t.Errorf("counts %d, %d", a, b)
	}
	var words []string
	for _, param := range p.Params("put", bench.Param{Key: "category", Value: "short"}) {
		words = append(words, param.Key+"="+param.Value)
	}
	if got, want := strings.Join(words, " "), "op=put category=short conduit=sci profile=default threads=single"; got != want {
		t.Errorf("params %q, want %q", got, want)
	}
	if p.CPUs = p.CPUs[:1]; p.Pair() != nil {
		t.Errorf("pair of one CPU: %v", p.Pair())
	}
	if p.CPUs = nil; p.Spread(2) != nil {
		t.Errorf("spread over no CPUs: %v", p.Spread(2))
	}
}

// TestCPUs wants every usable CPU once, however they are ordered.
func TestCPUs(t *testing.T) {
	want, err := bench.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	got, err := runner.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("CPUs %v, want %v in some order", got, want)
	}
}
