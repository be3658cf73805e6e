package exttest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

var nativeCases = []coretest.Case{{
	Name:  "native/no-messages",
	Rule:  "what the network carries out itself sends no message",
	Ranks: []int{2, 3}, When: takesAll, Body: nativeNoMessages,
}, {
	Name:  "native/domains",
	Rule:  "a domain takes one path for all its operations: the network's only if that has all of them on the type for every member",
	Ranks: []int{2, 3}, Body: nativeDomains,
}, {
	Name:  "native/tickets",
	Rule:  "numbers that all draw from one word are drawn once each, whoever adds; whoever puts the word before finds what it has put",
	Ranks: []int{1, 2, 3}, Body: nativeTickets,
}, {
	Name:  "native/collectives",
	Rule:  "calls of the world go to a network that has them, and send no message; other teams', and what it does not have or an algorithm is forced upon, do, beside and between them",
	Ranks: []int{2, 3, 4}, Config: func(cfg *core.Config) { cfg.Debug = false }, When: collects, Body: nativeCollectives,
}, {
	Name:  "native/collectives-allocation",
	Rule:  "collective calls that the network carries out allocate nothing",
	Ranks: []int{2, 3}, Needs: coretest.Plain, Config: awake, When: collects, Body: nativeCollectivesAllocation,
}, {
	Name:  "native/off",
	Rule:  "with Config.NoNative nothing is left to the network",
	Ranks: []int{2}, Config: func(cfg *core.Config) { cfg.NoNative = true }, When: far, Body: nativeOff,
}}

// requests returns how many requests the rank has sent to another.
func requests(ep *extended.Endpoint, dst core.Rank) uint64 { return ep.Core().Counts(dst).Requests }

// large is the size of transfers that a network must take whole for takesAll.
const large = 20000

// far reports whether the memory of peers is not reached directly.
func far(_ *coretest.T, ep *core.Endpoint) bool { return !ep.Reaches() }

// takesAll reports whether the network takes puts and gets of every size.
func takesAll(t *coretest.T, ep *core.Endpoint) bool {
	return far(t, ep) && min(ep.MaxNativePut(), ep.MaxNativeGet()) >= large && declines(t) == 0
}

// collects reports whether the network has collective operations and has been set to carry out all
// it can.
func collects(t *coretest.T, ep *core.Endpoint) bool {
	return ep.MaxNativeCollective() != 0 && t.Config().Settings["collectives"] == "native"
}

// nativeNoMessages counts the messages of calls in every form that the network can take whole.
func nativeNoMessages(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	const n = large
	src, dst := bytes.Repeat([]byte{7}, n), make([]byte, n)
	calls := transfers(c, next, src)
	calls = append(calls, transfers(c, next, src[:100])...)
	calls = append(calls, transfers(c, next, src[:8])...)
	whole, pieces := []extended.Extent{{Len: n}}, []extended.Extent{{Off: 64, Len: n / 2}, {Off: 40000, Len: n / 2}}
	calls = append(calls,
		call{"PutValue", func() error { return c.PutValue(next, 64, 7, 8) }},
		call{"PutValueNBI", func() error { return waitNBI(c, c.PutValueNBI(next, 64, 7, 5)) }},
		call{"GetValue", func() error { _, err := c.GetValue(next, 64, 8); return err }},
		call{"Memset", func() error { return c.Memset(next, 64, 7, 4096) }},
		call{"PutVector", func() error { return c.PutVector(next, pieces, src, whole) }},
		call{"GetVector", func() error { return c.GetVector(dst, whole, next, pieces) }},
	)
	for _, x := range calls {
		before := requests(ep, next)
		if err := x.once(); err != nil {
			return err
		}
		if k := requests(ep, next) - before; k > 0 {
			t.Errorf("%s sent %d messages", x.name, k)
		}
	}
	if !bytes.Equal(dst, src) {
		t.Errorf("pieces that were put and got are not the same")
	}
	return errorsOf(t, ep.Barrier())
}

// declines returns the size of transfers below which loopback has been set to decline them; of
// other conduits nothing is known, and they are left out.
func declines(t *coretest.T) int {
	if cfg := t.Config(); cfg.Conduit != "loopback" || cfg.Settings["native-least"] != "" {
		return 1
	}
	return 0
}

