package sisci

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// callbacks collects what callbacks are told.
type callbacks struct{ got []EventReason }

func (c *callbacks) local(ev LocalEvent) Action   { c.got = append(c.got, ev.Reason); return Continue }
func (c *callbacks) remote(ev RemoteEvent) Action { c.got = append(c.got, ev.Reason); return Continue }

// expect services the device and compares what its callbacks were told.
func (c *callbacks) expect(t *testing.T, d *Device, want ...EventReason) {
	t.Helper()
	c.got = nil
	if n := d.Service(); n != len(c.got) || !slices.Equal(c.got, want) {
		t.Fatalf("%d callbacks: %v, want %v", n, c.got, want)
	}
}

func TestCallbacks(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		var owner, importer callbacks
		seg, _ := export(t, b, 7, page, owner.local)
		owner.expect(t, b)
		r, err := a.Connect(1, 7, 0, importer.remote)
		ok(t, err)
		importer.expect(t, a)
		owner.expect(t, b, EventConnect)
		owner.expect(t, b)

		ok(t, a.SetLink(1, false))
		importer.expect(t, a, EventNotOperational)
		ok(t, a.SetLink(1, false))
		importer.expect(t, a)
		ok(t, a.SetLink(1, true))
		importer.expect(t, a, EventOperational)
		ok(t, a.SetLink(0, false)) // its own link counts as well
		importer.expect(t, a, EventNotOperational)
		ok(t, a.SetLink(0, true))
		importer.expect(t, a, EventOperational)
		ok(t, a.SetLink(1, false))
		ok(t, a.SetLink(1, true))
		importer.expect(t, a) // nothing has changed since it was told last

		ok(t, seg.SetUnavailable(Notify))
		importer.expect(t, a, EventDisconnect)
		ok(t, seg.SetAvailable())
		ok(t, seg.SetUnavailable(ForceDisconnect))
		importer.expect(t, a, EventDisconnect)
		ok(t, r.Disconnect())
		owner.expect(t, b, EventDisconnect)

		ok(t, seg.SetAvailable())
		r, err = a.Connect(1, 7, 0, importer.remote)
		ok(t, err)
		ok(t, r.Disconnect())
		owner.expect(t, b) // it came and went
		importer.expect(t, a)
	})
}

// A lost node takes its connections with it, on both ends.
func TestNodeLost(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 3, small, inProcess, nil)
		a, b, c := nw.devs[0], nw.devs[1], nw.devs[2]
		var owner, importer callbacks
		seg, err := b.CreateSegment(7, page, 0, owner.local)
		ok(t, err)
		ok(t, seg.Prepare(0))
		ok(t, seg.SetAvailable())
		r, err := a.Connect(1, 7, 0, importer.remote)
		ok(t, err)
		m, err := r.Map(0, page, 0)
		ok(t, err)
		q, err := m.CreateSequence()
		ok(t, err)
		other, err := c.Connect(1, 7, 0, nil)
		ok(t, err)
		owner.expect(t, b, EventConnect, EventConnect)

		ok(t, a.NodeLost(1))
		importer.expect(t, a, EventLost)
		ok(t, a.SetLink(1, false))
		ok(t, a.SetLink(1, true))
		importer.expect(t, a) // lost is for ever
		if q.Start() != NotRetriable || q.Check() != NotRetriable {
			t.Error("a sequence to a lost node goes on")
		}
		is(t, a.Probe(1), ErrNoRemoteLinkAccess)
		ok(t, q.Remove())
		ok(t, m.Unmap())
		ok(t, r.Disconnect())

		_, err = a.Connect(2, 1, 0, nil)
		is(t, err, ErrNoSuchSegment) // the other node is reached as before

		owner.expect(t, b, EventDisconnect)
		ok(t, b.NodeLost(2))
		owner.expect(t, b, EventLost)
		ok(t, seg.SetUnavailable(0))
		ok(t, seg.Remove()) // what a lost node holds does not count

		// the node was not dead after all: it is out, and does no harm when it leaves
		_, err = other.Map(0, page, 0)
		is(t, err, ErrNotConnected)
		ev, err := other.WaitEvent(0)
		ok(t, err)
		if ev.Reason != EventDisconnect {
			t.Errorf("event %v", ev)
		}
		before := slices.Clone(b.self.dir.connections[0])
		ok(t, other.Disconnect())
		if !slices.Equal(before, b.self.dir.connections[0]) {
			t.Errorf("connections %#x, before %#x", b.self.dir.connections[0], before)
		}
	})
}

