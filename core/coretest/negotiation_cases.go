package coretest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var negotiationCases = []Case{{
	Name:  "negotiation/request",
	Rule:  "a prepared request gets a buffer of least to most bytes, and handler, arguments, length and perhaps the offset at Commit (GASNet-EX, negotiated-payload AMs)",
	Ranks: []int{1, 2}, Body: negotiationRequest,
}, {
	Name:  "negotiation/reply",
	Rule:  "a prepared reply gets a buffer of least to most bytes, and handler, arguments, length and perhaps the offset at Commit",
	Ranks: []int{1, 2}, Body: negotiationReply,
}, {
	Name:  "negotiation/refused",
	Rule:  "offers that contradict themselves or the limits are refused; what does not fit the offer is refused at Commit and leaves the message prepared",
	Ranks: []int{1, 2}, Config: lenient, Body: negotiationRefused,
}, {
	Name:  "negotiation/refused-reply",
	Rule:  "the same for replies; a prepared reply excludes any other",
	Ranks: []int{1, 2}, Config: lenient, Body: negotiationRefusedReply,
}, {
	Name:  "negotiation/restricts",
	Rule:  "between Prepare and Commit a context may not communicate in any other way",
	Ranks: []int{1, 2}, Config: lenient, Body: negotiationRestricts,
}, {
	Name:  "negotiation/uncommitted-reply",
	Rule:  "a handler that returns without committing what it prepared ends the job",
	Ranks: []int{2}, Want: endsWith(1, "rank 1", "prepared reply"),
	Body: func(t *T) error {
		ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) {
			tok.Prepare(core.Offer{Kind: core.Medium, Most: 8})
		}, ignore)
		if err != nil {
			return err
		}
		if t.Rank() == 0 {
			if err := ep.RequestShort(1, request); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "negotiation/immediate",
	Rule:  "an immediate Prepare is granted or refused with ErrNoRoom, never more",
	Ranks: []int{2}, Body: negotiationImmediate,
}}

// deal is one negotiation: what is offered and how many bytes are sent in the end; -1
// stands for all that was granted.
type deal struct {
	least, most, n int
	own            bool // a buffer of the caller's
	later          bool // Long: the offset is given at Commit
}

// deals are those to try with a limit.
func deals(k core.Kind, limit int) []deal {
	ds := []deal{
		{0, 0, 0, false, false}, {0, 0, 0, true, false}, {3, 3, 3, false, false}, {0, 64, 64, false, false}, {0, 64, 0, false, false},
		{100, 100, 100, false, false}, {100, 100, 99, true, false}, {8, 1000, 500, false, false}, {8, 1000, 1, true, false},
		{0, 2 * segment, -1, false, false}, {limit, limit, limit, false, false}, {limit, 2 * segment, -1, true, false},
	}
	if k == core.Long {
		for _, d := range ds {
			d.later = true
			ds = append(ds, d)
		}
	}
	return ds
}

// offer describes the deal, with a Long's place at off.
func (d deal) offer(k core.Kind, off uint64, nargs int) core.Offer {
	o := core.Offer{Kind: k, Least: d.least, Most: d.most, NArgs: nargs}
	if d.own {
		o.Buf = make([]byte, d.most)
	}
	if k == core.Long {
		if o.Off = off; d.later {
			o.Off = core.OffsetLater
		}
	}
	return o
}

// assemble checks what was granted and fills it; it returns how many bytes to send.
func (d deal) assemble(t *T, o core.Offer, b []byte, limit int, seed uint32) int {
	if len(b) < o.Least || len(b) > o.Most || len(b) > limit {
		t.Errorf("granted %d bytes; least %d, most %d, limit %d", len(b), o.Least, o.Most, limit)
	}
	if o.Buf != nil && len(b) > 0 && address(b) != address(o.Buf) {
		t.Errorf("the caller's buffer is not used")
	}
	if o.Buf == nil && len(b) > 0 && address(b)%8 != 0 {
		t.Errorf("the buffer at %#x is not aligned to 8 bytes", address(b))
	}
	n := d.n
	if n < 0 {
		n = len(b)
	}
	copy(b, pattern(seed, len(b)))
	return n
}

// args are arguments for a negotiated message; the first two are seed and length.
func dealArgs(seed uint32, n, nargs int) []uint32 {
	args := make([]uint32, nargs)
	for i := range args {
		args[i] = seed + uint32(i)
	}
	args[0], args[1] = seed, uint32(n)
	return args
}

// checkDeal compares what arrived.
func checkDeal(t *T, args []uint32, data []byte) {
	if err := checkPayload(data, args[0], int(args[1])); err != nil {
		t.Errorf("negotiated payload: %v", err)
	}
	for i := 2; i < len(args); i++ {
		if args[i] != args[0]+uint32(i) {
			t.Errorf("argument %d is %d, want %d", i, args[i], args[0]+uint32(i))
		}
	}
}

