package exttest

import (
	"bytes"
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var getCases = []coretest.Case{{
	Name:  "get/sizes",
	Rule:  "gets of any form, size and alignment, to memory in the segment or not, bring those bytes and touch nothing else",
	Ranks: []int{1, 2, 3}, Body: getSizes,
}, {
	Name:  "put/forms",
	Rule:  "puts of any form and size are visible to everybody when synchronised, and their source may be reused as asked",
	Ranks: []int{1, 2, 3}, Body: putForms,
}, {
	Name:  "put/large",
	Rule:  "transfers larger than any message arrive whole, several at once",
	Ranks: []int{1, 2}, Body: putLarge,
}, {
	Name:  "put/misuse",
	Rule:  "puts and gets outside a segment, or of ranks that are not, are errors",
	Ranks: []int{1, 2}, Config: lenient, Body: putMisuse,
}, {
	Name:  "put/before-message",
	Rule:  "the handler of a message sees what the same context put before, blocking (GASNet 1.8)",
	Ranks: []int{2, 3}, Body: putBeforeMessage,
}}

func getSizes(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, r := &ep.Context, t.Next(), t.Rand()
	const half = 470 << 10
	fill(ep.Segment()[:half], uint64(t.Rank()))
	if err := ep.Barrier(); err != nil {
		return err
	}
	remote := fill(make([]byte, half), uint64(next))
	for _, n := range sizes {
		for f := range forms {
			dst := make([]byte, half)
			if r.IntN(2) == 0 {
				dst = ep.Segment()[half : 2*half]
			}
			want := bytes.Clone(dst)
			off, at := r.IntN(half-n), r.IntN(half-n)
			copy(want[at:at+n], remote[off:])
			part := dst[at : at+n]
			if err := f.run(c,
				func() error { return c.Get(part, next, uint64(off)) },
				func() (extended.Event, error) { return c.GetNB(part, next, uint64(off)) },
				func() error { return c.GetNBI(part, next, uint64(off)) }); err != nil {
				return err
			}
			if !bytes.Equal(dst, want) {
				t.Errorf("get of %d bytes at %d, form %d: the buffer differs", n, off, f)
				return t.Err()
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

// reusable waits until the source of a put of form NB or NBI may be reused.
func reusable(c *extended.Context, lc extended.LocalCompletion, ev extended.Event) error {
	switch {
	case lc != extended.LCLeaf:
		return nil
	case ev != 0:
		return c.Wait(c.Endpoint().Leaf(ev))
	}
	return c.WaitNBI(extended.LCs)
}

func putForms(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	want, got := make([]byte, 300<<10), make([]byte, 300<<10)
	top := 0 // what lies above is untouched
	for i, n := range sizes {
		for _, lc := range []extended.LocalCompletion{extended.LCNow, extended.LCDefer, extended.LCLeaf} {
			for f := range forms {
				src := fill(make([]byte, n), uint64(i)<<16|uint64(lc)<<8|uint64(f))
				off := uint64(8*i) + uint64(f)
				copy(want[off:], src)
				top = max(top, int(off)+n+64)
				spoil := func(err error, ev extended.Event) error {
					if lc != extended.LCDefer {
						err = errors.Join(err, reusable(c, lc, ev))
						clear(src)
					}
					return err
				}
				if err := f.run(c,
					func() error { return c.Put(next, off, src) },
					func() (extended.Event, error) {
						ev, err := c.PutNB(next, off, src, lc)
						return ev, spoil(err, ev)
					},
					func() error {
						err := c.PutNBI(next, off, src, lc)
						if f == region && lc == extended.LCLeaf {
							return err // its local completion is that of the region
						}
						return spoil(err, 0)
					}); err != nil {
					return err
				}
				if err := ep.Get(got[:top], next, 0); err != nil {
					return err
				}
				if !bytes.Equal(got[:top], want[:top]) {
					t.Errorf("put of %d bytes at %d, form %d, local completion %d: the segment differs", n, off, f, lc)
					return t.Err()
				}
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

func putLarge(t *coretest.T) error {
	ep, err := extended.Attach(t.Job, core.AttachSpec{})
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	second := min(8<<20, len(ep.Segment())/2)
	n := second*5/8 + 3
	src := fill(make([]byte, n), uint64(t.Rank()))
	evs := make([]extended.Event, 2)
	for i := range evs {
		if evs[i], err = c.PutNB(next, uint64(i*second), src, extended.LCDefer); err != nil {
			return err
		}
	}
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	got := make([]byte, 2*n)
	for i := range evs {
		if evs[i], err = c.GetNB(got[i*n:][:n], next, uint64(i*second)); err != nil {
			return err
		}
	}
	if err := c.WaitAll(evs); err != nil {
		return err
	}
	if !bytes.Equal(got[:n], src) || !bytes.Equal(got[n:], src) {
		t.Errorf("what was put does not come back")
	}
	if err := ep.Barrier(); err != nil { // then the segment as the destination
		return err
	}
	if err := c.Get(ep.Segment()[second:][:n], next, 0); err != nil {
		return err
	}
	if !bytes.Equal(ep.Segment()[second:][:n], src) {
		t.Errorf("what was put does not come back to the segment")
	}
	return errorsOf(t, ep.Barrier())
}

func putMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, size := &ep.Context, t.Next(), uint64(len(ep.Segment()))
	for _, bad := range []struct {
		rank core.Rank
		off  uint64
		n    int
	}{{next, size - 7, 8}, {next, size, 1}, {next, size + 1, 0}, {next, ^uint64(0), 2}, {next, 1, int(size)}, {-1, 0, 8}, {core.Rank(t.Size()), 0, 0}} {
		b := make([]byte, bad.n)
		_, err1 := c.PutNB(bad.rank, bad.off, b, extended.LCNow)
		_, err2 := c.GetNB(b, bad.rank, bad.off)
		for i, err := range []error{
			c.Put(bad.rank, bad.off, b), c.PutNBI(bad.rank, bad.off, b, extended.LCNow),
			c.Get(b, bad.rank, bad.off), c.GetNBI(b, bad.rank, bad.off), err1, err2,
		} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) || usage.Rank != t.Rank() {
				t.Errorf("%+v was accepted by call %d: %v", bad, i, err)
			}
		}
	}
	_, err = c.PutNB(next, 0, make([]byte, 8), 9)
	for i, err := range []error{err, c.PutNBI(next, 0, make([]byte, 8), extended.LCLeaf+1)} {
		if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("a strange local completion was accepted by call %d: %v", i, err)
		}
	}
	return errorsOf(t, ep.Barrier())
}

func putBeforeMessage(t *coretest.T) error {
	told, answered := 0, 0
	ep, err := attach(t, func(tok *core.Token, args []uint32, _ []byte) {
		if got := get64(tok.Endpoint().Segment()[8*int(tok.Src()):]); got != uint64(args[0]) {
			t.Errorf("message %d finds %d", args[0], got)
		}
		told++
		if err := tok.ReplyShort(core.ClientHandlers + 1); err != nil {
			t.Errorf("%v", err)
		}
	}, func(*core.Token, []uint32, []byte) { answered++ })
	if err != nil {
		return err
	}
	n := t.Times(300)
	if t.Rank() == 0 {
		err = t.Wait(ep.Context.Context, func() bool { return told >= n*(t.Size()-1) })
	}
	for i := 1; t.Rank() != 0 && i <= n && err == nil; i++ {
		err = errors.Join(ep.Put(0, 8*uint64(t.Rank()), put64(uint64(i))), ep.RequestShort(0, core.ClientHandlers, uint32(i)))
		if err == nil {
			err = t.Wait(ep.Context.Context, func() bool { return answered >= i })
		}
	}
	return errorsOf(t, errors.Join(err, ep.Barrier()))
}
