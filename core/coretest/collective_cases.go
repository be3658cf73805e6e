package coretest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

// The cases of collective operations are for conduits whose network has some. What a conduit
// declines is left out.
var collectiveCases = []Case{{
	Name:  "collective/operations",
	Rule:  "every operation does what its definition says, for every root, size and alignment, in place or not",
	Ranks: []int{1, 2, 3, 4}, When: hasCollectives, Body: eachOperation,
}, {
	Name:  "collective/reductions",
	Rule:  "elements of every type are combined by every operator that a conduit takes: integers modulo 2ⁿ",
	Ranks: []int{1, 2, 3, 4}, When: hasCollectives, Body: eachReduction,
}, {
	Name:  "collective/groups",
	Rule:  "in a job of several groups each has its own operations",
	Ranks: []int{4, 5}, When: hasCollectives,
	Body: func(t *T) error {
		var group []core.Rank
		for r := t.Rank() % 2; int(r) < t.Size(); r += 2 {
			group = append(group, r)
		}
		ep, err := t.Attach(core.AttachSpec{Segment: "4096", Group: group})
		if err != nil {
			return err
		}
		return plainOperations(t, ep, 100)
	},
}, {
	Name:  "collective/ahead",
	Rule:  "a rank may begin thousands of operations before its peers begin the first, and each is told once",
	Ranks: []int{2, 4}, When: hasCollectives, Body: collectivesAhead,
}, {
	Name:  "collective/messages",
	Rule:  "operations under way and floods of messages do not hinder each other",
	Ranks: []int{2, 4}, When: hasCollectives, Body: collectivesAndMessages,
}, {
	Name:  "collective/contexts",
	Rule:  "goroutines may begin operations, in an order that they agree on, and wait for them at once",
	Ranks: []int{2, 3}, Needs: Threads, When: hasCollectives, Body: collectivesOfContexts,
}, {
	Name:  "collective/refusals",
	Rule:  "buffers that do not fit, strange roots and operators, and calls in handlers are refused and begin nothing",
	Ranks: []int{2, 3}, Config: lenient, When: hasCollectives, Body: collectivesRefused,
}, {
	Name:  "collective/off",
	Rule:  "with Config.NoNative there are no collective operations of the network",
	Ranks: []int{2}, Config: func(cfg *core.Config) { cfg.NoNative = true },
	Body: func(t *T) error {
		ep, err := attach(t)
		if err != nil {
			return err
		}
		if taken, err := collect(t, &ep.Context, core.Collective{Op: core.CollectiveBarrier}); taken || err != nil || ep.MaxNativeCollective() != 0 {
			t.Errorf("a barrier was taken: %v, %v", taken, err)
		}
		return t.Err()
	},
}, {
	Name:  "collective/killed",
	Rule:  "nobody hangs in an operation that a dead peer does not begin",
	Ranks: []int{2, 4}, Needs: Kills, When: hasCollectives, Want: endsWith(killed),
	Body: func(t *T) error { return killWhile(t, whileCollecting) },
}, {
	Name:  "collective/exit",
	Rule:  "Exit ends a job while operations are under way",
	Ranks: []int{2, 3}, When: hasCollectives, Want: endsWith(3),
	Body: func(t *T) error {
		ep, err := ready(t)
		if err != nil {
			return err
		}
		if int(t.Rank()) == t.Size()-1 {
			t.Exit(3)
		}
		return whileCollecting(ep)
	},
}, {
	Name:  "collective/return",
	Rule:  "ranks may return while operations are under way that all have begun",
	Ranks: []int{1, 3}, When: hasCollectives, Body: collectivesLeft,
}}

// hasCollectives reports whether the network of the conduit has collective operations.
func hasCollectives(_ *T, ep *core.Endpoint) bool { return ep.MaxNativeCollective() != 0 }

// collect carries out an operation, and reports whether the conduit took it.
func collect(t *T, c *core.Context, x core.Collective) (taken bool, err error) {
	var done core.Completion
	x.Done = &done
	r, err := c.CollectiveNative(x)
	if err != nil || r == core.Declined {
		return false, err
	}
	return true, quiet(t, c, &done)
}

