package tune_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner/runnertest"
	"github.com/aqueduct-go/aqueduct/bench/tune"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

func TestMain(m *testing.M) {
	tune.RankMain()
	os.Exit(m.Run())
}

// times are medians by operation, members and size, and by choice.
type times map[coll.Call]map[string]float64

// collect runs the tuner with jobs of several numbers of ranks.
func collect(t *testing.T, where string, ops []string, sizes []int, ranks ...int) (*tune.Tuner, times) {
	t.Helper()
	p := runnertest.Plans()[where]
	p.Ops, p.Sizes = ops, sizes
	tuner, all := new(tune.Tuner), make(times)
	for _, n := range ranks {
		series := runnertest.Collect(t, p, func(report func(*bench.Series) error) error {
			return tuner.Run(t.Context(), p, n, report)
		})
		for i, op := range tune.Ops() {
			for _, s := range series[op] {
				for j := range s.Results {
					r := &s.Results[j]
					c := coll.Call{Op: coll.Op(i), N: r.Ranks, Bytes: r.Size, Elem: tune.Element, Commutes: true}
					if all[c] == nil {
						all[c] = make(map[string]float64)
					}
					all[c][s.Params[1].Value] = bench.Median(r.Values(bench.NsPerOp))
				}
			}
		}
	}
	return tuner, all
}

// TestModel tunes for a model, where times are exact: the table chooses what was fastest, and
// the same comes out again.
func TestModel(t *testing.T) {
	measure := func() (*coll.Table, times) {
		tuner, all := collect(t, "model", tune.Ops(), []int{8, 512, 32768}, 2, 3, 4)
		return tuner.Table(coll.Default()), all
	}
	table, all := measure()
	if want := 3 + 9*3*3; len(all) != want {
		t.Fatalf("%d kinds of calls measured, want %d", len(all), want)
	}
	improved := 0
	for c, ns := range all {
		choice, _ := table.Choose(&c)
		before, _ := coll.Default().Choose(&c)
		took, measured := ns[choice.String()]
		if !measured {
			t.Errorf("%v of %d members, %d bytes: %v was chosen and never measured; there are %v", c.Op, c.N, c.Bytes, choice, ns)
		}
		for other, less := range ns {
			if took > 1.05*less {
				t.Errorf("%v of %d members, %d bytes: %v takes %.0f ns, %v %.0f", c.Op, c.N, c.Bytes, choice, took, other, less)
			}
		}
		if took < ns[before.String()] {
			improved++
		}
	}
	if improved == 0 {
		t.Error("nothing is faster than before: does forcing do anything?")
	}
	if again, _ := measure(); again.File() != table.File() {
		t.Errorf("first:\n%s\nthen:\n%s", table.File(), again.File())
	}
}

// TestReach wants algorithms that need reach measured, and lines for teams that have it,
// where ranks share memory, and only there.
func TestReach(t *testing.T) {
	for where, reach := range map[string]bool{"processes": true, "goroutines": true, "model": false} {
		tuner, all := collect(t, where, []string{"allgather", "barrier"}, []int{8, 4096}, 3)
		direct := false
		for _, ns := range all {
			for name := range ns {
				direct = direct || strings.HasPrefix(name, "direct")
			}
		}
		if direct != reach {
			t.Errorf("%s: direct algorithms measured: %v", where, direct)
		}
		c := coll.Call{Op: coll.AllGather, N: 3, Bytes: 1 << 20, Elem: 8, Reach: true, ShmLimit: 1 << 20}
		before, _ := coll.Default().Choose(&c)
		if after, _ := tuner.Table(coll.Default()).Choose(&c); after != before {
			t.Errorf("%s: what was not measured changed from %v to %v", where, before, after)
		}
	}
}

// TestBlocks wants sizes left out whose blocks do not fit the buffers.
func TestBlocks(t *testing.T) {
	_, all := collect(t, "model", []string{"alltoall", "broadcast"}, []int{2 << 20}, 3)
	if len(all) != 1 || all[coll.Call{Op: coll.Broadcast, N: 3, Bytes: 2 << 20, Elem: tune.Element, Commutes: true}] == nil {
		t.Errorf("measured %v", all)
	}
}

func TestUnknownOperation(t *testing.T) {
	p := runnertest.Plans()["goroutines"]
	p.Ops = []string{"dance"}
	if err := new(tune.Tuner).Run(t.Context(), p, 2, nil); err == nil {
		t.Error("an unknown operation was measured")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"": "", "good": coll.Default().File(), "bad": "barrier any"} {
		path := filepath.Join(dir, name)
		if name == "" {
			path = filepath.Join(dir, "absent")
		} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := tune.Read(path)
		switch {
		case name == "bad":
			if err == nil || !strings.Contains(err.Error(), path+": line 1") {
				t.Errorf("error %v, want the file and the line", err)
			}
		case err != nil || table.File() != coll.Default().File():
			t.Errorf("%s: %v, %v", name, table, err)
		}
	}
}

// TestHosts has a modelled cluster of nodes of four ranks, where times are exact: the library knows the nodes, and meets
// soonest in two levels, which is what its table has.
func TestHosts(t *testing.T) {
	p := runnertest.Plans()["model"]
	p.Conduit, p.Profile, p.Settings = "myrinet", "", map[string]string{"per-host": "4"}
	p.Ops, p.Sizes = []string{"barrier", "allreduce"}, []int{8}
	tuner := new(tune.Tuner)
	least, by := make(map[string]float64), make(map[string]string)
	for op, all := range runnertest.Collect(t, p, func(report func(*bench.Series) error) error { return tuner.Run(t.Context(), p, 16, report) }) {
		for _, s := range all {
			ns := bench.Median(s.Results[0].Values(bench.NsPerOp))
			if by[op] == "" || ns < least[op] {
				least[op], by[op] = ns, s.Params[1].Value
			}
			if teams := s.Params[2].Value; teams != coll.HostsTeams.String() {
				t.Errorf("%s: the team is of kind %s", op, teams)
			}
		}
	}
	for _, op := range p.Ops {
		if by[op] != coll.TwoLevel {
			t.Errorf("%s is fastest by %q, want %s; %v", op, by[op], coll.TwoLevel, least)
		}
	}
	lines := func(t *coll.Table) string { // of barriers, for which what was chosen is the fastest
		text, _, _ := strings.Cut(t.String(), "\n\n")
		return text
	}
	if old, tuned := lines(coll.Default()), lines(tuner.Table(coll.Default())); old != tuned {
		t.Errorf("the table has become\n%s\nwant\n%s", tuned, old)
	}
}
