package sisci

import (
	"bytes"
	"slices"
	"testing"
)

// faults answers from a script, then OK.
type faults struct {
	script []Status
	asked  []Fault
}

func (f *faults) next(at Fault) Status {
	f.asked = append(f.asked, at)
	if len(f.script) == 0 {
		return OK
	}
	st := f.script[0]
	f.script = f.script[1:]
	return st
}

// certain is the published protocol of a transfer that is checked; it returns how often
// the data was stored. It gives up after limit answers.
func certain(q *Sequence, store func(), limit int) (stores int, done bool) {
	for range limit {
		if q.Status() != Retriable && q.Start() != OK {
			continue
		}
		store()
		stores++
		if q.Check() == OK {
			return stores, true
		}
	}
	return stores, false
}

func TestSequenceProtocol(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script []Status // of Start, Check, Start, …
		stores int
		ops    []FaultOp
	}{
		{"clean", nil, 1, []FaultOp{FaultStart, FaultCheck}},
		{"start is refused twice", []Status{Pending, NotRetriable}, 1, []FaultOp{FaultStart, FaultStart, FaultStart, FaultCheck}},
		{"retriable: store at once", []Status{OK, Retriable, Retriable}, 3, []FaultOp{FaultStart, FaultCheck, FaultCheck, FaultCheck}},
		{"pending: start first", []Status{OK, Pending, Pending}, 2, []FaultOp{FaultStart, FaultCheck, FaultStart, FaultStart, FaultCheck}},
		{"not retriable: start first", []Status{OK, NotRetriable}, 2, []FaultOp{FaultStart, FaultCheck, FaultStart, FaultCheck}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &faults{script: tc.script}
			nw := newNetwork(t, 2, small, together, f.next)
			_, mem := export(t, nw.devs[1], 7, page, nil)
			_, m := attach(t, nw.devs[0], 1, 7)
			q, err := m.CreateSequence()
			ok(t, err)
			stores, done := certain(q, func() { m.Store32(8, 77) }, 10)
			if !done || stores != tc.stores || mem[8] != 77 {
				t.Errorf("%d stores, done %v; want %d", stores, done, tc.stores)
			}
			var ops []FaultOp
			for _, at := range f.asked {
				if at.Node != 1 || at.Segment != 7 {
					t.Errorf("fault asked for segment %#x of node %d", at.Segment, at.Node)
				}
				ops = append(ops, at.Op)
			}
			if !slices.Equal(ops, tc.ops) {
				t.Errorf("asked %v, want %v", ops, tc.ops)
			}
		})
	}
}

// While the link is down no sequence starts; when it is back they go on.
func TestSequenceAndLink(t *testing.T) {
	nw := newNetwork(t, 2, small, apart, nil)
	a := nw.devs[0]
	seg, _ := export(t, nw.devs[1], 7, page, nil)
	_, m := attach(t, a, 1, 7)
	q, err := m.CreateSequence()
	ok(t, err)
	for _, step := range []struct {
		change func() error
		want   Status
	}{
		{func() error { return nil }, OK},
		{func() error { return a.SetLink(1, false) }, NotRetriable},
		{func() error { return a.SetLink(1, true) }, OK},
		{func() error { return a.SetLink(0, false) }, NotRetriable},
		{func() error { return a.SetLink(0, true) }, OK},
		{func() error { return seg.SetUnavailable(0) }, OK},
		{seg.SetAvailable, OK},
		{func() error { return seg.SetUnavailable(Notify) }, OK},
		{seg.SetAvailable, OK},
		{func() error { return seg.SetUnavailable(ForceDisconnect) }, NotRetriable},
		{seg.SetAvailable, NotRetriable}, // only a new connection helps
	} {
		ok(t, step.change())
		if st := q.Start(); st != step.want || q.Status() != st {
			t.Errorf("Start: %v, want %v", st, step.want)
		}
		if st := q.Check(); st != step.want || q.Status() != st {
			t.Errorf("Check: %v, want %v", st, step.want)
		}
	}
}

