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
		// while runs appear when connect waits, most often asleep already
		while := func(connect, appear func() error) {
			t.Helper()
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := connect(); err != nil {
					t.Error(err)
				}
			})
			for waiting := 0; waiting == 0; runtime.Gosched() {
				a.mu.Lock()
				waiting = a.waiting
				a.mu.Unlock()
			}
			for range 50 {
				runtime.Gosched()
			}
			ok(t, appear())
			wg.Wait()
		}
		for range rounds {
			seg, err := b.CreateSegment(7, page, 0, nil)
			ok(t, err)
			ok(t, seg.Prepare(0))
			var r *RemoteSegment
			while(func() (err error) { r, err = a.Connect(1, 7, Forever, nil); return err }, seg.SetAvailable)
			ok(t, r.Disconnect())
			ok(t, seg.SetUnavailable(0))
			ok(t, seg.Remove())

			var i *LocalInterrupt
			var door *RemoteInterrupt
			while(func() (err error) { door, err = a.ConnectInterrupt(1, 0, Forever); return err },
				func() (err error) { i, err = b.CreateInterrupt(0, true); return err })
			ok(t, door.Disconnect())
			ok(t, i.Remove())
		}
	})
}
