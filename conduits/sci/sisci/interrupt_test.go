package sisci

import (
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// rings reports whether the descriptor becomes readable within the time.
func rings(t *testing.T, fd int, timeout time.Duration) bool {
	t.Helper()
	for {
		ts := unix.NsecToTimespec(int64(timeout))
		n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil)
		if err == unix.EINTR {
			continue
		}
		ok(t, err)
		return n == 1
	}
}

func TestInterrupt(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		nw := newNetwork(t, 2, small, inProcess, nil)
		a, b := nw.devs[0], nw.devs[1]
		i, err := b.CreateInterrupt(1, true)
		ok(t, err)
		other, err := b.CreateInterrupt(0, false)
		ok(t, err)
		if i.Number() != 1 || other.Number() != 0 {
			t.Errorf("numbers %d and %d", i.Number(), other.Number())
		}
		r, err := a.ConnectInterrupt(1, 1, 0)
		ok(t, err)
		if i.Clear() || rings(t, b.Bell(), 0) {
			t.Error("triggered by nobody")
		}
		ok(t, r.Trigger())
		ok(t, r.Trigger())
		if !rings(t, b.Bell(), 0) || rings(t, a.Bell(), 0) {
			t.Error("the wrong bell rings")
		}
		shm.Silence(b.Bell())
		if other.Clear() {
			t.Error("the wrong interrupt is triggered")
		}
		ok(t, i.Wait(0)) // both triggers are one
		is(t, i.Wait(0), ErrTimeout)
		ok(t, r.Trigger())
		if !i.Clear() || i.Clear() {
			t.Error("Clear does not tell the trigger")
		}
		if n := testing.AllocsPerRun(100, func() { _ = r.Trigger(); i.Clear() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		ok(t, r.Disconnect())
		ok(t, i.Remove())
		again, err := b.CreateInterrupt(1, true)
		ok(t, err)
		ok(t, again.Remove())
	})
}

// A ball goes round; each node sleeps until it is its turn.
func TestInterruptWakesSleepers(t *testing.T) {
	eachPlacement(t, func(t *testing.T, inProcess bool) {
		const nodes, rounds = 3, 200
		nw := newNetwork(t, nodes, small, inProcess, nil)
		var mine [nodes]*LocalInterrupt
		for n, d := range nw.devs {
			var err error
			mine[n], err = d.CreateInterrupt(0, true)
			ok(t, err)
		}
		var wg sync.WaitGroup
		for n, d := range nw.devs {
			next, err := d.ConnectInterrupt(NodeID((n+1)%nodes), 0, 0)
			ok(t, err)
			wg.Go(func() {
				for round := range rounds {
					if err := mine[n].Wait(Forever); err != nil {
						t.Errorf("node %d, round %d: %v", n, round, err)
						return
					}
					if n == nodes-1 && round == rounds-1 {
						return
					}
					if err := next.Trigger(); err != nil {
						t.Errorf("node %d, round %d: %v", n, round, err)
						return
					}
				}
			})
		}
		first, err := nw.devs[0].ConnectInterrupt(0, 0, 0)
		ok(t, err)
		ok(t, first.Trigger())
		wg.Wait()
	})
}

func TestInterruptWaitIsCancelled(t *testing.T) {
	nw := newNetwork(t, 1, small, together, nil)
	i, err := nw.devs[0].CreateInterrupt(0, true)
	ok(t, err)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := i.Wait(Forever); !errors.Is(err, ErrCancelled) {
				t.Errorf("wait: %v", err)
			}
		})
	}
	ok(t, i.Remove())
	wg.Wait()
}
