package coretest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// The cases of one-sided operations are for conduits that have some. What a conduit
// declines is left out, so that each tests what there is.
var oneSidedCases = []Case{{
	Name:  "one-sided/put",
	Rule:  "a put of any size and alignment writes its bytes and no others, and a message sent after its completion finds them",
	Ranks: []int{1, 2, 3}, When: hasOneSided, Body: oneSidedPut,
}, {
	Name:  "one-sided/get",
	Rule:  "a get of any size and alignment reads what a peer stored before it told of that",
	Ranks: []int{1, 2, 3}, When: hasOneSided, Body: oneSidedGet,
}, {
	Name:  "one-sided/many",
	Rule:  "thousands of operations may be under way, whatever the conduit has room for; Done counts each once, and the source of a put may be overwritten when LC says so",
	Ranks: []int{1, 2, 3}, When: hasOneSided, Body: oneSidedMany,
}, {
	Name:  "one-sided/inline",
	Rule:  "the source of a put of MaxInline bytes or fewer may be overwritten on return",
	Ranks: []int{1, 2}, When: hasOneSided, Body: oneSidedInline,
}, {
	Name:  "one-sided/idle-target",
	Rule:  "operations complete though their target computes and does not call the library",
	Ranks: []int{2, 3}, Needs: Live, When: hasOneSided, Body: oneSidedIdleTarget,
}, {
	Name:  "one-sided/refused-requests",
	Rule:  "operations complete though their target, which computes, has no room for their initiator's requests",
	Ranks: []int{2, 3}, When: hasOneSided, Body: oneSidedRefusedRequests,
}, {
	Name:  "one-sided/messages",
	Rule:  "operations under way and floods of messages do not hinder each other",
	Ranks: []int{2, 3}, When: hasOneSided, Body: oneSidedMessages,
}, {
	Name:  "one-sided/contexts",
	Rule:  "many goroutines may initiate operations at once, and wait for them",
	Ranks: []int{1, 2}, Needs: Threads, When: hasOneSided, Body: oneSidedContexts,
}, {
	Name:  "one-sided/atomic-operations",
	Rule:  "every atomic operation that a conduit names does what its definition says, fetches what was there, and touches nothing else",
	Ranks: []int{1, 2}, When: hasOneSided, Body: oneSidedOperations,
}, {
	Name:  "one-sided/atomic-tickets",
	Rule:  "concurrent fetch-adds of all ranks, the owner too, return each value once",
	Ranks: []int{1, 2, 4}, When: fetchesAndAdds, Body: oneSidedTickets,
}, {
	Name:  "one-sided/nothing",
	Rule:  "an operation on no bytes is complete at once, also at the end of the segment",
	Ranks: []int{1, 2}, When: hasOneSided, Body: oneSidedNothing,
}, {
	Name:  "one-sided/refusals",
	Rule:  "ranges outside the segment, strange ranks, misaligned elements and calls in handlers are refused and change nothing; what is too large is declined",
	Ranks: []int{2}, Config: lenient, When: hasOneSided, Body: oneSidedRefusals,
}, {
	Name:  "one-sided/off",
	Rule:  "with Config.NoNative there are no one-sided operations",
	Ranks: []int{1, 2}, Config: func(cfg *core.Config) { cfg.NoNative = true }, Body: oneSidedOff,
}, {
	Name:  "one-sided/exit",
	Rule:  "Exit ends a job while operations are under way",
	Ranks: []int{1, 3}, Want: endsWith(3), Body: func(t *T) error {
		ep, err := underWay(t)
		if err != nil {
			return err
		}
		if int(t.Rank()) == t.Size()-1 {
			t.Exit(3)
		}
		return whileWaiting(ep)
	},
}, {
	Name:  "one-sided/return",
	Rule:  "ranks may return while operations are under way, which touch nothing afterwards",
	Ranks: []int{1, 3}, Body: func(t *T) error { _, err := underWay(t); return err },
}}

// hasOneSided reports whether the conduit has one-sided operations.
func hasOneSided(_ *T, ep *core.Endpoint) bool {
	return ep.MaxNativePut() != 0 || ep.MaxNativeGet() != 0 || ep.NativeOps(core.ElementUint64) != 0
}

