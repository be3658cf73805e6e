package coretest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

var allocationCases = []Case{{
	Name:  "allocation/messages",
	Rule:  "requests, replies, polls and waits allocate nothing",
	Ranks: []int{1, 2}, Needs: Plain, Body: allocationMessages,
	Config: func(cfg *core.Config) { cfg.Sleep = time.Minute }, // going to sleep may allocate
}, {
	Name:  "allocation/one-sided",
	Rule:  "one-sided operations allocate nothing, also where they wait for room",
	Ranks: []int{1, 2}, Needs: Plain, When: hasOneSided, Body: allocationOneSided,
	Config: func(cfg *core.Config) { cfg.Sleep = time.Minute },
}}

// allocationMessages has rank 0 count its allocations in every kind of exchange, and, when
// the ranks share a process, those of the others.
func allocationMessages(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		switch kinds[args[0]] {
		case core.Short:
			tok.ReplyShort(answer, args[0], 2, 3, 4)
		case core.Medium:
			tok.ReplyMedium(answer, data, args[0], 2)
		case core.Long:
			tok.ReplyLong(answer, data, 4096, args[0])
		}
	}, func(*core.Token, []uint32, []byte) { told++ }, func(tok *core.Token, _ []uint32, _ []byte) {
		b, err := tok.Prepare(core.Offer{Kind: core.Medium, Least: 8, Most: 100})
		if err != nil {
			t.Errorf("Prepare: %v", err)
		}
		if err := tok.Commit(answer, len(b)); err != nil {
			t.Errorf("Commit: %v", err)
		}
	})
	if err != nil {
		return err
	}
	if t.Rank() != 0 {
		return nil
	}
	dst, data := t.Next(), pattern(1, 200)
	var lc core.Completion
	check := func(err error) {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	requests := map[string]func(){
		"Short":     func() { check(ep.RequestShort(dst, request, 0, 2, 3, 4)) },
		"Medium":    func() { check(ep.RequestMedium(dst, request, data, 1, 2)) },
		"Long":      func() { check(ep.RequestLong(dst, request, data, 64, 2)) },
		"LongAsync": func() { check(ep.RequestLongAsync(dst, request, data, 64, 2)) },
		"LC": func() {
			check(ep.Request(dst, core.Message{Kind: core.Long, Handler: request, Data: data, LC: &lc}, 2))
		},
		"immediate": func() { // the exchange before may still hold the only room there is
			now := core.Message{Handler: request, Immediate: true}
			err := ep.Request(dst, now, 0)
			for err == core.ErrNoRoom {
				check(ep.Poll())
				err = ep.Request(dst, now, 0)
			}
			check(err)
		},
		"negotiated": func() {
			b, err := ep.Prepare(dst, core.Offer{Kind: core.Medium, Least: 8, Most: 100, NArgs: 1})
			check(err)
			check(ep.Commit(request, copy(b, data), 1))
		},
		"negotiated reply": func() { check(ep.RequestShort(dst, extra)) },
	}
	for name, request := range requests {
		if n := testing.AllocsPerRun(200, func() {
			want := told + 1
			request()
			check(ep.WaitUntil(func() bool { return told >= want }))
		}); n > 0 {
			return fmt.Errorf("an exchange by %s allocates %v times", name, n)
		}
	}
	if n := testing.AllocsPerRun(200, func() {
		want := told + 1
		check(ep.RequestShort(dst, request, 0))
		check(loop(&ep.Context, func() bool { return told >= want }))
	}); n > 0 {
		return fmt.Errorf("an exchange with a wait by turns allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { check(ep.Poll()) }); n > 0 {
		return fmt.Errorf("an empty Poll allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { check(ep.WaitLocal(&lc)) }); n > 0 {
		return fmt.Errorf("WaitLocal allocates %v times", n)
	}
	return t.Err()
}

// allocationOneSided has rank 0 count its allocations in bursts of one-sided operations.
func allocationOneSided(t *T) error {
	ep, err := attach(t)
	if err != nil || t.Rank() != 0 {
		return err
	}
	dst, data, word := t.Next(), make([]byte, 200), make([]byte, 8)
	var lc, done core.Completion
	check := func(_ core.Result, err error) {
		if err != nil {
			t.Errorf("%v", err)
		}
	}
	fetch := core.AtomicAdd << core.FetchShift
	burst := func() {
		for range 100 {
			check(ep.PutNative(dst, 64, data, &lc, &done))
			check(ep.GetNative(data, dst, 64, &done))
			check(ep.AtomicNative(dst, 0, core.ElementUint64, fetch, 1, 0, word, &done))
		}
		check(0, ep.WaitUntil(func() bool { return done.Pending() == 0 }))
	}
	for range 20 { // pools, the model's queue among them, grow to what a burst needs
		burst()
	}
	if n := testing.AllocsPerRun(100, burst); n > 0 {
		return fmt.Errorf("300 one-sided operations allocate %v times", n)
	}
	return t.Err()
}
