package sci

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// attacked runs a job of two ranks and hands act what rank 0 has imported of rank 1's memory.
// Once it has written there, rank 1 does what its program does, and nothing else happens.
// attacked returns how the job ended, which must leave rank 1's memory as it is but for the
// flags that it has taken note of. inHandler, if act sets it, is called by rank 1's handler
// 129.
func attacked[C node](t *testing.T, profile func() C, act func(from C, inHandler *func()), victim func(*core.Endpoint) error) error {
	var inHandler func()
	made := make(chan C, 2)
	name := fmt.Sprint("attacked ", drivers.Add(1))
	core.Register(core.Driver{Name: name, New: func(string) core.Conduit {
		c := profile()
		made <- c
		return c
	}})
	ready, over := make(chan struct{}), make(chan struct{})
	var to C
	return core.RunGoroutines(2, core.Config{Conduit: name, Threads: core.Single, Segment: "4096"}, func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) {}},
			{Index: 129, Func: func(*core.Token, []uint32, []byte) { inHandler() }},
		}})
		if err != nil {
			return err
		}
		if j.Rank() == 0 {
			from := <-made
			if to = <-made; from.common().me != 0 {
				from, to = to, from
			}
			act(from, &inHandler)
			close(ready)
			<-over
			return nil
		}
		defer close(over)
		<-ready
		memory := to.common().arena.Bytes()
		flags := bytes.Clone(to.noted())
		before := bytes.Clone(memory)
		err = victim(ep)
		copy(to.noted(), flags)
		if !bytes.Equal(memory, before) {
			t.Error("memory of the rank has changed")
		}
		return err
	})
}

// node is a rank's end in either profile.
type node interface {
	core.Conduit
	common() *base
	noted() []byte // flags that the rank clears
}

func (b *base) common() *base  { return b }
func (b *base) noted() []byte  { return nil }
func (c *paper) noted() []byte { return c.sets[0].flags }

var drivers atomic.Int32 // their names differ

const accepted = "nobody has noticed anything"

// polls is a program that polls until the job ends.
func polls(ep *core.Endpoint) error {
	for range 100 {
		if err := ep.Poll(); err != nil {
			return err
		}
	}
	return errors.New(accepted)
}

// sends is a program that only sends, until the job ends.
func sends(ep *core.Endpoint) error {
	for range 2 * depth {
		if err := ep.TryShort(0, 128); err == core.ErrNoRoom {
			return polls(ep)
		} else if err != nil {
			return err
		}
	}
	return errors.New("there is no end of room")
}

// checkEnd wants a job that ended because of what rank 0 wrote, and for the given reason, or
// one in which it was accepted.
func checkEnd(t *testing.T, err error, why string) {
	t.Helper()
	who := "rank 1: message from rank 0: "
	if why == accepted {
		who = "rank 1: "
	}
	for _, want := range []string{who, why} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the job ended with %v, which does not say %q", err, want)
		}
	}
}

// header of a message with that many arguments, for a handler that exists.
func header(k core.Kind, reply bool, nargs int) core.Header {
	return core.MakeHeader(128, k, reply, nargs)
}

// forge writes slot number of a lane into rank 1's memory.
func (c *live) forge(l lane, number uint32, word, aux uint64) {
	p := &c.peers[1]
	s := &p.out[l].slots[number]
	s.aux = aux
	shm.Publish64(&s.word, word)
}

// forgeCredit has rank 0 claim to have consumed so much of rank 1's messages.
func (c *live) forgeCredit(l lane, slots, pay uint32) {
	shm.Store64(c.peers[1].in[l].back, credit(slots, pay))
}

func TestHostileLive(t *testing.T) {
	for _, tc := range []struct {
		name string
		lane lane
		hdr  core.Header
		n    int
		flag uint64
		aux  uint64
		want string
	}{
		{"sound short", requests, header(core.Short, false, 16), 0, 0, 0, accepted},
		{"sound inline medium", requests, header(core.Medium, false, 0), slotSize - 16, flagInline, 0, accepted},
		{"sound medium", requests, header(core.Medium, false, 0), 64, 0, 64<<32 | payloadRing - 64, accepted},
		{"sound long", requests, header(core.Long, false, 0), 4096, 0, 0, accepted},
		{"reply among requests", requests, header(core.Short, true, 0), 0, 0, 0, "a short reply, handler 128, 0 arguments among the requests"},
		{"request among replies", replies, header(core.Short, false, 0), 0, 0, 0, "a short request, handler 128, 0 arguments among the replies"},
		{"inline, too long", requests, header(core.Medium, false, 0), slotSize - 15, flagInline, 0, "inline payload of 113 bytes"},
		{"inline after arguments, too long", requests, header(core.Medium, false, 16), 49, flagInline, 0, "inline payload of 49 bytes"},
		{"inline after too many arguments", requests, header(core.Medium, false, 31), 1, flagInline, 0, "inline payload of 1 bytes"},
		{"inline, a negative length", requests, header(core.Medium, false, 0), -1, flagInline, 0, "inline payload of"},
		{"payload past the ring", requests, header(core.Medium, false, 0), 64, 0, 64<<32 | payloadRing - 63, "64 bytes at 262081"},
		{"payload far away", requests, header(core.Medium, false, 0), 64, 0, 64<<32 | 0xffffffff, "64 bytes at 4294967295"},
		{"payload too long", requests, header(core.Medium, false, 0), maxMedium + 1, 0, payloadRing << 32, "65537 bytes at 0"},
		{"takes less than its payload", requests, header(core.Medium, false, 0), 64, 0, 63 << 32, "64 bytes at 0"},
		{"takes more than there is", replies, header(core.Medium, true, 0), 64, 0, (payloadRing + 1) << 32, "64 bytes at 0"},
		{"long past the segment", requests, header(core.Long, false, 0), 4097, 0, 0, "outside the segment"},
		{"long behind the segment", requests, header(core.Long, false, 0), 0, 0, 4097, "outside the segment"},
		{"long that wraps", replies, header(core.Long, true, 0), 2, 0, ^uint64(0), "outside the segment"},
		{"unknown category", requests, header(3, false, 0), 0, 0, 0, "no such category"},
		{"17 arguments", requests, header(core.Short, false, 17), 0, 0, 0, "too many arguments"},
		{"31 arguments", replies, header(core.Long, true, 31), 0, 0, 0, "too many arguments"},
		{"no such handler", requests, core.MakeHeader(255, core.Short, false, 0), 0, 0, 0, "no handler is registered"},
		{"handler 0", requests, core.MakeHeader(0, core.Short, false, 0), 0, 0, 0, "no handler is registered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := attacked(t, newLive, func(c *live, _ *func()) {
				c.forge(tc.lane, 0, slotWord(0, tc.hdr, tc.n, tc.flag), tc.aux)
			}, polls)
			checkEnd(t, err, tc.want)
		})
	}
}

