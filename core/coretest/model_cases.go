package coretest

import (
	"hash/fnv"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

var modelCases = []Case{{
	Name:  "model/deterministic",
	Rule:  "two runs of a modelled job do the same at the same picosecond",
	Ranks: []int{1, 2, 5}, Needs: Modelled, Body: modelDeterministic,
}, {
	Name:  "model/time-passes",
	Rule:  "messages take virtual time, the longer the larger; what has not been sent takes none",
	Ranks: []int{2}, Needs: Modelled, Body: modelTimePasses,
}, {
	Name:  "model/deadlock",
	Rule:  "when nothing is left to happen the job ends with a report of who waits for what, as a live one would have it",
	Ranks: []int{3}, Needs: Modelled, Want: endsWith(1, "deadlock", "rank 0 waits for WaitUntil", "rank 1 waits for WaitUntil", "rank 2 has returned"),
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil || t.Rank() == 2 {
			return err
		}
		return ep.WaitUntil(func() bool { return false })
	},
}, {
	Name:  "model/exit-unwinds",
	Rule:  "exit unwinds every coroutine: all deferred calls run, those that wait are cut short",
	Ranks: []int{3}, Needs: Modelled, Body: modelExitUnwinds,
	Want: endsWith(3, "rank 0 unwound", "rank 1 unwound", "rank 2 unwound"),
}, {
	Name:  "model/loss",
	Rule:  "a rank that is lost at a virtual time does nothing more, its peers' waits end, and the job with status 137",
	Ranks: []int{1, 2, 5}, Needs: Modelled, Body: modelLoss,
	Config: func(c *core.Config) { c.Losses = []core.Loss{{Rank: 0, At: modelLossAt}} },
	Want:   endsWith(killed, "rank 0"),
}, {
	Name:  "model/compute",
	Rule:  "Compute lets time pass for the caller alone",
	Ranks: []int{1, 2}, Needs: Modelled, Body: func(t *T) error {
		start := t.Now()
		t.Compute(3 * time.Millisecond)
		if took := t.Now() - start; took.Duration() != 3*time.Millisecond {
			t.Errorf("computing for 3ms took %v", took)
		}
		_, err := attach(t)
		return err
	},
}}

// modelLossAt is when a rank is lost; it counts messages until then.
const modelLossAt = core.Time(1e9) // 1 ms

// modelLoss has all ranks send to rank 0 until that is lost.
func modelLoss(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) {
			if told++; t.Rank() == 0 && t.Now() > modelLossAt+modelLossAt/10 {
				t.Errorf("rank 0 handles a message at %v, after its loss", t.Now())
			}
		})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := ep.RequestShort(0, request); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
	}
}

// modelDeterministic exchanges random messages and prints when what happened, in short.
func modelDeterministic(t *T) error {
	trace := fnv.New64a()
	var events, told int
	note := func(tok *core.Token, args []uint32) {
		events++
		now := uint64(t.Now())
		for _, v := range []uint64{now, uint64(tok.Src()), uint64(tok.Kind()), uint64(args[0])} {
			trace.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)})
		}
	}
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		note(tok, args)
		tok.ReplyMedium(answer, data[:len(data)/2], args...)
	}, func(tok *core.Token, args []uint32, _ []byte) { note(tok, args); told++ })
	if err != nil {
		return err
	}
	rnd := t.Rand()
	n := t.Times(200)
	for i := range n {
		k, size := kinds[rnd.IntN(3)], rnd.IntN(500)
		if k == core.Short {
			size = 0
		}
		if err := send(&ep.Context, core.Rank(rnd.IntN(t.Size())), k, request, pattern(0, size), 0, uint32(i)); err != nil {
			return err
		}
		if rnd.IntN(4) == 0 {
			if err := t.Wait(&ep.Context, func() bool { return told > i/2 }); err != nil {
				return err
			}
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return told >= n }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	t.Printf("rank %d: %d events, trace %x, ends at %d ps", t.Rank(), events, trace.Sum64(), t.Now())
	return nil
}

func modelTimePasses(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	if t.Rank() == 1 {
		return nil
	}
	var last core.Time
	most := ep.Limits().MaxMediumRequest
	for i, n := range []int{0, 0, most / 2, most} { // the first one may have to connect
		start := t.Now()
		if err := ep.RequestMedium(1, request, pattern(0, n)); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
		took := t.Now() - start
		if i > 1 && took <= last {
			t.Errorf("an exchange with %d bytes takes %v, with fewer %v", n, took, last)
		}
		last = took
	}
	start := t.Now()
	if err := ep.WaitUntil(func() bool { return true }); err != nil {
		return err
	}
	if t.Now() != start {
		t.Errorf("a wait for what is true took %v", t.Now()-start)
	}
	return nil
}

func modelExitUnwinds(t *T) error {
	defer t.Printf("rank %d unwound", t.Rank())
	ep, err := ready(t)
	if err != nil {
		return err
	}
	defer func() { _ = ep.Barrier() }()
	if int(t.Rank()) == t.Size()-1 {
		t.Exit(3)
	}
	return ep.WaitUntil(func() bool { return false })
}
