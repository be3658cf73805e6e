// Package tune measures every algorithm of every collective operation, with the parameters
// worth trying, and makes of that the table by which the library chooses.
package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

const verb = "tune"

// Ops lists the operations that have a choice of algorithms, in the order of the table.
func Ops() []string {
	var names []string
	for op := coll.Barrier; op < coll.ScatterV; op++ {
		names = append(names, nameOf(op))
	}
	return names
}

func nameOf(op coll.Op) string { return strings.ToLower(op.String()) }

// Keys of the parameters of a series; the teams are named as in the table.
const (
	keyOp        = "op"
	keyAlgorithm = "algorithm"
	keyTeams     = "teams"
)

// Tuner collects what jobs measured.
type Tuner struct {
	timings map[string][]coll.Timing // by teams
}

// Run measures the plan with a job of n ranks, and calls report for each series as it is
// finished: one for each algorithm that was tried. An algorithm that is given up, because it
// takes more than twice as long as another, has fewer samples.
func (t *Tuner) Run(ctx context.Context, p runner.Plan, n int, report func(*bench.Series) error) error {
	return runner.Launch(ctx, verb, p, n, func(s *bench.Series) error {
		if err := t.add(s, p.Samples); err != nil {
			return err
		}
		return report(s)
	})
}

// add takes the medians of the results that have all samples.
func (t *Tuner) add(s *bench.Series, samples int) error {
	is := make(map[string]string)
	for _, p := range s.Params {
		is[p.Key] = p.Value
	}
	forced, err := coll.ParseForced(is[keyOp] + "=" + is[keyAlgorithm])
	if err != nil {
		return fmt.Errorf("tune: a rank measured something unknown: %w", err)
	}
	if t.timings == nil {
		t.timings = make(map[string][]coll.Timing)
	}
	teams := is[keyTeams]
	for op, choice := range forced {
		for i := range s.Results {
			r := &s.Results[i]
			if len(r.Samples) == samples {
				t.timings[teams] = append(t.timings[teams], coll.Timing{
					Op: op, N: r.Ranks, Bytes: r.Size, Choice: choice, Ns: bench.Median(r.Values(bench.NsPerOp)),
				})
			}
		}
	}
	return nil
}

// Table returns a table changed by what was measured; see coll.Table.Tune. If teams without reach were among those measured,
// what the others took is taken for theirs.
func (t *Tuner) Table(old *coll.Table) *coll.Table {
	of := func(teams coll.Teams) []coll.Timing { return t.timings[teams.String()] }
	kind, timings := coll.ReachTeams, of(coll.ReachTeams)
	if all := of(coll.AllTeams); len(all) > 0 {
		kind, timings = coll.AllTeams, slices.Concat(all, timings)
	}
	return old.Tune(kind, timings).Tune(coll.HostsTeams, of(coll.HostsTeams))
}

// Read returns the table in a file, or the default one if there is no such file.
func Read(path string) (*coll.Table, error) {
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return coll.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	t, err := coll.ParseTable(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