func TestHostileCredits(t *testing.T) {
	for _, tc := range []struct {
		name       string
		slots, pay uint32
	}{
		{"a slot too many", depth + 1, 0},
		{"all that there are", 1<<32 - 1, 0},
		{"payload that was not sent", depth, 64},
		{"payload alone", 0, 1<<32 - 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := attacked(t, newLive, func(c *live, _ *func()) {
				c.forgeCredit(requests, tc.slots, tc.pay)
			}, sends)
			checkEnd(t, err, fmt.Sprintf("it returned %d slots of 256 and %d payload bytes of 0", tc.slots, tc.pay))
		})
	}
}

// slow handles one message a poll, so that others stay in its work queue.
type slow struct{ *paper }

func newSlow() slow { return slow{newPaper()} }

func (s slow) Poll(int) int { return s.paper.Poll(1) }

// forge writes message number into rank 1's memory and raises its flag.
func (c *paper) forge(number int, flag uint8, hdr core.Header, n int, off uint32) {
	p := c.senders[1]
	m := (*command)(p.command(number))
	m.hdr, m.size, m.more, m.pointer = hdr, uint16(n), uint16(n>>16), off
	c.raise(p, number, flag)
}

func TestHostilePaper(t *testing.T) {
	for _, tc := range []struct {
		name   string
		number int
		flag   uint8
		hdr    core.Header
		n      int
		off    uint32
		want   string
	}{
		{"sound short", 0, flagShort, header(core.Short, false, 16), 0, 0, accepted},
		{"sound medium", 1, flagMedium, header(core.Medium, false, 0), paperMedium, 0, accepted},
		{"sound long", 0, flagLong, header(core.Long, false, 0), 4096, 0, accepted},
		{"sound reply", 2, flagShort, header(core.Short, true, 0), 0, 0, accepted},
		{"flag below the defined", 0, flagShort - 1, header(core.Short, false, 0), 0, 0, "flag 9 for message 0"},
		{"flag above the defined", 2, flagControl + 1, header(core.Short, true, 0), 0, 0, "flag 14 for message 2"},
		{"control reply for a request's place", 1, flagControl, header(core.Short, false, 0), 0, 0, "flag 13 for message 1"},
		{"reply in a request's place", 1, flagShort, header(core.Short, true, 0), 0, 0, "a short reply, handler 128, 0 arguments as message 1"},
		{"request in a reply's place", 3, flagShort, header(core.Short, false, 0), 0, 0, "a short request, handler 128, 0 arguments as message 3"},
		{"medium too long", 0, flagMedium, header(core.Medium, false, 0), paperMedium + 1, 0, "a Medium of 945 bytes"},
		{"medium of 64 KiB", 3, flagMedium, header(core.Medium, true, 0), 1 << 16, 0, "a Medium of 65536 bytes"},
		{"long past the segment", 0, flagLong, header(core.Long, false, 0), 8, 4089, "outside the segment"},
		{"long by DMA past the segment", 0, flagLong, header(core.Long, false, 0), 1001, 3096, "outside the segment"},
		{"long of 4 GB", 0, flagLong, header(core.Long, false, 0), 1<<32 - 1, 1, "outside the segment"},
		{"long behind the segment", 2, flagLong, header(core.Long, true, 0), 0, 1<<32 - 1, "outside the segment"},
		{"unknown category", 0, flagLong, header(3, false, 0), 0, 0, "no such category"},
		{"17 arguments", 0, flagShort, header(core.Short, false, 17), 0, 0, "too many arguments"},
		{"no such handler", 0, flagShort, core.MakeHeader(255, core.Short, false, 0), 0, 0, "no handler is registered"},
		{"handler 0", 2, flagShort, core.MakeHeader(0, core.Short, true, 0), 0, 0, "no handler is registered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := attacked(t, newSlow, func(c slow, _ *func()) {
				c.forge(tc.number, tc.flag, tc.hdr, tc.n, tc.off)
			}, polls)
			checkEnd(t, err, tc.want)
		})
	}
}

// TestHostileDouble raises the flag of a message that is in the work queue.
func TestHostileDouble(t *testing.T) {
	err := attacked(t, newSlow, func(c slow, inHandler *func()) {
		*inHandler = func() { c.raise(c.senders[1], 1, flagShort) }
		c.forge(0, flagShort, core.MakeHeader(129, core.Short, false, 0), 0, 0)
		c.forge(1, flagShort, header(core.Short, false, 0), 0, 0)
	}, polls)
	checkEnd(t, err, "flag 10 for message 1")
}
