package coretest

import (
	"fmt"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

var floodCases = []Case{{
	Name:  "flood/all-to-all",
	Rule:  "no flood deadlocks or loses messages (GASNet-1, flow control): everybody sends to everybody",
	Ranks: []int{2, 4, 8},
	Body:  func(t *T) error { return flood(t, everybody, everybody, false) },
}, {
	Name:  "flood/all-to-all-replies",
	Rule:  "replies can always leave: everybody sends to everybody and answers",
	Ranks: []int{1, 2, 4, 8},
	Body:  func(t *T) error { return flood(t, everybody, everybody, true) },
}, {
	Name:  "flood/all-to-one",
	Rule:  "a hot spot is served: everybody sends to rank 0",
	Ranks: []int{2, 5},
	Body:  func(t *T) error { return flood(t, everybody, onlyZero, false) },
}, {
	Name:  "flood/all-to-one-replies",
	Rule:  "a hot spot answers everybody",
	Ranks: []int{2, 5},
	Body:  func(t *T) error { return flood(t, everybody, onlyZero, true) },
}, {
	Name:  "flood/one-to-all",
	Rule:  "rank 0 sends to everybody",
	Ranks: []int{2, 5},
	Body:  func(t *T) error { return flood(t, onlyZero, everybody, false) },
}, {
	Name:  "flood/one-to-all-replies",
	Rule:  "rank 0 sends to everybody and is answered",
	Ranks: []int{2, 5},
	Body:  func(t *T) error { return flood(t, onlyZero, everybody, true) },
}, {
	Name:  "flood/largest",
	Rule:  "the largest Mediums may flow in both directions at once, answered by the largest",
	Ranks: []int{1, 2, 3}, Body: floodLargest,
}, {
	Name:  "flood/only-sends",
	Rule:  "a rank that only sends, in whatever form, still serves its peers, also if it never has to wait for room",
	Ranks: []int{2, 3}, Body: floodOnlySends,
}, {
	Name:  "flood/beside",
	Rule:  "a rank that exchanges messages with one rank or floods it serves the others meanwhile, also if it is that rank itself and finds something in every poll",
	Ranks: []int{2}, Body: floodBeside,
}, {
	Name:  "flood/busy",
	Rule:  "a rank that computes without polling is slow, not dead: what was sent to it arrives when it polls again",
	Ranks: []int{2, 4}, Needs: Live, Body: floodBusy,
}}

func everybody(core.Rank) bool  { return true }
func onlyZero(r core.Rank) bool { return r == 0 }

// flood has the ranks in from send to the ranks in to, a mixture of categories, as fast as
// they can. Messages are numbered, so that each is known to arrive once.
func flood(t *T, from, to func(core.Rank) bool, answered bool) error {
	asked, told := newTally(t), newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		if asked.add(tok.Src(), args[0]); answered {
			if err := reply(tok, kinds[args[0]%3], answer, pattern(0, int(args[0]%3)*20), uint64(t.Rank())*64, args[0]); err != nil {
				t.Errorf("reply: %v", err)
			}
		}
	}, func(tok *core.Token, args []uint32, _ []byte) { told.add(tok.Src(), args[0]) })
	if err != nil {
		return err
	}
	each := t.Times(4000 / t.Size())
	var senders, targets int
	for r := range core.Rank(t.Size()) {
		if from(r) {
			senders++
		}
		if to(r) {
			targets++
		}
	}
	if from(t.Rank()) {
		for i := range each {
			for dst := range core.Rank(t.Size()) {
				if !to(dst) {
					continue
				}
				k := kinds[i/2%3]
				if err := send(&ep.Context, dst, k, request, pattern(0, int(k)*16), uint64(t.Rank())*64, uint32(i)); err != nil {
					return err
				}
			}
		}
	}
	var incoming, outgoing int
	if to(t.Rank()) {
		incoming = senders * each
	}
	if answered && from(t.Rank()) {
		outgoing = targets * each
	}
	if err := t.Wait(&ep.Context, func() bool { return asked.n >= incoming && told.n >= outgoing }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if asked.n != incoming || told.n != outgoing {
		t.Errorf("%d requests and %d replies arrived, want %d and %d", asked.n, told.n, incoming, outgoing)
	}
	return nil
}

func floodLargest(t *T) error {
	var asked, told int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked++
		if err := checkPayload(data, args[0], tok.Endpoint().Limits().MaxMediumRequest); err != nil {
			t.Errorf("Medium from rank %d: %v", tok.Src(), err)
		}
		if err := tok.ReplyMedium(answer, pattern(args[0]+1, tok.MaxReplyMedium()), args[0]+1); err != nil {
			t.Errorf("reply: %v", err)
		}
	}, func(tok *core.Token, args []uint32, data []byte) {
		told++
		if err := checkPayload(data, args[0], tok.MaxReplyMedium()); err != nil {
			t.Errorf("reply from rank %d: %v", tok.Src(), err)
		}
	})
	if err != nil {
		return err
	}
	n := t.Times(max(20, min(200, 1<<20/ep.Limits().MaxMediumRequest))) // the largest are of different sizes
	for i := range n {
		for dst := range core.Rank(t.Size()) {
			if err := ep.RequestMedium(dst, request, pattern(uint32(i), ep.Limits().MaxMediumRequest), uint32(i)); err != nil {
				return err
			}
		}
	}
	all := n * t.Size()
	return t.Wait(&ep.Context, func() bool { return asked >= all && told >= all })
}

