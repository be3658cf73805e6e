package sisci

import (
	"bytes"
	"sync"
	"testing"
)

// dmaBench is a queue of node 0 between a private segment of two pages there and segment
// 7 of two pages of node 1.
type dmaBench struct {
	queue    *DMAQueue
	mine     *LocalSegment
	remote   *RemoteSegment
	src, dst []byte
	owner    *LocalSegment
	a        *Device
}

func newDMABench(t *testing.T, inProcess bool, fault func(Fault) Status) *dmaBench {
	nw := newNetwork(t, 2, small, inProcess, fault)
	w := &dmaBench{a: nw.devs[0]}
	w.owner, w.dst = export(t, nw.devs[1], 7, 2*page, nil)
	var err error
	w.mine, err = w.a.CreateSegment(0, 2*page, Private, nil)
	ok(t, err)
	ok(t, w.mine.Prepare(0))
	m, err := w.mine.Map(0, 2*page, 0)
	ok(t, err)
	w.src = m.Bytes()
	for i := range w.src {
		w.src[i] = byte(i * 7)
	}
	w.remote, err = w.a.Connect(1, 7, 0, nil)
	ok(t, err)
	w.queue, err = w.a.CreateDMAQueue(3)
	ok(t, err)
	return w
}

func (w *dmaBench) expect(t *testing.T, want DMAState) {
	t.Helper()
	if got := w.queue.State(); got != want {
		t.Fatalf("queue is %v, want %v", got, want)
	}
}

func TestDMA(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		w := newDMABench(t, inProcess, nil)
		w.expect(t, DMAIdle)
		ok(t, w.queue.Enqueue(w.mine, 8, w.remote, 16, page, 0))
		w.expect(t, DMAGather)
		ok(t, w.queue.Enqueue(w.mine, 0, w.remote, 2*page-8, 8, 0))
		var ended DMAState
		ok(t, w.queue.Post(func(s DMAState) { ended = s }))
		if state, err := w.queue.Wait(0); err != nil || state != DMADone || ended != DMADone {
			t.Fatalf("ended %v, callback %v, %v", state, ended, err)
		}
		if !bytes.Equal(w.dst[16:][:page], w.src[8:][:page]) || !bytes.Equal(w.dst[2*page-8:], w.src[:8]) {
			t.Error("other data has arrived")
		}
		if len(bytes.Trim(w.dst[:16], "\x00")) != 0 || len(bytes.Trim(w.dst[16+page:2*page-8], "\x00")) != 0 {
			t.Error("something was written beside the destination")
		}
		is(t, w.queue.Abort(), ErrIllegalOperation)
		is(t, w.queue.Post(nil), ErrIllegalOperation)
		ok(t, w.queue.Reset())
		w.expect(t, DMAIdle)

		copy(w.dst[page:], "from afar")
		ok(t, w.queue.Enqueue(w.mine, page, w.remote, page, 16, DMARead))
		ok(t, w.queue.Post(nil))
		w.expect(t, DMADone)
		if string(w.src[page:][:9]) != "from afar" {
			t.Errorf("read %q", w.src[page:][:9])
		}
		ok(t, w.queue.Reset())
		ok(t, w.remote.Disconnect()) // nothing holds it any more
		ok(t, w.queue.Remove())
	})
}

func TestDMAAbort(t *testing.T) {
	var w *dmaBench
	transfers := 0
	w = newDMABench(t, apart, func(at Fault) Status {
		if at.Op == FaultDMA {
			if transfers++; transfers == 2 {
				w.expect(t, DMAPosted)
				for _, err := range []error{
					w.queue.Reset(), w.queue.Remove(), w.queue.Post(nil), w.queue.Enqueue(w.mine, 0, w.remote, 0, 8, 0),
				} {
					is(t, err, ErrIllegalOperation)
				}
				if _, err := w.queue.Wait(0); same(err, ErrTimeout) != nil {
					t.Errorf("wait for a posted queue: %v", err)
				}
				ok(t, w.queue.Abort())
				w.expect(t, DMAPosted) // until the engine has stopped
			}
		}
		return OK
	})
	for i := range 3 {
		ok(t, w.queue.Enqueue(w.mine, 8, w.remote, 8*i, 8, 0))
	}
	ok(t, w.queue.Post(nil))
	w.expect(t, DMAAborted)
	if transfers != 2 || w.dst[0] == 0 || w.dst[8] != 0 {
		t.Errorf("%d transfers looked at; %v", transfers, w.dst[:24])
	}
	is(t, w.queue.Post(nil), ErrIllegalOperation)
	ok(t, w.queue.Reset())

	// the abort is not left over
	transfers = 10
	ok(t, w.queue.Enqueue(w.mine, 8, w.remote, 16, 8, 0))
	ok(t, w.queue.Post(nil))
	w.expect(t, DMADone)
	ok(t, w.queue.Reset())

	ok(t, w.queue.Enqueue(w.mine, 8, w.remote, 0, 8, 0))
	ok(t, w.queue.Abort())
	w.expect(t, DMAAborted)
	ok(t, w.queue.Remove())
	ok(t, w.remote.Disconnect())
}

func TestDMAError(t *testing.T) {
	f := &faults{}
	w := newDMABench(t, apart, f.next)
	post := func() {
		t.Helper()
		w.src[0]++
		ok(t, w.queue.Enqueue(w.mine, 0, w.remote, 0, 8, 0))
		ok(t, w.queue.Post(nil))
		w.expect(t, DMAError)
		if w.dst[0] == w.src[0] {
			t.Error("a failed transfer has arrived")
		}
		ok(t, w.queue.Reset())
	}
	f.script = []Status{Retriable}
	post()
	ok(t, w.a.SetLink(1, false))
	post()
	ok(t, w.a.SetLink(1, true))
	ok(t, w.owner.SetUnavailable(ForceDisconnect))
	post()
}

// Others see a posted queue and can wait for it.
func TestDMAWait(t *testing.T) {
	posted, release := make(chan bool), make(chan bool)
	w := newDMABench(t, together, func(at Fault) Status {
		close(posted)
		<-release
		return OK
	})
	var wg sync.WaitGroup
	ok(t, w.queue.Enqueue(w.mine, 0, w.remote, 0, 8, 0))
	wg.Go(func() {
		if err := w.queue.Post(nil); err != nil {
			t.Error(err)
		}
	})
	<-posted
	w.expect(t, DMAPosted)
	wg.Go(func() {
		if s, err := w.queue.Wait(Forever); s != DMADone || err != nil {
			t.Errorf("waited for %v, %v", s, err)
		}
	})
	close(release)
	wg.Wait()
}
