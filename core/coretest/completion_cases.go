package coretest

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var completionCases = []Case{{
	Name:  "completion/now",
	Rule:  "a payload without LC or Async may be overwritten as soon as the request or the reply returns (GASNet-EX, local completion: GEX_EVENT_NOW)",
	Ranks: []int{1, 2}, Body: completionNow,
}, {
	Name:  "completion/count",
	Rule:  "a Completion counts payloads in use; when it is down to 0 they may be overwritten (GEX_EVENT_GROUP, event pointer)",
	Ranks: []int{1, 2}, Body: completionCount,
}, {
	Name:  "completion/async",
	Rule:  "the payload of a LongAsync may be overwritten when the matching reply handler starts (gasnet_AMRequestLongAsync)",
	Ranks: []int{1, 2}, Body: completionAsync,
}}

// scribble makes a payload unrecognisable.
func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

// receiver checks payloads whose seed and length are the first arguments, counts them, and
// answers with one that it overwrites at once.
func receiver(t *T, got *int) core.Handler {
	scratch := make([]byte, segment)
	return func(tok *core.Token, args []uint32, data []byte) {
		*got++
		n := int(args[1])
		if err := checkPayload(data, args[0], n); err != nil {
			t.Errorf("%v from rank %d: %v", tok.Kind(), tok.Src(), err)
		}
		checkAligned(t, tok, data)
		if !tok.IsRequest() {
			return
		}
		b := scratch[:copy(scratch, pattern(args[0]+1, n))]
		if err := reply(tok, tok.Kind(), answer, b, uint64(args[2]), args[0]+1, args[1]); err != nil {
			t.Errorf("reply: %v", err)
		}
		scribble(b)
	}
}

// places gives the i-th of several concurrent Longs, of at most size bytes, an offset for
// the request and one for the reply, apart for every rank that may send.
func places(t *T, i, size int) (off, back uint64) {
	at := uint64((int(t.Rank())*32 + i%32) * size)
	return at, at + segment/2
}

func completionNow(t *T) error {
	var got int
	h := receiver(t, &got)
	ep, err := attach(t, h, h)
	if err != nil {
		return err
	}
	const most = 4096
	buf := make([]byte, most)
	rnd := t.Rand()
	rounds := t.Times(10)
	for round := range rounds {
		for i := range 32 {
			n := rnd.IntN(min(most, ep.MaxPayload(t.Next(), core.Medium, false), ep.MaxPayload(t.Rank(), core.Medium, true)) + 1)
			seed := rnd.Uint32N(1 << 30)
			off, back := places(t, i, most)
			b := buf[:copy(buf, pattern(seed, n))]
			if err := send(&ep.Context, t.Next(), kinds[1+i%2], request, b, off, seed, uint32(n), uint32(back)); err != nil {
				return err
			}
			scribble(b)
		}
		if err := t.Wait(&ep.Context, func() bool { return got >= 64*(round+1) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil { // the places are used again
			return err
		}
	}
	return nil
}

func completionCount(t *T) error {
	var got int
	h := receiver(t, &got)
	ep, err := attach(t, h, h)
	if err != nil {
		return err
	}
	const most = 4096
	var group core.Completion
	if group.Pending() != 0 || ep.WaitLocal(&group) != nil {
		t.Errorf("a new Completion is not complete")
	}
	bufs := make([][]byte, 32)
	for i := range bufs {
		bufs[i] = make([]byte, most+1)[1:] // unaligned
	}
	for round := range t.Times(10) {
		for i, b := range bufs {
			n := min(most, ep.MaxPayload(t.Next(), core.Medium, false), ep.MaxPayload(t.Rank(), core.Medium, true)) - i
			seed := uint32(round*100 + i)
			off, back := places(t, i, most)
			copy(b, pattern(seed, n))
			m := core.Message{Kind: kinds[1+i%2], Handler: request, Data: b[:n], Off: off, LC: &group}
			if err := ep.Request(t.Next(), m, seed, uint32(n), uint32(back)); err != nil {
				return err
			}
			if p := group.Pending(); p < 0 || p > i+1 {
				return fmt.Errorf("%d of %d payloads pending", p, i+1)
			}
		}
		if err := ep.WaitLocal(&group); err != nil {
			return err
		}
		if p := group.Pending(); p != 0 {
			return fmt.Errorf("after WaitLocal %d payloads are pending", p)
		}
		for _, b := range bufs {
			scribble(b)
		}
		if err := t.Wait(&ep.Context, func() bool { return got >= 2*len(bufs)*(round+1) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

func completionAsync(t *T) error {
	var got int
	const most = 8192
	bufs := make([][]byte, 32)
	h := receiver(t, &got)
	ep, err := attach(t, h, func(_ *core.Token, args []uint32, _ []byte) {
		got++
		scribble(bufs[(args[0]-1)%uint32(len(bufs))])
	})
	if err != nil {
		return err
	}
	for round := range t.Times(10) {
		for i := range bufs {
			n := min(most, ep.MaxPayload(t.Next(), core.Long, false), ep.MaxPayload(t.Rank(), core.Long, true)) - i
			seed := uint32(round*len(bufs) + i)
			off, back := places(t, i, most)
			bufs[i] = append([]byte(nil), pattern(seed, n)...)
			if err := ep.RequestLongAsync(t.Next(), request, bufs[i], off, seed, uint32(n), uint32(back)); err != nil {
				return err
			}
		}
		if err := t.Wait(&ep.Context, func() bool { return got >= 2*len(bufs)*(round+1) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return nil
}
