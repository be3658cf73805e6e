package conduit_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

const (
	onAsk    core.HandlerIndex = 128
	onAnswer core.HandlerIndex = 129
	onTell   core.HandlerIndex = 130
)

// handlers answer requests by a Medium as long as they are asked for, and count answers and what is told.
func handlers(answers, told *int) core.AttachSpec {
	return core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onAsk, Func: func(tok *core.Token, args []uint32, _ []byte) {
			if err := tok.ReplyMedium(onAnswer, make([]byte, args[0])); err != nil {
				panic(err)
			}
		}},
		{Index: onAnswer, Func: func(*core.Token, []uint32, []byte) { *answers++ }},
		{Index: onTell, Func: func(*core.Token, []uint32, []byte) { *told++ }},
	}}
}

// TestLargest runs the largest job of each system, in which every rank asks its right neighbour and one far away, and has one rank more
// refused, with the reason and the number that there may be. The original Active Messages have no largest job.
func TestLargest(t *testing.T) {
	t.Parallel()
	ask := func(j *core.Job) error {
		var answers, told int
		ep, err := j.Attach(handlers(&answers, &told))
		if err != nil {
			return err
		}
		for _, d := range []int{1, j.Size() / 2} {
			most := ep.Limits().MaxMediumRequest
			if err := ep.RequestMedium(core.Rank((int(j.Rank())+d)%j.Size()), onAsk, make([]byte, most), uint32(most)); err != nil {
				return err
			}
		}
		return errors.Join(ep.WaitUntil(func() bool { return answers >= 2 }), ep.Barrier())
	}
	many := 1024
	if shm.RaceEnabled {
		many = 64
	}
	for _, c := range []struct {
		system, lines string
		ranks         int
		says          []string // of one rank more; none: there may be
	}{
		{"am", "am.message 640 B assumed for the test", many, nil},
		{"amii", "", 100, nil},
		{"hpam", "", 4, []string{"hp735", "5 workstations need 32 receive buffers", "24", "enough for 4"}},
		{"hpam", "hpam.pool 32 count assumed for the test", 5, []string{"6 workstations need 40 receive buffers", "32", "enough for 5"}},
		{"ssam", "", 10, []string{"sba100", "no room for 11 ranks", "run fewer"}},
	} {
		if err := core.RunModel(c.ranks, on(t, c.system, c.lines), ask); err != nil {
			t.Errorf("%d ranks over %s: %v", c.ranks, c.system, err)
		}
		if c.says == nil {
			continue
		}
		cfg := on(t, c.system, c.lines)
		d, err := core.DriverByName(c.system)
		if err != nil {
			t.Fatal(err)
		}
		machine, err := d.ModelProfile(cfg.Profile)
		if err != nil {
			t.Fatal(err)
		}
		early := d.Fits(machine, c.ranks+1, nil)
		if fits := d.Fits(machine, c.ranks, nil); fits != nil || early == nil {
			t.Errorf("before a job of %d ranks over %s: %v; of one more: %v", c.ranks, c.system, fits, early)
		}
		err = core.RunModel(c.ranks+1, cfg, ask)
		if err == nil {
			t.Errorf("%d ranks over %s are not refused", c.ranks+1, c.system)
			continue
		}
		for _, words := range c.says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%d ranks over %s: %v; it does not say %q", c.ranks+1, c.system, err, words)
			}
		}
	}
}

// TestRefused has machines refused on which a system cannot promise what core demands.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ system, lines, says string }{
		{"am", "net.networks 1 count assumed for the test", "2 are needed"},
		{"am", "am.message 500 B assumed for the test", "no room for 2 ranks"},
		{"am", "am.replies 0 count assumed for the test", "am.replies is 0"},
		{"am", "am.poll 0 ns assumed for the test", "am.poll must take time"},
		{"amii", "am2.fragment 560 B assumed for the test", "no room for 2 ranks"},
		{"amii", "sram.size 128 KB assumed for the test", "SRAM"},
		{"amii", "am2.depth 0 count assumed for the test", "am2"},
		{"hpam", "ring.lose 1 ppm assumed for the test", "ring.lose is more than 0"},
		{"hpam", "hpam.pool 7 count assumed for the test", "2 workstations need 8 receive buffers, but hpam.pool is 7, which is enough for 1"},
		{"hpam", "hpam.payload 580 B assumed for the test", "no room for 2 ranks"},
		{"ssam", "ssam.message 500 B assumed for the test", "no room for 2 ranks"},
		{"ssam", "card.input 28 count assumed for the test", "no room for 2 ranks"},
	} {
		err := core.RunModel(2, on(t, c.system, c.lines), func(j *core.Job) error {
			_, err := j.Attach(core.AttachSpec{})
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s with %s: %v; want %q", c.system, c.lines, err, c.says)
		}
	}
	for _, path := range []string{"nope", "/nonexistent/x.machine"} {
		if err := core.RunModel(2, core.Config{Conduit: "hpam", Profile: path}, func(*core.Job) error { return nil }); err == nil || !strings.Contains(err.Error(), "model hpam/"+path) {
			t.Errorf("machine %s: %v", path, err)
		}
	}
}

