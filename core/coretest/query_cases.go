package coretest

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

var queryCases = []Case{{
	Name:  "query/token",
	Rule:  "the token tells source rank, direction, category, offset, registration and endpoint, in request and reply handlers (gex_Token_Info)",
	Ranks: []int{1, 3}, Body: queryToken,
}, {
	Name:  "query/limits",
	Rule:  "limits are at least 512, constant, symmetric and agree with each other (gasnet_AMMaxMedium, gex_AM_Max)",
	Ranks: []int{1, 3}, Body: queryLimits,
}, {
	Name:  "query/counts",
	Rule:  "Counts tells how many messages were exchanged with each peer",
	Ranks: []int{1, 3}, Body: queryCounts,
}, {
	Name:  "query/hosts",
	Rule:  "every rank's host can be asked, before attach too; all ranks are told alike (gex_System_QueryHostInfo, gex_System_QueryMyPosition)",
	Ranks: []int{1, 3}, Body: queryHosts,
}, {
	Name:  "query/clock",
	Rule:  "the job's clock does not run backwards, in handlers neither",
	Ranks: []int{2}, Body: queryClock,
}}

func queryToken(t *T) error {
	var got int
	data := new(int)
	check := func(name string, isRequest bool) core.Handler {
		return func(tok *core.Token, args []uint32, _ []byte) {
			got++
			if tok.Src() != core.Rank(args[0]) || tok.IsRequest() != isRequest || tok.Kind() != core.Kind(args[1]) {
				t.Errorf("%v from rank %d, request %v, looks like %v from rank %d, request %v", core.Kind(args[1]), args[0], isRequest, tok.Kind(), tok.Src(), tok.IsRequest())
			}
			if tok.Kind() == core.Long && tok.Offset() != uint64(args[2]) {
				t.Errorf("offset %d, want %d", tok.Offset(), args[2])
			}
			if e := tok.Entry(); e.Name != name || e.Data != any(data) || e.Func == nil || e.NArgs != 3 {
				t.Errorf("entry %+v is not %s's", e, name)
			}
			ep := tok.Endpoint()
			if ep != t.Endpoint() || tok.Context().Endpoint() != ep || ep.Job() != t.Job || ep.Rank() != t.Rank() || ep.Size() != t.Size() {
				t.Errorf("the token's endpoint is another")
			}
			if medium, l := ep.MaxPayload(tok.Src(), core.Medium, true), ep.Limits(); tok.MaxReplyMedium() != medium || medium < l.MaxMediumReply || tok.MaxReplyLong() < l.MaxLongReply {
				t.Errorf("the token's limits are not those towards its source")
			}
			if isRequest {
				if err := reply(tok, tok.Kind(), answer, nil, 7, uint32(t.Rank()), args[1], 7); err != nil {
					t.Errorf("reply: %v", err)
				}
			}
		}
	}
	all := core.AllowShort | core.AllowMedium | core.AllowLong
	ep, err := t.Attach(core.AttachSpec{Segment: "4096", Handlers: []core.HandlerEntry{
		{Index: request, Func: check("ask", true), Flags: all | core.AllowRequest, NArgs: 3, Name: "ask", Data: data},
		{Index: answer, Func: check("tell", false), Flags: all | core.AllowReply, NArgs: 3, Name: "tell", Data: data},
	}})
	if err != nil {
		return err
	}
	for dst := range core.Rank(t.Size()) {
		for _, k := range kinds {
			if err := send(&ep.Context, dst, k, request, nil, 5, uint32(t.Rank()), uint32(k), 5); err != nil {
				return err
			}
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return got >= 2*len(kinds)*t.Size() }); err != nil {
		return err
	}
	return ep.Barrier()
}

