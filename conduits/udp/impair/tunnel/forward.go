package tunnel

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// batch is how many packets of a device are taken before others have their turn.
const batch = 64

// forward carries packets until the tunnel is closed.
func (t *Tunnel) forward() {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	// By default the kernel may wake a thread 50 µs late. An error leaves it at that.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ready := []unix.PollFd{{Fd: int32(t.wake), Events: unix.POLLIN}}
	for i := range t.nodes {
		ready = append(ready, unix.PollFd{Fd: int32(t.nodes[i].tun), Events: unix.POLLIN})
	}
	for ready[0].Revents == 0 {
		t.wait(ready)
		t.mu.Lock()
		t.deliver()
		for i, r := range ready[1:] {
			if r.Revents&unix.POLLIN != 0 {
				t.take(i)
				t.deliver()
			}
		}
		t.mu.Unlock()
	}
}

// wait returns when a device has packets, something under way is due, or the end has come.
func (t *Tunnel) wait(ready []unix.PollFd) {
	t.mu.Lock()
	var timeout *unix.Timespec // none
	if at, ok := t.net.Next(); ok {
		ts := unix.NsecToTimespec(max(0, at-time.Since(t.start)).Nanoseconds())
		timeout = &ts
	}
	t.mu.Unlock()
	if _, err := unix.Ppoll(ready, timeout, nil); err != nil { // EINTR: look again
		for i := range ready {
			ready[i].Revents = 0
		}
	}
}

// take sends what a device has over the net.
func (t *Tunnel) take(node int) {
	from := place(Address(node))
	for range batch {
		n, err := unix.Read(t.nodes[node].tun, t.buffer)
		if err != nil {
			return // EAGAIN: there is no more
		}
		packet := t.buffer[:n]
		to, _ := destination(packet)
		if _, ok := nodeOf(to, len(t.nodes)); !ok {
			t.stray++
			continue
		}
		header := split(packet)
		t.net.Send(from, place(to), packet[:header], packet[header:])
	}
}

// deliver writes all that has arrived by now into the devices it is for.
func (t *Tunnel) deliver() {
	for {
		a, ok := t.net.Until(time.Since(t.start))
		if !ok {
			return
		}
		if a.Altered {
			mend(a.Datagram)
		}
		node, _ := nodeOf(a.To.Addr(), len(t.nodes))
		if _, err := unix.Write(t.nodes[node].tun, a.Datagram); err != nil {
			t.refused++
		}
	}
}

// overrun returns how many packets the device has dropped because its queue was full, or 0 if
// the kernel does not tell.
func (n *node) overrun() uint64 {
	table, err := io.ReadAll(io.NewSectionReader(n.counters, 0, 1<<20))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(table)) {
		// proc_net_dev(5): the device, 8 columns of what it has received, 8 of what it has
		// sent: bytes, packets, errors, dropped …
		device, columns, _ := strings.Cut(line, ":")
		if f := strings.Fields(columns); strings.TrimSpace(device) == Device && len(f) > 11 {
			dropped, _ := strconv.ParseUint(f[11], 10, 64)
			return dropped
		}
	}
	return 0
}

// String says what happened in one line for people.
func (s Stats) String() string {
	return fmt.Sprintf("%d packets: %d lost, %d dropped by full queues, %d too long, %d duplicated, %d reordered, %d corrupted, %d truncated, %d delivered; besides, %d lost in devices, %d stray, %d refused",
		s.Sent, s.Lost, s.Dropped, s.TooLong, s.Duplicated, s.Reordered, s.Corrupted, s.Truncated, s.Delivered, s.Overrun, s.Stray, s.Refused)
}
