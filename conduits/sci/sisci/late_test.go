package sisci

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Handles that outlive their device answer; they do not touch memory that is gone.
func TestLateCalls(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		seg, _ := export(t, b, 7, page, nil)
		_, err := b.CreateInterrupt(0, true)
		ok(t, err)

		mine, err := a.CreateSegment(1, page, 0, nil)
		ok(t, err)
		interrupt, err := a.CreateInterrupt(0, true)
		ok(t, err)
		remote, m := attach(t, a, 1, 7)
		door, err := a.ConnectInterrupt(1, 0, 0)
		ok(t, err)
		queue, err := a.CreateDMAQueue(1)
		ok(t, err)

		ok(t, errors.Join(queue.Remove(), m.Unmap(), door.Disconnect(), interrupt.Remove(), mine.Remove()))
		is(t, a.Close(), ErrBusy)
		ok(t, remote.Disconnect())
		ok(t, a.Close())

		is(t, door.Trigger(), ErrNotConnected)
		is(t, interrupt.Wait(Forever), ErrCancelled)
		is(t, second(mine.WaitEvent(Forever)), ErrCancelled)
		is(t, second(remote.WaitEvent(Forever)), ErrCancelled)
		is(t, second(queue.Wait(Forever)), ErrNotInitialized)
		is(t, second(m.CreateSequence()), ErrNotConnected)
		is(t, mine.Remove(), ErrNotInitialized)
		is(t, remote.Disconnect(), ErrNotConnected)
		if n := a.Service(); n != 0 {
			t.Errorf("a closed device has %d events", n)
		}
		ok(t, seg.SetUnavailable(0))
		ok(t, seg.SetAvailable()) // wakes nobody on the closed node
	})
}

// As long as a call waits, the device stays open, so that what the call looks at stays
// mapped; a removal ends the wait.
func TestCloseWhileWaiting(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		d := newNetwork(t, 2, small, inProcess, nil).devs[0]
		waiting := func(n int) {
			for now := -1; now != n; runtime.Gosched() {
				d.mu.Lock()
				now = d.waiting
				d.mu.Unlock()
			}
		}
		seg, err := d.CreateSegment(1, page, 0, nil)
		ok(t, err)
		interrupt, err := d.CreateInterrupt(0, true)
		ok(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := seg.WaitEvent(Forever); !errors.Is(err, ErrCancelled) {
				t.Errorf("wait for an event: %v", err)
			}
		})
		wg.Go(func() {
			if err := interrupt.Wait(Forever); !errors.Is(err, ErrCancelled) {
				t.Errorf("wait for an interrupt: %v", err)
			}
		})
		waiting(2)
		ok(t, errors.Join(seg.Remove(), interrupt.Remove()))
		wg.Wait()

		wg.Go(func() { // nothing exists, but this call waits for something to
			if _, err := d.Connect(1, 7, Forever, nil); !errors.Is(err, ErrNoRemoteLinkAccess) {
				t.Errorf("connect: %v", err)
			}
		})
		waiting(1)
		is(t, d.Close(), ErrBusy)
		ok(t, d.SetLink(1, false))
		wg.Wait()
		ok(t, d.Close())
	})
}

// An importer that its owner gives up is told, whether or not the owner had been told of
// it, and although the segment lives on.
func TestGivenUpByOwner(t *testing.T) {
	for _, told := range []bool{false, true} {
		nw := newNetwork(t, 2, small, together, nil)
		a, b := nw.devs[0], nw.devs[1]
		seg, _ := export(t, b, 7, page, nil)
		r, m := attach(t, a, 1, 7)
		q, err := m.CreateSequence()
		ok(t, err)
		if told {
			ok(t, second(seg.WaitEvent(0)))
		}
		ok(t, b.NodeLost(0))
		if st := q.Check(); st != NotRetriable {
			t.Errorf("told %v: sequence answers %v", told, st)
		}
		ev, err := r.WaitEvent(0)
		ok(t, err)
		if ev.Reason != EventDisconnect {
			t.Errorf("told %v: event %v", told, ev.Reason)
		}
		is(t, second(r.WaitEvent(0)), ErrTimeout)
	}
}

// However a forced disconnection falls together with the connecting, the connection is
// broken or was refused, and if it was made its callback hears of its end.
func TestConnectAgainstForce(t *testing.T) {
	rounds := uint32(20000)
	if shm.RaceEnabled {
		rounds = 2000
	}
	nw := newNetwork(t, 2, small, together, nil)
	a, b := nw.devs[0], nw.devs[1]
	seg, _ := export(t, b, 7, page, nil)
	var round, done atomic.Uint32 // done counts the two others' rounds
	var wg sync.WaitGroup
	each := func(do func(round uint32)) {
		wg.Go(func() {
			for r := uint32(1); r <= rounds; r++ {
				for round.Load() != r {
					runtime.Gosched()
				}
				do(r)
				done.Add(1)
			}
		})
	}
	each(func(round uint32) {
		for range round % 32 * 16 { // sweeps over the call of Connect
			shm.Load64(&a.self.dir.connections[0][0])
		}
		if err := seg.SetUnavailable(ForceDisconnect); err != nil {
			t.Error(err)
		}
	})
	each(func(uint32) {
		for range 8 {
			a.Service()
		}
	})
	made := 0
	for n := uint32(1); n <= rounds; n++ {
		round.Store(n)
		heard := false
		r, err := a.Connect(1, 7, 0, func(RemoteEvent) Action { heard = true; return Continue })
		for done.Load() != 2*n {
			runtime.Gosched()
		}
		if err == nil {
			made++
			a.Service()
			if st := r.status(); st != NotRetriable || !heard {
				t.Errorf("round %d: connected to an unavailable segment: %v, heard of it %v", n, st, heard)
			}
			ok(t, r.Disconnect())
		} else if same(err, ErrConnectionRefused) != nil {
			t.Error(err)
		}
		ok(t, seg.SetAvailable())
	}
	wg.Wait()
	t.Logf("connected in %d of %d rounds", made, rounds)
}
