package sisci

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// What is stored under a sequence arrives, live and modelled, and TryCheck says when.
func TestSequenceStore(t *testing.T) {
	data := bytes.Repeat([]byte("stored!"), 30)
	t.Run("live", func(t *testing.T) {
		f := &faults{script: []Status{OK, Retriable}} // Start, then the first packet
		nw := newNetwork(t, 2, small, true, f.next)
		_, mem := export(t, nw.devs[1], 7, page, nil)
		_, m := attach(t, nw.devs[0], 1, 7)
		q := must(m.CreateSequence())
		q.Start()
		q.Store(100, data)
		if st, known := q.TryCheck(); st != Retriable || !known {
			t.Errorf("a packet was lost, TryCheck says %v, %v", st, known)
		}
		q.Store(100, data)
		if st, known := q.TryCheck(); st != OK || !known || !bytes.Equal(mem[100:100+len(data)], data) {
			t.Errorf("TryCheck says %v, %v", st, known)
		}
	})
	t.Run("modelled", func(t *testing.T) {
		w := newPair(t, nil)
		w.run(func(p *vtime.Proc, d *Device) {
			_, m := attach(t, d, 1, 7)
			q := must(m.CreateSequence())
			if st := q.Start(); st != OK {
				t.Fatal(st)
			}
			own := bytes.Clone(data)
			q.Store(100, own)
			clear(own) // it is free
			if st, known := q.TryCheck(); known {
				t.Errorf("the answers are there at once: %v", st)
			}
			until(p, func() bool {
				st, known := q.TryCheck()
				return known && st == OK
			})
			m.Store8(0, 1)
		}, func(p *vtime.Proc, d *Device) {
			_, mem := export(t, d, 7, page, nil)
			until(p, func() bool { return mem[0] == 1 })
			if !bytes.Equal(mem[100:100+len(data)], data) || mem[99] != 0 || mem[100+len(data)] != 0 {
				t.Errorf("memory is %q", mem[99:101+len(data)])
			}
		})
	})
}

// Every Start takes a call and a reading of the status register, also after a clean Check, and so does
// the first Begin; after a clean Check Begin takes nothing, and after a failure it is a Start again.
// MemCpy with ErrorCheck starts its sequence once.
func TestSequenceStartTakesTime(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		q := must(m.CreateSequence())
		once := d.host.profile().Host.Sequence + d.host.profile().PIO.Status
		takes := func(what string, want vtime.Time, do func() bool) vtime.Time {
			t.Helper()
			start := p.Now()
			if !do() {
				t.Errorf("%s fails", what)
			}
			took := p.Now() - start
			if want >= 0 && took != want {
				t.Errorf("%s takes %v, want %v", what, took, want)
			}
			return took
		}
		start := func() bool { return q.Start() == OK }
		transfer := func() bool {
			q.Store(0, []byte{1})
			return q.Check() == OK
		}
		takes("the first Begin", once, q.Begin)
		takes("Start", once, start)
		checked := takes("a checked store", -1, transfer)
		takes("Begin after a clean Check", 0, q.Begin)
		takes("Start after a clean Check", once, start)
		takes("MemCpy", once+checked, func() bool { return m.MemCpy(q, []byte{2}, 0, ErrorCheck) == nil })
		ok(t, d.SetLink(1, false))
		if q.Store(0, []byte{3}); q.Check() == OK {
			t.Error("a store over a cut link arrives")
		}
		ok(t, d.SetLink(1, true))
		takes("Begin after a failure", once, q.Begin)
	}, func(p *vtime.Proc, d *Device) {
		export(t, d, 7, page, nil)
		p.Charge(vtime.Second)
		p.Sync()
	})
}

// A sequence that waits for a Start stores nothing.
func TestSequenceStoreNeedsStart(t *testing.T) {
	w := newPair(t, func(p *hardware.Profile) { p.Error.Detect = vtime.Millisecond })
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		q := must(m.CreateSequence())
		q.Start()
		q.Store(0, []byte{1})
		if q.Check() != OK {
			t.Fatal("a good link fails")
		}
		ok(t, d.SetLink(1, false))
		if st := q.Start(); st != NotRetriable {
			t.Fatalf("Start on a link that is down: %v", st)
		}
		q.Store(0, []byte{2})
		if st := q.Check(); st != NotRetriable {
			t.Errorf("Check says %v", st)
		}
		p.Charge(vtime.Millisecond)
		p.Sync()
	}, func(p *vtime.Proc, d *Device) {
		_, mem := export(t, d, 7, page, nil)
		p.Charge(5 * vtime.Millisecond)
		p.Sync()
		if mem[0] != 1 {
			t.Errorf("memory holds %d", mem[0])
		}
	})
}

// Nodes draw numbers from a word of one of them, which does so through a map of its own segment.
func TestFetchAdd(t *testing.T) {
	const each = 20
	w := newPair(t, nil)
	seen := map[uint32]bool{}
	draw := func(d *Device) {
		s, m := attach(t, d, 1, 7)
		is(t, failure(m.FetchAdd(0, 1)), ErrIllegalOperation)
		lock := must(s.Map(0, page, LockOperation))
		for range each {
			before, st, err := lock.FetchAdd(8, 3)
			if ok(t, err); st != OK {
				t.Fatal(st)
			}
			seen[before] = true
		}
		is(t, failure(lock.FetchAdd(page-3, 1)), ErrOutOfRange)
		is(t, failure(lock.FetchAdd(-4, 1)), ErrOutOfRange)
		is(t, failure(lock.FetchAdd(6, 1)), ErrOffsetAlignment)
	}
	w.run(func(p *vtime.Proc, d *Device) { draw(d) }, func(p *vtime.Proc, d *Device) {
		export(t, d, 7, page, nil)
		draw(d)
	})
	for i := range uint32(2 * each) {
		if !seen[3*i] {
			t.Errorf("nobody has drawn %d", 3*i)
		}
	}
}

// Live, and on machines without lock operations, there is no such map. A refused operation has
// done nothing, and can be repeated.
func TestFetchAddRefused(t *testing.T) {
	nw := newNetwork(t, 2, small, true, nil)
	export(t, nw.devs[1], 7, page, nil)
	s, _ := attach(t, nw.devs[0], 1, 7)
	is(t, second(s.Map(0, page, LockOperation)), ErrFlagNotImplemented)

	w := newPair(t, func(p *hardware.Profile) { p.Lock.FetchAdd = false })
	w.run(func(p *vtime.Proc, d *Device) {
		s, _ := attach(t, d, 1, 7)
		is(t, second(s.Map(0, page, LockOperation)), ErrFlagNotImplemented)
	}, func(p *vtime.Proc, d *Device) { export(t, d, 7, page, nil) })

	w = newPair(t, func(p *hardware.Profile) { p.Error.Busy = 300_000_000 })
	w.run(func(p *vtime.Proc, d *Device) {
		s, _ := attach(t, d, 1, 7)
		lock := must(s.Map(0, page, LockOperation))
		refused := 0
		for done := uint32(0); done < 50; {
			switch before, st, err := lock.FetchAdd(0, 1); {
			case err != nil:
				t.Fatal(err)
			case st == Retriable:
				refused++
			case st != OK || before != done:
				t.Fatalf("fetched %d after %d additions: %v", before, done, st)
			default:
				done++
			}
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
	}, func(p *vtime.Proc, d *Device) { export(t, d, 7, page, nil) })
}

// failure is the error of a fetch-and-add.
func failure(_ uint32, _ Status, err error) error { return err }