func queryLimits(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	l := ep.Limits()
	for _, n := range []int{l.MaxMediumRequest, l.MaxMediumReply, l.MaxLongRequest, l.MaxLongReply} {
		if n < 512 {
			t.Errorf("limits below 512 bytes: %+v", l)
		}
	}
	for r := range core.Rank(t.Size()) {
		for _, back := range []bool{false, true} {
			medium, long := l.MaxMediumRequest, l.MaxLongRequest
			if back {
				medium, long = l.MaxMediumReply, l.MaxLongReply
			}
			if got := ep.MaxPayload(r, core.Medium, back); got < medium {
				t.Errorf("Medium to rank %d, reply %v: limit %d, want %d at least", r, back, got, medium)
			}
			if got := ep.MaxPayload(r, core.Long, back); got < min(long, segment) || got > segment {
				t.Errorf("Long to rank %d, reply %v: limit %d, want %d to %d", r, back, got, min(long, segment), segment)
			}
			if got := ep.MaxPayload(r, core.Short, back); got != 0 {
				t.Errorf("Short to rank %d: limit %d", r, got)
			}
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if ep.Limits() != l {
		t.Errorf("limits changed from %+v to %+v", l, ep.Limits())
	}
	return nil
}

func queryCounts(t *T) error {
	var requests, replies int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		if requests++; args[0] == 1 {
			tok.ReplyShort(answer)
		}
	}, func(*core.Token, []uint32, []byte) { replies++ })
	if err != nil {
		return err
	}
	n := t.Size()
	before := make([]core.Counts, n)
	for r := range before {
		before[r] = ep.Counts(core.Rank(r))
	}
	for dst := range n {
		for i := range 10 {
			if err := ep.RequestShort(core.Rank(dst), request, uint32(i%2)); err != nil {
				return err
			}
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return requests >= 10*n && replies >= 5*n }); err != nil {
		return err
	}
	for r := range n {
		now := ep.Counts(core.Rank(r))
		got := core.Counts{Requests: now.Requests - before[r].Requests, Replies: now.Replies - before[r].Replies, Received: now.Received - before[r].Received}
		if want := (core.Counts{Requests: 10, Replies: 5, Received: 15}); got != want {
			t.Errorf("with rank %d: %+v, want %+v", r, got, want)
		}
	}
	if (ep.Counts(-1) != core.Counts{}) || (ep.Counts(core.Rank(n)) != core.Counts{}) {
		t.Errorf("ranks that do not exist have counts")
	}
	return t.Meet(ep, "counted") // the final barrier sends messages
}

func queryHosts(t *T) error {
	hosts := make([]uint32, t.Size())
	var local []core.Rank
	next := 0 // the number of the next host
	for r := range core.Rank(t.Size()) {
		h := t.Host(r)
		hosts[r] = uint32(h)
		if h < 0 || h > next {
			return fmt.Errorf("rank %d is on host %d, and the ranks below it are on %d hosts", r, h, next)
		}
		next = max(next, h+1)
		if h == t.Host(t.Rank()) {
			local = append(local, r)
		}
	}
	if !slices.Equal(local, t.Local()) || t.Hosts() != next || t.Host(-1) != -1 || t.Host(core.Rank(t.Size())) != -1 {
		t.Errorf("hosts %v of ranks, %d hosts, local ranks %v", hosts, t.Hosts(), t.Local())
	}
	var got int
	ep, err := attach(t, func(_ *core.Token, args []uint32, _ []byte) {
		if got++; !slices.Equal(args, hosts) {
			t.Errorf("hosts of ranks are %v here and %v elsewhere", hosts, args)
		}
	})
	if err != nil {
		return err
	}
	if err := t.Others(func(r core.Rank) error { return ep.RequestShort(r, request, hosts...) }); err != nil {
		return err
	}
	return t.Wait(&ep.Context, func() bool { return got >= t.Size()-1 })
}

func queryClock(t *T) error {
	var got int
	last := t.Now()
	look := func() {
		now := t.Now()
		if now < last {
			t.Errorf("the clock ran from %v back to %v", last, now)
		}
		last = now
	}
	ep, err := attach(t,
		func(tok *core.Token, _ []uint32, _ []byte) { look(); tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { look(); got++ })
	if err != nil {
		return err
	}
	start := t.Now()
	for i := range t.Times(100) {
		if err := ep.RequestShort(t.Next(), request); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { look(); return got > i }); err != nil {
			return err
		}
	}
	if t.Now() <= start {
		t.Errorf("%d exchanges took no time", got)
	}
	return nil
}