func TestMemCpy(t *testing.T) {
	f := &faults{}
	nw := newNetwork(t, 2, small, apart, f.next)
	_, mem := export(t, nw.devs[1], 7, 2*page, nil)
	r, _ := attach(t, nw.devs[0], 1, 7)
	m, err := r.Map(page, page, 0)
	ok(t, err)
	q, err := m.CreateSequence()
	ok(t, err)
	data := []byte("posted, and certain after a check")

	ok(t, m.MemCpy(nil, data, 5, 0))
	if len(f.asked) != 0 || !bytes.Equal(mem[page+5:][:len(data)], data) {
		t.Errorf("unchecked copy: %d questions, %q", len(f.asked), mem[page+5:][:len(data)])
	}
	back := make([]byte, len(data))
	ok(t, m.MemCpy(q, back, 5, BlockRead|ErrorCheck))
	if !bytes.Equal(back, data) || len(f.asked) != 2 {
		t.Errorf("read back %q with %d questions", back, len(f.asked))
	}

	f.script = []Status{Pending} // Start
	is(t, m.MemCpy(q, []byte{1}, 500, ErrorCheck), ErrTransferFailed)
	if q.Status() != Pending || mem[page+500] != 0 {
		t.Errorf("status %v, stored %d", q.Status(), mem[page+500])
	}
	f.script = []Status{OK, Retriable} // Check
	is(t, m.MemCpy(q, []byte{1}, 500, ErrorCheck), ErrTransferFailed)
	if q.Status() != Retriable {
		t.Errorf("status %v", q.Status())
	}
	ok(t, m.MemCpy(q, []byte{1}, 500, ErrorCheck))
	if mem[page+500] != 1 {
		t.Error("not stored")
	}
}

// A packet that is lost is missing in the owner's memory and makes the check fail; what was
// filled in is still there to be pushed again.
func TestSequencePush(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		f := &faults{}
		nw := newNetwork(t, 2, small, inProcess, f.next)
		_, mem := export(t, nw.devs[1], 7, page, nil)
		_, m := attach(t, nw.devs[0], 1, 7)
		q, err := m.CreateSequence()
		ok(t, err)

		const off, n = 40, 200 // packets end at 64, 128, 192 and 240
		fill(m.Window(off, n), 0x5a)
		if bytes.IndexByte(mem, 0x5a) >= 0 {
			t.Fatal("arrived before it was pushed")
		}
		f.script = []Status{OK, OK, Retriable, OK, OK} // Start, packets
		want := make([]byte, page)
		fill(want[off:off+n], 0x5a)
		fill(want[64:128], 0)
		if st := q.Start(); st != OK {
			t.Fatal(st)
		}
		q.Push(off, n)
		if !bytes.Equal(mem, want) {
			t.Error("not all but the second packet arrived")
		}
		if st := q.Check(); st != Retriable || q.Status() != st || len(f.script) > 0 {
			t.Errorf("Check: %v, %d answers left", st, len(f.script))
		}
		q.Push(off, n)
		fill(want[off:off+n], 0x5a)
		if st := q.Check(); st != OK || !bytes.Equal(mem, want) {
			t.Errorf("Check after repetition: %v; or not all arrived", st)
		}

		f.script = []Status{NotRetriable, OK} // one packet, Start
		q.Push(0, 8)
		if q.Start() != OK || q.Check() != OK {
			t.Error("Start does not forget what was lost before it")
		}
		f.script = []Status{Pending} // Check
		if q.Check() != Pending {
			t.Error("Check is not pending")
		}
		fill(m.Window(300, 8), 1)
		q.Push(300, 8)
		if st := q.Check(); st != Pending || mem[300] != 0 {
			t.Errorf("Check without Start: %v; %d arrived", st, mem[300])
		}
		m.Push(300, 8)
		if mem[300] != 1 || mem[307] != 1 {
			t.Error("an unwatched push did not arrive")
		}
	})
}