// fetchAdd is the operation that draws numbers.
const fetchAdd = core.AtomicAdd << core.FetchShift

// fetchesAndAdds reports whether the network of the conduit draws numbers.
func fetchesAndAdds(_ *T, ep *core.Endpoint) bool {
	return ep.NativeOps(core.ElementUint64)&fetchAdd != 0
}

// quiet waits until nothing that done counts is under way.
func quiet(t *T, c *core.Context, done *core.Completion) error {
	err := t.Wait(c, func() bool { return done.Pending() == 0 })
	if n := done.Pending(); err == nil && n != 0 {
		t.Errorf("%d operations are pending after all were complete", n)
	}
	return err
}

// oneSidedSizes are lengths of transfers up to a limit, and what a segment has room for.
func oneSidedSizes(limit int) (ns []int) {
	for _, n := range []int{1, 2, 3, 4, 7, 8, 9, 16, 63, 64, 65, 127, 1000, 4095, 4096, 4097, 65536, limit - 1, limit} {
		if n > 0 && n <= min(limit, segment/8) {
			ns = append(ns, n)
		}
	}
	return ns
}

func oneSidedPut(t *T) error {
	var ep *core.Endpoint
	seen := 0
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		off, n := int(args[0]), int(args[1])
		seg := ep.Segment()
		if err := checkPayload(seg[off:off+n], args[2], n); err != nil {
			t.Errorf("%d bytes at %d: %v", n, off, err)
		}
		for _, at := range []int{off - 1, off + n} {
			if at >= 0 && at < len(seg) && seg[at] != 0 {
				t.Errorf("a put of %d bytes at %d wrote to %d too", n, off, at)
			}
		}
		clear(seg[off : off+n])
		if err := tok.ReplyShort(answer); err != nil {
			t.Errorf("%v", err)
		}
	}, func(*core.Token, []uint32, []byte) { seen++ })
	if err != nil {
		return err
	}
	sent := 0
	for dst := range core.Rank(t.Size()) {
		for i, n := range oneSidedSizes(ep.MaxNativePut()) {
			// In the sender's part of the segment, the last bytes of it among them.
			part := segment / t.Size()
			for k, at := range []int{1 + i%8, part - n} {
				off, seed := int(t.Rank())*part+at, uint32(sent*7+k)
				src := append(make([]byte, 1+k), pattern(seed, n)...)[1+k:] // unaligned
				var done, lc core.Completion
				r, err := ep.PutNative(dst, uint64(off), src, &lc, &done)
				if r == core.Declined || err != nil {
					if err != nil {
						return err
					}
					continue
				}
				if err := quiet(t, &ep.Context, &done); err != nil {
					return err
				}
				if lc.Pending() != 0 {
					t.Errorf("a put of %d bytes is complete, its source is in use", n)
				}
				if err := ep.RequestShort(dst, request, uint32(off), uint32(n), seed); err != nil {
					return err
				}
				sent++
				if err := t.Wait(&ep.Context, func() bool { return seen >= sent }); err != nil {
					return err
				}
			}
		}
	}
	return t.Err()
}

func oneSidedGet(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	copy(ep.Segment(), pattern(uint32(t.Rank()), segment))
	if err := ep.Barrier(); err != nil {
		return err
	}
	for src := range core.Rank(t.Size()) {
		for i, n := range oneSidedSizes(ep.MaxNativeGet()) {
			for k, off := range []int{i, segment - n} {
				buf := make([]byte, n+2+k)
				dst := buf[1+k : 1+k+n]
				var done core.Completion
				r, err := ep.GetNative(dst, src, uint64(off), &done)
				if err != nil {
					return err
				}
				if err := quiet(t, &ep.Context, &done); err != nil {
					return err
				}
				want := make([]byte, len(buf))
				if r != core.Declined {
					copy(want[1+k:], pattern(uint32(src), segment)[off:off+n])
				}
				if !bytes.Equal(buf, want) {
					t.Errorf("a get of %d bytes at %d of rank %d (%v) is wrong, or wrote beside its place", n, off, src, r)
				}
			}
		}
	}
	return ep.Barrier() // peers read this segment
}

