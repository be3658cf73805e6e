package sisci

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Two nodes in two processes. Node 0 is the test, node 1 a role; the role inherits, from
// descriptor 3 on, both arenas and then both bells.
const (
	inheritedArena = 3
	inheritedBell  = 5
)

// spawn makes node 0 here and node 1 in another process.
func spawn(t *testing.T, role string) (*Device, *exec.Cmd) {
	t.Helper()
	var arenas [2]*shm.Region
	var bells [2]int
	for n := range arenas {
		var err error
		arenas[n], err = NewArena(NodeID(n), small, shm.Shared)
		ok(t, err)
		bells[n], err = shm.NewBell()
		ok(t, err)
		t.Cleanup(func() { arenas[n].Close(); unix.Close(bells[n]) })
	}
	d, err := Open(Config{Node: 0, Arena: arenas[0], Bell: bells[0], Peers: []Peer{{Node: 1, FD: arenas[1].FD(), Bell: bells[1]}}})
	ok(t, err)
	t.Cleanup(func() { ok(t, d.Terminate()) })
	return d, start(t, role, arenas[0].FD(), arenas[1].FD(), bells[0], bells[1])
}

// openInherited opens node 1 in a role.
func openInherited() (*Device, error) {
	// the arena of node 1 was made by the other process, as a spawner would
	arena, err := inherit(inheritedArena + 1)
	if err != nil {
		return nil, err
	}
	return Open(Config{Node: 1, Arena: arena, Bell: inheritedBell + 1, Peers: []Peer{{Node: 0, FD: inheritedArena, Bell: inheritedBell}}})
}

func inherit(fd int) (*shm.Region, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	return shm.Map(fd, 0, int(st.Size))
}

func init() {
	// partner runs node 1 through both life cycles against TestTwoProcesses.
	roles["partner"] = func() error {
		d, err := openInherited()
		if err != nil {
			return err
		}
		seg, err := d.CreateSegment(7, 2*page, 0, nil)
		if err != nil {
			return err
		}
		bell, err := d.CreateInterrupt(0, true)
		if err != nil {
			return err
		}
		m, err := firstError(seg.Prepare(0), func() (*LocalMap, error) { return seg.Map(0, 2*page, 0) })
		if err != nil {
			return err
		}
		there, err := d.Connect(0, 5, long, nil) // waits for the test to export it
		if err != nil {
			return err
		}
		out, err := there.Map(0, page, 0)
		if err != nil {
			return err
		}
		ring, err := d.ConnectInterrupt(0, 1, long)
		if err != nil {
			return err
		}
		if err := seg.SetAvailable(); err != nil {
			return err
		}
		if ev, err := seg.WaitEvent(long); err != nil || ev != (LocalEvent{EventConnect, 0}) {
			return fmt.Errorf("first event %v, %v", ev, err)
		}
		for n := range 200 { // echo, upper half of the segment
			if err := bell.Wait(long); err != nil {
				return err
			}
			in := m.Bytes()
			if in[0] != byte(n) || in[page] != byte(n) {
				return fmt.Errorf("message %d: %d by PIO, %d by DMA", n, in[0], in[page])
			}
			copy(out.Window(8, 8), in[:8])
			out.Push(8, 8)
			out.Store8(0, byte(n)+1)
			if err := ring.Trigger(); err != nil {
				return err
			}
		}
		if err := seg.SetUnavailable(Notify | ForceDisconnect); err != nil {
			return err
		}
		if ev, err := seg.WaitEvent(long); err != nil || ev != (LocalEvent{EventDisconnect, 0}) {
			return fmt.Errorf("last event %v, %v", ev, err)
		}
		return errors.Join(m.Unmap(), seg.Remove(), bell.Remove(), out.Unmap(), there.Disconnect(), ring.Disconnect(), d.Close())
	}
	// victim exports a segment and waits to be killed.
	roles["victim"] = func() error {
		d, err := openInherited()
		if err != nil {
			return err
		}
		seg, err := d.CreateSegment(7, page, 0, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(seg.Prepare(0), seg.SetAvailable()); err != nil {
			return err
		}
		if _, err := d.Connect(0, 5, long, nil); err != nil {
			return err
		}
		i, err := d.CreateInterrupt(0, true)
		if err != nil {
			return err
		}
		return i.Wait(long)
	}
}

func firstError[T any](err error, next func() (T, error)) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return next()
}