// forms are the ways to send a request, of 8 bytes where there is a payload.
var forms = []struct {
	name string
	send func(ep *core.Endpoint, dst core.Rank, lc *core.Completion, args ...uint32) error
}{
	{"Short", func(ep *core.Endpoint, dst core.Rank, _ *core.Completion, args ...uint32) error {
		return ep.RequestShort(dst, request, args...)
	}},
	{"Medium", func(ep *core.Endpoint, dst core.Rank, _ *core.Completion, args ...uint32) error {
		return ep.RequestMedium(dst, request, pattern(0, 8), args...)
	}},
	{"Long", func(ep *core.Endpoint, dst core.Rank, lc *core.Completion, args ...uint32) error {
		return ep.Request(dst, core.Message{Kind: core.Long, Handler: request, Data: pattern(0, 8), Off: 8 * uint64(ep.Rank()), LC: lc}, args...)
	}},
	{"immediate", func(ep *core.Endpoint, dst core.Rank, _ *core.Completion, args ...uint32) error {
		return immediately(ep, dst, core.Message{Kind: core.Short, Handler: request, Immediate: true}, args...)
	}},
	{"negotiated", func(ep *core.Endpoint, dst core.Rank, _ *core.Completion, args ...uint32) error {
		b, err := ep.Prepare(dst, core.Offer{Kind: core.Medium, Least: 8, Most: 8, NArgs: len(args)})
		if err != nil {
			return err
		}
		return ep.Commit(request, copy(b, pattern(0, 8)), args...)
	}},
}

// floodOnlySends has rank 0 send until the others tell it to stop, which it learns only if
// its handlers run while it sends. Live, it keeps no more than a few messages under way, but
// of immediate ones, which poll only for want of room.
func floodOnlySends(t *T) error {
	const few = 8
	var got, stopped, total, ended int
	taken := func(r core.Rank, n int) string { return fmt.Sprintf("rank %d has %d", r, n) }
	ep, err := attach(t, func(_ *core.Token, args []uint32, _ []byte) {
		if got++; got%few == 0 {
			t.Note(taken(t.Rank(), got))
		}
		if args[0] > 0 { // the last of its form tells how many there were in all
			total, ended = int(args[0]), ended+1
		}
	}, func(*core.Token, []uint32, []byte) { stopped++ })
	if err != nil {
		return err
	}
	var lc core.Completion
	sent := 0 // to each of the others
	for i, form := range forms {
		paced := !t.Modelled() && form.name != "immediate"
		if t.Rank() != 0 {
			before := total
			if err := t.Wait(&ep.Context, func() bool { return got >= before+50 }); err != nil {
				return fmt.Errorf("%s: %w", form.name, err)
			}
			if err := ep.RequestShort(0, answer); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return ended > i && got >= total }); err != nil {
				return fmt.Errorf("%s: %w", form.name, err)
			}
			continue
		}
		for last := uint32(0); last == 0; {
			if stopped >= (i+1)*(t.Size()-1) {
				last = uint32(sent + 1)
			}
			if err := t.Others(func(dst core.Rank) error {
				for paced && sent > 0 && sent%few == 0 && !t.Noted(taken(dst, sent)) {
					runtime.Gosched()
				}
				return form.send(ep, dst, &lc, last)
			}); err != nil {
				return err
			}
			sent++
		}
	}
	return ep.WaitLocal(&lc)
}

// floodBeside has rank 0 exchange messages with itself, then send to itself without answers, then both with
// the next rank, each until all others have had enough exchanges with rank 0.
func floodBeside(t *T) error {
	var stopped, told int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		if args[0] == 1 {
			if err := tok.ReplyShort(answer); err != nil {
				t.Errorf("reply: %v", err)
			}
		}
	}, func(*core.Token, []uint32, []byte) { told++ }, func(*core.Token, []uint32, []byte) { stopped++ })
	if err != nil {
		return err
	}
	exchange := func(dst core.Rank) error {
		want := told + 1
		if err := ep.RequestShort(dst, request, 1); err != nil {
			return err
		}
		return t.Wait(&ep.Context, func() bool { return told >= want })
	}
	flood := func(dst core.Rank) error {
		for range 2 { // the second may wait to be packed, and leave with the poll
			if err := ep.RequestShort(dst, request, 0); err != nil {
				return err
			}
		}
		return ep.Poll()
	}
	for phase, busy := range []struct {
		with func(core.Rank) error
		dst  core.Rank
	}{{exchange, 0}, {flood, 0}, {exchange, t.Next()}, {flood, t.Next()}} {
		if t.Rank() == 0 {
			for stopped < (phase+1)*(t.Size()-1) {
				if err := busy.with(busy.dst); err != nil {
					return err
				}
			}
			continue
		}
		for range t.Times(20) {
			if err := exchange(0); err != nil {
				return err
			}
		}
		if err := ep.RequestShort(0, extra); err != nil {
			return err
		}
	}
	return ep.Barrier()
}

func floodBusy(t *T) error {
	asked := newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) { asked.add(tok.Src(), args[0]) })
	if err != nil {
		return err
	}
	n := t.Times(1000)
	if t.Rank() == 0 {
		x := 1.0
		for range 20_000_000 {
			x = x*0.999 + 1e-9
		}
		if x < 0 {
			return fmt.Errorf("impossible")
		}
		want := n * (t.Size() - 1)
		return t.Wait(&ep.Context, func() bool { return asked.n >= want })
	}
	for i := range n {
		if err := ep.RequestShort(0, request, uint32(i)); err != nil {
			return err
		}
	}
	return nil
}
