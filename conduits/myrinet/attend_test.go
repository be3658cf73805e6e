package myrinet_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet"
	"github.com/aqueduct-go/aqueduct/core"
)

// pair runs a live job of two goroutines that go to sleep at once when they wait.
func pair(t *testing.T, nic string, body func(*core.Job) error) {
	t.Helper()
	cfg := core.Config{Conduit: "counted-myrinet", Profile: "live", Threads: core.Single, Sleep: 1, Settings: map[string]string{"nic": nic}}
	myrinet.Counted(func() {
		if err := core.RunGoroutines(2, cfg, body); err != nil {
			t.Errorf("nic=%s: %v", nic, err)
		}
	})
}

// yieldUntil lets others have the CPU until cond is true, and calls nothing of the job. It fails if that takes far too long.
func yieldUntil(what string, cond func() bool) error {
	for began := time.Now(); !cond(); runtime.Gosched() {
		if time.Since(began) > 20*time.Second {
			return fmt.Errorf("%s has not come in 20 s", what)
		}
	}
	return nil
}

// TestComputes has a rank compute while another writes into its segment and reads that: its NIC, which its goroutine drives, serves both all the time.
func TestComputes(t *testing.T) {
	const long = 200 * time.Millisecond
	for _, nic := range []string{"shared", "goroutine"} {
		var computes, over atomic.Bool
		pair(t, nic, func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil {
				return err
			}
			if j.Rank() == 1 {
				computes.Store(true)
				return yieldUntil("the end of the other rank's puts and gets", over.Load)
			}
			if err := yieldUntil("a rank that computes", computes.Load); err != nil {
				return err
			}
			before, _ := myrinet.Cards()
			began, n := time.Now(), 0
			for ; n < 20 || time.Since(began) < long; n++ {
				var wrote, read core.Completion
				in, out := pattern(1+n*97%60000), make([]byte, 1+n*97%60000)
				if _, err := ep.PutNative(1, uint64(n%1000), in, nil, &wrote); err != nil {
					return err
				}
				if err := ep.WaitUntil(func() bool { return wrote.Pending() == 0 }); err != nil {
					return err
				}
				if _, err := ep.GetNative(out, 1, uint64(n%1000), &read); err != nil {
					return err
				}
				if err := ep.WaitUntil(func() bool { return read.Pending() == 0 }); err != nil {
					return err
				}
				if !bytes.Equal(in, out) {
					return fmt.Errorf("%d B that a rank has returned which computes are not what was written", len(out))
				}
			}
			after, _ := myrinet.Cards()
			b, a := before["h1"], after["h1"]
			if a.ByRanks != b.ByRanks || a.ByGoroutine == b.ByGoroutine || a.Firmware.Received-b.Firmware.Received < uint64(2*n) {
				t.Errorf("nic=%s: %d puts and gets of a rank that computes: %+v, then %+v", nic, n, b, a)
			}
			over.Store(true)
			return nil
		})
	}
}

// TestRests has a rank poll until the goroutine of its NIC has looked a dozen times whether it still does, and found each time that it does: such looks become rare.
func TestRests(t *testing.T) {
	const looks, short, longest = 12, 3, 4 * time.Millisecond // the first three come sooner
	pair(t, "shared", func(j *core.Job) error {
		ep, err := attach(j, new(int))
		if err != nil || j.Rank() == 1 {
			return errors.Join(err, ep.Barrier())
		}
		first := time.Now()
		took, began, before := time.Duration(0), first, myrinet.CardCounts{}
		for err == nil && time.Since(first) < 20*time.Second {
			for range 1000 {
				err = errors.Join(err, ep.Poll())
			}
			cards, _ := myrinet.Cards()
			after := cards["h0"]
			if took = time.Since(began); after.ByGoroutine > before.ByGoroutine || took > 20*looks*longest { // it has taken over, and may sleep until the doorbell rings
				began, before = time.Now(), after
				err = errors.Join(err, ep.RequestShort(1, ask, 1))
			} else if after.Rested-before.Rested >= looks {
				break
			}
		}
		if least := (looks - short) * longest; took < least {
			t.Errorf("the goroutine of a NIC that a rank drives has looked %d times in %v, which should take %v", looks, took, least)
		}
		return errors.Join(err, ep.Barrier())
	})
}

// TestWakes has a rank ask another one each time that this says that it sleeps. Where ranks drive their NICs, it is the doorbell of the NIC that wakes it.
func TestWakes(t *testing.T) {
	const n = 200
	for _, nic := range []string{"shared", "goroutine"} {
		pair(t, nic, func(j *core.Job) error {
			asked, told := 0, 0
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: ask, Func: func(tok *core.Token, _ []uint32, _ []byte) {
					asked++
					if err := tok.ReplyShort(answer); err != nil {
						panic(err)
					}
				}},
				{Index: answer, Func: func(*core.Token, []uint32, []byte) { told++ }},
			}})
			if err == nil {
				err = ep.Barrier()
			}
			if err != nil || j.Rank() == 1 {
				return errors.Join(err, ep.WaitUntil(func() bool { return asked == n }))
			}
			before, _ := myrinet.Cards()
			for i := 0; i < n && err == nil; i++ {
				err = yieldUntil("a rank that sleeps", func() bool { return myrinet.Asleep(1) })
				if err == nil {
					err = errors.Join(ep.RequestShort(1, ask), ep.WaitUntil(func() bool { return told > i }))
				}
			}
			after, _ := myrinet.Cards()
			if rung := after["h1"].Rung - before["h1"].Rung; (rung >= n/4) != (nic == "shared") || nic != "shared" && rung > 0 {
				t.Errorf("nic=%s: the doorbell has woken a rank %d times that was asked %d times in its sleep", nic, rung, n)
			}
			return err
		})
	}
}

// TestIdle has a rank sleep in a barrier while the other one does not come: no NIC is driven meanwhile.
func TestIdle(t *testing.T) {
	const long, most = 100 * time.Millisecond, 20
	for _, nic := range []string{"shared", "goroutine"} {
		pair(t, nic, func(j *core.Job) error {
			ep, err := attach(j, new(int))
			if err != nil || j.Rank() == 1 {
				return errors.Join(err, ep.Barrier())
			}
			if err := yieldUntil("a rank that sleeps", func() bool { return myrinet.Asleep(1) }); err != nil {
				return err
			}
			before, err := quiet()
			if err != nil {
				return err
			}
			<-time.After(long) // which is what is measured
			after, _ := myrinet.Cards()
			for host, b := range before {
				a := after[host]
				if n := a.ByRanks + a.ByGoroutine - b.ByRanks - b.ByGoroutine; n > most {
					t.Errorf("nic=%s: %d turns of the NIC of %s in %v in which there was nothing to do: %+v, then %+v", nic, n, host, long, b, a)
				}
			}
			return ep.Barrier()
		})
	}
}
