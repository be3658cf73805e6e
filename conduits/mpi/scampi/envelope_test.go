package scampi

import (
	"bytes"
	"math"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
)

var small = layout{slots: 4, slot: 640, eager: 592, entries: 2, entry: 1024}

func TestEnvelope(t *testing.T) {
	for _, e := range []envelope{
		{},
		{kind: matching.Eager, tag: 7, size: 592, length: 592, send: 3},
		{kind: matching.Request, tag: math.MaxInt32, size: math.MaxInt64, send: math.MaxUint32},
		{kind: matching.Grant, send: 1, recv: 2},
		{kind: matching.Data, entry: 1, size: 5000, offset: 4096, length: 904, send: 9, recv: 8},
	} {
		slot := make([]byte, small.slot-flagSize)
		e.put(slot)
		if got, err := parseEnvelope(slot, &small); err != nil || got != e {
			t.Errorf("%+v came as %+v, %v", e, got, err)
		}
	}
}

func TestRefusedEnvelopes(t *testing.T) {
	for _, e := range []envelope{
		{kind: matching.Data + 1},
		{kind: 255},
		{kind: matching.Eager, size: 593, length: 593},
		{kind: matching.Request, size: 5000, length: 1},
		{kind: matching.Grant, length: 1},
		{kind: matching.Data, size: 5000, length: 1025},
		{kind: matching.Data, entry: 2, size: 5000, length: 10},
		{kind: matching.Request, size: -1},
		{kind: matching.Data, offset: -1},
	} {
		slot := make([]byte, small.slot-flagSize)
		e.put(slot)
		if got, err := parseEnvelope(slot, &small); err == nil {
			t.Errorf("%+v was taken as %+v", e, got)
		}
	}
	if _, err := parseEnvelope(make([]byte, slotHeader-flagSize-1), &small); err == nil {
		t.Error("half an envelope was taken")
	}
}

// FuzzEnvelope: whatever a slot holds, the payload that is told lies where it may, and what was
// taken reads the same again.
func FuzzEnvelope(f *testing.F) {
	slot := make([]byte, small.slot-flagSize)
	f.Add(slot)
	(&envelope{kind: matching.Data, entry: 1, size: 5000, offset: 4096, length: 904, send: 9, recv: 8}).put(slot)
	f.Add(bytes.Clone(slot))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEnvelope(b, &small)
		if err != nil {
			return
		}
		if e.kind == matching.Eager && slotHeader-flagSize+e.length > len(b) || e.entry >= small.entries || e.length > max(small.eager, small.entry) || e.size < 0 || e.offset < 0 {
			t.Errorf("%x was taken as %+v", b, e)
		}
		again := make([]byte, slotHeader-flagSize+e.length)
		e.put(again)
		if got, err := parseEnvelope(again, &small); err != nil || got != e {
			t.Errorf("%+v, written and read: %+v, %v", e, got, err)
		}
	})
}
