package sisci

import (
	"runtime"
	"sync"
	"testing"
)

// A node that its owner gave up finds the word of its connection in another's use, and
// leaves it alone.
func TestConnectionWordIsReused(t *testing.T) {
	l := small
	l.Connections = 1
	nw := newNetwork(t, 3, l, together, nil)
	owner := nw.devs[0]
	seg, _ := export(t, owner, 7, page, nil)
	old, oldMap := attach(t, nw.devs[1], 0, 7)
	q, err := oldMap.CreateSequence()
	ok(t, err)
	ok(t, owner.NodeLost(1))
	now, nowMap := attach(t, nw.devs[2], 0, 7)
	if old.conn != now.conn {
		t.Fatal("the new connection has another word")
	}

	if st := q.Check(); st != NotRetriable {
		t.Errorf("the old connection answers %v", st)
	}
	ok(t, q.Remove())
	ok(t, oldMap.Unmap())
	ok(t, old.Disconnect())

	q, err = nowMap.CreateSequence()
	ok(t, err)
	if st := q.Check(); st != OK || owner.self.dir.connected(seg.slot) != 1 {
		t.Errorf("the new connection answers %v; there are %d", st, owner.self.dir.connected(seg.slot))
	}
}

// Who waits for a segment or an interrupt wakes when it comes.
func TestConnectWakes(t *testing.T) {
	const rounds = 50
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		for range rounds {
			seg, err := b.CreateSegment(7, page, 0, nil)
			ok(t, err)
			ok(t, seg.Prepare(0))
			var r *RemoteSegment
			var door *RemoteInterrupt
			var wg sync.WaitGroup
			wg.Go(func() {
				var err error
				if r, err = a.Connect(1, 7, Forever, nil); err != nil {
					t.Errorf("segment: %v", err)
				}
			})
			wg.Go(func() {
				var err error
				if door, err = a.ConnectInterrupt(1, 0, Forever); err != nil {
					t.Errorf("interrupt: %v", err)
				}
			})
			for waiting := 0; waiting < 2; runtime.Gosched() {
				a.mu.Lock()
				waiting = a.waiting
				a.mu.Unlock()
			}
			for range 50 { // most often both sleep by now
				runtime.Gosched()
			}
			i, err := b.CreateInterrupt(0, true)
			ok(t, err)
			ok(t, seg.SetAvailable())
			wg.Wait()
			if t.Failed() {
				return
			}
			ok(t, r.Disconnect())
			ok(t, door.Disconnect())
			ok(t, i.Remove())
			ok(t, seg.SetUnavailable(0))
			ok(t, seg.Remove())
		}
	})
}
