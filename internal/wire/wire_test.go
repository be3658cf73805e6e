package wire_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

func TestFieldsRoundTrip(t *testing.T) {
	b := []byte{7}
	b = wire.AppendUint16(b, math.MaxUint16-1)
	b = wire.AppendUint32(b, math.MaxUint32-2)
	b = wire.AppendUint64(b, math.MaxUint64-3)
	b = wire.AppendBytes(b, nil)
	b = wire.AppendBytes(b, []byte("payload"))
	b = wire.AppendText(b, "grüße")
	b = append(b, "the rest"...)

	r := wire.NewReader(b)
	if v := r.Uint8(); v != 7 {
		t.Errorf("Uint8 = %d", v)
	}
	if v := r.Uint16(); v != math.MaxUint16-1 {
		t.Errorf("Uint16 = %d", v)
	}
	if v := r.Uint32(); v != math.MaxUint32-2 {
		t.Errorf("Uint32 = %d", v)
	}
	if v := r.Uint64(); v != math.MaxUint64-3 {
		t.Errorf("Uint64 = %d", v)
	}
	if p := r.Bytes(); len(p) != 0 {
		t.Errorf("empty Bytes = %q", p)
	}
	if p := r.Bytes(); string(p) != "payload" {
		t.Errorf("Bytes = %q", p)
	}
	if s := r.Text(); s != "grüße" {
		t.Errorf("Text = %q", s)
	}
	if r.Len() != len("the rest") {
		t.Errorf("Len = %d", r.Len())
	}
	if p := r.Rest(); string(p) != "the rest" {
		t.Errorf("Rest = %q", p)
	}
	if err := r.End(); err != nil {
		t.Errorf("End: %v", err)
	}
}

func TestLittleEndian(t *testing.T) {
	got := wire.AppendUint64(wire.AppendUint32(wire.AppendUint16(nil, 0x0102), 0x03040506), 0x0708090a0b0c0d0e)
	want := []byte{2, 1, 6, 5, 4, 3, 0xe, 0xd, 0xc, 0xb, 0xa, 9, 8, 7}
	if !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Every prefix of a valid encoding is short, and the error sticks.
func TestShortInput(t *testing.T) {
	full := wire.AppendText(wire.AppendUint64(wire.AppendUint16([]byte{1}, 2), 3), "four")
	for n := range full {
		r := wire.NewReader(full[:n])
		r.Uint8()
		r.Uint16()
		r.Uint64()
		if s := r.Text(); s != "" {
			t.Errorf("%d bytes: text %q", n, s)
		}
		if err := r.End(); !errors.Is(err, wire.ErrShort) {
			t.Errorf("%d bytes: %v, want ErrShort", n, err)
		}
		if v := r.Uint8(); v != 0 || r.Rest() != nil || !errors.Is(r.Err(), wire.ErrShort) {
			t.Errorf("%d bytes: the error did not stick", n)
		}
	}
}

func TestTrailing(t *testing.T) {
	r := wire.NewReader([]byte{1, 2})
	r.Uint8()
	if err := r.End(); !errors.Is(err, wire.ErrTrailing) {
		t.Errorf("End = %v, want ErrTrailing", err)
	}
}

func TestNegativeLength(t *testing.T) {
	r := wire.NewReader([]byte{1, 2})
	if p := r.Next(-1); p != nil || !errors.Is(r.Err(), wire.ErrShort) {
		t.Errorf("Next(-1) = %v, %v", p, r.Err())
	}
}

func TestFrames(t *testing.T) {
	b := wire.AppendBytes(nil, []byte("one"))
	b = wire.AppendBytes(b, nil)
	b, at := wire.BeginFrame(b)
	b = wire.EndFrame(append(b, "three"...), at)
	for _, want := range []string{"one", "", "three"} {
		body, rest, err := wire.NextFrame(b, 5)
		if err != nil || string(body) != want {
			t.Fatalf("NextFrame = %q, %v; want %q", body, err, want)
		}
		b = rest
	}
	if _, _, err := wire.NextFrame(b, 5); !errors.Is(err, wire.ErrShort) {
		t.Errorf("at the end: %v, want ErrShort", err)
	}
}

func TestFrameLimit(t *testing.T) {
	head := wire.AppendUint32(nil, 6) // the header alone is enough to refuse
	if _, _, err := wire.NextFrame(head, 5); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("6 bytes, limit 5: %v, want ErrTooLong", err)
	}
	if _, _, err := wire.NextFrame(head, 6); !errors.Is(err, wire.ErrShort) {
		t.Errorf("6 bytes, limit 6: %v, want ErrShort", err)
	}
	if _, _, err := wire.NextFrame(wire.AppendUint32(nil, math.MaxUint32), math.MaxInt); !errors.Is(err, wire.ErrShort) {
		t.Errorf("huge length: %v, want ErrShort", err)
	}
}

func TestAppendFieldsDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		b, at := wire.BeginFrame(buf[:0])
		b = wire.EndFrame(wire.AppendText(wire.AppendUint64(b, 1), "x"), at)
		body, _, _ := wire.NextFrame(b, 64)
		r := wire.NewReader(body)
		r.Uint64()
		r.Bytes()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzReader drives a Reader by coded operations: it never panics, never returns more than
// the input holds, and once failed stays failed.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6}, wire.AppendBytes([]byte{1, 2, 3, 4}, []byte("abc")))
	f.Add([]byte{4, 4, 5}, []byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, ops, in []byte) {
		r := wire.NewReader(in)
		for _, op := range ops {
			before, failed := r.Len(), r.Err() != nil
			got := 0
			switch op % 7 {
			case 0:
				r.Uint8()
			case 1:
				r.Uint16()
			case 2:
				r.Uint32()
			case 3:
				r.Uint64()
			case 4:
				got = len(r.Bytes())
			case 5:
				got = len(r.Next(int(op) / 7))
			case 6:
				got = len(r.Rest())
			}
			if got > before {
				t.Fatalf("op %d returned %d of %d bytes", op, got, before)
			}
			if failed && (r.Err() == nil || r.Len() != before || got != 0) {
				t.Fatalf("op %d on a failed reader consumed something", op)
			}
		}
		if err := r.End(); (err == nil) != (r.Len() == 0 && r.Err() == nil) {
			t.Fatalf("End = %v with %d bytes left", err, r.Len())
		}
	})
}

// FuzzNextFrame checks that what is split off is what was put in, and that the parts are
// the input again.
func FuzzNextFrame(f *testing.F) {
	f.Add(wire.AppendBytes([]byte(nil), []byte("abc")), 10)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, 1<<30)
	f.Add([]byte{1}, -1)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		body, rest, err := wire.NextFrame(in, limit)
		if err != nil {
			if body != nil || len(rest) != len(in) {
				t.Fatalf("error %v consumed input", err)
			}
			return
		}
		if len(body) > max(limit, 0) {
			t.Fatalf("body of %d bytes, limit %d", len(body), limit)
		}
		if again := append(wire.AppendBytes(nil, body), rest...); !bytes.Equal(again, in) {
			t.Fatalf("%x split into %x and %x", in, body, rest)
		}
	})
}
