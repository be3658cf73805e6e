package coretest

import (
	"github.com/aqueduct-go/aqueduct/core"
)

var barrierCases = []Case{{
	Name:  "barrier/all-sizes",
	Rule:  "no rank leaves the n-th Barrier before every rank has entered it",
	Ranks: []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, Body: barrierRounds,
}, {
	Name:  "barrier/serves",
	Rule:  "ranks in a Barrier serve those that are late",
	Ranks: []int{2, 4}, Body: barrierServes,
}}

// barrierRounds has every rank tell every other when it has left a barrier; whoever hears
// that must have entered it. Ranks come late by turns.
func barrierRounds(t *T) error {
	var entered, heard int
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		heard++
		if int(args[0]) > entered {
			t.Errorf("rank %d has left barrier %d, this rank has entered only %d", tok.Src(), args[0], entered)
		}
	}, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(extra) }, ignore)
	if err != nil {
		return err
	}
	n := t.Times(30)
	for i := range n {
		if i%t.Size() == int(t.Rank()) {
			for range 50 { // late
				if err := ep.RequestShort(t.Next(), answer); err != nil {
					return err
				}
			}
		}
		entered++
		if err := ep.Barrier(); err != nil {
			return err
		}
		if err := t.Others(func(dst core.Rank) error { return ep.RequestShort(dst, request, uint32(entered)) }); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return heard >= n*(t.Size()-1) })
}

// barrierServes has one rank after the other exchange messages with all others, which are
// in the barrier.
func barrierServes(t *T) error {
	var told int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	for late := range core.Rank(t.Size()) {
		if t.Rank() == late {
			for range t.Times(50) {
				want := told + t.Size() - 1
				if err := t.Others(func(dst core.Rank) error { return ep.RequestShort(dst, request) }); err != nil {
					return err
				}
				if err := t.Wait(&ep.Context, func() bool { return told >= want }); err != nil {
					return err
				}
			}
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return nil
}