// TestNobodyIsHeldUp has rank 1 ask rank 0 for more than there is room for on the way back, and compute. Meanwhile rank 0
// answers what it can, and ranks 0 and 2 talk as if nothing were.
func TestNobodyIsHeldUp(t *testing.T) {
	t.Parallel()
	const computes = time.Second
	for _, system := range []string{"am", "amii", "hpam", "ssam"} {
		cfg := on(t, system, "")
		var ends core.Time
		err := coretest.Twice(t, 3, cfg, func(j *core.Job) error {
			var answers, told int
			ep, err := j.Attach(handlers(&answers, &told))
			if err != nil {
				return err
			}
			most := uint32(ep.Limits().MaxMediumReply)
			switch j.Rank() {
			case 1:
				for sent := 0; sent < 4; sent++ {
					if err := ep.RequestShort(0, onAsk, most); err != nil {
						return err
					}
				}
				if err := ep.RequestShort(2, onTell); err != nil {
					return err
				}
				j.Compute(computes)
				return ep.WaitUntil(func() bool { return answers >= 4 })
			case 2:
				if err := ep.WaitUntil(func() bool { return told >= 1 }); err != nil {
					return err
				}
				for i := range 20 {
					if err := errors.Join(ep.RequestShort(0, onAsk, most), ep.WaitUntil(func() bool { return answers > i })); err != nil {
						return err
					}
				}
				ends = j.Now()
				return ep.RequestShort(0, onTell)
			default:
				return ep.WaitUntil(func() bool { return told >= 1 })
			}
		})
		if err != nil {
			t.Errorf("%s: %v", system, err)
		}
		if ends.Duration() > computes/2 {
			t.Errorf("%s: ranks 0 and 2 are done after %v, with rank 1", system, ends)
		}
	}
}

// TestFloodGivesWay has rank 0 send to rank 1, which takes long for each, until the handler of a request from rank 1 has run, whose
// reply needs much room. Polls that did not end while something comes would keep rank 1 from asking.
func TestFloodGivesWay(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"am", "amii", "hpam", "ssam"} {
		sent := 0
		err := coretest.Twice(t, 4, on(t, system, ""), func(j *core.Job) error {
			var answers, told, asked int
			spec := handlers(&answers, &told)
			ask := spec.Handlers[0].Func
			spec.Handlers[0].Func = func(tok *core.Token, args []uint32, data []byte) { asked++; ask(tok, args, data) }
			spec.Handlers[2].Func = func(*core.Token, []uint32, []byte) { told++; j.Compute(100 * time.Microsecond) }
			ep, err := j.Attach(spec)
			if err != nil {
				return err
			}
			switch j.Rank() {
			case 0:
				for sent = 0; asked == 0; sent++ {
					if sent == 2000 {
						return fmt.Errorf("%d messages to rank 1, and its request has not been taken", sent)
					}
					if err := ep.RequestMedium(1, onTell, make([]byte, 100)); err != nil {
						return err
					}
				}
			case 1:
				return errors.Join(ep.WaitUntil(func() bool { return told >= 50 }),
					ep.RequestShort(0, onAsk, uint32(ep.Limits().MaxMediumReply)), ep.WaitUntil(func() bool { return answers == 1 }))
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
}

// half returns half of a round trip of Shorts, or of Longs of size bytes.
func half(t *testing.T, cfg core.Config, size int) (took core.Time) {
	t.Helper()
	const rounds = 20
	err := core.RunModel(2, cfg, func(j *core.Job) error {
		answers := 0
		data := make([]byte, size)
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onAsk, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				err := error(nil)
				if size == 0 {
					err = tok.ReplyShort(onAnswer)
				} else {
					err = tok.ReplyLong(onAnswer, data, 0)
				}
				if err != nil {
					panic(err)
				}
			}},
			{Index: onAnswer, Func: func(*core.Token, []uint32, []byte) { answers++ }},
		}})
		if err != nil || j.Rank() == 1 {
			return err
		}
		begin := j.Now()
		for i := range rounds {
			if size == 0 {
				err = ep.RequestShort(1, onAsk)
			} else {
				err = ep.RequestLong(1, onAsk, data, 0)
			}
			if err := errors.Join(err, ep.WaitUntil(func() bool { return answers > i })); err != nil {
				return err
			}
		}
		took = (j.Now() - begin) / (2 * rounds)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return took
}

