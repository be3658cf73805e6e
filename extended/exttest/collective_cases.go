package exttest

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

type coretestToken = core.Token

func put64(x uint64) []byte { return binary.NativeEndian.AppendUint64(nil, x) }
func get64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// yield lets other ranks of the process run; under a model time passes.
func yield(t *coretest.T, ep *extended.Endpoint) error {
	if t.Modelled() {
		return ep.Poll()
	}
	runtime.Gosched()
	return nil
}

var collectiveCases = []coretest.Case{{
	Name:  "collective/broadcast",
	Rule:  "a broadcast brings the root's bytes to every member, whatever the size and the root",
	Ranks: []int{1, 2, 3, 5}, Body: eachTeam(broadcast),
}, {
	Name:  "collective/ahead",
	Rule:  "members may be ahead by many calls, of several teams, and what others keep for them is bounded",
	Ranks: []int{2, 4}, Body: collectiveAhead,
}, {
	Name:  "collective/mixed",
	Rule:  "collectives, puts, active messages and barriers of several teams may be under way together",
	Ranks: []int{2, 4}, Body: collectiveMixed,
}}

func broadcast(t *coretest.T, c *extended.Context, w *extended.Team) error {
	for i, n := range lengths(c, w, sizes, 65537) {
		root := i % w.Size()
		want := fill(make([]byte, n), uint64(i))
		got := make([]byte, n)
		var src []byte
		if w.Rank() == root {
			src = want
		}
		if err := w.Broadcast(c, root, got, src); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("broadcast of %d bytes from %d", n, root)
			return nil
		}
	}
	return nil
}

// collectiveAhead has the root of broadcasts run ahead of members that do other things.
func collectiveAhead(t *coretest.T) error {
	var told int
	ep, err := attach(t, func(*coretestToken, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	const n, size = 600, 3000
	got := make([]byte, n*size)
	evs := make([]extended.Event, n)
	if w.Rank() != 0 { // begins when the root has begun all it can
		if err := t.Wait(ep.Context.Context, func() bool { return told > 0 }); err != nil {
			return err
		}
	}
	for i := range evs {
		part := got[i*size:][:size]
		var src []byte
		if w.Rank() == 0 {
			src = fill(part, uint64(i))
		}
		if evs[i], err = w.BroadcastNB(c, 0, part, src); err != nil {
			return err
		}
	}
	if w.Rank() == 0 {
		if err := t.Others(func(r core.Rank) error { return ep.RequestShort(r, 128) }); err != nil {
			return err
		}
	}
	if err := ep.WaitAll(evs); err != nil {
		return err
	}
	want := make([]byte, size)
	for i := range n {
		if !bytes.Equal(got[i*size:][:size], fill(want, uint64(i))) {
			t.Errorf("broadcast %d differs", i)
			return t.Err()
		}
	}
	return t.Err()
}

func collectiveMixed(t *coretest.T) error {
	var told int
	ep, err := attach(t, func(*coretestToken, []uint32, []byte) { told++ })
	if err != nil {
		return err
	}
	c, w := &ep.Context, ep.World()
	half, err := w.Split(c, w.Rank()%2, 0)
	if err != nil {
		return err
	}
	add := extended.Reduction{Type: extended.Uint64, Op: extended.Add}
	for round := range t.Times(200) {
		out1, out2 := make([]byte, 8), make([]byte, 8)
		in := put64(uint64(round) + uint64(t.Rank()))
		ev1, err := w.AllReduceNB(c, out1, in, add)
		if err != nil {
			return err
		}
		ev2, err := half.AllReduceNB(c, out2, in, add)
		if err != nil {
			return err
		}
		if err := w.Notify(c, int32(round), 0); err != nil {
			return err
		}
		if err := ep.Put(t.Next(), 8*uint64(t.Rank()), in); err != nil {
			return err
		}
		if err := ep.RequestShort(t.Next(), 128); err != nil {
			return err
		}
		if err := t.Wait(ep.Context.Context, func() bool { return told > round }); err != nil {
			return err
		}
		if err := ep.Wait(ev2); err != nil {
			return err
		}
		if err := w.WaitBarrier(c, int32(round), 0); err != nil {
			return err
		}
		if err := ep.Wait(ev1); err != nil {
			return err
		}
		var sum1, sum2 uint64
		for r := range t.Size() {
			sum1 += uint64(round + r)
			if r%2 == w.Rank()%2 {
				sum2 += uint64(round + r)
			}
		}
		prev := (int(t.Rank()) + t.Size() - 1) % t.Size()
		if get64(out1) != sum1 || get64(out2) != sum2 || get64(ep.Segment()[8*prev:]) != uint64(round+prev) {
			t.Errorf("round %d: sums %d and %d, want %d and %d", round, get64(out1), get64(out2), sum1, sum2)
			return t.Err()
		}
		if err := w.Barrier(c); err != nil {
			return err
		}
	}
	return t.Err()
}
