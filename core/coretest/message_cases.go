package coretest

import (
	"bytes"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

var messageCases = []Case{{
	Name:  "message/sizes",
	Rule:  "every category, as request and as reply, carries 0 to its limit of bytes; one more is refused and nothing is sent (GASNet-1, Active Messages)",
	Ranks: []int{1, 2, 3}, Config: lenient, Body: messageSizes,
}, {
	Name:  "message/arguments",
	Rule:  "every category, as request and as reply, carries 0 to 16 arguments unchanged; 17 are refused (gasnet_AMMaxArgs)",
	Ranks: []int{1, 2}, Config: lenient, Body: messageArguments,
}, {
	Name:  "message/zero-length",
	Rule:  "an empty payload is legal, its source is not looked at, and a Long's handler learns the offset given, at its segment's end or without any segment (GASNet-EX, AM payloads)",
	Ranks: []int{2}, Body: messageZeroLength,
}, {
	Name:  "message/payload",
	Rule:  "payloads arrive unchanged whatever their size and the alignment of source and destination; Medium buffers are aligned to 8 bytes; a Long touches no other byte",
	Ranks: []int{1, 2, 4}, Body: messagePayload,
}, {
	Name:  "message/long-edges",
	Rule:  "a Long may fill the segment from its first to its last byte; whatever would leave it is refused and nothing is written",
	Ranks: []int{1, 2}, Config: lenient, Body: messageLongEdges,
}}

// messageSizes sends one message after the other round the ring: first requests of every
// size, then requests for replies of every size.
func messageSizes(t *T) error {
	var got uint32
	asked := func(tok *core.Token, args []uint32, data []byte) {
		k, n, back, m := core.Kind(args[0]), int(args[1]), core.Kind(args[2]), int(args[3])
		if err := checkPayload(data, uint32(n), n); err != nil || tok.Kind() != k {
			t.Errorf("%v request of %d bytes arrived as %v: %v", k, n, tok.Kind(), err)
		}
		if over := tok.Endpoint().MaxPayload(tok.Src(), back, true) + 1; m == over {
			refused(t, fmt.Sprintf("%v reply of %d bytes", back, m), reply(tok, back, answer, pattern(0, m), 0))
			back, m = core.Short, 0
		}
		if err := reply(tok, back, answer, pattern(uint32(m), m), uint64(segment-m), uint32(back), uint32(m)); err != nil {
			t.Errorf("%v reply of %d bytes: %v", back, m, err)
		}
	}
	answered := func(tok *core.Token, args []uint32, data []byte) {
		got++
		if err := checkPayload(data, args[1], int(args[1])); err != nil || tok.Kind() != core.Kind(args[0]) {
			t.Errorf("%v reply of %d bytes arrived as %v: %v", core.Kind(args[0]), args[1], tok.Kind(), err)
		}
	}
	ep, err := attach(t, asked, answered)
	if err != nil {
		return err
	}
	exchange := func(k core.Kind, n int, back core.Kind, m int) error {
		want := got + 1 // sending may run handlers
		if err := send(&ep.Context, t.Next(), k, request, pattern(uint32(n), n), uint64(segment-n), uint32(k), uint32(n), uint32(back), uint32(m)); err != nil {
			return fmt.Errorf("%v request of %d bytes: %w", k, n, err)
		}
		if err := t.Wait(&ep.Context, func() bool { return got >= want }); err != nil {
			return err
		}
		return ep.Barrier() // Longs of two exchanges share their place
	}
	for _, k := range kinds {
		limit := ep.MaxPayload(t.Next(), k, false)
		for _, n := range sizes(k, limit) {
			if err := exchange(k, n, core.Short, 0); err != nil {
				return err
			}
		}
		sent := ep.Counts(t.Next()).Requests
		refused(t, fmt.Sprintf("%v request of %d bytes", k, limit+1), ep.Request(t.Next(), core.Message{Kind: k, Handler: request, Data: pattern(0, limit+1)}))
		if now := ep.Counts(t.Next()).Requests; now != sent {
			t.Errorf("a refused request was counted as sent")
		}
		limit = ep.MaxPayload(t.Rank(), k, true)
		edges := sizes(k, limit)
		if k != core.Short {
			edges = append(edges, limit+1)
		}
		for _, m := range edges {
			if err := exchange(core.Short, 0, k, m); err != nil {
				return err
			}
		}
	}
	return ep.Barrier()
}

// messageArguments sends every number of arguments and gets them back.
func messageArguments(t *T) error {
	value := func(k core.Kind, n, i int) uint32 { return uint32(k+1)*0x9e3779b9 + uint32(n*131+i)*0x85ebca6b }
	check := func(k core.Kind, n int, args []uint32) {
		if len(args) != n {
			t.Errorf("%v with %d arguments arrived with %d", k, n, len(args))
			return
		}
		for i, a := range args {
			if a != value(k, n, i) {
				t.Errorf("%v with %d arguments: argument %d is %#x, want %#x", k, n, i, a, value(k, n, i))
			}
		}
	}
	var asked, answered int // exchanges; all ranks make the same
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		k, n := kinds[asked/(core.MaxArgs+1)], asked%(core.MaxArgs+1)
		asked++
		check(k, n, args)
		refused(t, "17 arguments in a reply", reply(tok, k, answer, nil, 0, make([]uint32, core.MaxArgs+1)...))
		if err := reply(tok, k, answer, nil, 0, args...); err != nil {
			t.Errorf("reply: %v", err)
		}
	}, func(tok *core.Token, args []uint32, _ []byte) {
		check(kinds[answered/(core.MaxArgs+1)], answered%(core.MaxArgs+1), args)
		answered++
	})
	if err != nil {
		return err
	}
	for _, k := range kinds {
		for n := range core.MaxArgs + 1 {
			args := make([]uint32, n)
			for i := range args {
				args[i] = value(k, n, i)
			}
			want := answered + 1
			if err := send(&ep.Context, t.Next(), k, request, nil, 0, args...); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return answered >= want }); err != nil {
				return err
			}
		}
		refused(t, "17 arguments", send(&ep.Context, t.Next(), k, request, nil, 0, make([]uint32, core.MaxArgs+1)...))
	}
	return ep.Barrier()
}

