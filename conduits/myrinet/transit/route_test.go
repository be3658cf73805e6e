package transit_test

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
)

// TestRoute has a route of three legs as bytes: in front of each but the first are type and length.
func TestRoute(t *testing.T) {
	t.Parallel()
	legs := [][]byte{{0x81, 0x82}, {0x83}, {0x84, 0x85, 0x86}}
	want := []byte{0x81, 0x82, 0, 0x0b, 0, 1, 0x83, 0, 0x0b, 0, 3, 0x84, 0x85, 0x86}
	got := transit.Append(nil, legs)
	if !bytes.Equal(got, want) || transit.Check(legs) != nil {
		t.Errorf("%x, want %x", got, want)
	}
	if leg, err := transit.Decode(got[2:]); err != nil || leg != 1 {
		t.Errorf("a leg of %d bytes, %v", leg, err)
	}
	for _, bad := range [][][]byte{nil, {{0x81}, nil}, {{0x81, 0x02}}, {make([]byte, 256)}} {
		if err := transit.Check(bad); err == nil {
			t.Errorf("%x is a route", bad)
		}
	}
}

// FuzzDecode reads any bytes: what is accepted is what is written in front of a leg.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 0x0b, 0, 2, 0x81, 0x82})
	f.Add([]byte{0, 0x0b, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		leg, err := transit.Decode(b)
		if err != nil {
			return
		}
		again := transit.Append(nil, [][]byte{nil, make([]byte, leg)})
		if !bytes.Equal(again[:transit.HeaderSize], b[:transit.HeaderSize]) {
			t.Errorf("%x has been read as a leg of %d bytes", b, leg)
		}
	})
}
