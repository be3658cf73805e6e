// Package runnertest tests benchmarks: it checks that what one reports makes sense, whatever
// the machine makes of the times.
package runnertest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// Plans returns a tiny plan for each place where ranks can live: processes and goroutines
// over sci, coroutines over the model of loopback. None is pinned.
func Plans() map[string]runner.Plan {
	p := runner.Plan{Conduit: "sci", Profile: "live", Threads: core.Single, Sizes: []int{8, 4096}, Samples: 2, Weight: 0.001}
	goroutines, model := p, p
	goroutines.Mode = spawner.Goroutines
	model.Mode, model.Conduit, model.Profile = spawner.Modelled, "loopback", "default"
	return map[string]runner.Plan{"processes": p, "goroutines": goroutines, "model": model}
}

// Collect runs a benchmark, checks every series it reports, and returns them by the value of
// their parameter op.
func Collect(t *testing.T, p runner.Plan, run func(report func(*bench.Series) error) error) map[string][]*bench.Series {
	t.Helper()
	all := map[string][]*bench.Series{}
	err := run(func(s *bench.Series) error {
		Check(t, p, s)
		op := s.Params[0].Value
		all[op] = append(all[op], s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Check reports what is wrong with a series of the plan.
func Check(t *testing.T, p runner.Plan, s *bench.Series) {
	t.Helper()
	if s.Title == "" || len(s.Results) == 0 || s.Params[0].Key != "op" {
		t.Errorf("incomplete: %+v", s)
	}
	for i := range s.Results {
		r := &s.Results[i]
		name, err := s.Name(r)
		if err != nil {
			t.Error(err)
		}
		if r.Iters < 1 || r.Ranks < 1 || len(r.Samples) < 1 || len(r.Samples) > p.Samples {
			t.Errorf("%s: %d ranks, %d operations, %d samples of %d", name, r.Ranks, r.Iters, len(r.Samples), p.Samples)
		}
		for _, sample := range r.Samples {
			if !(sample.Ns >= 0) || math.IsInf(sample.Ns, 0) {
				t.Errorf("%s: %v ns", name, sample.Ns)
			}
			for unit, v := range sample.Metrics {
				if !(v >= 0) || strings.HasPrefix(unit, "x-") && Against(s, unit) == "" {
					t.Errorf("%s: %v %s, against %v", name, v, unit, s.Against)
				}
			}
		}
	}
	if p.Modelled() && slices.ContainsFunc(s.Against, func(a bench.Param) bool { return a.Key == "x-floor" }) {
		t.Errorf("a modelled time is compared with a floor: %v", s.Against)
	}
}

// Against returns what a ratio of the series is to, or "".
func Against(s *bench.Series, unit string) string {
	for _, a := range s.Against {
		if a.Key == unit {
			return a.Value
		}
	}
	return ""
}

// Pinned returns the plan with ranks on CPUs of their own, and so with floors, or skips the
// test where there are not two.
func Pinned(t *testing.T, p runner.Plan) runner.Plan {
	t.Helper()
	cpus, err := runner.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < 2 {
		t.Skip("needs 2 CPUs")
	}
	p.CPUs = cpus
	return p
}