func nativeDomains(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for _, typ := range []extended.Type{extended.Int32, extended.Uint64, extended.Float64} {
		for _, ops := range []extended.Op{extended.Get | extended.Set, extended.FAdd | extended.Get | extended.Set, typ.Ops()} {
			d, err := extended.NewDomain(c, w, typ, ops)
			if err != nil {
				return err
			}
			has := extended.Op(ep.Core().NativeOps(core.ElementType(typ)))
			if want := has&ops == ops && !d.InPlace(); d.Offloaded() != want {
				t.Errorf("a domain of %v with %v, of which the network has %v, is offloaded: %v", typ, ops, has&ops, d.Offloaded())
			}
			before := requests(ep, t.Next())
			off := 64 + 64*uint64(t.Rank())
			if _, err := d.Do(c, int(t.Next()), off, extended.Set, 5, 0); err != nil {
				return err
			}
			x, err := d.Do(c, int(t.Next()), off, extended.Get, 0, 0)
			if err != nil {
				return err
			}
			if k := requests(ep, t.Next()) - before; x != 5 || (k > 0) == (d.Offloaded() || d.InPlace()) {
				t.Errorf("set 5, got %d by %d messages; offloaded: %v, in place: %v", x, k, d.Offloaded(), d.InPlace())
			}
			if err := d.Free(c); err != nil {
				return err
			}
		}
	}
	return errorsOf(t, nil)
}