func negotiationRequest(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		checkDeal(t, args, data)
		if want := uint64(len(args) % 3); tok.Kind() == core.Long && tok.Offset() != want {
			t.Errorf("offset %d, want %d", tok.Offset(), want)
		}
		tok.ReplyShort(answer)
	}, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	sent := 0
	for _, k := range []core.Kind{core.Medium, core.Long} {
		limit := ep.MaxPayload(t.Next(), k, false) - 2 // where the offset is 2
		for _, d := range deals(k, limit) {
			seed, nargs := uint32(sent), 2+sent%15
			off := uint64(nargs % 3)
			o := d.offer(k, off, nargs)
			b, err := ep.Prepare(t.Next(), o)
			if err != nil {
				return fmt.Errorf("%v %+v: %w", k, d, err)
			}
			n := d.assemble(t, o, b, ep.MaxPayload(t.Next(), k, false), seed)
			if d.later {
				n = min(n, segment-2)
				err = ep.CommitAt(request, n, off, dealArgs(seed, n, nargs)...)
			} else {
				err = ep.Commit(request, n, dealArgs(seed, n, nargs)...)
			}
			if err != nil {
				return fmt.Errorf("%v %+v: %w", k, d, err)
			}
			sent++
			if err := t.Wait(&ep.Context, func() bool { return got >= sent }); err != nil {
				return err
			}
		}
	}
	return ep.Barrier()
}

func negotiationReply(t *T) error {
	var got int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		k, seed, nargs := core.Kind(args[0]), args[1], 2+int(args[1])%15
		limit := tok.Endpoint().MaxPayload(tok.Src(), k, true)
		d := deals(k, limit-2)[args[2]]
		off := uint64(nargs % 3)
		o := d.offer(k, off, nargs)
		b, err := tok.Prepare(o)
		if err != nil {
			t.Errorf("%v %+v: %v", k, d, err)
			return
		}
		n := d.assemble(t, o, b, limit, seed)
		if d.later {
			n = min(n, segment-2)
			err = tok.CommitAt(answer, n, off, dealArgs(seed, n, nargs)...)
		} else {
			err = tok.Commit(answer, n, dealArgs(seed, n, nargs)...)
		}
		if err != nil {
			t.Errorf("%v %+v: %v", k, d, err)
		}
	}, func(tok *core.Token, args []uint32, data []byte) {
		got++
		checkDeal(t, args, data)
		if want := uint64(len(args) % 3); tok.Kind() == core.Long && tok.Offset() != want {
			t.Errorf("offset %d, want %d", tok.Offset(), want)
		}
	})
	if err != nil {
		return err
	}
	sent := 0
	for _, k := range []core.Kind{core.Medium, core.Long} {
		for i := range deals(k, 512) {
			if err := ep.RequestShort(t.Next(), request, uint32(k), uint32(sent), uint32(i)); err != nil {
				return err
			}
			sent++
			if err := t.Wait(&ep.Context, func() bool { return got >= sent }); err != nil {
				return err
			}
		}
	}
	return ep.Barrier()
}

// badOffers are refused for a message whose limit is given.
func badOffers(limit int) []core.Offer {
	return []core.Offer{
		{Kind: core.Short}, {Kind: 3, Most: 8}, {Kind: core.Medium, Least: -1, Most: 8}, {Kind: core.Medium, Least: 9, Most: 8},
		{Kind: core.Medium, Least: limit + 1, Most: limit + 1}, {Kind: core.Medium, Most: 8, NArgs: 17}, {Kind: core.Medium, Most: 8, NArgs: -1},
		{Kind: core.Medium, Most: 8, Buf: make([]byte, 7)},
		{Kind: core.Long, Least: 2, Most: 2, Off: segment - 1}, {Kind: core.Long, Most: 8, Off: segment + 1},
		{Kind: core.Long, Least: segment + 1, Most: segment + 1, Off: core.OffsetLater},
	}
}