// messageZeroLength sends nothing from everywhere; rank 1 has no segment.
func messageZeroLength(t *T) error {
	sizeOf := []uint64{segment, 0}
	var got int
	empty := func(tok *core.Token, args []uint32, data []byte) {
		if len(data) != 0 || tok.Kind() == core.Long && tok.Offset() != uint64(args[0]) {
			t.Errorf("empty %v at %d arrived with %d bytes at %d", tok.Kind(), args[0], len(data), tok.Offset())
		}
		if got++; !tok.IsRequest() {
			return
		}
		if err := reply(tok, tok.Kind(), answer, data[:0], sizeOf[tok.Src()], uint32(sizeOf[tok.Src()])); err != nil {
			t.Errorf("empty reply: %v", err)
		}
	}
	ep, err := t.Attach(core.AttachSpec{Segment: fmt.Sprint(sizeOf[t.Rank()]), Handlers: handlers(empty, empty)})
	if err != nil {
		return err
	}
	sources := [][]byte{nil, {}, noise()[7:7], noise()[segment:][:0:0]}
	sent := 0
	for dst := range core.Rank(t.Size()) {
		for _, src := range sources {
			for _, off := range []uint64{0, sizeOf[dst] / 2, sizeOf[dst]} {
				lc := new(core.Completion)
				for _, m := range []core.Message{
					{Kind: core.Medium}, {Kind: core.Medium, LC: lc},
					{Kind: core.Long}, {Kind: core.Long, LC: lc}, {Kind: core.Long, Async: true},
				} {
					m.Handler, m.Data, m.Off = request, src, off
					if err := ep.Request(dst, m, uint32(off)); err != nil {
						return err
					}
					sent++
				}
				if err := ep.WaitLocal(lc); err != nil {
					return err
				}
			}
		}
	}
	if err := t.Wait(&ep.Context, func() bool { return got >= 2*sent }); err != nil {
		return err
	}
	return ep.Barrier()
}

