package sisci

import (
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Flags modify calls. Each call's comment names the ones it has; others are
// ErrIllegalFlag.
type Flags uint32

// The flags of all calls.
const (
	Private         Flags = 1 << iota // CreateSegment: no id, never connected to
	Empty                             // CreateSegment: no memory of its own
	DMASourceOnly                     // Prepare: only as the source of DMA
	ReadOnly                          // Map: the memory must not be stored to
	Notify                            // SetUnavailable: ask the connected nodes to disconnect
	ForceDisconnect                   // SetUnavailable: disconnect them
	DMARead                           // Enqueue: from the remote to the local segment
	BlockRead                         // MemCpy: from the remote segment
)

// LocalSegment is a segment of this node. Its life: created, prepared (may be mapped),
// available (may be connected to) and unavailable again, removed.
type LocalSegment struct {
	dev      *Device
	id       SegmentID
	off      int // in the arena
	size     int
	slot     int // in the directory; -1 for a private segment
	flags    Flags
	callback func(LocalEvent)

	// guarded by dev.mu
	prepared  bool
	available bool
	closed    bool
	maps      int
	queued    int // DMA transfers that name it
}

// CreateSegment makes a segment of size bytes, aligned to pages and zero if the memory was
// never used. The id is unique on the node, unless the segment is Private. callback, if
// not nil, gets its events from Service. Flags: Private, Empty.
//
// Errors: ErrSegmentidUsed; ErrSizeAlignment for a size that is not positive; ErrNoSpace
// if the arena or its directory is full.
func (d *Device) CreateSegment(id SegmentID, size int, flags Flags, callback func(LocalEvent)) (*LocalSegment, error) {
	fail := func(e Errno) (*LocalSegment, error) { return nil, e.at("create segment %#x", id) }
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errClosed("create segment")
	case flags&^(Private|Empty) != 0:
		return fail(ErrIllegalFlag)
	case size <= 0:
		return fail(ErrSizeAlignment)
	}
	s := &LocalSegment{dev: d, id: id, size: size, slot: -1, flags: flags, callback: callback}
	if flags&Private == 0 {
		for slot, other := range d.locals {
			if other == nil && s.slot < 0 {
				s.slot = slot
			}
			if other != nil && other.id == id {
				return fail(ErrSegmentidUsed)
			}
		}
		if s.slot < 0 {
			return fail(ErrNoSpace)
		}
	}
	if flags&Empty == 0 {
		off, ok := d.free.take(shm.RoundUp(size))
		if !ok {
			return nil, ErrNoSpace.at("create segment %#x of %d bytes; the largest free piece has %d", id, size, d.free.largest())
		}
		s.off = off
	}
	if s.slot < 0 {
		d.privates[s] = struct{}{}
		return s, nil
	}
	d.locals[s.slot] = s
	e := &d.self.dir.segments[s.slot]
	shm.Store32(&e.id, uint32(id))
	shm.Store64(&e.off, uint64(s.off))
	shm.Store64(&e.size, uint64(size))
	s.publish(entryHidden)
	return s, nil
}

// publish stores the segment's state in the directory, in a new generation, and tells who
// waits for it. Preconditions: dev.mu is held.
func (s *LocalSegment) publish(state uint32) {
	dir := &s.dev.self.dir
	e := &dir.segments[s.slot]
	shm.Swap32(&e.state, (shm.Load32(&e.state)>>2+1)<<2|state)
	dir.exports.Notify()
}

// enter locks the device for a call on the segment.
func (s *LocalSegment) enter(op string) error {
	s.dev.mu.Lock()
	if s.dev.closed || s.closed {
		s.dev.mu.Unlock()
		return ErrNotInitialized.at("%s segment %#x: it has been removed", op, s.id)
	}
	return nil
}

// ID returns the segment's id.
func (s *LocalSegment) ID() SegmentID { return s.id }