func negotiationRefused(t *T) error {
	var got int
	ep, err := attach(t, func(_ *core.Token, args []uint32, data []byte) { got++; checkDeal(t, args, data) })
	if err != nil {
		return err
	}
	refused(t, "Commit of nothing", ep.Commit(request, 0))
	for _, o := range badOffers(ep.Limits().MaxMediumRequest) {
		_, err := ep.Prepare(t.Next(), o)
		refused(t, fmt.Sprintf("%+v", o), err)
	}
	for i, k := range []core.Kind{core.Medium, core.Long} {
		b, err := ep.Prepare(t.Next(), core.Offer{Kind: k, Least: 16, Most: 16, NArgs: 2, Off: 32 * uint64(i)})
		if err != nil {
			return err
		}
		copy(b, pattern(5, 16))
		refused(t, "Commit with another argument count", ep.Commit(request, 16, 5))
		refused(t, "Commit with 17 arguments", ep.Commit(request, 16, make([]uint32, 17)...))
		refused(t, "Commit of more than granted", ep.Commit(request, 17, 5, 17))
		refused(t, "Commit of a negative length", ep.Commit(request, -1, 5, 0))
		refused(t, "Commit for handler 0", ep.Commit(core.AnyHandler, 16, 5, 16))
		if k == core.Long {
			refused(t, "Commit at another offset", ep.CommitAt(request, 16, 40, 5, 16))
		}
		if err := ep.Commit(request, 16, 5, 16); err != nil {
			return fmt.Errorf("a Commit after refused ones: %w", err)
		}
		refused(t, "a second Commit", ep.Commit(request, 16, 5, 16))
	}
	b, err := ep.Prepare(t.Next(), core.Offer{Kind: core.Long, Most: 16, NArgs: 2, Off: core.OffsetLater})
	if err != nil {
		return err
	}
	copy(b, pattern(6, 16))
	refused(t, "Commit without the offset", ep.Commit(request, 16, 6, 16))
	refused(t, "Commit beyond the segment", ep.CommitAt(request, 16, segment-15, 6, 16))
	if err := ep.CommitAt(request, 16, segment-16, 6, 16); err != nil {
		return err
	}
	if err := t.Wait(&ep.Context, func() bool { return got >= 3 }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if got != 3 {
		t.Errorf("%d messages arrived, 3 were committed", got)
	}
	return nil
}

func negotiationRefusedReply(t *T) error {
	var got, stray int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) {
		refused(t, "Commit of no reply", tok.Commit(answer, 0))
		for _, o := range badOffers(tok.MaxReplyMedium()) {
			_, err := tok.Prepare(o)
			refused(t, fmt.Sprintf("%+v", o), err)
		}
		b, err := tok.Prepare(core.Offer{Kind: tok.Kind(), Least: 16, Most: 16, NArgs: 2, Off: 8})
		if err != nil {
			t.Errorf("Prepare after refused ones: %v", err)
			return
		}
		copy(b, pattern(5, 16))
		for _, k := range kinds {
			refused(t, "reply beside a prepared one", reply(tok, k, extra, nil, 0))
		}
		_, err = tok.Prepare(core.Offer{Kind: core.Medium, Most: 8})
		refused(t, "a second Prepare", err)
		refused(t, "Commit with another argument count", tok.Commit(answer, 16, 5))
		refused(t, "Commit of more than granted", tok.Commit(answer, 17, 5, 17))
		refused(t, "Commit of a negative length", tok.Commit(answer, -1, 5, 0))
		refused(t, "Commit for handler 0", tok.Commit(core.AnyHandler, 16, 5, 16))
		if err := tok.Commit(answer, 16, 5, 16); err != nil {
			t.Errorf("Commit after refused ones: %v", err)
		}
		refuseReplies(t, "after a committed one", tok)
	}, func(_ *core.Token, args []uint32, data []byte) { got++; checkDeal(t, args, data) },
		func(*core.Token, []uint32, []byte) { stray++ })
	if err != nil {
		return err
	}
	for i, k := range []core.Kind{core.Medium, core.Long} {
		if err := send(&ep.Context, t.Next(), k, request, nil, 0); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return got > i }); err != nil {
			return err
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if got != 2 || stray != 0 {
		t.Errorf("%d replies and %d refused ones arrived, want 2 and 0", got, stray)
	}
	return nil
}

func negotiationRestricts(t *T) error {
	var got, stray int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ }, func(*core.Token, []uint32, []byte) { stray++ })
	if err != nil {
		return err
	}
	for _, own := range [][]byte{nil, make([]byte, 8)} {
		if _, err := ep.Prepare(t.Next(), core.Offer{Kind: core.Medium, Most: 8, Buf: own}); err != nil {
			return err
		}
		for _, k := range kinds {
			refused(t, "request beside a prepared one", send(&ep.Context, t.Next(), k, answer, nil, 0))
		}
		_, err := ep.Prepare(t.Next(), core.Offer{Kind: core.Medium, Most: 8})
		refused(t, "a second Prepare", err)
		refused(t, "Poll beside a prepared request", ep.Poll())
		refused(t, "WaitUntil beside a prepared request", ep.WaitUntil(func() bool { return true }))
		refused(t, "WaitLocal beside a prepared request", ep.WaitLocal(new(core.Completion)))
		refused(t, "Barrier beside a prepared request", ep.Barrier())
		if ep.Limits().MaxMediumRequest == 0 || t.Now() < 0 { // queries are allowed
			t.Errorf("queries fail beside a prepared request")
		}
		if err := ep.Commit(request, 8); err != nil {
			return err
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return got >= 2 }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if stray != 0 {
		t.Errorf("%d refused requests arrived", stray)
	}
	return nil
}

func negotiationImmediate(t *T) error {
	asked := newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked.add(tok.Src(), args[0])
		if err := checkPayload(data, args[0], 8); err != nil {
			t.Errorf("payload: %v", err)
		}
	})
	if err != nil {
		return err
	}
	n := t.Times(1000)
	for sent := 0; sent < n; {
		b, err := ep.Prepare(t.Next(), core.Offer{Kind: core.Medium, Least: 8, Most: 8, NArgs: 1, Immediate: true})
		if err == core.ErrNoRoom {
			err = ep.Poll()
		} else if err == nil {
			copy(b, pattern(uint32(sent), 8))
			err = ep.Commit(request, 8, uint32(sent))
			sent++
		}
		if err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return asked.n >= n })
}
