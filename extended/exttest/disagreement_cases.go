package exttest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

// disagreements are calls that members make with different arguments; debug mode ends the
// job and says both sides' arguments.
var disagreements = []struct {
	name string
	says []string
	call func(c *extended.Context, team *extended.Team, self int) error
}{
	{"length", []string{"8 bytes", "16 bytes"}, func(c *extended.Context, team *extended.Team, self int) error {
		b := make([]byte, 8+8*self)
		return team.AllReduce(c, b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
	}},
	{"root", []string{"Reduce with root 0", "Reduce with root 1"}, func(c *extended.Context, team *extended.Team, self int) error {
		b := make([]byte, 8)
		if err := team.Reduce(c, 1-self, b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Add}); err != nil {
			return err
		}
		return team.Barrier(c) // a root whose answer comes must not leave
	}},
	{"operation", []string{"Barrier", "AllGather of 8 bytes"}, func(c *extended.Context, team *extended.Team, self int) error {
		if self == 0 {
			ev, err := team.BarrierNB(c)
			if err != nil {
				return err
			}
			return c.Wait(ev)
		}
		return team.AllGather(c, make([]byte, 16), make([]byte, 8))
	}},
	{"no-bytes", []string{"Broadcast with root 0 of 8 bytes", "Broadcast with root 0 of 0 bytes"}, func(c *extended.Context, team *extended.Team, self int) error {
		b := make([]byte, 8*self)
		return team.Broadcast(c, 0, b, b)
	}},
	{"roots", []string{"Broadcast with root 0", "Broadcast with root 1"}, func(c *extended.Context, team *extended.Team, self int) error {
		b := make([]byte, 8)
		return team.Broadcast(c, self, b, b)
	}},
	{"lengths", []string{"AllToAllV", "8 bytes", "16"}, func(c *extended.Context, team *extended.Team, self int) error {
		to, from := extended.Blocks{Lens: []int{8, 8}}, extended.Blocks{Lens: []int{8, 8}}
		if self == 1 {
			from.Lens[0] = 16 // member 0 sends 8
		}
		return team.AllToAllV(c, make([]byte, 24), from, make([]byte, 16), to)
	}},
	{"no-block", []string{"AllToAllV", "0 bytes", "8"}, func(c *extended.Context, team *extended.Team, self int) error {
		to, from := extended.Blocks{Lens: []int{0, 0}}, extended.Blocks{Lens: []int{0, 0}}
		if self == 1 {
			from.Lens[0] = 8 // member 0 sends nothing
		}
		return team.AllToAllV(c, make([]byte, 8), from, nil, to)
	}},
	{"operator", []string{"by Add of Uint64", "by Min of Uint64"}, func(c *extended.Context, team *extended.Team, self int) error {
		b := make([]byte, 8)
		r := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
		if self == 1 {
			r.Op = extended.Min
		}
		return team.AllReduce(c, b, b, r)
	}},
}

// disagreementCases returns a case for each.
func disagreementCases() (cases []coretest.Case) {
	for _, d := range disagreements {
		cases = append(cases, coretest.Case{
			Name:   "disagreement/" + d.name,
			Rule:   "in debug mode, collective calls whose arguments differ end the job with both sides' arguments",
			Ranks:  []int{2},
			Config: func(cfg *core.Config) { cfg.Debug = true },
			Body: func(t *coretest.T) error {
				ep, err := attach(t)
				if err != nil {
					return err
				}
				return d.call(&ep.Context, ep.World(), ep.World().Rank())
			},
			Want: func(o *coretest.Outcome) error {
				if o.Status == 0 {
					return fmt.Errorf("the job ended well")
				}
				return o.Says(d.says...)
			},
		})
	}
	return cases
}

var collectiveMisuseCases = []coretest.Case{{
	Name:  "collective/misuse",
	Rule:  "calls that cannot be meant are refused with an error that says what is wrong, and take no part in anything",
	Ranks: []int{2}, Config: lenient, Body: collectiveMisuse,
}}

func collectiveMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	var none *extended.Team
	b := make([]byte, 24)
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	two := extended.Blocks{Lens: []int{8, 8}}
	for i, err := range []error{
		w.Broadcast(c, 2, b, b),
		w.Broadcast(c, -1, b, b),
		w.Broadcast(c, w.Rank(), b, b[:8]),
		none.Broadcast(c, 0, b, b),
		w.Scatter(c, w.Rank(), b, b),
		w.Gather(c, w.Rank(), b, b),
		w.AllGather(c, b, b),
		none.AllGather(c, b, b),
		w.AllToAll(c, b[:16], b[8:]),
		w.AllToAll(c, b[:8], b[8:]),
		w.AllToAll(c, make([]byte, 7), b[:7]),
		none.AllToAll(c, b, b),
		w.AllReduce(c, b[:8], b, add),
		w.AllReduce(c, b[:7], b[:7], add),
		w.AllReduce(c, b, b, extended.Reduction{Type: 99, Op: extended.Add}),
		w.AllReduce(c, b, b, extended.Reduction{Func: func(dst, src []byte) {}}),
		none.Scan(c, b, b, add),
		w.AllToAllV(c, b, extended.Blocks{Lens: []int{8}}, make([]byte, 24), two),
		w.AllToAllV(c, b, two, make([]byte, 24), extended.Blocks{Lens: []int{20, 8}}),
		w.AllToAllV(c, b, two, make([]byte, 24), extended.Blocks{Lens: []int{8, -1}}),
		w.AllToAllV(c, b, two, make([]byte, 24), extended.Blocks{Lens: []int{8, 8}, Offs: []int{0, 17}}),
		w.AllToAllV(c, b, two, b, two),
		w.AllToAllV(c, b, extended.Blocks{Lens: []int{8, 8}, Unit: -1}, make([]byte, 24), two),
		w.AllToAllV(c, b, extended.Blocks{Lens: []int{1, 1 << 61}, Unit: 8}, make([]byte, 24), two),
		w.AllToAllV(c, b, extended.Blocks{Lens: []int{1, 1}, Offs: []int{0, 1 << 61}, Unit: 8}, make([]byte, 24), two),
		w.AllToAllV(c, b, two, make([]byte, 24), extended.Blocks{Lens: []int{7, 7}}),
		w.ScatterV(c, w.Rank(), b, b, extended.Blocks{}),
		w.ScatterV(c, 2, b, b, two),
		none.GatherV(c, 0, b, two, b),
		w.AllGatherV(c, b, two, b[:7]),
	} {
		if err == nil {
			t.Errorf("call %d was accepted", i)
		}
	}
	// The team is as good as new.
	if err := w.AllReduce(c, b, b, add); err != nil {
		return err
	}
	return w.Barrier(c)
}
