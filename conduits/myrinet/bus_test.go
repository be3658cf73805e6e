package myrinet

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// samples are a record of each kind.
func samples() []record {
	data := []byte("some data")
	at, into := grim.Remote{Key: 7, Offset: 1 << 40}, grim.Remote{Key: 1<<32 - 1, Offset: 3}
	return []record{
		{kind: orderSend, peer: 1<<16 - 1, handler: 255, args: [inHeader]uint32{1, 2, 3, 1<<32 - 1}, data: data},
		{kind: orderWrite, peer: 3, op: 1<<16 - 1, at: at, data: data},
		{kind: orderRead, peer: 4, op: 5, at: at, into: into, length: maxRead, data: []byte{}},
		{kind: reportAM, peer: 5, handler: 128, data: []byte{}},
		{kind: reportDone, op: 9, data: []byte{}},
		{kind: reportError, data: []byte("why")},
	}
}

// written returns a record as put writes it.
func written(r *record) []byte {
	b := make([]byte, recordHead+len(r.data))
	r.put(b)
	return b
}

// TestRecord has records of all kinds read as they were written, and those that nobody writes refused.
func TestRecord(t *testing.T) {
	t.Parallel()
	for _, r := range samples() {
		var got record
		if err := got.get(written(&r)); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v has been read as %+v: %v", r, got, err)
		}
	}
	for i, change := range []func(b []byte) []byte{
		func(b []byte) []byte { return b[:recordHead-1] },
		func([]byte) []byte { return nil },
		func(b []byte) []byte { b[0] = 0; return b },
		func(b []byte) []byte { b[0] = byte(reportError) + 1; return b },
		func(b []byte) []byte { b[6] = 1; return b }, // endpoint 65536
		func(b []byte) []byte { b[9] = 1; return b }, // handler 256
		func(b []byte) []byte { b[31] = 1; return b },
	} {
		r := samples()[2]
		if err := new(record).get(change(written(&r))); err == nil {
			t.Errorf("change %d: a record that nobody writes is read", i)
		}
	}
}

// FuzzRecord reads any bytes: what is read is written so that it is read as the same.
func FuzzRecord(f *testing.F) {
	for _, r := range samples() {
		f.Add(written(&r))
	}
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again record
		if r.get(b) != nil {
			return
		}
		c := written(&r)
		if err := again.get(c); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%x has been read as %+v, and what that is written as, as %+v: %v", b, r, again, err)
		}
		head := recordHead
		if r.kind == orderSend || r.kind == reportAM {
			head = 32 // such a record has no more
		}
		if !bytes.Equal(c[:head], b[:head]) || !bytes.Equal(c[recordHead:], b[recordHead:]) {
			t.Errorf("%x has been read as %+v, which is written as %x", b, r, c)
		}
	})
}

// TestSender sends records of random sizes through a ring that is too small for them, which are taken out now and then: they come in order, as they were when they were sent, and what fits leaves at once.
func TestSender(t *testing.T) {
	t.Parallel()
	const size = 4096
	region, err := shm.NewRegion(shm.RoundUp(link.RingBytes(size)), shm.Local)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Close()
	memory := region.Bytes()[:link.RingBytes(size)]
	s, in := sender{ring: link.Producer(memory)}, link.Consumer(memory)
	rng := rand.New(rand.NewPCG(1, 2))
	var sent []record
	came, waited := 0, 0
	for came < 2000 {
		switch rng.IntN(3) {
		case 0:
			data := make([]byte, rng.IntN(1500))
			for i := range data {
				data[i] = byte(len(sent) + i)
			}
			r := record{kind: orderWrite, op: uint32(len(sent)), data: bytes.Clone(data)}
			fits := s.fits(len(data))
			before := s.waiting.Len()
			s.send(&r)
			if fits != (s.waiting.Len() == before) {
				t.Fatalf("a record with %d B of data fits: %v; %d records wait then, and %d before", len(data), fits, s.waiting.Len(), before)
			}
			waited += s.waiting.Len() - before
			clear(r.data)
			sent = append(sent, record{kind: r.kind, op: r.op, data: data})
		case 1:
			s.flush()
		default:
			for range rng.IntN(6) {
				b, err := in.Next()
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					break
				}
				var r record
				if err := r.get(b); err != nil || !reflect.DeepEqual(r, sent[came]) {
					t.Fatalf("record %d has come as %+v: %v", came, r, err)
				}
				in.Drop()
				came++
			}
		}
	}
	if waited < 100 {
		t.Errorf("%d records have waited, too few to say anything", waited)
	}
}
