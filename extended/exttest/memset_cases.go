package exttest

import (
	"bytes"
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var memsetCases = []coretest.Case{{
	Name:  "memset/sizes",
	Rule:  "a memset of any size at any alignment sets those bytes and touches nothing else",
	Ranks: []int{1, 2, 3}, Body: memsetSizes,
}, {
	Name:  "memset/misuse",
	Rule:  "a memset of a negative size or outside a segment is an error",
	Ranks: []int{1, 2}, Config: lenient, Body: memsetMisuse,
}}

func memsetSizes(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, r := &ep.Context, t.Next(), t.Rand()
	want, got := make([]byte, len(ep.Segment())), make([]byte, len(ep.Segment()))
	for i, n := range append(sizes, len(want)-3) {
		for _, off := range []uint64{0, 3, uint64(len(want) - n)} {
			off = min(off, uint64(len(want)-n))
			value, f := byte(r.Uint32()), form(r.IntN(int(forms)))
			if r.IntN(4) == 0 {
				value = 0
			}
			for i := range n {
				want[int(off)+i] = value
			}
			if err := f.run(c,
				func() error { return c.Memset(next, off, value, n) },
				func() (extended.Event, error) { return c.MemsetNB(next, off, value, n) },
				func() error { return c.MemsetNBI(next, off, value, n) }); err != nil {
				return err
			}
			if err := around(ep, next, got, want, int(off), n); err != nil {
				t.Errorf("memset of %d bytes at %d, form %d: %v", n, off, f, err)
				return t.Err()
			}
		}
		if i%5 != 4 {
			continue
		}
		if err := ep.Get(got, next, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("memsets of at most %d bytes: the segment differs", n)
			return t.Err()
		}
	}
	return errorsOf(t, ep.Barrier())
}

func memsetMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, size := &ep.Context, t.Next(), uint64(len(ep.Segment()))
	for _, bad := range []struct {
		rank core.Rank
		off  uint64
		n    int
	}{{next, 0, -1}, {next, size - 7, 8}, {next, size + 1, 0}, {next, ^uint64(0), 2}, {-1, 0, 8}, {core.Rank(t.Size()), 0, 8}} {
		_, err1 := c.MemsetNB(bad.rank, bad.off, 1, bad.n)
		for i, err := range []error{c.Memset(bad.rank, bad.off, 1, bad.n), c.MemsetNBI(bad.rank, bad.off, 1, bad.n), err1} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("%+v was accepted by call %d: %v", bad, i, err)
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}