// roundTrip puts n bytes of every seed to a place of its own at dst, all at once, overwrites
// the sources as soon as it may, and gets and checks what is there. base is where the caller's
// places begin.
func roundTrip(t *T, c *core.Context, dst core.Rank, base, n, count int) error {
	bufs := make([][]byte, count)
	taken := make([]bool, count)
	var done, lc core.Completion
	for i := range bufs {
		bufs[i] = append([]byte(nil), pattern(uint32(base+i), n)...)
		r, err := c.PutNative(dst, uint64(base+i*n), bufs[i], &lc, &done)
		if err != nil {
			return err
		}
		taken[i] = r != core.Declined
		if p := done.Pending(); p < 0 || p > i+1 {
			return fmt.Errorf("%d of %d puts are pending", p, i+1)
		}
	}
	if err := c.WaitLocal(&lc); err != nil {
		return err
	}
	for i := range bufs {
		scribble(bufs[i])
	}
	if err := quiet(t, c, &done); err != nil {
		return err
	}
	for i := range bufs {
		if !taken[i] {
			continue
		}
		clear(bufs[i])
		r, err := c.GetNative(bufs[i], dst, uint64(base+i*n), &done)
		if err != nil {
			return err
		}
		taken[i] = r != core.Declined
	}
	if err := quiet(t, c, &done); err != nil {
		return err
	}
	for i := range bufs {
		if taken[i] {
			if err := checkPayload(bufs[i], uint32(base+i), n); err != nil {
				t.Errorf("put and get %d of %d bytes: %v", i, n, err)
			}
		}
	}
	return nil
}

