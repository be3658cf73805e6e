package sisci

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// EventReason says what happened to a segment; the numbers are the published ones.
type EventReason uint8

// The reasons.
const (
	EventConnect        EventReason = 1 + iota // local: a node has connected
	EventDisconnect                            // local: it has disconnected; remote: the owner wants that, or has done it
	EventNotOperational                        // remote: the link fails
	EventOperational                           // remote: the link works again
	EventLost                                  // the node is lost; a remote segment has no further event
)

// String returns the reason's published name in lower case.
func (r EventReason) String() string {
	names := [...]string{"connect", "disconnect", "not operational", "operational", "lost"}
	if r < 1 || int(r) > len(names) {
		return fmt.Sprintf("EventReason(%d)", uint8(r))
	}
	return names[r-1]
}

// LocalEvent is a change of a local segment's connections.
//
// Events tell how the connections differ from what was told before, one by one, not in
// the order of time: a node that has connected and gone in the meantime leaves none.
type LocalEvent struct {
	Reason EventReason
	Node   NodeID // who connected or disconnected
}

// RemoteEvent is a change of a connection, as its importer sees it.
type RemoteEvent struct{ Reason EventReason }

// Action is what a callback answers; the numbers are the published ones.
type Action uint8

// The answers.
const (
	Cancel   Action = 1 + iota // call no more
	Continue                   // call again for the next event
)

// LocalCallback gets the events of a local segment, on the goroutine that calls
// Device.Service. It may call the device.
type LocalCallback func(LocalEvent) Action

// RemoteCallback gets the events of a connection, on the goroutine that calls
// Device.Service. It may call the device.
type RemoteCallback func(RemoteEvent) Action

// nextEvent takes the segment's next event. Preconditions: dev.mu is held, the segment is
// not private.
func (s *LocalSegment) nextEvent() (LocalEvent, bool) {
	node, connected, ok := s.dev.self.dir.next(s.slot)
	switch {
	case !ok:
		return LocalEvent{}, false
	case connected:
		return LocalEvent{EventConnect, node}, true
	}
	if p := s.dev.peers[node]; p != nil && p.state.Load()&nodeLost != 0 {
		return LocalEvent{EventLost, node}, true
	}
	return LocalEvent{EventDisconnect, node}, true
}

// nextEvent returns what has become of the connection since the last event.
// Preconditions: dev.mu is held.
func (s *RemoteSegment) nextEvent() (RemoteEvent, bool) {
	if s.told.lost {
		return RemoteEvent{}, false
	}
	state := s.peer.state.Load()
	if state&nodeLost != 0 {
		s.told.lost = true
		return RemoteEvent{EventLost}, true
	}
	w := shm.Load64(s.conn)
	if w&^flagMask != s.key || w&live == 0 { // the owner took this node for lost
		w = forced
	}
	if marks := uint8(w & (asked | forced)); marks&^s.told.marks != 0 {
		s.told.marks |= marks
		return RemoteEvent{EventDisconnect}, true
	}
	if down := state != 0; down != s.told.down {
		s.told.down = down
		if down {
			return RemoteEvent{EventNotOperational}, true
		}
		return RemoteEvent{EventOperational}, true
	}
	return RemoteEvent{}, false
}

// WaitEvent returns the segment's next event, waiting for it up to the timeout.
//
// Errors: ErrTimeout; ErrCancelled if the segment is or was removed; ErrIllegalOperation
// for a segment with a callback, or a private one.
func (s *LocalSegment) WaitEvent(timeout time.Duration) (ev LocalEvent, err error) {
	if s.callback != nil || s.slot < 0 {
		return ev, ErrIllegalOperation.at("wait for an event of segment %#x: it has a callback or is private", s.id)
	}
	why := s.dev.waitEvent(timeout, &s.closed, func() (ok bool) {
		ev, ok = s.nextEvent()
		return ok
	})
	if why != 0 {
		return LocalEvent{}, why.at("wait for an event of segment %#x", s.id)
	}
	return ev, nil
}

// WaitEvent returns the connection's next event, waiting for it up to the timeout.
//
// Errors: ErrTimeout; ErrCancelled if the segment is or was disconnected;
// ErrIllegalOperation for a connection with a callback, or one that was told lost.
func (s *RemoteSegment) WaitEvent(timeout time.Duration) (ev RemoteEvent, err error) {
	if s.callback != nil {
		return ev, ErrIllegalOperation.at("wait for an event of segment %#x of node %d: it has a callback", s.id, s.peer.Node)
	}
	over := false // it was told lost
	why := s.dev.waitEvent(timeout, &s.closed, func() (ok bool) {
		if over = s.told.lost; !over {
			ev, ok = s.nextEvent()
		}
		return ok || over
	})
	if over {
		why = ErrIllegalOperation
	}
	if why != 0 {
		return RemoteEvent{}, why.at("wait for an event of segment %#x of node %d", s.id, s.peer.Node)
	}
	return ev, nil
}

// waitEvent waits until next, called under d.mu, finds something, or the handle is closed.
func (d *Device) waitEvent(timeout time.Duration, closed *bool, next func() bool) Errno {
	gone := false
	found := d.waitOwn(&d.self.dir.events, timeout, func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		gone = *closed || d.closed
		return gone || next()
	})
	switch {
	case gone:
		return ErrCancelled
	case !found:
		return ErrTimeout
	}
	return 0
}

// wait is the only way in which this package blocks. The caller is counted in d.waiting,
// so that the device cannot be closed meanwhile.
func (d *Device) wait(dir *directory, e *shm.EventCount, timeout time.Duration, ready func() bool) bool {
	if d.host != nil {
		return d.host.wait(dir.host, timeout, ready)
	}
	return e.Wait(timeout, ready)
}

// waitOwn is wait, counted, for something that this node is notified of.
func (d *Device) waitOwn(e *shm.EventCount, timeout time.Duration, ready func() bool) bool {
	d.mu.Lock()
	d.waiting++
	d.mu.Unlock()
	ok := d.wait(d.self.dir, e, timeout, ready)
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
	return ok
}

// Service runs the callbacks of all events that have come, on the calling goroutine, and
// returns how many. While nothing has come it costs two loads.
func (d *Device) Service() (n int) {
	count := d.self.dir.events.Count()
	if d.serviced.Load() == count {
		return 0
	}
	d.serviced.Store(count)
	// Whatever changes the lists meanwhile counts as an event, so that the next call looks again.
	d.mu.Lock()
	for i := 0; i < len(d.locals); i++ {
		if s := d.locals[i]; s != nil && s.callback != nil {
			n += deliver(d, &s.closed, &s.cancelled, s.nextEvent, s.callback)
		}
	}
	for i := 0; i < len(d.remotes); i++ {
		if s := d.remotes[i]; s.callback != nil {
			n += deliver(d, &s.closed, &s.cancelled, s.nextEvent, s.callback)
		}
	}
	d.mu.Unlock()
	return n
}

// deliver gives a handle's events to its callback until there are no more or the callback
// cancels, and returns how many. The callback runs without the lock. Preconditions: d.mu is held.
func deliver[E any](d *Device, closed, cancelled *bool, next func() (E, bool), callback func(E) Action) (n int) {
	for !*closed && !*cancelled {
		ev, ok := next()
		if !ok {
			return n
		}
		n++
		d.mu.Unlock()
		action := callback(ev)
		d.mu.Lock()
		if action == Cancel {
			*cancelled = true
		}
	}
	return n
}
