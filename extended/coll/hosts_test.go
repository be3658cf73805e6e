package coll_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/colltest"
)

func TestHosts(t *testing.T) {
	for _, x := range []struct {
		of      []int
		members [][]int // nil: there are no two levels
	}{
		{[]int{7}, nil},
		{[]int{3, 3, 3}, nil},
		{[]int{2, 1, 0}, nil},
		{[]int{5, 5, 5, 5, 5, 0, 2, 2, 2}, [][]int{{0, 1, 2, 3, 4}, {5}, {6, 7, 8}}},
		{[]int{9, 4, 9, 9, 4}, [][]int{{0, 2, 3}, {1, 4}}},
	} {
		h := coll.NewHosts(len(x.of), func(m int) int { return x.of[m] })
		if h == nil || x.members == nil {
			if h != nil || x.members != nil {
				t.Errorf("hosts of %v: %v, want %v", x.of, h, x.members)
			}
			continue
		}
		if h.Count() != len(x.members) {
			t.Fatalf("%v: %d hosts, want %d", x.of, h.Count(), len(x.members))
		}
		for i, want := range x.members {
			if !slices.Equal(h.Members(i), want) {
				t.Errorf("%v: host %d has %v, want %v", x.of, i, h.Members(i), want)
			}
			for _, m := range want {
				if h.Of(m) != i {
					t.Errorf("%v: member %d is on host %d, want %d", x.of, m, h.Of(m), i)
				}
			}
		}
	}
}

// TestTwoLevelMessages counts what goes between hosts: once in each direction for each host at most, where every
// leader need not hear of every other one's.
func TestTwoLevelMessages(t *testing.T) {
	const n = 9
	hosts := coll.NewHosts(n, func(m int) int { return m % 2 })
	for op, want := range map[coll.Op]int{
		coll.Barrier: 2, coll.Broadcast: 1, coll.Reduce: 1, coll.AllReduce: 2, coll.Scatter: 1, coll.Gather: 1, coll.AllGather: 2,
	} {
		forced, err := coll.ParseForced(op.String() + "=" + coll.TwoLevel)
		if err != nil {
			t.Fatal(err)
		}
		far := 0
		for self := range n {
			c := coll.Call{Op: op, N: n, Self: self, Root: 0, Bytes: 8, Elem: 8, Commutes: true, Hosts: hosts}
			if op.Rooted() {
				c.Root = 5
			}
			s, err := coll.Plan(&c, forced)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range s.Steps {
				if step.Kind == coll.Send && hosts.Of(step.Peer) != hosts.Of(self) {
					far++
				}
			}
		}
		if far != want {
			t.Errorf("%v: %d messages between two hosts, want %d", op, far, want)
		}
	}
}

// TestWrongHosts has one member believe in another placement than the others: calls do not come to an end, or end
// wrong, and the simulation tells.
func TestWrongHosts(t *testing.T) {
	const n = 6
	right := coll.NewHosts(n, func(m int) int { return m / 3 })
	wrong := coll.NewHosts(n, func(m int) int { return m / 2 })
	for op := coll.Barrier; op < coll.ScatterV; op++ {
		for _, a := range coll.Algorithms(op) {
			if a.Name != coll.TwoLevel {
				continue
			}
			var members []colltest.Member
			for self := range n {
				c := coll.Call{Op: op, N: n, Self: self, Bytes: 8, Elem: elem, Commutes: true, Hosts: right}
				if self == 3 {
					c.Hosts = wrong
				}
				members = append(members, member(t, c, coll.Choice{Algorithm: a}, false))
			}
			if err := colltest.Simulate(members, add, colltest.Random(0)); err == nil {
				t.Errorf("%v: nothing is wrong with a member that takes its host for another", op)
			}
		}
	}
}

// TestOrdered refuses to combine elements out of order.
func TestOrdered(t *testing.T) {
	apart := coll.NewHosts(4, func(m int) int { return m % 2 })
	whole := coll.NewHosts(4, func(m int) int { return m / 2 })
	for _, x := range []struct {
		op       coll.Op
		hosts    *coll.Hosts
		commutes bool
		applies  bool
	}{
		{coll.Reduce, apart, false, false}, {coll.Reduce, apart, true, true}, {coll.Reduce, whole, false, true},
		{coll.AllReduce, apart, false, false}, {coll.AllReduce, apart, true, true}, {coll.AllReduce, whole, false, true},
		{coll.Scan, apart, true, false}, {coll.Scan, whole, false, true}, {coll.ExScan, apart, true, false},
		{coll.Broadcast, apart, false, true}, {coll.Broadcast, nil, false, false},
	} {
		c := coll.Call{Op: x.op, N: 4, Bytes: 8, Elem: 8, Commutes: x.commutes, Hosts: x.hosts}
		all := coll.Algorithms(x.op)
		i := slices.IndexFunc(all, func(a *coll.Algorithm) bool { return a.Name == coll.TwoLevel })
		if got := all[i].Applies(&c); got != x.applies {
			t.Errorf("%v, commuting %v, of hosts %+v: applies %v, want %v", x.op, x.commutes, x.hosts, got, x.applies)
		}
	}
}