func oneSidedMany(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	part := segment / t.Size()
	for i, n := range []int{8, 64, 200} {
		dst := (t.Rank() + core.Rank(i)) % core.Rank(t.Size())
		if err := roundTrip(t, &ep.Context, dst, int(t.Rank())*part, n, min(t.Times(1000), part/n)); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	return t.Err()
}

func oneSidedInline(t *T) error {
	answered := 0
	ep, err := attach(t, func(tok *core.Token, _ []uint32, _ []byte) { tok.ReplyShort(answer) },
		func(*core.Token, []uint32, []byte) { answered++ })
	if err != nil {
		return err
	}
	var done core.Completion
	var src [core.MaxInline]byte
	declined := 0
	const most = 200
	seed := func(dst core.Rank) uint32 { return uint32(dst) * most } // by the rank that is written to
	for i := range most {
		n, off := 1+i%core.MaxInline, uint64(i*core.MaxInline)
		copy(src[:], pattern(seed(t.Next())+uint32(i), n))
		r, err := ep.PutNative(t.Next(), off, src[:n], nil, &done)
		if r == core.Declined && err == nil { // as the layer above would do it
			declined++
			err = ep.RequestLong(t.Next(), request, src[:n], off)
		}
		if err != nil {
			return err
		}
		scribble(src[:])
	}
	if err := quiet(t, &ep.Context, &done); err != nil {
		return err
	}
	if err := t.Wait(&ep.Context, func() bool { return answered >= declined }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	wrong := 0
	for i := range most {
		n := 1 + i%core.MaxInline
		if checkPayload(ep.Segment()[i*core.MaxInline:][:n], seed(t.Rank())+uint32(i), n) != nil {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d small puts are wrong", wrong, most)
	}
	return t.Err()
}

func oneSidedIdleTarget(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	last := core.Rank(t.Size() - 1)
	if t.Rank() == last {
		for r := range last {
			for !t.Noted(fmt.Sprint("served", r)) {
				runtime.Gosched()
			}
		}
		return nil
	}
	c, part := &ep.Context, segment/t.Size()
	if err := roundTrip(t, c, last, int(t.Rank())*part, 100, 100); err != nil {
		return err
	}
	if op := core.AtomicAdd << core.FetchShift; ep.NativeOps(core.ElementUint64)&op != 0 {
		var done core.Completion
		var old [8]byte
		off := uint64(segment - 8)
		if _, err := c.AtomicNative(last, off, core.ElementUint64, op, 1, 0, old[:], &done); err != nil {
			return err
		}
		if err := quiet(t, c, &done); err != nil {
			return err
		}
	}
	t.Note(fmt.Sprint("served", t.Rank()))
	return t.Err()
}

// oneSidedRefusedRequests has all ranks send requests to the last one while there is room, then put and get there, again and again until what comes back is
// that there is still none. The last rank does not call the library before that is done; in virtual time it computes for a tenth of a second.
func oneSidedRefusedRequests(t *T) error {
	handled, sent, told := 0, 0, 0
	ep, err := attach(t, func(*core.Token, []uint32, []byte) { handled++ },
		func(_ *core.Token, args []uint32, _ []byte) { sent, told = sent+int(args[0]), told+1 })
	if err != nil {
		return err
	}
	last := core.Rank(t.Size() - 1)
	done := func(r core.Rank) string { return fmt.Sprint("refused", r) }
	const computes = 100 * time.Millisecond
	began := t.Now()
	if t.Rank() == last {
		t.Compute(computes)
		for r := core.Rank(0); r < last && !t.Modelled(); runtime.Gosched() {
			if t.Noted(done(r)) {
				r++
			}
		}
		return t.Wait(&ep.Context, func() bool { return told == int(last) && handled == sent })
	}
	const most = 1 << 20
	m := core.Message{Kind: core.Medium, Handler: request, Data: pattern(0, 400), Immediate: true}
	for n, refused := 0, 0; refused < 3; refused++ {
		for ; ; n, refused = n+1, 0 {
			if err := try(ep, last, m); errors.Is(err, core.ErrNoRoom) {
				break
			} else if err != nil || n == most {
				return errors.Join(err, fmt.Errorf("%d messages to a rank that does not poll, and still room", n))
			}
		}
		sent = n
		if err := roundTrip(t, &ep.Context, last, int(t.Rank())*segment/t.Size(), 100, 10); err != nil {
			return err
		}
		if took := t.Now() - began; t.Modelled() && took.Duration() > computes {
			return fmt.Errorf("operations have completed after %v, while their target computes for %v", took, computes)
		}
	}
	t.Note(done(t.Rank()))
	return ep.RequestShort(last, answer, uint32(sent))
}

func oneSidedMessages(t *T) error {
	var answers int
	ep, err := attach(t, func(tok *core.Token, _ []uint32, data []byte) { tok.ReplyMedium(answer, data) },
		func(*core.Token, []uint32, []byte) { answers++ })
	if err != nil {
		return err
	}
	var done core.Completion
	src := pattern(3, 300)
	part := segment / t.Size()
	rounds := t.Times(500)
	for i := range rounds {
		if err := ep.RequestMedium(t.Next(), request, src); err != nil {
			return err
		}
		off := int(t.Rank())*part + i%100*len(src)
		if _, err := ep.PutNative(t.Next(), uint64(off), src, nil, &done); err != nil {
			return err
		}
	}
	return t.Wait(&ep.Context, func() bool { return answers >= rounds && done.Pending() == 0 })
}

func oneSidedContexts(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	const goroutines = 4
	count := t.Times(100)
	word := uint64(segment - 8)
	add := core.AtomicAdd
	counted := ep.NativeOps(core.ElementUint64)&add != 0
	err = together(ep, goroutines, func(i int, c *core.Context) error {
		part := segment / 2 / goroutines
		if err := roundTrip(t, c, t.Next(), i*part, 100, min(count, part/100)); err != nil || !counted {
			return err
		}
		var done core.Completion
		for range count {
			if _, err := c.AtomicNative(t.Next(), word, core.ElementUint64, add, 1, 0, nil, &done); err != nil {
				return err
			}
		}
		return quiet(t, c, &done)
	})
	if err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if n := word64(ep.Segment()[word:]); counted && n != uint64(goroutines*count) {
		t.Errorf("%d additions by %d goroutines made %d", goroutines*count, goroutines, n)
	}
	return t.Err()
}

func oneSidedNothing(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	var done, lc core.Completion
	if r, err := ep.PutNative(t.Next(), segment, nil, &lc, &done); err != nil || r == core.Initiated || done.Pending()+lc.Pending() != 0 {
		t.Errorf("a put of nothing: %v, %v", r, err)
	}
	if r, err := ep.GetNative(nil, t.Next(), segment, &done); err != nil || r == core.Initiated || done.Pending() != 0 {
		t.Errorf("a get of nothing: %v, %v", r, err)
	}
	return t.Err()
}

func oneSidedRefusals(t *T) error {
	var ep *core.Endpoint
	called := 0
	var done core.Completion
	ep, err := attach(t, func(*core.Token, []uint32, []byte) {
		_, err := ep.PutNative(t.Rank(), 0, []byte{1}, nil, &done)
		refused(t, "PutNative in a handler", err)
		called++
	})
	if err != nil {
		return err
	}
	b := make([]byte, 8)
	for _, x := range []struct {
		what string
		dst  core.Rank
		off  uint64
	}{
		{"beyond the end", 1, segment - 7},
		{"far beyond the end", 1, 1 << 40},
		{"an offset that overflows", 1, ^uint64(0) - 3},
		{"no such rank", 2, 0},
		{"a negative rank", -1, 0},
	} {
		_, err := ep.PutNative(x.dst, x.off, b, nil, &done)
		refused(t, "a put, "+x.what, err)
		_, err = ep.GetNative(b, x.dst, x.off, &done)
		refused(t, "a get, "+x.what, err)
		_, err = ep.AtomicNative(x.dst, x.off, core.ElementUint64, core.AtomicInc, 0, 0, nil, &done)
		refused(t, "an atomic, "+x.what, err)
	}
	if ep.NativeOps(core.ElementUint64)&core.AtomicGet != 0 {
		_, err = ep.AtomicNative(1, 4, core.ElementUint64, core.AtomicInc, 0, 0, nil, &done)
		refused(t, "a misaligned atomic", err)
		_, err = ep.AtomicNative(1, 8, core.ElementUint64, core.AtomicGet, 0, 0, b[:4], &done)
		refused(t, "a result of 4 bytes for an element of 8", err)
	}
	if n := ep.MaxNativePut(); n > 0 && n < segment {
		if r, err := ep.PutNative(1, 0, make([]byte, n+1), nil, &done); r != core.Declined || err != nil {
			t.Errorf("a put beyond the largest: %v, %v", r, err)
		}
	}
	if n := ep.MaxNativeGet(); n > 0 && n < segment {
		if r, err := ep.GetNative(make([]byte, n+1), 1, 0, &done); r != core.Declined || err != nil {
			t.Errorf("a get beyond the largest: %v, %v", r, err)
		}
	}
	if r, err := ep.AtomicNative(1, 0, 1<<20, core.AtomicInc, 0, 0, nil, &done); r != core.Declined || err != nil {
		t.Errorf("an atomic of no type: %v, %v", r, err)
	}
	if n := done.Pending(); n != 0 {
		t.Errorf("%d operations are pending, none was initiated", n)
	}
	if err := ep.RequestShort(t.Next(), request); err != nil {
		return err
	}
	return t.Wait(&ep.Context, func() bool { return called > 0 })
}

func oneSidedOff(t *T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	var done core.Completion
	r, err := ep.PutNative(t.Next(), 0, []byte{1}, nil, &done)
	if r != core.Declined || err != nil || ep.MaxNativePut()+ep.MaxNativeGet() != 0 {
		t.Errorf("a put: %v, %v", r, err)
	}
	if ops := ep.NativeOps(core.ElementUint64); ops != 0 {
		t.Errorf("there are atomic operations %#x", ops)
	}
	return nil
}

// underWay initiates operations of every kind and does not wait for them. Each has a quarter of
// the segments to itself.
func underWay(t *T) (*core.Endpoint, error) {
	ep, err := attach(t) // a conduit without operations has none under way
	if err != nil {
		return nil, err
	}
	done, word := new(core.Completion), make([]byte, 8)
	own, quarter := ep.Segment(), segment/4
	for i := range 20 {
		if _, err := ep.PutNative(t.Next(), uint64(i)*1000, own[quarter:][:1000], nil, done); err != nil {
			return nil, err
		}
		if _, err := ep.GetNative(own[2*quarter:][:1000], t.Next(), uint64(quarter), done); err != nil {
			return nil, err
		}
		if _, err := ep.AtomicNative(t.Next(), segment-8, core.ElementUint64, core.AtomicAdd<<core.FetchShift, 1, 0, word, done); err != nil {
			return nil, err
		}
	}
	return ep, nil
}
