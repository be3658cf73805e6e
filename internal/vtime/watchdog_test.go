package vtime_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// limit is short, so that blocked runs end soon; runs that are not blocked do
// not depend on it.
const limit = 20 * time.Millisecond

// TestBlocked has a proc block in everything that programs block in.
func TestBlocked(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	mutex.Lock()
	free := make(chan struct{})
	var group sync.WaitGroup
	group.Add(1)
	for _, c := range []struct {
		state string
		block func()
	}{
		{"chan receive", func() { <-free }},
		{"select", func() {
			select {
			case <-free:
			case <-make(chan int):
			}
		}},
		{"sync.Mutex.Lock", func() { mutex.Lock(); defer mutex.Unlock() }},
		{"sync.WaitGroup.Wait", group.Wait},
		{"IO wait", func() {
			r, w, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			go func() { <-free; w.Close() }()
			io.Copy(io.Discard, r)
			r.Close()
		}},
	} {
		for _, event := range []bool{false, true} {
			k := vtime.New(1)
			k.Watchdog(limit)
			resumed := make(chan struct{}, 2)
			k.Spawn("rank 0", func(p *vtime.Proc) {
				defer func() { resumed <- struct{}{} }()
				p.Park(1)
			})
			k.Spawn("rank 1", func(p *vtime.Proc) {
				defer func() { resumed <- struct{}{} }()
				p.Charge(1)
				p.Sync()
				if !event {
					c.block()
				}
				p.Park(1)
				t.Error("the proc goes on after Run has returned")
			})
			if event {
				k.At(2, do(c.block), 0, 0)
			}
			err := k.Run()
			var blocked *vtime.BlockedError
			if !errors.As(err, &blocked) {
				t.Fatalf("%s: Run = %v", c.state, err)
			}
			who := "rank 1"
			if event {
				who = ""
			}
			if blocked.Proc != who || blocked.State != c.state || blocked.Cause != nil {
				t.Errorf("%q is blamed in state %q (cause %v), want %q in %q", blocked.Proc, blocked.State, blocked.Cause, who, c.state)
			}
			if file := filepath.Base(blocked.Place); c.state != "sync.WaitGroup.Wait" && !strings.HasPrefix(file, "watchdog_test.go:") {
				t.Errorf("%s: place %s", c.state, blocked.Place)
			}
			if text := err.Error(); !strings.Contains(text, c.state) || !strings.Contains(text, blocked.Place) {
				t.Errorf("%s: error %s", c.state, text)
			}
			// Who comes back later is unwound, and so are the others.
			defer func() { <-resumed; <-resumed }()
		}
	}
	close(free)
	mutex.Unlock()
	group.Done()
}

// TestBlockedAtTheEnd has a deferred call block when the run is over.
func TestBlockedAtTheEnd(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Watchdog(limit)
	free := make(chan struct{})
	defer close(free)
	k.Spawn("rank 0", func(p *vtime.Proc) {
		defer func() { <-free }()
		k.Unwind(errStop)
	})
	err := k.Run()
	var blocked *vtime.BlockedError
	if !errors.As(err, &blocked) || blocked.Proc != "rank 0" || !errors.Is(err, errStop) {
		t.Fatalf("Run = %v, want rank 0 blocked after %v", err, errStop)
	}
}

// TestComputing computes for many times the limit without a call of the kernel.
func TestComputing(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Watchdog(limit)
	k.Spawn("rank 0", func(p *vtime.Proc) {
		p.Sync()
		for start := time.Now(); time.Since(start) < 10*limit; {
			runtime.Gosched()
		}
	})
	run(t, k)
}

// TestForeign uses a proc from a goroutine of the program's own.
func TestForeign(t *testing.T) {
	t.Parallel()
	k := vtime.New(1)
	k.Spawn("rank 3", func(p *vtime.Proc) {
		elsewhere := func(want string, f func()) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				mustPanic(t, want, f)
			}()
			<-done
		}
		if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
			return // goroutines cannot be told apart
		}
		const who = "called by a goroutine that the program has started"
		elsewhere(`Sync of proc "rank 3" `+who, p.Sync)
		elsewhere(`Park of proc "rank 3" `+who, func() { p.Park(1) })
		elsewhere("At "+who, func() { k.At(10, &note{k: k}, 0, 0) })
		p.Charge(1)
		p.Sync()
	})
	run(t, k)
}
