package exttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"

	"golang.org/x/sync/errgroup"
)

var progressCases = []coretest.Case{{
	Name:  "progress/one-ahead",
	Rule:  "a member that begins many calls while others wait for its first one does not hold them up",
	Ranks: []int{2, 5, 8}, Body: oneAhead,
}, {
	Name:  "progress/thousands",
	Rule:  "thousands of collective calls may be under way (as of other operations)",
	Ranks: []int{2, 3}, Body: thousandsUnderWay,
}, {
	Name:  "progress/goroutines",
	Rule:  "goroutines of a rank use a team each, in whatever order they come to it: small and large collectives, barriers, splits",
	Ranks: []int{2, 3}, Needs: coretest.Threads, Body: teamPerGoroutine,
}, {
	Name:  "progress/stuck",
	Rule:  "a job that waits for ever in a collective call is told which: the model's report and the report of stalls name it",
	Ranks: []int{2}, Needs: coretest.Modelled, Body: stuck, Want: saysStuck,
}}

// stuck has one member miss a call.
func stuck(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil || t.Rank() == 1 {
		return err
	}
	b := make([]byte, 8)
	return ep.World().AllReduce(&ep.Context, b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
}

func saysStuck(o *coretest.Outcome) error {
	if o.Status == 0 {
		return errors.New("the job ended well")
	}
	return o.Says("AllReduce")
}

func oneAhead(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	for round := range 3 {
		out := make([]byte, 8)
		ev, err := w.AllReduceNB(c, out, put64(1), add)
		if err != nil {
			return err
		}
		if w.Rank() != round%w.Size() {
			if err := c.Wait(ev); err != nil {
				return err
			}
			ev = 0
		}
		evs, got := []extended.Event{ev}, make([]byte, 8*600)
		for i := range len(got) / 8 {
			if ev, err = w.BroadcastNB(c, round%w.Size(), got[8*i:8*i+8], put64(uint64(i))); err != nil {
				return err
			}
			evs = append(evs, ev)
		}
		if err := c.WaitAll(evs); err != nil {
			return err
		}
		if get64(out) != uint64(w.Size()) || get64(got[8*599:]) != 599 {
			t.Errorf("round %d: sum %d, last broadcast %d", round, get64(out), get64(got[8*599:]))
		}
	}
	return t.Err()
}

func thousandsUnderWay(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	n := t.Times(8000)
	in, out := make([]byte, 8*n), make([]byte, 8*n)
	evs := make([]extended.Event, n)
	for i := range evs {
		copy(in[8*i:], put64(uint64(i)))
		if evs[i], err = w.AllReduceNB(c, out[8*i:8*i+8], in[8*i:8*i+8], extended.Reduction{Type: extended.Uint64, Op: extended.Add}); err != nil {
			return err
		}
	}
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	for i := range n {
		if got, want := get64(out[8*i:]), uint64(i*w.Size()); got != want {
			t.Errorf("sum %d is %d, want %d", i, got, want)
			break
		}
	}
	return t.Err()
}

func teamPerGoroutine(t *coretest.T) error {
	const teams = 12
	ep, err := attach(t)
	if err != nil {
		return err
	}
	var work []func() error
	var group errgroup.Group
	for range teams {
		team, err := ep.World().Split(&ep.Context, 0, 0)
		if err != nil {
			return err
		}
		c := ep.NewContext()
		work = append(work, func() error { return useTeam(t, c, team) })
	}
	if t.Rank()%2 == 1 {
		slices.Reverse(work)
	}
	for _, f := range work {
		group.Go(f)
	}
	return errorsOf(t, group.Wait())
}

// useTeam does a bit of everything with a team.
func useTeam(t *coretest.T, c *extended.Context, team *extended.Team) error {
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	for round := range t.Times(8) {
		for _, n := range []int{8, 20000} {
			b := make([]byte, n)
			copy(b, put64(uint64(round)))
			if err := team.AllReduce(c, b, b, add); err != nil {
				return err
			}
			if got, want := get64(b), uint64(round*team.Size()); got != want {
				return fmt.Errorf("round %d: sum %d, want %d", round, got, want)
			}
		}
		if err := team.Barrier(c); err != nil {
			return err
		}
		part, err := team.Split(c, 0, team.Rank())
		if err != nil {
			return err
		}
		if err := part.Barrier(c); err != nil {
			return err
		}
		if err := part.Free(c); err != nil {
			return err
		}
	}
	return nil
}
