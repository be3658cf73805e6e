package sci_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestTurnsInVirtualTime has the same job wait by WaitUntil, and in a loop of its own: what happens, and when, is
// the same.
func TestTurnsInVirtualTime(t *testing.T) {
	const request, answer = 128, 129
	trace := func(wait func(*core.Context, func() bool) error) string {
		var out bytes.Buffer
		cfg := on("d339")
		cfg.Trace = &out
		err := core.RunModel(3, cfg, func(j *core.Job) error {
			got := 0
			ep, err := j.Attach(core.AttachSpec{Segment: "4096", Handlers: []core.HandlerEntry{
				{Index: request, Func: func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) }},
				{Index: answer, Func: func(*core.Token, []uint32, []byte) { got++ }},
			}})
			if err != nil {
				return err
			}
			for i := range 50 {
				if err := ep.RequestShort((j.Rank()+1)%3, request); err != nil {
					return err
				}
				if err := wait(&ep.Context, func() bool { return got > i }); err != nil {
					return err
				}
			}
			return ep.Barrier()
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	until := trace((*core.Context).WaitUntil)
	loop := trace(func(c *core.Context, cond func() bool) error {
		for w := c.Turns("WaitUntil"); !cond(); {
			if err := w.Next(); err != nil {
				return err
			}
		}
		return nil
	})
	if until != loop || until == "" {
		t.Errorf("the traces differ, of %d and %d bytes", len(until), len(loop))
	}
}

// TestEventsOfAShort pins how many events a Short of a ring is: those of the sites that serve its 8 packets, which are
// the header's two, three flags, and the three of the answer, and which mostly come to a site in groups; the landings of
// the two flags that wake somebody; and the wake-ups of both ranks. A rank that looks at flags wakes only if something may have come
// until then. Whoever changes the number changes what every modelled message costs the host.
func TestEventsOfAShort(t *testing.T) {
	const ranks, request = 8, 128
	events := func(rounds int) (n uint64) {
		cfg := on("scale")
		cfg.Report = func(r core.ModelReport) { n = r.Events }
		err := core.RunModel(ranks, cfg, func(j *core.Job) error {
			came := 0
			ep, err := j.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
				{Index: request, Func: func(*core.Token, []uint32, []byte) { came++ }},
			}})
			for i := 1; i <= rounds && err == nil; i++ {
				if err = ep.RequestShort((j.Rank()+1)%ranks, request); err == nil {
					err = ep.WaitUntil(func() bool { return came >= i })
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const rounds = 100 // from 10 on all is connected
	each := float64(events(10+rounds)-events(10)) / (rounds * ranks)
	if each != 16 {
		t.Errorf("%v events, want 16", each)
	}
}

// TestStepsOfAScan has the same job run on a machine whose ranks know for some time what they are going to find, and
// on one where they do not, since its drivers connect in no time, and so wake at every step of a
// scan. Counted from the start, all ranks are ready at the same times.
func TestStepsOfAScan(t *testing.T) {
	const ranks, request = 8, 128
	run := func(machine string) (ready [ranks]core.Time, events uint64) {
		cfg := on(machine)
		cfg.Report = func(r core.ModelReport) { events = r.Events }
		err := core.RunModel(ranks, cfg, func(j *core.Job) error {
			came, sent := 0, 0
			ep, err := j.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
				{Index: request, Func: func(*core.Token, []uint32, []byte) { came++ }},
			}})
			start := j.Now()
			random := rand.New(rand.NewPCG(1, uint64(j.Rank())))
			for ; sent < 200 && err == nil; sent++ {
				if dst := core.Rank(random.IntN(ranks)); sent%4 > 0 {
					err = ep.RequestShort(dst, request)
				} else {
					err = ep.RequestMedium(dst, request, make([]byte, random.IntN(900)))
				}
			}
			if err == nil {
				err = ep.Barrier()
			}
			ready[j.Rank()] = j.Now() - start
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return ready, events
	}
	known, few := run("d339")
	unforeseen := filepath.Join(t.TempDir(), "unforeseen.machine")
	if err := os.WriteFile(unforeseen, []byte("base d339\ncall.connect 0 ns assumed for the test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	unknown, many := run(unforeseen)
	if known != unknown || few >= many {
		t.Errorf("ready after %v in %d events, and after %v in %d", known, few, unknown, many)
	}
}