// nativeTickets asks for no more than fetch-and-add, which is what some networks have.
func nativeTickets(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	const draws, ops = 30, extended.FAdd | extended.Add | extended.Get
	for _, typ := range []extended.Type{extended.Int32, extended.Uint64} {
		d, err := extended.NewDomain(c, w, typ, ops)
		if err != nil {
			return err
		}
		if has := extended.Op(ep.Core().NativeOps(core.ElementType(typ))); d.Offloaded() != (has&ops == ops && !d.InPlace()) {
			t.Errorf("a domain of %v with %v, of which the network has %v, is offloaded: %v", typ, ops, has&ops, d.Offloaded())
		}
		const first, marks = 1000, 4096 // the first number, and where those that were drawn are marked
		word, size := uint64(typ)*64, typ.Size()
		if t.Rank() == 0 {
			if err := c.PutValue(0, word, first, size); err != nil {
				return err
			}
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		for range draws {
			n, err := d.Do(c, 0, word, extended.FAdd, 1, 0)
			if err != nil {
				return err
			}
			if _, err := d.Do(c, 0, marks+(n-first)*uint64(size), extended.Add, 1, 0); err != nil {
				return err
			}
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
		for i := range uint64(draws * t.Size()) {
			n, err := d.Do(c, 0, marks+i*uint64(size), extended.Get, 0, 0)
			if err != nil {
				return err
			}
			if n != 1 {
				t.Errorf("%v: %d was drawn %d times", typ, first+i, n)
			}
		}
		if err := d.Free(c); err != nil {
			return err
		}
		if t.Rank() == 0 {
			clear(ep.Segment()[marks : marks+8*draws*t.Size()])
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return errorsOf(t, nil)
}

// worldCalls are calls of a team that a network may have, with n bytes of each member for each, and
// of a reduction.
func worldCalls(c *extended.Context, w *extended.Team, n int) []call {
	one, all, all2 := make([]byte, n), make([]byte, n*w.Size()), make([]byte, n*w.Size())
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	return []call{
		{"BarrierNB", func() error { ev, err := w.BarrierNB(c); return wait(c, ev, err) }},
		{"Broadcast", func() error { return w.Broadcast(c, w.Size()-1, one, one) }},
		{"Reduce", func() error { return w.Reduce(c, 1, one, one, add) }},
		{"AllReduce", func() error { return w.AllReduce(c, one, one, add) }},
		{"AllGather", func() error { return w.AllGather(c, all, one) }},
		{"AllToAll", func() error { return w.AllToAll(c, all, all2) }},
	}
}

// nativeCollectives counts the messages of calls.
func nativeCollectives(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	sent := func() (n uint64) {
		for r := range core.Rank(t.Size()) {
			n += requests(ep, r)
		}
		return n
	}
	back, err := w.Split(c, 0, -w.Rank())
	if err != nil {
		return err
	}
	const size = 80000
	for _, x := range worldCalls(c, w, size) {
		before := sent()
		if err := x.once(); err != nil {
			return err
		}
		if n := sent() - before; n > 0 {
			t.Errorf("%s of the world sent %d messages", x.name, n)
		}
	}
	last := extended.Reduction{Func: func(dst, src []byte) { copy(dst, src) }, Size: 8, Ordered: true}
	float := extended.Reduction{Type: extended.Float64, Op: extended.Add}
	b := make([]byte, size)
	others := append(worldCalls(c, back, size),
		call{"AllReduce by a function", func() error { return w.AllReduce(c, b, b, last) }},
		call{"AllReduce of floating-point numbers", func() error { return w.AllReduce(c, b, b, float) }},
		call{"Scan", func() error { return w.Scan(c, b, b, float) }},
	)
	mine := uint64(0)
	for _, x := range others {
		before := sent()
		if err := x.once(); err != nil {
			return err
		}
		mine += sent() - before
	}
	if mine == 0 {
		t.Errorf("calls that the network does not have sent no message")
	}
	if err := nativesBetween(t, c, w, back); err != nil {
		return err
	}
	forced, err := coll.ParseForced("allgather=ring")
	if err != nil {
		return err
	}
	if err := ep.Force(c, forced); err != nil {
		return err
	}
	before := sent()
	if err := w.AllGather(c, make([]byte, size*w.Size()), b); err != nil {
		return err
	}
	if sent() == before {
		t.Errorf("an algorithm that was forced sent no message")
	}
	return errorsOf(t, ep.Barrier())
}

// nativesBetween has calls of all kinds under way together, and ends them in another order.
func nativesBetween(t *coretest.T, c *extended.Context, w, back *extended.Team) error {
	const n = 9000
	last := extended.Reduction{Func: func(dst, src []byte) { copy(dst, src) }, Size: 8, Ordered: true}
	add := extended.Reduction{Type: extended.Int64, Op: extended.Add}
	for round := range t.Times(20) {
		src := make([]byte, n)
		for i := range n / 8 {
			copy(src[8*i:], put64(uint64(round+i+w.Rank())))
		}
		var evs []extended.Event
		var results [][]byte
		for k := range 12 {
			team, r := w, add
			switch k % 3 {
			case 1:
				r = last
			case 2:
				team = back
			}
			dst := make([]byte, n)
			ev, err := team.AllReduceNB(c, dst, src, r)
			if err != nil {
				return err
			}
			evs, results = append(evs, ev), append(results, dst)
		}
		for k := len(evs) - 1; k >= 0; k-- {
			if err := c.Wait(evs[k]); err != nil {
				return err
			}
			for i := range n / 8 {
				size := uint64(w.Size())
				want := size*uint64(round+i) + size*(size-1)/2
				if k%3 == 1 {
					want = uint64(round + i + w.Size() - 1)
				}
				if got := get64(results[k][8*i:]); got != want {
					t.Errorf("round %d, call %d: element %d is %d, want %d", round, k, i, got, want)
					break
				}
			}
		}
	}
	return nil
}

// nativeCollectivesAllocation has all ranks make the same calls, and rank 0 count.
func nativeCollectivesAllocation(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	for _, x := range worldCalls(c, w, 80000) {
		var err error
		once := func() { err = errors.Join(err, x.once()) }
		for range 20 {
			once() // fills pools
		}
		if n := testing.AllocsPerRun(100, once); n > 0 && t.Rank() == 0 {
			t.Errorf("%s allocates %v times", x.name, n)
		}
		if err != nil {
			return err
		}
	}
	return errorsOf(t, ep.Barrier())
}

func nativeOff(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	d, err := extended.NewDomain(c, ep.World(), extended.Uint64, extended.FAdd)
	if err != nil {
		return err
	}
	before := requests(ep, t.Next())
	if err := c.Put(t.Next(), 0, make([]byte, 100)); err != nil {
		return err
	}
	if d.Offloaded() || requests(ep, t.Next()) == before {
		return fmt.Errorf("the network is in use: atomics %v", d.Offloaded())
	}
	return nil
}
