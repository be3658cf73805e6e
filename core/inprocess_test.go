package core

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// everyone runs f for each member of an in-process bootstrap of n ranks.
func everyone(n int, f func(*member) error) []error {
	g := newInProcess(n, nil)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for r, m := range g.ranks {
		wg.Go(func() { errs[r] = f(m) })
	}
	wg.Wait()
	return errs
}

func TestInProcessExchange(t *testing.T) {
	for _, err := range everyone(5, func(m *member) error {
		for round := range 100 {
			mine := fmt.Appendf(nil, "%d of %d", m.rank, round)
			all, err := m.Exchange(mine)
			if err != nil {
				return err
			}
			clear(mine) // it is the caller's again
			for r, b := range all {
				if want := fmt.Sprintf("%d of %d", r, round); string(b) != want {
					return fmt.Errorf("rank %d sees %q, want %q", m.rank, b, want)
				}
			}
			if round%3 == 0 {
				if err := m.Barrier(); err != nil {
					return err
				}
			}
		}
		return m.Close()
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestInProcessMismatch(t *testing.T) {
	for _, err := range everyone(2, func(m *member) error {
		if m.rank == 0 {
			return m.Barrier()
		}
		_, err := m.Exchange(nil)
		return err
	}) {
		if StatusOf(err) != 1 || !strings.Contains(err.Error(), "Barrier") || !strings.Contains(err.Error(), "Exchange") {
			t.Errorf("mismatched collectives: %v", err)
		}
	}
}

func TestInProcessEarlyClose(t *testing.T) {
	for r, err := range everyone(3, func(m *member) error {
		if m.rank == 0 {
			return m.Close()
		}
		return m.Barrier()
	}) {
		if r > 0 && (StatusOf(err) != 1 || !strings.Contains(err.Error(), "rank 0")) {
			t.Errorf("rank %d: a barrier without rank 0: %v", r, err)
		}
	}
}

// TestInProcessVerdict checks which of several ends decides.
func TestInProcessVerdict(t *testing.T) {
	for _, c := range []struct {
		ends []int
		want int
	}{{[]int{3, 4}, 3}, {[]int{0, 4, 5}, 4}, {[]int{4, 0}, 4}, {[]int{0, 0}, 0}} {
		g := newInProcess(2, nil)
		for i, status := range c.ends {
			g.ranks[i%2].Abort(status, "end")
		}
		if got := StatusOf(g.result()); got != c.want {
			t.Errorf("ends %v: status %d, want %d", c.ends, got, c.want)
		}
		for _, m := range g.ranks {
			if x := new(ExitError); !errors.As(<-m.Done(), &x) {
				t.Errorf("ends %v: Done does not tell rank %d", c.ends, m.rank)
			}
			if err := m.Barrier(); err == nil {
				t.Errorf("ends %v: a barrier succeeds after the end", c.ends)
			}
		}
	}
}

// TestStraggler has one rank fail while the other is busy elsewhere: the job ends without
// it and names it; it learns of the end when it comes back.
func TestStraggler(t *testing.T) {
	back, told := make(chan struct{}), make(chan error)
	err := RunGoroutines(2, Config{Conduit: "heavy", Grace: time.Millisecond}, func(j *Job) error {
		if j.Rank() == 0 {
			return &ExitError{5, "rank 0 has had enough"}
		}
		<-back
		_, err := j.Attach(AttachSpec{})
		told <- err
		return err
	})
	// On a busy host rank 0 may not have returned either.
	named := err != nil && (strings.Contains(err.Error(), "later: rank 1") || strings.Contains(err.Error(), "later: rank 0, 1"))
	if StatusOf(err) != 5 || !named || !strings.Contains(err.Error(), "rank 0 has had enough") {
		t.Errorf("the job ended with %v; want the reason, and rank 1 named", err)
	}
	close(back)
	if err := <-told; StatusOf(err) != 5 {
		t.Errorf("the straggler's Attach: %v; want the job's end", err)
	}
}

func TestInProcessShareFD(t *testing.T) {
	for _, err := range everyone(3, func(m *member) error {
		fd, err := unix.Eventfd(uint(m.rank)+1, unix.EFD_CLOEXEC|unix.EFD_SEMAPHORE)
		if err != nil {
			return err
		}
		all, err := m.ShareFD(fd)
		if err != nil {
			return err
		}
		for r, dup := range all { // each rank takes one from everybody's count
			if dup == fd {
				return fmt.Errorf("rank %d's own descriptor instead of a duplicate", m.rank)
			}
			var b [8]byte
			if int(m.rank) <= r {
				if _, err := unix.Read(dup, b[:]); err != nil {
					return fmt.Errorf("read the duplicate of rank %d's: %w", r, err)
				}
			}
			unix.Close(dup)
		}
		return unix.Close(fd)
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}
