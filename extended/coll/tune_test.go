package coll_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// choiceOf reads an operation and a choice, such as "allreduce=ring".
func choiceOf(t *testing.T, text string) (coll.Op, coll.Choice) {
	t.Helper()
	forced, err := coll.ParseForced(text)
	if err != nil || len(forced) != 1 {
		t.Fatalf("%q: %v, %v", text, forced, err)
	}
	for op, c := range forced {
		return op, c
	}
	panic("unreachable")
}

// cell is what was timed of one operation, members and size: a time for each choice.
type cell struct {
	op       string
	n, bytes int
	ns       map[string]float64
}

// table returns one whose lines for an operation are the given ones, and the rest the default.
func table(t *testing.T, op, lines string) *coll.Table {
	t.Helper()
	for l := range strings.Lines(coll.Default().String()) {
		if !strings.HasPrefix(l, op+" ") {
			lines += l
		}
	}
	tab, err := coll.ParseTable(lines)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// linesOf returns a table's lines for an operation with single spaces.
func linesOf(tab *coll.Table, op string) string {
	var b strings.Builder
	for l := range strings.Lines(tab.String()) {
		if strings.HasPrefix(l, op+" ") {
			b.WriteString(strings.Join(strings.Fields(l), " ") + "\n")
		}
	}
	return b.String()
}

func TestTune(t *testing.T) {
	for _, x := range []struct {
		name, old, want string
		teams           coll.Teams
		cells           []cell
	}{
		{
			name:  "thresholds lie between the sizes, and what lies beyond them stays",
			teams: coll.ReachTeams,
			old:   "broadcast any * * chain:65536\n",
			cells: []cell{
				{"broadcast", 4, 8, map[string]float64{"flat": 10, "knomial:2": 20, "chain": 90}},
				{"broadcast", 4, 32, map[string]float64{"flat": 10, "knomial:2": 20, "chain": 90}},
				{"broadcast", 4, 128, map[string]float64{"flat": 60, "knomial:2": 30, "chain": 90}},
			},
			want: "broadcast any 4 64 flat\n" +
				"broadcast any 4 128 knomial:2\n" +
				"broadcast any * * chain:65536\n",
		},
		{
			name:  "reach has lines of its own only where it chooses otherwise",
			teams: coll.ReachTeams,
			old:   "broadcast any * * flat\n",
			cells: []cell{
				{"broadcast", 4, 8, map[string]float64{"knomial:2": 10, "direct": 20}},
				{"broadcast", 4, 32, map[string]float64{"knomial:2": 50, "direct": 20}},
				{"broadcast", 4, 128, map[string]float64{"knomial:2": 50, "direct": 20}},
			},
			want: "broadcast any 4 16 knomial:2\n" +
				"broadcast reach 4 128 direct:65536\n" +
				"broadcast any 4 128 knomial:2\n" +
				"broadcast any * * flat\n",
		},
		{
			name:  "timings without reach say nothing of teams that have it",
			teams: coll.AllTeams,
			old:   "broadcast reach * * direct:65536\nbroadcast any * * flat\n",
			cells: []cell{
				{"broadcast", 4, 8, map[string]float64{"knomial:2": 10, "flat": 20}},
			},
			want: "broadcast reach * * direct:65536\n" +
				"broadcast any 4 8 knomial:2\n" +
				"broadcast any * * flat\n",
		},
		{
			name:  "within 5 % the present choice, then that of the size before",
			teams: coll.ReachTeams,
			old:   "broadcast any * * chain:65536\n",
			cells: []cell{
				{"broadcast", 4, 8, map[string]float64{"flat": 100, "chain": 105}},
				{"broadcast", 4, 32, map[string]float64{"flat": 100, "chain": 106, "knomial:4": 99}},
				{"broadcast", 4, 128, map[string]float64{"flat": 104, "chain": 100, "knomial:4": 110}},
			},
			want: "broadcast any 4 16 chain:65536\n" +
				"broadcast any 4 128 flat\n" +
				"broadcast any * * chain:65536\n",
		},
		{
			name:  "an algorithm that does not apply to all calls is followed by one that does",
			teams: coll.ReachTeams,
			old:   "allreduce any * * doubling\n",
			cells: []cell{
				{"allreduce", 3, 8, map[string]float64{"ring": 10, "flat": 30, "halving": 20}},
			},
			want: "allreduce any 3 8 ring\nallreduce any 3 8 halving\nallreduce any * * doubling\n",
		},
		{
			name:  "and so is one for powers of two, but in teams of two",
			teams: coll.ReachTeams,
			old:   "allgather any * * ring\n",
			cells: []cell{
				{"allgather", 2, 8, map[string]float64{"doubling": 10, "flat": 30, "bruck": 20}},
				{"allgather", 8, 8, map[string]float64{"doubling": 10, "flat": 30, "bruck": 20}},
			},
			want: "allgather any 8 8 doubling\nallgather any 8 8 bruck\nallgather any * * ring\n",
		},
		{
			name:  "a barrier has no size",
			teams: coll.ReachTeams,
			old:   "barrier any * * dissemination:2\n",
			cells: []cell{
				{"barrier", 8, 0, map[string]float64{"dissemination:2": 30, "dissemination:8": 20, "linear": 50}},
				{"barrier", 2, 0, map[string]float64{"dissemination:2": 20, "dissemination:8": 20, "linear": 10}},
			},
			want: "barrier any 2 * linear\nbarrier any 8 * dissemination:8\nbarrier any * * dissemination:2\n",
		},
		{
			name:  "timings of teams of several hosts say nothing of others",
			teams: coll.HostsTeams,
			old:   "allreduce any * * doubling\n",
			cells: []cell{
				{"allreduce", 4, 8, map[string]float64{"two-level": 10, "doubling": 30, "halving": 20}},
				{"allreduce", 4, 32, map[string]float64{"two-level": 40, "doubling": 30, "halving": 35}},
			},
			want: "allreduce hosts 4 16 two-level\nallreduce hosts 4 16 halving\nallreduce any * * doubling\n",
		},
		{
			name:  "and are not overruled by those of others",
			teams: coll.ReachTeams,
			old:   "allreduce hosts * * two-level\nallreduce any * * doubling\n",
			cells: []cell{{"allreduce", 4, 8, map[string]float64{"doubling": 30, "halving": 20}}},
			want:  "allreduce hosts * * two-level\nallreduce any 4 8 halving\nallreduce any * * doubling\n",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			var timings []coll.Timing
			for _, c := range x.cells {
				for name, ns := range c.ns {
					op, choice := choiceOf(t, c.op+"="+name)
					timings = append(timings, coll.Timing{Op: op, N: c.n, Bytes: c.bytes, Choice: choice, Ns: ns})
				}
			}
			op := x.cells[0].op
			tuned := table(t, op, x.old).Tune(x.teams, timings)
			if diff := cmp.Diff(x.want, linesOf(tuned, op)); diff != "" {
				t.Error(diff)
			}
			again, err := coll.ParseTable(tuned.File())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tuned.File(), again.Tune(x.teams, timings).File()); diff != "" {
				t.Errorf("tuned again by the same timings: %s", diff)
			}
			for o := coll.Barrier; o < coll.ScatterV; o++ {
				if name := strings.ToLower(o.String()); name != op && linesOf(tuned, name) != linesOf(coll.Default(), name) {
					t.Errorf("the lines of %s changed, which was not timed", name)
				}
			}
		})
	}
}

