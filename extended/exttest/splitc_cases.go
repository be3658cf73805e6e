package exttest

import (
	"bytes"
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var splitCases = []coretest.Case{{
	Name:  "split/put",
	Rule:  "every split-phase PUT adds 1 to the receiver's flag when its data is there (Active Messages, Split-C)",
	Ranks: []int{1, 2, 3}, Body: splitPut,
}, {
	Name:  "split/get",
	Rule:  "every split-phase GET adds 1 to the requester's flag when its data is there (Active Messages, Split-C)",
	Ranks: []int{1, 2, 3}, Body: splitGet,
}, {
	Name:  "split/large",
	Rule:  "split-phase transfers longer than any message raise the flag once, behind all of the data",
	Ranks: []int{1, 2}, Body: splitLarge,
}, {
	Name:  "split/all-to-one",
	Rule:  "flags count the PUTs of many ranks, and PUTs of no data synchronise",
	Ranks: []int{2, 4}, Body: splitAllToOne,
}, {
	Name:  "split/misuse",
	Rule:  "data or flags outside a segment, and misaligned flags, are errors",
	Ranks: []int{1, 2}, Config: lenient, Body: splitMisuse,
}}

func splitPut(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	prev := (int(t.Rank()) + t.Size() - 1) % t.Size()
	flag := uint64(len(ep.Segment()) - 8)
	off := uint64(0)
	for i, n := range sizes {
		src := fill(make([]byte, n), uint64(i)<<8|uint64(t.Rank()))
		if err := c.SplitPut(next, off, src, flag); err != nil {
			return err
		}
		clear(src) // it may be reused at once
		off += uint64(n)
	}
	if err := c.WaitFlag(flag, uint64(len(sizes))); err != nil {
		return err
	}
	seg := ep.Segment()
	for i, n := range sizes {
		if !bytes.Equal(seg[:n], fill(make([]byte, n), uint64(i)<<8|uint64(prev))) {
			t.Errorf("PUT of %d bytes: the data differs", n)
		}
		seg = seg[n:]
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if n, err := c.Flag(flag); err != nil || n != uint64(len(sizes)) {
		t.Errorf("the flag counts %d, %v", n, err)
	}
	return t.Err()
}

func splitGet(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	const half = 470 << 10
	fill(ep.Segment()[half:2*half], uint64(t.Rank()))
	if err := ep.Barrier(); err != nil {
		return err
	}
	want := fill(make([]byte, half), uint64(next))
	flag := uint64(len(ep.Segment()) - 8)
	gets := 0
	for _, n := range sizes {
		for _, off := range []int{0, 5, half - n} {
			if off+n > half {
				continue
			}
			clear(ep.Segment()[:half])
			if err := c.SplitGet(uint64(off), next, uint64(half+off), n, flag); err != nil {
				return err
			}
			gets++
			if err := c.WaitFlag(flag, uint64(gets)); err != nil {
				return err
			}
			if seg := ep.Segment(); !bytes.Equal(seg[off:off+n], want[off:off+n]) || len(bytes.Trim(seg[:off], "\x00")) > 0 || len(bytes.Trim(seg[off+n:half], "\x00")) > 0 {
				t.Errorf("GET of %d bytes at %d: the data differs", n, off)
				return t.Err()
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

func splitLarge(t *coretest.T) error {
	ep, err := extended.Attach(t.Job, core.AttachSpec{})
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	room := uint64(min(16<<20, len(ep.Segment())))
	n, back, flag := int(room*5/16)+11, room/2, room-16
	prev := (int(t.Rank()) + t.Size() - 1) % t.Size()
	if err := c.SplitPut(next, 0, fill(make([]byte, n), uint64(t.Rank())), flag); err != nil {
		return err
	}
	if err := c.WaitFlag(flag, 1); err != nil {
		return err
	}
	if !bytes.Equal(ep.Segment()[:n], fill(make([]byte, n), uint64(prev))) {
		t.Errorf("PUT: the data differs")
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if err := c.SplitGet(back, next, 0, n, flag+8); err != nil {
		return err
	}
	if err := c.WaitFlag(flag+8, 1); err != nil {
		return err
	}
	if !bytes.Equal(ep.Segment()[back:][:n], fill(make([]byte, n), uint64(t.Rank()))) {
		t.Errorf("GET: the data differs")
	}
	return errorsOf(t, ep.Barrier())
}

func splitAllToOne(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, me, n := &ep.Context, uint64(t.Rank()), t.Times(500)
	const flag = 1 << 19
	for i := range n {
		if err := c.SplitPut(0, 8*(me+uint64(t.Size()*i)), put64(me+uint64(i)), flag); err != nil {
			return err
		}
	}
	if t.Rank() != 0 {
		return errorsOf(t, errors.Join(c.WaitFlag(flag, 1), ep.Barrier()))
	}
	if err := c.WaitFlag(flag, uint64(t.Size()*n)); err != nil {
		return err
	}
	for i := range t.Size() * n {
		if got := get64(ep.Segment()[8*i:]); got != uint64(i%t.Size()+i/t.Size()) {
			t.Errorf("word %d is %d", i, got)
			break
		}
	}
	if err := t.Others(func(r core.Rank) error { return c.SplitPut(r, 0, nil, flag) }); err != nil {
		return err
	}
	return errorsOf(t, ep.Barrier())
}

func splitMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, size := &ep.Context, t.Next(), uint64(len(ep.Segment()))
	b := make([]byte, 8)
	_, err1 := c.Flag(size)
	_, err2 := c.Flag(12)
	for i, err := range []error{
		c.SplitPut(next, size-7, b, 0), c.SplitPut(-1, 0, b, 0), c.SplitPut(core.Rank(t.Size()), 0, b, 0),
		c.SplitPut(next, 0, b, size), c.SplitPut(next, 0, b, size-4), c.SplitPut(next, 0, b, 4), c.SplitPut(next, 0, b, ^uint64(7)),
		c.SplitGet(0, next, size-7, 8, 0), c.SplitGet(size-7, next, 0, 8, 0), c.SplitGet(0, next, 0, -1, 0),
		c.SplitGet(0, -1, 0, 8, 0), c.SplitGet(0, next, 0, 8, 4), c.SplitGet(0, next, 0, 8, size),
		c.WaitFlag(size, 0), c.WaitFlag(1, 0), err1, err2,
	} {
		if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("misuse %d was accepted: %v", i, err)
		}
	}
	return errorsOf(t, ep.Barrier())
}
