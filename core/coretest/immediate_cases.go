package coretest

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
)

var immediateCases = []Case{{
	Name:  "immediate/no-room",
	Rule:  "an immediate request to a rank that does not poll is refused with ErrNoRoom some time, since nothing grows without bound; what was accepted arrives once (GEX_FLAG_IMMEDIATE)",
	Ranks: []int{2, 3}, Body: immediateNoRoom,
}, {
	Name:  "immediate/all-to-all",
	Rule:  "ranks that send with Immediate and poll when refused make progress, all together",
	Ranks: []int{1, 2, 4}, Body: immediateAllToAll,
}}

// immediately repeats an immediate request until there is room, polling in between.
func immediately(ep *core.Endpoint, dst core.Rank, m core.Message, args ...uint32) error {
	for {
		err := try(ep, dst, m, args...)
		if !errors.Is(err, core.ErrNoRoom) {
			return err
		}
		if err := ep.Poll(); err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// try sends an immediate request, a Short by TryShort.
func try(ep *core.Endpoint, dst core.Rank, m core.Message, args ...uint32) error {
	if m.Kind == core.Short {
		return ep.TryShort(dst, m.Handler, args...)
	}
	return ep.Request(dst, m, args...)
}

// immediateNoRoom has all ranks fill what there is towards rank 0, which does not poll
// before that is done. Under a model no time passes for a rank that computes, so there it
// polls, and there may be room enough.
func immediateNoRoom(t *T) error {
	asked := newTally(t)
	var total, told int
	ep, err := attach(t,
		func(tok *core.Token, args []uint32, _ []byte) { asked.add(tok.Src(), args[0]) },
		func(_ *core.Token, args []uint32, _ []byte) { total, told = total+int(args[0]), told+1 })
	if err != nil {
		return err
	}
	if t.Rank() > 0 {
		return fill(t, ep)
	}
	for r := 1; r < t.Size() && !t.Modelled(); runtime.Gosched() {
		if t.Noted(fmt.Sprint("full", r)) {
			r++
		}
	}
	return t.Wait(&ep.Context, func() bool { return told >= t.Size()-1 && asked.n >= total })
}

// fill sends to rank 0 until there is no room, then some more, and says how much it was.
func fill(t *T, ep *core.Endpoint) error {
	const most = 1 << 20
	m := core.Message{Handler: request, Immediate: true}
	var lc core.Completion
	sent := uint32(0)
	for {
		m.Kind, m.Data, m.LC = kinds[sent%3], nil, nil
		if m.Kind != core.Short {
			m.Data, m.LC, m.Off = pattern(0, 64), &lc, uint64(t.Rank())*64
		}
		err := try(ep, 0, m, sent)
		if errors.Is(err, core.ErrNoRoom) {
			break
		}
		if err != nil {
			return err
		}
		if sent++; sent == most || t.Modelled() && sent == 1000 {
			break
		}
	}
	if sent == most {
		return fmt.Errorf("%d messages to a rank that does not poll, and still room", sent)
	}
	t.Note(fmt.Sprint("full", t.Rank()))
	for range 200 {
		if err := immediately(ep, 0, m, sent); err != nil {
			return err
		}
		sent++
	}
	if err := ep.RequestShort(0, answer, sent); err != nil {
		return err
	}
	return ep.WaitLocal(&lc)
}

func immediateAllToAll(t *T) error {
	asked, told := newTally(t), newTally(t)
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		asked.add(tok.Src(), args[0])
		if err := tok.ReplyShort(answer, args[0]); err != nil {
			t.Errorf("reply: %v", err)
		}
	}, func(tok *core.Token, args []uint32, _ []byte) { told.add(tok.Src(), args[0]) })
	if err != nil {
		return err
	}
	n := t.Times(300)
	for i := range n {
		m := core.Message{Kind: kinds[i%3], Handler: request, Off: uint64(t.Rank()) * 64, Immediate: true}
		if m.Kind != core.Short {
			m.Data = pattern(0, 40)
		}
		for dst := range core.Rank(t.Size()) {
			if err := immediately(ep, dst, m, uint32(i)); err != nil {
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
