package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A call that ranks execute over modelled loopback, and its schedule on LogGP, agree:
//
//   - A message of a collective counts 8 bytes of header and 8 arguments on a link, besides
//     its payload. That is a gap, and part of the latency.
//   - Software takes no time there, but for a poll. A rank that waits looks into its inbox on a
//     grid of 5 ns. A message that arrives at a point of it is seen by the poll that begins
//     there, 5 ns later: which is latency, too, since the poll takes in all that has come.
//   - A message between two points is seen less than 10 ns after it came; one that comes while
//     a rank polls on, having just seen another, sooner than 5 ns. As all that happens to
//     times is maximum and addition, the call then ends between those of 0 and 10 ns.
//
// Not covered are calls in which a member gets 64 messages from another, or 64 KiB in parts of
// 1 KiB: the engine then returns credit, a message of its own; nor more than 32 messages
// that arrive together, which one poll does not take in.
const (
	messageBytes = 8 + 4*8
	poll         = 5 * vtime.Nanosecond
)

// loopbackAs returns what LogGP must be to be loopback, and a look after that time.
func loopbackAs(latency, perByte, look vtime.Time) cost.LogGP {
	gap := messageBytes * perByte
	return cost.LogGP{Latency: latency + gap + look, SendGap: gap, ByteGap: cost.Rate(perByte)}
}

// execute has n ranks make a call, and returns when each began and ended it.
func execute(t *testing.T, n int, op coll.Op, size int, algorithm string, settings map[string]string) (start, end []vtime.Time) {
	t.Helper()
	start, end = make([]vtime.Time, n), make([]vtime.Time, n)
	err := aqueduct.Launch(func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "0"})
		if err != nil {
			return err
		}
		dst, src := make([]byte, size), make([]byte, size)
		if err := settle(job, ep); err != nil {
			return err
		}
		start[job.Rank()] = vtime.Time(job.Now())
		switch op {
		case coll.Barrier:
			err = barrier(ep)
		case coll.Broadcast:
			err = ep.World().Broadcast(&ep.Context, 0, dst, src)
		case coll.AllReduce:
			err = ep.World().AllReduce(&ep.Context, dst, src, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
		default:
			err = fmt.Errorf("operation %v", op)
		}
		end[job.Rank()] = vtime.Time(job.Now())
		return err
	}, aqueduct.Config(core.Config{Settings: settings, Collectives: algorithm, Threads: core.Single}), aqueduct.Model("loopback", n))
	if err != nil {
		t.Fatal(err)
	}
	return start, end
}

// barrier is a barrier by a schedule, which Team.Barrier is not.
func barrier(ep *extended.Endpoint) error {
	ev, err := ep.World().BarrierNB(&ep.Context)
	if err != nil {
		return err
	}
	return ep.Wait(ev)
}

// settle waits until nothing is under way any more: what attaching leaves on the links of
// some ranks their part of a barrier waits for, and the barrier's own messages take less than
// this rank then polls.
func settle(job *core.Job, ep *extended.Endpoint) error {
	if err := barrier(ep); err != nil {
		return err
	}
	for until := vtime.Time(job.Now()) + 20*vtime.Microsecond; vtime.Time(job.Now()) < until; {
		if err := ep.Poll(); err != nil {
			return err
		}
	}
	return nil
}

// schedule returns when each rank ends the call on a model.
func schedule(t *testing.T, n int, op coll.Op, size int, algorithm string, p cost.Profile, start []vtime.Time) []vtime.Time {
	t.Helper()
	forced, err := coll.ParseForced(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	end := make([]vtime.Time, n)
	c := coll.Call{Op: op, N: n, Bytes: size, Elem: 8, Commutes: true}
	if _, err := (&cost.Simulation{Ranks: n, Schedules: cost.Collective(c, forced[op]), Model: p.Model(n), Start: start, End: end}).Run(); err != nil {
		t.Fatal(err)
	}
	return end
}

var calls = []struct {
	op        coll.Op
	size      int
	algorithm string
}{
	{coll.Barrier, 0, "barrier=dissemination:2"},
	{coll.Barrier, 0, "barrier=dissemination:4"},
	{coll.Broadcast, 8, "broadcast=knomial:2"},
	{coll.Broadcast, 1000, "broadcast=knomial:3"},
	{coll.Broadcast, 4096, "broadcast=chain:512"},
	{coll.AllReduce, 8, "allreduce=doubling"},
	{coll.AllReduce, 4096, "allreduce=halving"},
	{coll.AllReduce, 64, "allreduce=knomial:2"},
}

// TestAgreeExactly has a network on the grid of polls, and wants equal times of every rank.
func TestAgreeExactly(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	settings := map[string]string{"latency": "1us", "rate": "2e8"} // 5 ns a byte
	p := loopbackAs(vtime.Microsecond, 5*vtime.Nanosecond, poll)
	for _, c := range calls {
		ranks := []int{2, 3, 8, 37, 64}
		if c.op == coll.Barrier || c.size == 8 {
			ranks = append(ranks, 512)
		}
		for _, n := range ranks {
			start, end := execute(t, n, c.op, c.size, c.algorithm, settings)
			if want := schedule(t, n, c.op, c.size, c.algorithm, p, start); !slices.Equal(end, want) {
				t.Errorf("%s of %d ranks and %d bytes: executed\n%s\nscheduled\n%s", c.algorithm, n, c.size, some(end), some(want))
			}
		}
	}
}

// TestAgreeClosely has a network off the grid, and wants every rank's time within the polls.
func TestAgreeClosely(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	settings := map[string]string{"latency": "1003ns", "rate": "1e9"}
	least, most := loopbackAs(1003*vtime.Nanosecond, vtime.Nanosecond, 0), loopbackAs(1003*vtime.Nanosecond, vtime.Nanosecond, 2*poll)
	for _, c := range calls {
		for _, n := range []int{2, 5, 64} {
			start, end := execute(t, n, c.op, c.size, c.algorithm, settings)
			low, high := schedule(t, n, c.op, c.size, c.algorithm, least, start), schedule(t, n, c.op, c.size, c.algorithm, most, start)
			for i, at := range end {
				if at < low[i] || at > high[i] {
					t.Errorf("%s of %d ranks and %d bytes: rank %d ends at %v, want %v to %v", c.algorithm, n, c.size, i, at, low[i], high[i])
				}
			}
		}
	}
}

// some prints the first times.
func some(times []vtime.Time) string {
	return strings.Trim(fmt.Sprint(times[:min(len(times), 16)]), "[]")
}
