package coretest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var negotiationRefusalCases = []Case{{
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
}}

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
	for _, o := range badOffers(ep.MaxPayload(t.Next(), core.Medium, false)) {
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
	var got, unwanted int
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
		func(*core.Token, []uint32, []byte) { unwanted++ })
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
	if got != 2 || unwanted != 0 {
		t.Errorf("%d replies and %d refused ones arrived, want 2 and 0", got, unwanted)
	}
	return nil
}

func negotiationRestricts(t *T) error {
	var got, unwanted int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ }, func(*core.Token, []uint32, []byte) { unwanted++ })
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
	if unwanted != 0 {
		t.Errorf("%d refused requests arrived", unwanted)
	}
	return nil
}
