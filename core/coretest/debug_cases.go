package coretest

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
)

// misdeeds are breaches of the rules that debug mode ends the job for. They happen in
// rank 1's handler of a request, or of a reply, or after that in rank 1's body, always on
// rank 1.
var misdeeds = []struct {
	name  string
	where int
	says  string // besides rank 1
	do    func(t *T, c *core.Context, tok *core.Token)
}{
	{"request-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) { c.RequestShort(0, request) }},
	{"medium-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) { c.RequestMedium(0, request, nil) }},
	{"request-in-reply-handler", inReply, "handler 141", func(_ *T, c *core.Context, _ *core.Token) { c.RequestShort(0, request) }},
	{"prepare-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) {
		c.Prepare(0, core.Offer{Kind: core.Medium, Most: 8})
	}},
	{"poll-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) { c.Poll() }},
	{"wait-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) {
		c.WaitUntil(func() bool { return true })
	}},
	{"barrier-in-handler", inRequest, "handler 140", func(_ *T, c *core.Context, _ *core.Token) { c.Barrier() }},
	{"second-reply", inRequest, "ReplyShort", func(_ *T, _ *core.Context, tok *core.Token) {
		tok.ReplyShort(extra)
		tok.ReplyShort(extra)
	}},
	{"reply-to-reply", inReply, "ReplyShort", func(_ *T, _ *core.Context, tok *core.Token) { tok.ReplyShort(extra) }},
	{"reply-afterwards", inBody, "ReplyShort", func(_ *T, _ *core.Context, tok *core.Token) { tok.ReplyShort(extra) }},
	{"bad-rank", inBody, "no rank 7", func(_ *T, c *core.Context, _ *core.Token) { c.RequestShort(7, request) }},
	{"bad-offset", inBody, "segment", func(_ *T, c *core.Context, _ *core.Token) { c.RequestLong(0, request, nil, segment+1) }},
	{"wrong-category", inBody, "handler 143", func(_ *T, c *core.Context, _ *core.Token) { c.RequestMedium(1, 143, nil) }},
	{"wrong-direction", inRequest, "handler 143", func(_ *T, _ *core.Context, tok *core.Token) { tok.ReplyShort(143) }},
	{"wrong-arguments", inBody, "handler 143", func(_ *T, c *core.Context, _ *core.Token) { c.RequestShort(1, 143, 1) }},
	{"lock-kept", inRequest, "handler 140", func(t *T, c *core.Context, _ *core.Token) { new(core.HSL).Lock(c) }},
	{"reply-with-lock", inRequest, "lock", func(t *T, c *core.Context, tok *core.Token) {
		var l core.HSL
		l.Lock(c)
		tok.ReplyShort(extra)
		l.Unlock(c)
	}},
	{"request-with-lock", inBody, "lock", func(t *T, c *core.Context, _ *core.Token) {
		var l core.HSL
		l.Lock(c)
		c.RequestShort(0, request)
	}},
	{"poll-with-lock", inBody, "lock", func(t *T, c *core.Context, _ *core.Token) {
		var l core.HSL
		l.Lock(c)
		c.Poll()
	}},
}

// Where a misdeed happens.
const (
	inRequest = iota
	inReply
	inBody
)

// segmentAlone has rank 0 attach a segment, where rank 1 goes on to the next barrier.
func segmentAlone(t *T) error {
	ep, err := t.Attach(core.AttachSpec{SegmentLater: true})
	switch {
	case err != nil:
		return err
	case t.Rank() == 0:
		return ep.AttachSegment("4096")
	}
	return errors.Join(ep.Barrier(), ep.Barrier())
}

// debugCases has one case for each misdeed, and one for a call that not all ranks make.
func debugCases() []Case {
	cases := make([]Case, len(misdeeds), len(misdeeds)+1)
	for i := range misdeeds {
		m := &misdeeds[i]
		words := []string{m.says, "rank 1"}
		if m.name == "wrong-direction" {
			words[1] = "rank 0" // where the reply arrives
		}
		cases[i] = Case{
			Name:   "debug/" + m.name,
			Rule:   "in debug mode misuse ends the job with a message that names the rank, and a handler that is to blame",
			Ranks:  []int{2},
			Config: func(cfg *core.Config) { cfg.Debug = true },
			Body:   func(t *T) error { return misbehave(t, m.where, m.do) },
			Want:   endsWith(1, words...),
		}
	}
	return append(cases, Case{
		Name:  "debug/segment-alone",
		Rule:  "in debug mode a rank in AttachSegment, and one in another call, end the job with the calls of both",
		Ranks: []int{2}, Needs: Live, Config: func(cfg *core.Config) { cfg.Debug = true },
		Body: segmentAlone, Want: endsWith(1, "waits for AttachSegment", "waits for barrier 2 of the Core API"),
	})
}

// misbehave brings rank 1 to the place of the misdeed; a job that goes on is a failure.
func misbehave(t *T, where int, do func(*T, *core.Context, *core.Token)) error {
	var told int
	var kept *core.Token
	ep, err := t.Attach(core.AttachSpec{Segment: "4096", Handlers: append(handlers(
		func(tok *core.Token, _ []uint32, _ []byte) {
			if t.Rank() == 1 && where == inRequest {
				do(t, tok.Context(), tok)
				return
			}
			tok.ReplyShort(answer)
		}, func(tok *core.Token, _ []uint32, _ []byte) {
			kept = tok
			if told++; t.Rank() == 1 && where == inReply {
				do(t, tok.Context(), tok)
			}
		}, ignore), core.HandlerEntry{Index: 143, Func: ignore, Flags: core.AllowShort | core.AllowRequest})})
	if err != nil {
		return err
	}
	if err := ep.RequestShort(t.Next(), request); err != nil {
		return err
	}
	if t.Rank() == 1 && where == inBody {
		if err := ep.WaitUntil(func() bool { return told > 0 }); err != nil {
			return err
		}
		do(t, &ep.Context, kept)
	}
	return ep.WaitUntil(func() bool { return false })
}