func TestTwoProcesses(t *testing.T) {
	d, partner := spawn(t, "partner")
	seg, mem := export(t, d, 5, page, nil)
	door, err := d.CreateInterrupt(1, true)
	ok(t, err)
	r, m := attach(t, d, 1, 7) // waits for the partner to export it
	ring, err := d.ConnectInterrupt(1, 0, long)
	ok(t, err)
	src, err := d.CreateSegment(0, page, Private, nil)
	ok(t, err)
	ok(t, src.Prepare(DMASourceOnly))
	from, err := src.Map(0, page, 0)
	ok(t, err)
	queue, err := d.CreateDMAQueue(1)
	ok(t, err)
	for n := range 200 {
		for i := range 8 {
			from.Bytes()[i] = byte(n)
		}
		ok(t, m.MemCpy(nil, from.Bytes()[:8], 0, 0))
		ok(t, queue.Enqueue(src, 0, r, page, 8, 0))
		ok(t, queue.Post(nil))
		ok(t, queue.Reset())
		ok(t, ring.Trigger())
		if !rings(t, d.Bell(), long) { // sleep on the descriptor, as a conduit does
			t.Fatalf("no answer to message %d", n)
		}
		shm.Silence(d.Bell())
		if !door.Clear() || mem[0] != byte(n)+1 || mem[8] != byte(n) || mem[15] != byte(n) {
			t.Fatalf("answer %d: %v", n, mem[:16])
		}
	}
	q, err := m.CreateSequence()
	ok(t, err)
	ev, err := r.WaitEvent(long)
	ok(t, err)
	if ev.Reason != EventDisconnect || q.Check() != NotRetriable {
		t.Errorf("event %v, then the sequence answers %v", ev, q.Status())
	}
	ok(t, q.Remove())
	ok(t, m.Unmap())
	ok(t, r.Disconnect())
	ok(t, partner.Wait())
	for _, want := range []EventReason{EventConnect, EventDisconnect} {
		ev, err := seg.WaitEvent(0)
		// it may have come and gone before this first question
		if errors.Is(err, ErrTimeout) && want == EventConnect {
			break
		}
		if err != nil || ev != (LocalEvent{want, 1}) {
			t.Errorf("event %v, %v; want %v", ev, err, want)
		}
	}
	ok(t, seg.SetUnavailable(0))
}

// A node that is killed leaves its connection behind; once that is reported, everything
// it held is given back.
func TestKilledNode(t *testing.T) {
	d, victim := spawn(t, "victim")
	seg, err := d.CreateSegment(5, page, 0, nil)
	ok(t, err)
	ok(t, seg.Prepare(0))
	ok(t, seg.SetAvailable())
	r, m := attach(t, d, 1, 7)
	ev, err := seg.WaitEvent(long)
	ok(t, err)
	if ev.Reason != EventConnect {
		t.Fatalf("event %v", ev)
	}
	ok(t, victim.Process.Signal(os.Kill))
	_ = victim.Wait() // killed
	m.Store8(0, 1)    // its memory is still there: no fault
	ok(t, seg.SetUnavailable(Notify))
	is(t, seg.Remove(), ErrBusy)

	ok(t, d.NodeLost(1))
	for _, wait := range []func() (EventReason, error){
		func() (EventReason, error) { ev, err := seg.WaitEvent(0); return ev.Reason, err },
		func() (EventReason, error) { ev, err := r.WaitEvent(0); return ev.Reason, err },
	} {
		if reason, err := wait(); err != nil || reason != EventLost {
			t.Errorf("event %v, %v", reason, err)
		}
	}
	ok(t, m.Unmap())
	ok(t, r.Disconnect())
	ok(t, seg.Remove())
	ok(t, d.Close())
}