// TestCosts has a Short take what a message of the system takes, and every step of its mechanism cost what the machine says, as
// often as it happens one way: SSAM's traps to send, to poll after that, and to poll for what comes, the last up to twice more while it waits.
func TestCosts(t *testing.T) {
	t.Parallel()
	const us = core.Time(1e6)
	for _, c := range []struct {
		system      string
		least, most core.Time // of a Short
		lines       string    // one constant more by 10 µs
		size        int
		more, up    core.Time // by which that prolongs a message of size
	}{
		{"am", 9 * us, 11 * us, "am.send 11.6 us assumed for the test", 0, 9 * us, 11 * us},
		{"am", 9 * us, 11 * us, "am.receive 15 us assumed for the test", 0, 9 * us, 11 * us},
		{"am", 9 * us, 11 * us, "memory.copy 10 MB/s assumed for the test", 1000, 50 * us, 100 * us}, // a Long is copied, and a reply by the interrupt too
		{"amii", 14 * us, 22 * us, "host.send 11 us assumed for the test", 0, 9 * us, 11 * us},
		{"amii", 14 * us, 22 * us, "host.receive 11 us assumed for the test", 0, 9 * us, 11 * us},
		{"amii", 14 * us, 22 * us, "steps.accept 532 count assumed for the test", 0, 9 * us, 30 * us},
		{"amii", 14 * us, 22 * us, "host.copy 10 MB/s assumed for the test", 1000, 180 * us, 200 * us}, // by the sender, and to its place
		{"hpam", 11 * us, 15 * us, "hpam.send 12.42 us assumed for the test", 0, 8 * us, 12 * us},
		{"hpam", 11 * us, 15 * us, "hpam.receive 12.42 us assumed for the test", 0, 8 * us, 12 * us},
		{"ssam", 20 * us, 24 * us, "trap.time 11.27 us assumed for the test", 0, 20 * us, 50 * us},
		{"ssam", 20 * us, 24 * us, "memory.copy 40 MB/s assumed for the test", 1000, 24 * us, 38 * us}, // cell by cell at both ends, and to its place; the sender's is hidden in part
	} {
		if short := half(t, on(t, c.system, ""), 0); short < c.least || short > c.most {
			t.Errorf("%s: half a round trip of Shorts takes %v", c.system, short)
		}
		if more := half(t, on(t, c.system, c.lines), c.size) - half(t, on(t, c.system, ""), c.size); more < c.more || more > c.up {
			t.Errorf("%s with %s: half a round trip of %d bytes takes %v more, want %v to %v", c.system, c.lines, c.size, more, c.more, c.up)
		}
	}
}

// TestLimits has the largest payloads be what the READMEs say, less with more ranks where these share a FIFO, and jobs of one and of groups
// be as other jobs.
func TestLimits(t *testing.T) {
	t.Parallel()
	longs := map[string]int{"amii": 1 << 20} // instead of what a Medium has
	for system, want := range map[string]map[int]int{
		"am":   {1: 65472, 2: 65472, 10: 65472},
		"amii": {1: 8128, 2: 8128, 40: 8128},
		"hpam": {1: 4016, 2: 4016, 4: 4016},
		"ssam": {1: 4032, 2: 4032, 3: 2840, 4: 1840, 10: 560},
	} {
		for n, most := range want {
			err := core.RunModel(n, on(t, system, ""), func(j *core.Job) error {
				ep, err := j.Attach(core.AttachSpec{})
				if long := cmp.Or(longs[system], most); err == nil && (ep.Limits().MaxMediumRequest != most || ep.Limits().MaxLongReply != long) {
					return fmt.Errorf("%+v, want %d and %d", ep.Limits(), most, long)
				}
				return err
			})
			if err != nil {
				t.Errorf("%d ranks over %s: %v", n, system, err)
			}
		}
	}
}

// TestReplyRoom has ranks flood all of them, also themselves, with requests that are replied to. Requests wait for room for their replies; that
// room comes back without anything else, and a rank that was not woken by it would sleep for ever.
func TestReplyRoom(t *testing.T) {
	t.Parallel()
	const ranks, each = 4, 30
	err := core.RunModel(ranks, on(t, "amii", "am2.sends 2 count assumed for the test"), func(j *core.Job) error {
		var answers, told int
		ep, err := j.Attach(handlers(&answers, &told))
		if err != nil {
			return err
		}
		for range each {
			for r := range core.Rank(ranks) {
				if err := ep.RequestShort(r, onAsk, 8); err != nil {
					return err
				}
			}
		}
		return errors.Join(ep.WaitUntil(func() bool { return answers == ranks*each }), ep.Barrier())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCutOff has a network in which everything gets lost end the job, with the reason, when AM-II has given up.
func TestCutOff(t *testing.T) {
	t.Parallel()
	lines := "fabric.error.lose 1000000 ppm assumed for the test\nam2.retries 3 count assumed for the test"
	err := core.RunModel(2, on(t, "amii", lines), func(j *core.Job) error {
		var answers, told int
		ep, err := j.Attach(handlers(&answers, &told))
		if err != nil {
			return err
		}
		return errors.Join(ep.RequestShort(1-j.Rank(), onAsk, 8), ep.WaitUntil(func() bool { return answers == 1 }))
	})
	if err == nil || !strings.Contains(err.Error(), "came back") {
		t.Errorf("%v", err)
	}
}
