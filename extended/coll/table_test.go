package coll_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// TestDefaultTable runs what the table chooses.
func TestDefaultTable(t *testing.T) {
	for op := coll.Barrier; op < coll.ScatterV; op++ {
		for _, n := range []int{1, 2, 3, 4, 7, 8} {
			for _, size := range []int{0, 8, 1 << 10, 24 << 10, 300<<10 + 8} {
				for _, teams := range []coll.Teams{coll.AllTeams, coll.ReachTeams, coll.HostsTeams} {
					c := coll.Call{Op: op, N: n, Root: n / 2, Bytes: size, Elem: elem, Reach: teams == coll.ReachTeams, ShmLimit: 1 << 20}
					if teams == coll.HostsTeams {
						c.Hosts = coll.NewHosts(n, func(m int) int { return m % 3 })
					}
					choice, ok := coll.Default().Choose(&c)
					if !ok {
						t.Fatalf("no choice for %+v", c)
					}
					if size <= 1<<10 || n == 3 && op != coll.AllToAll {
						check(t, c, choice, false)
					}
				}
			}
		}
	}
}

func TestTableRoundTrip(t *testing.T) {
	text := coll.Default().String()
	table, err := coll.ParseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	if again := table.String(); again != text {
		t.Errorf("written:\n%s\nread and written:\n%s", text, again)
	}
}

func TestTableErrors(t *testing.T) {
	whole := coll.Default().String()
	for _, x := range []struct{ text, want string }{
		{"", "no line for Barrier"},
		{"barrier any *", "line 1: 3 fields"},
		{"# a comment\nbarier any * * linear", `line 2: no operation "barier"; there are barrier, broadcast, reduce`},
		{"scatterv any * * flat", "no operation"},
		{"barrier some * * linear", "none of [any reach hosts]"},
		{"barrier any 0 * linear", "members"},
		{"barrier any * -1 linear", "bytes"},
		{"barrier any * 99999999999999999999 linear", "bytes"},
		{"barrier any * * tree", `Barrier has no algorithm "tree"; there are dissemination, linear`},
		{"barrier any * * linear:3", "no parameter"},
		{"barrier any * * dissemination:1", "no number from 2"},
		{"broadcast any * * chain:0", "no number from 1"},
		{"broadcast any * * chain:", "no number from 1"},
		{whole + "barrier any 4 * linear", "last line for Barrier"},
		{whole + "broadcast reach * * flat", "last line for Broadcast"},
		{whole + "allreduce any * * ring", "last line for AllReduce"},
	} {
		if _, err := coll.ParseTable(x.text); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.60q: error %v, want %q", x.text, err, x.want)
		}
	}
}

func TestForced(t *testing.T) {
	f, err := coll.ParseForced(" allreduce = ring, broadcast=knomial:4,reduce=knomial")
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[coll.Op]string{coll.AllReduce: "ring", coll.Broadcast: "knomial:4", coll.Reduce: "knomial:2"} {
		if got := f[op].String(); got != want {
			t.Errorf("%v by %s, want %s", op, got, want)
		}
	}
	for text, want := range map[string]string{
		"ring":                             "no operation=algorithm",
		"sum=ring":                         "there are barrier, broadcast",
		"allreduce=rng":                    "there are flat, doubling, halving, ring",
		"allreduce=ring,AllReduce=halving": "given twice",
		"broadcast=knomial:one":            "no number from 2",
	} {
		if _, err := coll.ParseForced(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if f, err := coll.ParseForced(""); err != nil || len(f) != 0 {
		t.Errorf("nothing forced: %v, %v", f, err)
	}
}

// TestForcedFallsBack has a forced algorithm that does not apply.
func TestForcedFallsBack(t *testing.T) {
	forced, err := coll.ParseForced("allreduce=ring")
	if err != nil {
		t.Fatal(err)
	}
	c := coll.Call{Op: coll.AllReduce, N: 3, Bytes: 24, Elem: 8, Commutes: true}
	ring := steps(t, &c, forced)
	c.Commutes = false
	if got, want := steps(t, &c, forced), steps(t, &c, nil); got != want || got == ring {
		t.Errorf("%d steps, the table's choice has %d, the ring %d", got, want, ring)
	}
}

func steps(t *testing.T, c *coll.Call, f coll.Forced) int {
	t.Helper()
	s, err := coll.Plan(c, f)
	if err != nil {
		t.Fatal(err)
	}
	return len(s.Steps)
}

func TestBadCalls(t *testing.T) {
	for _, x := range []struct {
		c    coll.Call
		want string
	}{
		{coll.Call{Op: coll.Barrier}, "no such member"},
		{coll.Call{Op: coll.Barrier, N: 2, Self: 2}, "no such member"},
		{coll.Call{Op: coll.Broadcast, N: 2, Root: -1}, "no root -1"},
		{coll.Call{Op: coll.Broadcast, N: 2, Bytes: -1}, "cannot have -1 bytes"},
		{coll.Call{Op: coll.AllGather, N: 1 << 20, Bytes: 1 << 60}, "cannot have"},
		{coll.Call{Op: coll.Reduce, N: 2, Bytes: 12, Elem: 8}, "no whole number"},
		{coll.Call{Op: coll.Scan, N: 2, Bytes: 8}, "no whole number"},
		{coll.Call{Op: coll.AllToAll, N: 2, Bytes: 8, InPlace: true}, "same memory"},
		{coll.Call{Op: coll.ScatterV, N: 2}, "no algorithm for ScatterV"},
	} {
		if _, err := coll.Plan(&x.c, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: error %v, want %q", x.c, err, x.want)
		}
	}
}