// Size returns the segment's bytes.
func (s *LocalSegment) Size() int { return s.size }

// Prepare makes the segment reachable by the adapter. Flags: DMASourceOnly.
//
// Errors: ErrIllegalOperation if it is prepared already.
func (s *LocalSegment) Prepare(flags Flags) error {
	if err := s.enter("prepare"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	switch {
	case flags&^DMASourceOnly != 0:
		return ErrIllegalFlag.at("prepare segment %#x", s.id)
	case s.prepared:
		return ErrIllegalOperation.at("prepare segment %#x: it is prepared", s.id)
	}
	s.prepared = true
	s.flags |= flags
	return nil
}

// LocalMap is local memory of a segment.
type LocalMap struct {
	seg *LocalSegment
	mem []byte
}

// Bytes returns the memory, which other nodes may store to at any time. It is valid until
// Unmap.
func (m *LocalMap) Bytes() []byte { return m.mem }

// Map gives access to size bytes at off. Flags: none.
//
// Errors: ErrSegmentNotPrepared; ErrSizeAlignment for a size that is not positive;
// ErrOutOfRange; ErrIllegalOperation for an Empty segment.
func (s *LocalSegment) Map(off, size int, flags Flags) (*LocalMap, error) {
	if err := s.enter("map"); err != nil {
		return nil, err
	}
	defer s.dev.mu.Unlock()
	fail := func(e Errno) (*LocalMap, error) {
		return nil, e.at("map %d bytes at %d of segment %#x", size, off, s.id)
	}
	switch {
	case flags != 0:
		return fail(ErrIllegalFlag)
	case !s.prepared:
		return fail(ErrSegmentNotPrepared)
	case s.flags&Empty != 0:
		return fail(ErrIllegalOperation)
	case size <= 0:
		return fail(ErrSizeAlignment)
	case off < 0 || off > s.size || size > s.size-off:
		return fail(ErrOutOfRange)
	}
	s.maps++
	at := s.off + off
	return &LocalMap{s, s.dev.self.Arena.Bytes()[at : at+size : at+size]}, nil
}

// Unmap ends the access.
//
// Errors: ErrIllegalOperation if it has ended.
func (m *LocalMap) Unmap() error {
	if err := m.seg.enter("unmap"); err != nil {
		return err
	}
	defer m.seg.dev.mu.Unlock()
	if m.mem == nil {
		return ErrIllegalOperation.at("unmap segment %#x: it is not mapped", m.seg.id)
	}
	m.mem = nil
	m.seg.maps--
	return nil
}

// SetAvailable lets other nodes connect.
//
// Errors: ErrSegmentNotPrepared; ErrIllegalOperation for a private segment, or one that
// serves only as a DMA source, or is available.
func (s *LocalSegment) SetAvailable() error {
	if err := s.enter("make available"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	switch {
	case !s.prepared:
		return ErrSegmentNotPrepared.at("make segment %#x available", s.id)
	case s.slot < 0 || s.flags&(DMASourceOnly|Empty) != 0 || s.available:
		return ErrIllegalOperation.at("make segment %#x available", s.id)
	}
	s.available = true
	s.publish(entryAvailable)
	return nil
}

// SetUnavailable refuses new connections. Flags: Notify asks the connected nodes to
// disconnect; ForceDisconnect disconnects them: their stores fail from now on.
//
// Errors: ErrIllegalOperation if the segment is not available.
func (s *LocalSegment) SetUnavailable(flags Flags) error {
	if err := s.enter("make unavailable"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	switch {
	case flags&^(Notify|ForceDisconnect) != 0:
		return ErrIllegalFlag.at("make segment %#x unavailable", s.id)
	case !s.available:
		return ErrIllegalOperation.at("make segment %#x unavailable: it is not available", s.id)
	}
	s.available = false
	var mark uint64
	if flags&Notify != 0 {
		mark |= asked
	}
	if flags&ForceDisconnect != 0 {
		mark |= forced
	}
	s.dev.retract(s.slot, entryHidden, mark)
	return nil
}

// retract takes a segment out of the directory and marks its connections. Preconditions:
// d.mu is held.
func (d *Device) retract(slot int, state uint32, mark uint64) {
	e := &d.self.dir.segments[slot]
	shm.Swap32(&e.state, (shm.Load32(&e.state)>>2+1)<<2|state)
	if mark != 0 {
		for _, node := range d.self.dir.mark(slot, mark) {
			if p := d.peers[node]; p != nil && p.access() == 0 {
				p.dir.events.Notify()
			}
		}
	}
	d.self.dir.exports.Notify()
}

// Remove gives the segment's memory back.
//
// Errors: ErrBusy while it is mapped, available, connected to or named by a DMA queue.
func (s *LocalSegment) Remove() error {
	if err := s.enter("remove"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	d := s.dev
	if s.maps > 0 || s.queued > 0 || s.available || s.slot >= 0 && d.self.dir.connected(s.slot) > 0 {
		return ErrBusy.at("remove segment %#x: it is mapped, available, connected or queued", s.id)
	}
	s.closed = true
	if s.slot < 0 {
		delete(d.privates, s)
	} else {
		d.retract(s.slot, entryFree, 0)
		d.locals[s.slot] = nil
		for { // forget what nobody will ask for
			if _, _, ok := d.self.dir.next(s.slot); !ok {
				break
			}
		}
	}
	if s.flags&Empty == 0 {
		d.free.give(s.off, shm.RoundUp(s.size))
	}
	return nil
}

// EventReason says what happened to a segment; the numbers are the published ones.
type EventReason uint8

// The reasons.
const (
	EventConnect        EventReason = 1 + iota // local: a node has connected
	EventDisconnect                            // local: it has disconnected; remote: the owner wants that, or has done it
	EventNotOperational                        // remote: the link fails
	EventOperational                           // remote: the link works again
	EventLost                                  // the node is lost
)

// LocalEvent is a change of a local segment's connections.
type LocalEvent struct {
	Reason EventReason
	Node   NodeID // who connected or disconnected
}

// nextEvent takes the segment's next event. Preconditions: dev.mu is held.
func (s *LocalSegment) nextEvent() (LocalEvent, bool) {
	if s.slot < 0 {
		return LocalEvent{}, false
	}
	node, connected, ok := s.dev.self.dir.next(s.slot)
	switch {
	case !ok:
		return LocalEvent{}, false
	case connected:
		return LocalEvent{EventConnect, node}, true
	case s.dev.peers[node] != nil && s.dev.peers[node].state.Load()&nodeLost != 0:
		return LocalEvent{EventLost, node}, true
	}
	return LocalEvent{EventDisconnect, node}, true
}

// WaitEvent returns the segment's next event, waiting for it up to the timeout.
//
// Errors: ErrTimeout; ErrCancelled if the segment is removed meanwhile;
// ErrIllegalOperation for a segment with a callback, or a private one.
func (s *LocalSegment) WaitEvent(timeout time.Duration) (LocalEvent, error) {
	if s.callback != nil || s.slot < 0 {
		return LocalEvent{}, ErrIllegalOperation.at("wait for an event of segment %#x", s.id)
	}
	var ev LocalEvent
	gone := false
	found := s.dev.self.dir.events.Wait(timeout, func() (ok bool) {
		s.dev.mu.Lock()
		defer s.dev.mu.Unlock()
		if gone = s.closed || s.dev.closed; !gone {
			ev, ok = s.nextEvent()
		}
		return ok || gone
	})
	switch {
	case gone:
		return LocalEvent{}, ErrCancelled.at("wait for an event of segment %#x", s.id)
	case !found:
		return LocalEvent{}, ErrTimeout.at("wait for an event of segment %#x", s.id)
	}
	return ev, nil
}
