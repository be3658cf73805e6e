package exttest

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var valueCases = []coretest.Case{{
	Name:  "value/sizes",
	Rule:  "values of 1 to 8 bytes are the low-order part in the machine's order at any alignment; gets extend with 0 (GASNet 1.8)",
	Ranks: []int{1, 2, 3}, Body: valueSizes,
}, {
	Name:  "value/in-flight",
	Rule:  "many value gets and puts may be under way, and each get has its own answer",
	Ranks: []int{1, 2}, Body: valueInFlight,
}, {
	Name:  "value/misuse",
	Rule:  "sizes other than 1 to 8, places outside a segment and a second wait are errors",
	Ranks: []int{1, 2}, Config: lenient, Body: valueMisuse,
}}

// low returns the low n bytes of v in the machine's order.
func low(v uint64, n int) []byte {
	b := binary.NativeEndian.AppendUint64(nil, v)
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		return b[8-n:]
	}
	return b[:n]
}

func valueSizes(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, r := &ep.Context, t.Next(), t.Rand()
	want, got := make([]byte, 64), make([]byte, 64)
	for n := 1; n <= 8; n++ {
		for off := uint64(0); off < 20; off++ {
			v, f := r.Uint64(), form(r.IntN(int(forms)))
			copy(want[off:], low(v, n))
			if err := f.run(c,
				func() error { return c.PutValue(next, off, v, n) },
				func() (extended.Event, error) { return c.PutValueNB(next, off, v, n) },
				func() error { return c.PutValueNBI(next, off, v, n) }); err != nil {
				return err
			}
			if err := ep.Get(got, next, 0); err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				t.Errorf("value of %d bytes at %d, form %d: the segment differs", n, off, f)
				return t.Err()
			}
			back, err := c.GetValue(next, off, n)
			if err != nil {
				return err
			}
			ev, err := c.GetValueNB(next, off, n)
			if err != nil {
				return err
			}
			again, err := c.WaitValue(ev)
			if err != nil {
				return err
			}
			if mask := ^uint64(0) >> (64 - 8*n); back != v&mask || again != v&mask {
				t.Errorf("%d bytes of %#x come back as %#x and %#x", n, v, back, again)
				return t.Err()
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

func valueInFlight(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	evs := make([]extended.ValueEvent, t.Times(2000))
	for i := range evs {
		if err := c.PutValueNBI(next, 8*uint64(i), uint64(i)*0x10001, 8); err != nil {
			return err
		}
	}
	if err := c.WaitNBI(extended.Puts); err != nil {
		return err
	}
	for i := range evs {
		if evs[i], err = c.GetValueNB(next, 8*uint64(i), 4); err != nil {
			return err
		}
	}
	for i := range evs {
		i = len(evs) - 1 - i
		if v, err := c.WaitValue(evs[i]); err != nil || v != uint64(uint32(i)*0x10001) {
			t.Errorf("value %d is %#x, %v", i, v, err)
			return t.Err()
		}
	}
	return errorsOf(t, ep.Barrier())
}

func valueMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, size := &ep.Context, t.Next(), uint64(len(ep.Segment()))
	for _, bad := range []struct {
		rank core.Rank
		off  uint64
		n    int
	}{{next, 0, 0}, {next, 0, 9}, {next, 0, -1}, {next, size - 7, 8}, {next, size, 1}, {next, ^uint64(0), 2}, {-1, 0, 8}, {core.Rank(t.Size()), 0, 8}} {
		_, err1 := c.PutValueNB(bad.rank, bad.off, 1, bad.n)
		_, err2 := c.GetValue(bad.rank, bad.off, bad.n)
		_, err3 := c.GetValueNB(bad.rank, bad.off, bad.n)
		for i, err := range []error{c.PutValue(bad.rank, bad.off, 1, bad.n), c.PutValueNBI(bad.rank, bad.off, 1, bad.n), err1, err2, err3} {
			if usage := (*core.UsageError)(nil); !errors.As(err, &usage) {
				t.Errorf("%+v was accepted by call %d: %v", bad, i, err)
			}
		}
	}
	ev, err := c.GetValueNB(next, 0, 8)
	if err != nil {
		return err
	}
	if _, err := c.WaitValue(ev); err != nil {
		return err
	}
	if _, err := c.WaitValue(ev); err == nil && ep.Local(next) == nil && ev != (extended.ValueEvent{}) {
		t.Errorf("a second wait was accepted")
	}
	return errorsOf(t, ep.Barrier())
}
