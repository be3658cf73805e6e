package exttest

import (
	"errors"
	"runtime"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

// hangs are calls of two ranks that wait for each other for ever; rank 0 makes the first, and rank 1 the
// second, which is nil if it returns.
var hangs = []struct {
	name  string
	says  []string
	calls [2]func(c *extended.Context, pair *extended.Team) error
}{
	{"returned-barrier", []string{"barrier 1 of world", "rank 1", "has returned"}, [2]func(*extended.Context, *extended.Team) error{worldBarrier, nil}},
	{"returned-collective", []string{"AllReduce of 8 bytes", "rank 1", "has returned"}, [2]func(*extended.Context, *extended.Team) error{worldSum, nil}},
	{"returned-team", []string{"barrier 1 of team 0.1 of 2", "rank 1", "has returned"}, [2]func(*extended.Context, *extended.Team) error{teamBarrier, nil}},
	{"barrier-collective", []string{"barrier 1 of world", "AllReduce of 8 bytes"}, [2]func(*extended.Context, *extended.Team) error{worldBarrier, worldSum}},
	{"core-barrier", []string{"barrier 1 of the Core API", "barrier 1 of world"}, [2]func(*extended.Context, *extended.Team) error{coreBarrier, worldBarrier}},
	{"core-collective", []string{"barrier 1 of the Core API", "AllReduce of 8 bytes"}, [2]func(*extended.Context, *extended.Team) error{coreBarrier, worldSum}},
	{"segment-barrier", []string{"rank 0 waits for AttachSegment", "barrier 1 of world"}, [2]func(*extended.Context, *extended.Team) error{attachSegment, worldBarrier}},
	{"teams", []string{"barrier 1 of team 0.1 of 2", "barrier 1 of world"}, [2]func(*extended.Context, *extended.Team) error{teamBarrier, worldBarrier}},
}

func worldBarrier(c *extended.Context, _ *extended.Team) error  { return c.Barrier() }
func coreBarrier(c *extended.Context, _ *extended.Team) error   { return c.Context.Barrier() }
func attachSegment(c *extended.Context, _ *extended.Team) error { return c.AttachSegment("4096") }
func teamBarrier(c *extended.Context, pair *extended.Team) error {
	return pair.Barrier(c)
}

func worldSum(c *extended.Context, _ *extended.Team) error {
	b := make([]byte, 8)
	return c.Endpoint().World().AllReduce(c, b, b, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
}

// hangCases returns a case for each, and those of what is reported when nothing ends a hang.
func hangCases() []coretest.Case {
	cases := []coretest.Case{{
		Name:  "hang/reported",
		Rule:  "a wait that takes long is reported, with the member that lacks and where it is; the job goes on",
		Ranks: []int{3}, Needs: coretest.Live, Config: lenientStall, Body: hangReported, Want: says(0, "rank 0 has waited for ", "barrier 1 of team 0.1 of 2, which rank 1 has not reached: rank 1 has returned"),
	}, {
		Name:  "hang/silent",
		Rule:  "a rank that computes meanwhile is said not to poll",
		Ranks: []int{2}, Needs: coretest.Live, Config: briefStall, Body: hangSilent, Want: says(0, "rank 0 has waited for ", "barrier 1 of world, of which rank 1 says nothing: rank 1 has not polled;", "rank 1 has not polled for "),
	}, {
		Name:  "hang/peer",
		Rule:  "of an operation that one peer has to answer it is reported which",
		Ranks: []int{2}, Needs: coretest.Live, Config: lenientStall, Body: hangPeer, Want: says(0, "rank 0 has waited for ", unanswered),
	}}
	for _, h := range hangs {
		cases = append(cases, coretest.Case{
			Name:   "hang/" + h.name,
			Rule:   "in debug mode, ranks that wait for each other for ever end the job, with the calls of both",
			Ranks:  []int{2},
			Config: func(cfg *core.Config) { cfg.Debug, cfg.Stall = true, briefly },
			Want:   says(1, h.says...),
			Body: func(t *coretest.T) error {
				ep, err := extended.Attach(t.Job, core.AttachSpec{SegmentLater: true})
				if err != nil {
					return err
				}
				pair, err := ep.World().Split(&ep.Context, 0, 0)
				if call := h.calls[t.Rank()]; err == nil && call != nil {
					err = call(&ep.Context, pair)
				}
				return err
			},
		})
	}
	return cases
}

// says wants a status, and words in what was said.
func says(status int, words ...string) func(*coretest.Outcome) error {
	return func(o *coretest.Outcome) error {
		if o.Status != status {
			return errors.New("it ended with another status")
		}
		return o.Says(words...)
	}
}

// briefly is how long a wait takes here before it is looked into.
const briefly = 20 * time.Millisecond

func briefStall(cfg *core.Config) { cfg.Stall = briefly }

// lenientStall is briefStall where the job goes on, which in debug mode it does not.
func lenientStall(cfg *core.Config) { cfg.Stall, cfg.Debug = briefly, false }

// hangReported has rank 0 wait in a barrier of a team of two of which the other has returned. Rank 2
// ends the job when that is reported.
func hangReported(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	color := 0
	if t.Rank() == 2 {
		color = -1
	}
	pair, err := ep.World().Split(&ep.Context, color, 0)
	if err != nil || t.Rank() == 1 {
		return err
	}
	if t.Rank() == 0 {
		return pair.Barrier(&ep.Context)
	}
	for !t.Said("which rank 1 has not reached: rank 1 has returned") {
		if err := ep.Poll(); err != nil {
			return err
		}
		runtime.Gosched()
	}
	t.Exit(0)
	return nil
}

// hangSilent has rank 1 come to a barrier only when it is reported that it does not.
func hangSilent(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	for t.Rank() == 1 && !t.Said("barrier 1 of world, of which rank 1 says nothing") {
		runtime.Gosched()
	}
	return ep.Barrier()
}

const unanswered = "for GetValue at rank 1"

// hangPeer has rank 1 answer only when it is reported that it does not. Where values are read without it, rank 0 waits for
// its message by the same name.
func hangPeer(t *coretest.T) error {
	answered := false
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { answered = true })
	if err != nil {
		return err
	}
	if t.Rank() == 0 {
		_, err = ep.GetValue(1, 0, 8)
		return errors.Join(err, ep.WaitPeer("GetValue", 1, func() bool { return answered }))
	}
	for !t.Said(unanswered) {
		runtime.Gosched()
	}
	return ep.RequestShort(0, core.ClientHandlers)
}
