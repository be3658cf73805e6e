package coretest

import (
	"github.com/aqueduct-go/aqueduct/core"
)

var refusalCases = []Case{{
	Name:  "refusal/requests",
	Rule:  "a request with a bad rank, index, category or option is refused and nothing is sent",
	Ranks: []int{1, 2}, Config: lenient, Body: refusalRequests,
}, {
	Name:  "refusal/replies",
	Rule:  "a reply with a bad index, size or place is refused, nothing is sent, and a good one may follow",
	Ranks: []int{2}, Config: lenient, Body: refusalReplies,
}, {
	Name:  "refusal/in-handlers",
	Rule:  "handlers may not send requests, poll, wait or prepare requests; whoever tries is refused and the job goes on (GASNet-1, handler restrictions)",
	Ranks: []int{1, 2}, Config: lenient, Body: refusalInHandlers,
}}

func refusalRequests(t *T) error {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	n := core.Rank(t.Size())
	for _, dst := range []core.Rank{-1, n, n + 1, 1<<31 - 1, -1 << 31} {
		for _, k := range kinds {
			refused(t, "request to a rank that does not exist", send(&ep.Context, dst, k, request, nil, 0))
		}
		_, err := ep.Prepare(dst, core.Offer{Kind: core.Medium, Most: 8})
		refused(t, "Prepare for a rank that does not exist", err)
		if size := ep.SegmentSize(dst); size != 0 {
			t.Errorf("rank %d has a segment of %d bytes", dst, size)
		}
	}
	for _, k := range kinds {
		refused(t, "request to handler 0", send(&ep.Context, 0, k, core.AnyHandler, nil, 0))
	}
	lc := new(core.Completion)
	for _, m := range []core.Message{
		{Kind: core.Short, Data: []byte{1}}, {Kind: 3}, {Kind: 255},
		{Kind: core.Medium, Async: true}, {Kind: core.Short, Async: true}, {Kind: core.Long, Async: true, LC: lc},
	} {
		m.Handler = request
		refused(t, "a message that contradicts itself", ep.Request(0, m))
	}
	if p := lc.Pending(); p != 0 {
		t.Errorf("a refused request left %d payloads pending", p)
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if got != 0 {
		t.Errorf("%d refused requests arrived", got)
	}
	return nil
}

func refusalReplies(t *T) error {
	var requests, replies int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		requests++
		l := tok.Endpoint().Limits()
		for _, k := range kinds {
			refused(t, "reply to handler 0", reply(tok, k, core.AnyHandler, nil, 0))
		}
		refused(t, "Medium reply over the limit", tok.ReplyMedium(answer, make([]byte, l.MaxMediumReply+1)))
		refused(t, "Long reply over the segment", tok.ReplyLong(answer, make([]byte, segment+1), 0))
		refused(t, "Long reply behind the segment", tok.ReplyLong(answer, []byte{1}, segment))
		if err := reply(tok, core.Kind(args[0]), answer, nil, 0); err != nil {
			t.Errorf("a good reply after refused ones: %v", err)
		}
	}, func(*core.Token, []uint32, []byte) { replies++ })
	if err != nil {
		return err
	}
	for i, k := range kinds {
		if err := ep.RequestShort(t.Next(), request, uint32(k)); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return replies > i }); err != nil {
			return err
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if requests != len(kinds) || replies != len(kinds) {
		t.Errorf("%d requests and %d replies arrived, want %d of each", requests, replies, len(kinds))
	}
	return nil
}

func refusalInHandlers(t *T) error {
	var ran, unwanted int
	try := func(tok *core.Token, _ []uint32, _ []byte) {
		ran++
		c := tok.Context()
		for _, k := range kinds {
			refused(t, "request in a handler", send(c, 0, k, extra, nil, 0))
		}
		refused(t, "immediate request in a handler", c.Request(0, core.Message{Kind: core.Medium, Handler: extra, Immediate: true}))
		refused(t, "Poll in a handler", c.Poll())
		refused(t, "WaitUntil in a handler", c.WaitUntil(func() bool { return true }))
		refused(t, "WaitLocal in a handler", c.WaitLocal(new(core.Completion)))
		refused(t, "Barrier in a handler", c.Barrier())
		_, err := c.Prepare(0, core.Offer{Kind: core.Medium, Most: 8})
		refused(t, "Prepare of a request in a handler", err)
		refused(t, "Commit of a request in a handler", c.Commit(extra, 0))
		if tok.IsRequest() {
			if err := tok.ReplyShort(answer); err != nil {
				t.Errorf("reply: %v", err)
			}
		}
	}
	ep, err := attach(t, try, try, func(*core.Token, []uint32, []byte) { unwanted++ })
	if err != nil {
		return err
	}
	for i := range 3 {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return ran >= 2*(i+1) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil { // a refused Barrier must not count
			return err
		}
	}
	if unwanted != 0 {
		t.Errorf("%d requests of handlers arrived", unwanted)
	}
	return nil
}