// TestTunedFile wants the default table written as the tuner writes it.
func TestTunedFile(t *testing.T) {
	text, err := os.ReadFile("tune.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), coll.Default().File()); diff != "" {
		t.Error(diff)
	}
}

// TestChoices wants every choice to apply, each to be a way of its own, and the table's
// first.
func TestChoices(t *testing.T) {
	for _, x := range []struct {
		call coll.Call
		want string
	}{
		{coll.Call{Op: coll.Barrier, N: 1}, "dissemination:4"},
		{coll.Call{Op: coll.Barrier, N: 8}, "dissemination:4 dissemination:2 dissemination:8 linear"},
		{coll.Call{Op: coll.Scatter, N: 4, Bytes: 1 << 20}, "flat knomial:2 knomial:4"},
		{coll.Call{Op: coll.AllGather, N: 3, Bytes: 8}, "flat ring bruck"},
		{coll.Call{Op: coll.Reduce, N: 2, Bytes: 64, Elem: 8, Commutes: true, Reach: true, ShmLimit: 1 << 20}, "knomial:2 scatter direct:16384"},
		{coll.Call{Op: coll.Scan, N: 4, Bytes: 8, Elem: 8, Hosts: coll.NewHosts(4, func(m int) int { return m / 2 })}, "two-level flat chain doubling"},
		{coll.Call{Op: coll.ScatterV, N: 3}, ""},
	} {
		var names []string
		for _, c := range coll.Choices(&x.call) {
			if !c.Algorithm.Applies(&x.call) {
				t.Errorf("%v does not apply to %+v", c, x.call)
			}
			names = append(names, c.String())
		}
		if c, ok := coll.Default().Choose(&x.call); ok && names[0] != c.String() {
			t.Errorf("%v of %d members: %s first; want the table's choice, %v", x.call.Op, x.call.N, names[0], c)
		}
		slices.Sort(names)
		want := strings.Fields(x.want)
		slices.Sort(want)
		if got := strings.Join(names, " "); got != strings.Join(want, " ") {
			t.Errorf("%v of %d members, %d bytes: %s; want %s", x.call.Op, x.call.N, x.call.Bytes, got, x.want)
		}
	}
}
