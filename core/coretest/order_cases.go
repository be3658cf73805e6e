package coretest

import (
	"github.com/aqueduct-go/aqueduct/core"
)

var orderCases = []Case{{
	Name:  "order/per-pair",
	Rule:  "if the conduit claims it, the requests of one context to one rank arrive in order, and so do the replies, whatever their categories (Limits.Ordered)",
	Ranks: []int{1, 2, 4}, Body: orderPerPair,
	When: func(_ *T, ep *core.Endpoint) bool { return ep.Limits().Ordered },
}, {
	Name:  "order/exactly-once",
	Rule:  "every message is delivered exactly once, in whatever order (GASNet-1, Active Messages)",
	Ranks: []int{1, 3, 5}, Body: orderExactlyOnce,
}}

// tally notes which of a rank's numbered messages have come, from every rank.
type tally struct {
	t    *T
	seen [][]bool
	n    int
}

func newTally(t *T) *tally { return &tally{t: t, seen: make([][]bool, t.Size())} }

// add notes message seq of rank src.
func (y *tally) add(src core.Rank, seq uint32) {
	for int(seq) >= len(y.seen[src]) {
		y.seen[src] = append(y.seen[src], make([]bool, len(y.seen[src])+64)...)
	}
	if y.seen[src][seq] {
		y.t.Errorf("message %d of rank %d arrived twice", seq, src)
	}
	y.seen[src][seq] = true
	y.n++
}

func orderPerPair(t *T) error {
	next := make([]uint32, t.Size()) // expected from each rank: requests, then replies
	back := make([]uint32, t.Size())
	var got int
	inOrder := func(what string, next []uint32) func(tok *core.Token, args []uint32) {
		return func(tok *core.Token, args []uint32) {
			if args[0] != next[tok.Src()] {
				t.Errorf("%s %d of rank %d arrived as number %d", what, args[0], tok.Src(), next[tok.Src()])
			}
			next[tok.Src()]++
			got++
		}
	}
	ask, tell := inOrder("request", next), inOrder("reply", back)
	place := uint64(t.Rank()) * 1000 // in everybody's segment
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		ask(tok, args)
		k := kinds[args[0]/3%3]
		if err := reply(tok, k, answer, pattern(args[0], int(k)*200), place, args[0]); err != nil {
			t.Errorf("reply: %v", err)
		}
	}, func(tok *core.Token, args []uint32, _ []byte) { tell(tok, args) })
	if err != nil {
		return err
	}
	rnd := t.Rand()
	n := t.Times(1000)
	for i := range n {
		for dst := range core.Rank(t.Size()) {
			k := kinds[rnd.IntN(3)]
			size := rnd.IntN(500)
			if k == core.Short {
				size = 0
			}
			if err := send(&ep.Context, dst, k, request, pattern(0, size), place, uint32(i)); err != nil {
				return err
			}
		}
	}
	return t.Wait(&ep.Context, func() bool { return got >= 2*n*t.Size() })
}

func orderExactlyOnce(t *T) error {
	asked, told := newTally(t), newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		asked.add(tok.Src(), args[0])
		if n := int(args[1]); tok.Kind() == core.Medium {
			if err := checkPayload(data, args[0], n); err != nil {
				t.Errorf("Medium %d of rank %d: %v", args[0], tok.Src(), err)
			}
		}
		if err := tok.ReplyMedium(answer, pattern(args[0]+1, int(args[1])), args...); err != nil {
			t.Errorf("reply: %v", err)
		}
	}, func(tok *core.Token, args []uint32, data []byte) {
		told.add(tok.Src(), args[0])
		if err := checkPayload(data, args[0]+1, int(args[1])); err != nil {
			t.Errorf("reply %d of rank %d: %v", args[0], tok.Src(), err)
		}
	})
	if err != nil {
		return err
	}
	rnd := t.Rand()
	n := t.Times(500)
	for i := range n {
		for _, r := range rnd.Perm(t.Size()) {
			k, size := kinds[rnd.IntN(3)], rnd.IntN(400)
			data := pattern(uint32(i), size)
			if k == core.Short {
				data = nil
			}
			if err := send(&ep.Context, core.Rank(r), k, request, data, uint64(t.Rank())*1000, uint32(i), uint32(size)); err != nil {
				return err
			}
		}
	}
	all := n * t.Size()
	if err := t.Wait(&ep.Context, func() bool { return asked.n >= all && told.n >= all }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if asked.n != all || told.n != all {
		t.Errorf("%d requests and %d replies arrived, want %d of each", asked.n, told.n, all)
	}
	return nil
}
