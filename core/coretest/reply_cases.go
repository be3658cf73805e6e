package coretest

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

var replyCases = []Case{{
	Name:  "reply/once",
	Rule:  "a request handler may reply once; a second reply of any form is refused (GASNet-1, request/reply)",
	Ranks: []int{1, 2}, Config: lenient, Body: replyOnce,
}, {
	Name:  "reply/not-to-a-reply",
	Rule:  "a reply handler sends nothing",
	Ranks: []int{1, 2}, Config: lenient, Body: replyToReply,
}, {
	Name:  "reply/not-afterwards",
	Rule:  "a token dies when its handler returns",
	Ranks: []int{1, 2}, Config: lenient, Body: replyAfterwards,
}, {
	Name:  "reply/none",
	Rule:  "a request needs no reply, however many there are",
	Ranks: []int{1, 2}, Body: replyNone,
}, {
	Name:  "reply/any-kind",
	Rule:  "a request of any category may be answered by a reply of any category",
	Ranks: []int{1, 2}, Body: replyAnyKind,
}}

// refuseReplies tries every form of reply with a token that allows none.
func refuseReplies(t *T, when string, tok *core.Token) {
	for _, k := range kinds {
		refused(t, k.String()+" reply "+when, reply(tok, k, extra, nil, 0))
		if k != core.Short {
			_, err := tok.Prepare(core.Offer{Kind: k, Most: 8})
			refused(t, "prepared reply "+when, err)
		}
	}
	refused(t, "Commit of a reply "+when, tok.Commit(extra, 0))
}

// oneExchange sends one request of each category, runs the case's handlers, and sees to it
// that no reply arrived at extra.
func oneExchange(t *T, ask, tell core.Handler) error {
	var told, unwanted int
	ep, err := attach(t, ask,
		func(tok *core.Token, args []uint32, data []byte) { told++; tell(tok, args, data) },
		func(*core.Token, []uint32, []byte) { unwanted++ })
	if err != nil {
		return err
	}
	for i, k := range kinds {
		if err := send(&ep.Context, t.Next(), k, request, nil, 0); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if told != len(kinds) || unwanted != 0 {
		t.Errorf("%d replies and %d refused ones arrived, want %d and 0", told, unwanted, len(kinds))
	}
	return nil
}

func replyOnce(t *T) error {
	return oneExchange(t, func(tok *core.Token, _ []uint32, _ []byte) {
		if err := reply(tok, tok.Kind(), answer, nil, 0); err != nil {
			t.Errorf("first reply: %v", err)
		}
		refuseReplies(t, "after a reply", tok)
	}, ignore)
}

func replyToReply(t *T) error {
	return oneExchange(t,
		func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(tok *core.Token, _ []uint32, _ []byte) { refuseReplies(t, "to a reply", tok) })
}

func replyAfterwards(t *T) error {
	var kept *core.Token
	err := oneExchange(t,
		func(tok *core.Token, _ []uint32, _ []byte) { kept = tok; tok.ReplyShort(answer) },
		func(tok *core.Token, _ []uint32, _ []byte) { kept = tok })
	if err != nil {
		return err
	}
	refuseReplies(t, "after the handler", kept)
	return nil
}

func replyNone(t *T) error {
	var got int
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { got++ })
	if err != nil {
		return err
	}
	n := t.Times(1000)
	for i := range n {
		if err := send(&ep.Context, t.Next(), kinds[i%3], request, pattern(0, i%3), uint64(i)); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return got >= n })
}

func replyAnyKind(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		k, size := core.Kind(args[1]), int(args[2])
		given := slices.Clone(args)
		n := 0
		if k != core.Short {
			n = 100
		}
		if err := reply(tok, k, answer, pattern(args[0], n), 1000, args[0], uint32(n), args[1]); err != nil {
			t.Errorf("%v reply to a %v: %v", k, tok.Kind(), err)
		}
		// What the library lent stays good after the reply, until the handler returns.
		if !slices.Equal(args, given) {
			t.Errorf("the arguments of a %v are %v after the reply, were %v before", tok.Kind(), args, given)
		}
		if err := checkPayload(data, given[0], size); err != nil {
			t.Errorf("the payload of a %v after the reply: %v", tok.Kind(), err)
		}
	}, func(tok *core.Token, args []uint32, data []byte) {
		told++
		if err := checkPayload(data, args[0], int(args[1])); err != nil || tok.Kind() != core.Kind(args[2]) {
			t.Errorf("reply %v, want %v: %v", tok.Kind(), core.Kind(args[2]), err)
		}
	})
	if err != nil {
		return err
	}
	sent := 0
	for range t.Times(50) {
		for _, pair := range [][2]core.Kind{
			{core.Short, core.Short}, {core.Short, core.Medium}, {core.Short, core.Long},
			{core.Medium, core.Short}, {core.Medium, core.Medium}, {core.Medium, core.Long},
			{core.Long, core.Short}, {core.Long, core.Medium}, {core.Long, core.Long},
		} {
			sent++
			n := 0
			if pair[0] != core.Short {
				n = 77
			}
			// Two Longs in a row go to different places: the second may overtake the first's handler.
			if err := send(&ep.Context, t.Next(), pair[0], request, pattern(uint32(sent), n), uint64(2000+sent%9*100), uint32(sent), uint32(pair[1]), uint32(n)); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return told >= sent }); err != nil {
				return err
			}
		}
	}
	return nil
}
