package grim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
)

// full has every field of a header distinct from its neighbours.
var full = grim.Header{
	Token: 0xa1, Sequence: 0xb2, Type: grim.AM, Tree: 0xc3, Source: 0x1122, Destination: 0x3344, Channel: 0x5566, Handler: 0x7788,
	Args: [4]uint32{0x01020304, 0x05060708, 0x090a0b0c, 0x0d0e0f10}, Length: 5,
}

// TestHeaderBits compares a header with its bytes, written by hand.
func TestHeaderBits(t *testing.T) {
	want := []byte{
		0x06, 0x36, 0xa1, 0xb2,
		1<<2 | 3, 0xc3, 0x11, 0x22, // 5 bytes are 2 words less 3 bytes
		0x00, 0x02, 0x33, 0x44,
		0x55, 0x66, 0x77, 0x88,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	}
	if got := full.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	for kind, first := range map[grim.Type]byte{grim.ACK: 2 << 2, grim.NACK: 3 << 2, grim.DENY: 4 << 2} {
		c := grim.Control{Token: 0xa1, Sequence: 0xb2, Type: kind, Source: 0x1122}
		want := []byte{0x06, 0x36, 0xa1, 0xb2, first, 0, 0x11, 0x22}
		got := c.Append(nil)
		if !bytes.Equal(got, want) {
			t.Errorf("%v: % x, want % x", kind, got, want)
		}
		if back, err := grim.DecodeControl(got); err != nil || back != c {
			t.Errorf("%+v, %v", back, err)
		}
	}
}

// TestLengths has payloads of all corrections come back with their length, and refuses more than there can be.
func TestLengths(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 1000, 64569, 64570, 64571, grim.MaxPayload} {
		h := full
		h.Length = n
		size := grim.HeaderSize + grim.Padded(n)
		if back, err := grim.DecodeHeader(h.Append(nil), size); err != nil || back != h {
			t.Errorf("%d B: %+v, %v", n, back, err)
		}
		for _, other := range []int{size - 4, size - 1, size + 1, size + 4} {
			if _, err := grim.DecodeHeader(h.Append(nil), other); err == nil {
				t.Errorf("a header of %d B in a message of %d B", n, other)
			}
		}
	}
	if grim.MaxPayload != 64572 || grim.HeaderSize+grim.MaxPayload != 64604 {
		t.Error("the largest message has 64,604 bytes")
	}
	for _, n := range []int{-1, 64573} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a header of %d B", n)
				}
			}()
			h := grim.Header{Type: grim.AM, Length: n}
			h.Append(nil)
		}()
	}
}

// TestMalformed refuses what no NI sends.
func TestMalformed(t *testing.T) {
	message := full.Append(nil)
	control := (&grim.Control{Type: grim.ACK}).Append(nil)
	with := func(b []byte, i int, v byte) []byte {
		b = bytes.Clone(b)
		b[i] = v
		return b
	}
	for _, c := range []struct {
		name, want string
		b          []byte
	}{
		{"another's type", "no packet of GRIM", with(message, 1, 0x35)},
		{"a route byte left", "no packet of GRIM", with(message, 0, 0x86)},
		{"nothing", "no packet of GRIM", nil},
		{"a cut header", "its header has 32", message[:31]},
		{"a cut control message", "the shortest has 8", control[:7]},
		{"type 0", "type 0", with(message, 4, 3)},
		{"type 63", "type 63", with(message, 4, 63<<2)},
		{"padding of nothing", "no payload", with(message, 9, 0)},
		{"a payload that is too large", "up to 64572", with(with(message, 8, 0x3f), 9, 0x10)},
		{"a control message", "no message", control},
	} {
		if _, err := grim.DecodeHeader(c.b, 40); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for want, b := range map[string][]byte{
		"9 B": append(bytes.Clone(control), 0), "a tree": with(control, 5, 1), "a payload": with(control, 4, 2<<2|1), "no control": message,
	} {
		if _, err := grim.DecodeControl(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzDecode has whatever a decoder accepts be what the encoder makes.
func FuzzDecode(f *testing.F) {
	f.Add(full.Append(nil), 40)
	f.Add((&grim.Control{Token: 7, Sequence: 9, Type: grim.NACK, Source: 3}).Append(nil), 8)
	f.Add([]byte{0x06, 0x36}, 2)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		if h, err := grim.DecodeHeader(b, size); err == nil {
			if got := h.Append(nil); !bytes.Equal(got, b[:grim.HeaderSize]) || size != grim.HeaderSize+grim.Padded(h.Length) {
				t.Errorf("% x became % x, %d B", b, got, size)
			}
		}
		if c, err := grim.DecodeControl(b); err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Errorf("% x became %+v", b, c)
		}
	})
}