// messagePayload sends random pieces of random places. Every rank has a stripe of its own
// in everybody's segment, and a byte between the stripes tells if anybody missed it.
func messagePayload(t *T) error {
	const guard = 0xa5
	var asked, told int
	arrived := func(tok *core.Token, args []uint32, data []byte) {
		if err := checkPayload(data, args[0], int(args[1])); err != nil {
			t.Errorf("%v from rank %d: %v", tok.Kind(), tok.Src(), err)
		}
		checkAligned(t, tok, data)
		if tok.Kind() == core.Long {
			seg, at, end := tok.Endpoint().Segment(), int(args[2]), int(args[2])+len(data)
			if tok.Offset() != uint64(at) || seg[at-1] != guard || seg[end] != guard {
				t.Errorf("a Long of %d bytes for %d arrived at %d or wrote beyond", len(data), at, tok.Offset())
			}
			copy(data, bytes.Repeat([]byte{guard}, len(data)))
		}
		if !tok.IsRequest() {
			told++
			return
		}
		asked++
		if err := reply(tok, tok.Kind(), answer, pattern(args[0]+1, int(args[1])), uint64(args[3]), args[0]+1, args[1], args[3]); err != nil {
			t.Errorf("reply: %v", err)
		}
	}
	ep, err := attach(t, arrived, arrived)
	if err != nil {
		return err
	}
	for i := range ep.Segment() {
		ep.Segment()[i] = guard
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	rnd := t.Rand()
	stripe := segment / (2*t.Size() + 2) // one for requests and one for replies of each rank
	rounds := t.Times(200)
	for i := range rounds {
		k := kinds[1+i%2]
		most := min(stripe-2, ep.MaxPayload(t.Next(), k, false), ep.MaxPayload(t.Rank(), k, true))
		n := min(most, i) // small ones first, when buffers are new
		if i > 16 {
			n = rnd.IntN(1 + min(most, 1<<rnd.IntN(21)))
		}
		place := func(side int) uint64 { return uint64(side*stripe + 1 + rnd.IntN(stripe-n-1)) }
		seed := rnd.Uint32N(1 << 30)
		off, back := place(2*int(t.Rank())), place(2*int(t.Rank())+1)
		if err := send(&ep.Context, t.Next(), k, request, pattern(seed, n), off, seed, uint32(n), uint32(off), uint32(back)); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return told > i }); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return asked >= rounds })
}

func messageLongEdges(t *T) error {
	var got uint32
	ep, err := attach(t, func(tok *core.Token, args []uint32, data []byte) {
		got++
		if err := checkPayload(data, args[0], int(args[1])); err != nil || tok.Offset() != uint64(args[2]) {
			t.Errorf("Long at %d arrived at %d: %v", args[2], tok.Offset(), err)
		}
		if n := len(data); n > 0 && address(data) != address(tok.Endpoint().Segment()[args[2]:]) {
			t.Errorf("the payload at %d of the segment lies elsewhere", args[2])
		}
		refused(t, "Long reply beyond the segment", tok.ReplyLong(answer, pattern(0, 2), segment-1))
		refused(t, "Long reply behind the segment", tok.ReplyLong(answer, nil, segment+1))
		refused(t, "Long reply at a huge offset", tok.ReplyLong(answer, pattern(0, 2), ^uint64(0)))
	}, ignore)
	if err != nil {
		return err
	}
	most := ep.MaxPayload(t.Next(), core.Long, false)
	page := min(4096, most)
	good := []struct{ off, n int }{{0, 1}, {0, most}, {segment - 1, 1}, {segment - most, most}, {segment, 0}, {segment - page, page}}
	for i, g := range good {
		if err := ep.RequestLong(t.Next(), request, pattern(uint32(i), g.n), uint64(g.off), uint32(i), uint32(g.n), uint32(g.off)); err != nil {
			return err
		}
		if err := t.Wait(&ep.Context, func() bool { return got >= uint32(i+1) }); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil { // the next Long may overwrite this one
			return err
		}
	}
	bad := []struct {
		off uint64
		n   int
	}{{segment, 1}, {segment - 1, 2}, {segment + 1, 0}, {segment + 1, 1}, {1 << 40, 8}, {^uint64(0), 0}, {^uint64(0), 1}, {^uint64(7), 16}}
	for _, b := range bad {
		refused(t, fmt.Sprintf("Long of %d bytes at %d", b.n, b.off), ep.RequestLong(t.Next(), request, pattern(0, b.n), b.off, 0, 0, 0))
		refused(t, fmt.Sprintf("LongAsync of %d bytes at %d", b.n, b.off), ep.RequestLongAsync(t.Next(), request, pattern(0, b.n), b.off, 0, 0, 0))
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if int(got) != len(good) {
		t.Errorf("%d Longs arrived, %d were sent", got, len(good))
	}
	return nil
}
