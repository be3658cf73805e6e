package shm

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// long bounds waits on a bell and for another process. Waits of this process on an
// EventCount have no limit: one whose wake-up was lost finds its condition true when the
// time is up, and nobody would notice.
const long = 30 * time.Second

func readable(t *testing.T, fd int, timeout time.Duration) bool {
	t.Helper()
	for {
		ts := unix.NsecToTimespec(int64(timeout))
		n, err := unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
}

func TestBell(t *testing.T) {
	fd, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	Silence(fd) // does not block
	if readable(t, fd, 0) {
		t.Error("a new bell rings")
	}
	Ring(fd)
	Ring(fd)
	if !readable(t, fd, long) || !readable(t, fd, 0) {
		t.Error("a rung bell does not ring on")
	}
	Silence(fd)
	if readable(t, fd, 0) {
		t.Error("a silenced bell rings")
	}
	eventfdWrite(fd, 1<<64-2) // as far as the counter goes
	Ring(fd)                  // does not block
	if !readable(t, fd, 0) {
		t.Error("a full bell does not ring")
	}
	if n := testing.AllocsPerRun(100, func() { Ring(fd); Silence(fd) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The sleeper issues the barrier for both sides, so that the sender keeps the plain
// store: no wake-up is lost.
func TestMembarrierSleep(t *testing.T) {
	if !RegisterMembarrier() {
		t.Skip("the kernel has no expedited membarrier")
	}
	const total = 3000
	bell, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(bell)
	r := local(t, 256)
	sent, taken, asleep := u64(r, 0), u64(r, 64), u32(r, 128)
	var sender sync.WaitGroup
	defer sender.Wait()         // it uses the memory
	defer Store64(taken, total) // also after a failure
	sender.Go(func() {
		for n := uint64(1); n <= total; n++ {
			Store64(sent, n)
			if Load32(asleep) != 0 {
				Ring(bell)
			}
			for Load64(taken) < n {
				runtime.Gosched()
			}
		}
	})
	for n := uint64(1); n <= total; n++ {
		for Load64(sent) < n {
			Store32(asleep, 1)
			if err := Membarrier(); err != nil {
				t.Fatal(err)
			}
			if Load64(sent) < n && !readable(t, bell, long) {
				t.Fatalf("slept through message %d", n)
			}
			Store32(asleep, 0)
			Silence(bell)
		}
		Store64(taken, n)
	}
}

func eventCount(r *Region, off int) *EventCount {
	return (*EventCount)(unsafe.Pointer(&r.Bytes()[off]))
}

func TestEventCountTimeout(t *testing.T) {
	e := eventCount(local(t, 64), 0)
	asked := 0
	never := func() bool { asked++; return false }
	if e.Wait(0, never) || asked != 1 {
		t.Errorf("no time: asked %d times", asked)
	}
	before := time.Now()
	if e.Wait(3*time.Millisecond, never) {
		t.Error("became ready")
	}
	if d := time.Since(before); d < 3*time.Millisecond {
		t.Errorf("gave up after %v", d)
	}
	if !e.Wait(0, func() bool { return true }) || !e.Wait(-1, func() bool { return true }) {
		t.Error("a true condition waited")
	}
	if e.waiters != 0 {
		t.Errorf("%d waiters are left", e.waiters)
	}
}

// Everyone waits for a different condition; each notification makes one of them true.
func TestEventCountManyWaiters(t *testing.T) {
	const waiters, rounds = 6, 300
	r := local(t, 4096)
	e, turn, count := eventCount(r, 0), u32(r, 64), u32(r, 128)
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			for n := range rounds {
				mine := uint32(n*waiters + i)
				e.Wait(-1, func() bool { return Load32(turn) == mine })
				*count++ // guarded by the turns
				Store32(turn, mine+1)
				e.Notify()
			}
		})
	}
	wg.Wait()
	if *count != waiters*rounds || e.Count() != waiters*rounds {
		t.Errorf("%d turns, %d notifications; want %d", *count, e.Count(), waiters*rounds)
	}
}

func init() {
	// echo answers each odd value of a word with the next even one.
	roles["echo"] = func() error {
		m, err := Map(3, 0, PageSize)
		if err != nil {
			return err
		}
		e, word := eventCount(m, 0), u32(m, 64)
		for n := uint32(1); n < 1000; n += 2 {
			if !e.Wait(long, func() bool { return Load32(word) == n }) {
				return errors.New("slept through a change")
			}
			Store32(word, n+1)
			e.Notify()
		}
		return m.Close()
	}
}

func TestEventCountBetweenProcesses(t *testing.T) {
	r, err := NewRegion(PageSize, Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wait := start(t, "echo", r.FD())
	e, word := eventCount(r, 0), u32(r, 64)
	for n := uint32(1); n < 1000; n += 2 {
		Store32(word, n)
		e.Notify()
		if !e.Wait(long, func() bool { return Load32(word) == n+1 }) {
			t.Fatalf("no answer to %d", n)
		}
	}
	wait()
}