func eachOperation(t *T) error {
	ep, err := t.Attach(core.AttachSpec{Segment: "4096"})
	if err != nil {
		return err
	}
	for _, n := range []int{0, 1, 2, 7, 8, 64, 1000, 4095, 4096, 65536, 200001} {
		if err := plainOperations(t, ep, n); err != nil {
			return err
		}
	}
	return t.Err()
}

// plainOperations does those that combine nothing, with blocks of n bytes that are not aligned.
func plainOperations(t *T, ep *core.Endpoint, n int) error {
	group, c := ep.Group(), &ep.Context
	self, size := slices.Index(group, t.Rank()), len(group)
	buffer := func(n int) []byte { return make([]byte, n+3)[3:] }
	sent := func(from, to int) []byte { return pattern(uint32(n+from*size+to), n) } // from's block for to
	do := func(what string, want []byte, x core.Collective) error {
		before := bytes.Clone(x.Src)
		if taken, err := collect(t, c, x); err != nil || !taken {
			return err
		}
		if !bytes.Equal(x.Dst, want) {
			t.Errorf("%s of %d bytes, root %d: the result differs", what, n, x.Root)
		}
		if what != "in place" && !bytes.Equal(x.Src, before) {
			t.Errorf("%s of %d bytes, root %d: the source has changed", what, n, x.Root)
		}
		return nil
	}
	var blocks, mine, others []byte
	for i := range size {
		blocks = append(blocks, sent(i, 0)...)
		mine = append(mine, sent(i, self)...)
		others = append(others, sent(self, i)...)
	}
	for i, root := range group {
		var src []byte
		if i == self {
			src = sent(i, 0)
		}
		if err := do("broadcast", sent(i, 0), core.Collective{Op: core.CollectiveBroadcast, Root: root, Dst: buffer(n), Src: src}); err != nil {
			return err
		}
		dst := buffer(n)
		if i == self {
			copy(dst, src)
			src = dst
		}
		if err := do("in place", sent(i, 0), core.Collective{Op: core.CollectiveBroadcast, Root: root, Dst: dst, Src: src}); err != nil {
			return err
		}
	}
	all := buffer(size * n)
	own := all[self*n:][:n]
	copy(own, sent(self, 0))
	for _, x := range []struct {
		what string
		want []byte
		core.Collective
	}{
		{"all-gather", blocks, core.Collective{Op: core.CollectiveAllGather, Dst: buffer(size * n), Src: sent(self, 0)}},
		{"in place", blocks, core.Collective{Op: core.CollectiveAllGather, Dst: all, Src: own}},
		{"exchange", mine, core.Collective{Op: core.CollectiveAllToAll, Dst: buffer(size * n), Src: others}},
		{"barrier", nil, core.Collective{Op: core.CollectiveBarrier}},
	} {
		if err := do(x.what, x.want, x.Collective); err != nil {
			return err
		}
	}
	return t.Err()
}