func TestCallbackCancels(t *testing.T) {
	nw := newNetwork(t, 2, small, together, nil)
	a, b := nw.devs[0], nw.devs[1]
	calls := 0
	seg, _ := export(t, b, 7, page, func(LocalEvent) Action { calls++; return Cancel })
	for range 2 {
		_, err := a.Connect(1, 7, 0, nil)
		ok(t, err)
	}
	for range 2 {
		b.Service()
	}
	if calls != 1 {
		t.Errorf("%d calls after the callback cancelled", calls)
	}
	// a callback may take its own segment apart, and service the device
	var r *RemoteSegment
	r, err := a.Connect(1, 7, 0, func(RemoteEvent) Action {
		a.Service()
		ok(t, r.Disconnect())
		return Continue
	})
	ok(t, err)
	ok(t, seg.SetUnavailable(Notify))
	if n := a.Service(); n != 1 {
		t.Errorf("%d callbacks", n)
	}
	is(t, r.Disconnect(), ErrNotConnected)
}

// Those who wait are woken by what other nodes do.
func TestWaitEvent(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		seg, _ := export(t, b, 7, page, nil)
		idle, err := b.CreateSegment(8, page, 0, nil)
		ok(t, err)
		connected := make(chan bool)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := idle.WaitEvent(Forever); !errors.Is(err, ErrCancelled) {
				t.Errorf("wait for a segment that is removed: %v", err)
			}
		})
		wg.Go(func() {
			for _, want := range []EventReason{EventConnect, EventDisconnect} {
				ev, err := seg.WaitEvent(Forever)
				if err != nil || ev != (LocalEvent{want, 0}) {
					t.Errorf("owner: %v, %v; want %v of node 0", ev, err, want)
				}
				if want == EventConnect {
					close(connected)
				}
			}
			if err := idle.Remove(); err != nil {
				t.Error(err)
			}
		})
		r, err := a.Connect(1, 7, Forever, nil)
		ok(t, err)
		wg.Go(func() {
			ev, err := r.WaitEvent(Forever)
			if err != nil || ev.Reason != EventDisconnect {
				t.Errorf("importer: %v, %v", ev, err)
			}
			if err := r.Disconnect(); err != nil {
				t.Error(err)
			}
		})
		<-connected
		ok(t, seg.SetUnavailable(Notify))
		wg.Wait()
	})
}

// A connection can be waited for before there is a segment, and the wait ends when the
// node is lost.
func TestConnectWaits(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		var found, lost sync.WaitGroup
		for range 3 {
			found.Go(func() {
				r, err := a.Connect(1, 7, Forever, nil)
				if err != nil || r.Size() != page || r.Node() != 1 {
					t.Errorf("connect: %v", err)
				}
			})
		}
		found.Go(func() {
			if _, err := a.ConnectInterrupt(1, 0, Forever); err != nil {
				t.Errorf("connect to an interrupt: %v", err)
			}
		})
		lost.Go(func() {
			if _, err := a.Connect(1, 99, Forever, nil); !errors.Is(err, ErrNoRemoteLinkAccess) {
				t.Errorf("connect to a node that is lost meanwhile: %v", err)
			}
		})
		export(t, b, 7, page, nil)
		_, err := b.CreateInterrupt(0, true)
		ok(t, err)
		found.Wait()
		a.mu.Lock()
		if len(a.remotes) != 3 || a.interrupts != 1 {
			t.Errorf("%d connections and %d interrupts", len(a.remotes), a.interrupts)
		}
		a.mu.Unlock()
		ok(t, a.NodeLost(1))
		lost.Wait()
	})
}