// combine does dst = dst op src for integers.
func combine(typ core.ElementType, op core.AtomicOp, dst, src []byte) {
	size := typ.Size()
	load := func(b []byte) uint64 {
		if size == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	less := func(a, b uint64) bool {
		switch typ {
		case core.ElementInt32:
			return int32(a) < int32(b)
		case core.ElementInt64:
			return int64(a) < int64(b)
		}
		return a < b
	}
	for i := 0; i < len(dst); i += size {
		a, b := load(dst[i:]), load(src[i:])
		switch op {
		case core.AtomicAnd:
			a &= b
		case core.AtomicOr:
			a |= b
		case core.AtomicXor:
			a ^= b
		case core.AtomicAdd:
			a += b
		case core.AtomicMult:
			a *= b
		case core.AtomicMin:
			if less(b, a) {
				a = b
			}
		case core.AtomicMax:
			if less(a, b) {
				a = b
			}
		}
		if size == 4 {
			binary.NativeEndian.PutUint32(dst[i:], uint32(a))
		} else {
			binary.NativeEndian.PutUint64(dst[i:], a)
		}
	}
}

func eachReduction(t *T) error {
	ep, err := t.Attach(core.AttachSpec{Segment: "4096"})
	if err != nil {
		return err
	}
	for typ := core.ElementInt32; typ <= core.ElementUint64; typ <<= 1 {
		for i, op := range []core.AtomicOp{core.AtomicAnd, core.AtomicOr, core.AtomicXor, core.AtomicAdd, core.AtomicMult, core.AtomicMin, core.AtomicMax} {
			for k, elements := range []int{1, 3, 64, 513, 9000} {
				root := core.Rank((i + k) % t.Size())
				if err := reductions(t, ep, typ, op, root, elements*typ.Size(), i%3); err != nil {
					return err
				}
			}
		}
	}
	for _, typ := range []core.ElementType{core.ElementFloat32, core.ElementFloat64} {
		same := make([]byte, typ.Size()) // a conduit may take zeros or decline them, all ranks alike
		if _, err := collect(t, &ep.Context, core.Collective{Op: core.CollectiveAllReduce, Dst: same, Src: same, Type: typ, Combine: core.AtomicAdd}); err != nil {
			return err
		}
	}
	return t.Err()
}

// reductions does both kinds on n bytes, at an offset from what is aligned, in place and not.
func reductions(t *T, ep *core.Endpoint, typ core.ElementType, op core.AtomicOp, root core.Rank, n, offset int) error {
	source := func(r int) []byte { return append(make([]byte, offset), pattern(uint32(n+r), n)...)[offset:] }
	want := source(0)
	for r := 1; r < t.Size(); r++ {
		combine(typ, op, want, source(r))
	}
	for _, inPlace := range []bool{false, true} {
		for _, kind := range []core.CollectiveOp{core.CollectiveReduce, core.CollectiveAllReduce} {
			x := core.Collective{Op: kind, Src: source(int(t.Rank())), Type: typ, Combine: op, Root: root}
			here := kind == core.CollectiveAllReduce || t.Rank() == root
			if here {
				x.Dst = make([]byte, n)
			}
			if here && inPlace {
				x.Dst = x.Src
			}
			taken, err := collect(t, &ep.Context, x)
			if err != nil {
				return err
			}
			if taken && here && !bytes.Equal(x.Dst, want) {
				t.Errorf("operation %d by %#x of %d bytes of type %#x at an offset of %d, root %d, in place: %v: the result differs", kind, op, n, typ, offset, root, inPlace)
			}
		}
	}
	return t.Err()
}

// collectivesAhead has rank 0 begin all before the others begin any.
func collectivesAhead(t *T) error {
	told := 0
	ep, err := t.Attach(core.AttachSpec{Segment: "4096", Handlers: handlers(func(*core.Token, []uint32, []byte) { told++ })})
	if err != nil {
		return err
	}
	const size = 800
	n := t.Times(3000)
	var done core.Completion
	if t.Rank() != 0 {
		if err := t.Wait(&ep.Context, func() bool { return told > 0 }); err != nil {
			return err
		}
	}
	all, taken := make([]byte, n*size), 0
	for i := range n {
		x := core.Collective{Op: core.CollectiveBroadcast, Dst: all[i*size:][:size], Done: &done}
		if t.Rank() == 0 {
			x.Src = pattern(uint32(i), size)
		}
		if i%100 == 99 {
			x = core.Collective{Op: core.CollectiveBarrier, Done: &done}
		}
		r, err := ep.CollectiveNative(x)
		if err != nil {
			return err
		}
		if r == core.Initiated {
			taken++
		}
		if p := done.Pending(); p < 0 || p > taken {
			return fmt.Errorf("%d of %d operations are pending", p, taken)
		}
	}
	if t.Rank() == 0 {
		if taken == n && done.Pending() == 0 {
			t.Errorf("barriers were complete that nobody else has begun")
		}
		if err := t.Others(func(r core.Rank) error { return ep.RequestShort(r, request) }); err != nil {
			return err
		}
	}
	if err := quiet(t, &ep.Context, &done); err != nil {
		return err
	}
	for i := range n {
		if i%100 != 99 && taken == n {
			if err := checkPayload(all[i*size:][:size], uint32(i), size); err != nil {
				t.Errorf("broadcast %d: %v", i, err)
			}
		}
	}
	return t.Err()
}

// collectivesAndMessages sends round in both directions while operations of all kinds are under way.
func collectivesAndMessages(t *T) error {
	asked, told := 0, 0
	ep, err := t.Attach(core.AttachSpec{Segment: fmt.Sprint(segment), Handlers: handlers(
		func(tok *core.Token, args []uint32, data []byte) {
			asked++
			if err := checkPayload(data, args[0], len(data)); err != nil {
				t.Errorf("%v", err)
			}
			if err := tok.ReplyMedium(answer, data, args[0]); err != nil {
				t.Errorf("%v", err)
			}
		},
		func(*core.Token, []uint32, []byte) { told++ })})
	if err != nil {
		return err
	}
	var done core.Completion
	const size = 30000
	declined := false
	sums, blocks := make([]byte, 8*t.Times(200)), make([]byte, size*t.Size())
	for i := range len(sums) / 8 {
		sum := sums[8*i:][:8]
		binary.NativeEndian.PutUint64(sum, uint64(i))
		for _, x := range []core.Collective{
			{Op: core.CollectiveAllReduce, Dst: sum, Src: sum, Type: core.ElementUint64, Combine: core.AtomicAdd, Done: &done},
			{Op: core.CollectiveAllGather, Dst: blocks, Src: blocks[int(t.Rank())*size:][:size], Done: &done},
			{Op: core.CollectiveBarrier, Done: &done},
		} {
			r, err := ep.CollectiveNative(x)
			if err != nil {
				return err
			}
			declined = declined || r == core.Declined
		}
		for k, n := range []int{0, 100, 20000} {
			seed := uint32(3*i + k)
			if err := ep.RequestMedium(t.Next(), request, pattern(seed, n), seed); err != nil {
				return err
			}
		}
		if err := quiet(t, &ep.Context, &done); err != nil {
			return err
		}
	}
	want := 3 * len(sums) / 8
	if err := t.Wait(&ep.Context, func() bool { return asked >= want && told >= want }); err != nil {
		return err
	}
	if declined {
		return t.Err()
	}
	for i := range uint64(len(sums) / 8) {
		if got := binary.NativeEndian.Uint64(sums[8*i:]); got != i*uint64(t.Size()) {
			t.Errorf("sum %d is %d, want %d", i, got, i*uint64(t.Size()))
			break
		}
	}
	return t.Err()
}

// collectivesOfContexts has goroutines take turns to begin an operation, and wait for it beside the
// others.
func collectivesOfContexts(t *T) error {
	ep, err := t.Attach(core.AttachSpec{Segment: "4096"})
	if err != nil {
		return err
	}
	const goroutines = 4
	rounds := t.Times(100)
	errs := make(chan error, goroutines)
	turns := make([]chan bool, goroutines)
	for i := range turns {
		turns[i] = make(chan bool, 1)
	}
	turns[0] <- true
	for i := range goroutines {
		c := ep.NewContext()
		go func() {
			var err error
			for round := 0; round < rounds && err == nil; round++ {
				var done core.Completion
				sum := binary.NativeEndian.AppendUint64(nil, uint64(round*i))
				<-turns[i]
				var r core.Result
				r, err = c.CollectiveNative(core.Collective{Op: core.CollectiveAllReduce, Dst: sum, Src: sum, Type: core.ElementUint64, Combine: core.AtomicAdd, Done: &done})
				turns[(i+1)%goroutines] <- true
				if err == nil {
					err = c.WaitUntil(func() bool { return done.Pending() == 0 })
				}
				if got := binary.NativeEndian.Uint64(sum); err == nil && r != core.Declined && got != uint64(round*i*t.Size()) {
					err = fmt.Errorf("goroutine %d, round %d: sum %d", i, round, got)
				}
			}
			errs <- err
		}()
	}
	for range goroutines {
		if err := <-errs; err != nil {
			return err
		}
	}
	return t.Err()
}

func collectivesRefused(t *T) error {
	var ep *core.Endpoint
	called := 0
	var done core.Completion
	ep, err := t.Attach(core.AttachSpec{Segment: "4096", Handlers: handlers(func(*core.Token, []uint32, []byte) {
		_, err := ep.CollectiveNative(core.Collective{Op: core.CollectiveBarrier, Done: &done})
		refused(t, "CollectiveNative in a handler", err)
		called++
	})})
	if err != nil {
		return err
	}
	n, outside := t.Size(), core.Rank(t.Size())
	b, c := make([]byte, 8), make([]byte, 8*n)
	add := core.AtomicAdd
	for what, x := range map[string]core.Collective{
		"no operation":            {Op: 77, Done: &done},
		"no completion":           {Op: core.CollectiveBarrier},
		"a barrier with a buffer": {Op: core.CollectiveBarrier, Dst: b, Done: &done},
		"a root outside":          {Op: core.CollectiveBroadcast, Root: outside, Dst: b, Done: &done},
		"a negative root":         {Op: core.CollectiveReduce, Root: -1, Src: b, Type: core.ElementUint64, Combine: add, Done: &done},
		"a short source":          {Op: core.CollectiveBroadcast, Root: t.Rank(), Dst: b, Src: b[:7], Done: &done},
		"no destination":          {Op: core.CollectiveReduce, Root: t.Rank(), Src: b, Type: core.ElementUint64, Combine: add, Done: &done},
		"a short destination":     {Op: core.CollectiveAllReduce, Dst: b[:4], Src: b, Type: core.ElementUint32, Combine: add, Done: &done},
		"too few blocks":          {Op: core.CollectiveAllGather, Dst: c[8:], Src: b, Done: &done},
		"blocks that differ":      {Op: core.CollectiveAllToAll, Dst: make([]byte, 8*n-1), Src: c[1:], Done: &done},
		"half an element":         {Op: core.CollectiveAllReduce, Dst: b[:4], Src: b[:4], Type: core.ElementUint64, Combine: add, Done: &done},
		"no type":                 {Op: core.CollectiveAllReduce, Dst: b, Src: b, Combine: add, Done: &done},
		"no operator":             {Op: core.CollectiveAllReduce, Dst: b, Src: b, Type: core.ElementUint64, Done: &done},
		"an operator of atomics":  {Op: core.CollectiveAllReduce, Dst: b, Src: b, Type: core.ElementUint64, Combine: core.AtomicInc, Done: &done},
		"two operators":           {Op: core.CollectiveAllReduce, Dst: b, Src: b, Type: core.ElementUint64, Combine: add | core.AtomicMin, Done: &done},
	} {
		_, err := ep.CollectiveNative(x)
		refused(t, what, err)
	}
	if p := done.Pending(); p != 0 {
		t.Errorf("%d operations are pending, none has begun", p)
	}
	if err := ep.RequestShort(t.Next(), request); err != nil {
		return err
	}
	if err := t.Wait(&ep.Context, func() bool { return called > 0 }); err != nil {
		return err
	}
	return plainOperations(t, ep, 100) // all is as good as new
}

// whileCollecting begins operations that not all ranks begin, and waits.
func whileCollecting(ep *core.Endpoint) error {
	var done core.Completion
	if ep.MaxNativeCollective() > 0 && int(ep.Rank()) < ep.Size()-1 {
		b := make([]byte, 100000)
		for range 3 {
			if _, err := ep.CollectiveNative(core.Collective{Op: core.CollectiveAllGather, Dst: make([]byte, ep.Size()*len(b)), Src: b, Done: &done}); err != nil {
				return err
			}
		}
	}
	return ep.WaitUntil(func() bool { return false })
}

// collectivesLeft begins more than a conduit has under way at once, and waits for none.
func collectivesLeft(t *T) error {
	ep, err := attach(t) // a conduit without operations has none under way
	if err != nil {
		return err
	}
	done, b := new(core.Completion), make([]byte, 1000*t.Size())
	for i := range 500 {
		for _, x := range []core.Collective{
			{Op: core.CollectiveBroadcast, Root: core.Rank(i % t.Size()), Dst: make([]byte, 10000), Done: done},
			{Op: core.CollectiveAllToAll, Dst: make([]byte, len(b)), Src: b, Done: done},
			{Op: core.CollectiveBarrier, Done: done},
		} {
			if x.Op == core.CollectiveBroadcast && x.Root == t.Rank() {
				x.Src = x.Dst
			}
			if _, err := ep.CollectiveNative(x); err != nil {
				return err
			}
		}
	}
	runtime.KeepAlive(b)
	return nil
}
