package sisci

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// LocalSegment is a segment of this node. Its life: created, prepared (may be mapped),
// available (may be connected to) and unavailable again, removed.
type LocalSegment struct {
	dev  *Device
	id   SegmentID
	off  int // in the arena
	size int
	memory
	slot     int // in the directory; -1 for a private segment
	flags    Flags
	callback LocalCallback

	// guarded by dev.mu
	prepared  bool
	available bool
	closed    bool
	cancelled bool // by the callback's answer
	maps      []*LocalMap
	queued    int // DMA transfers that name it
}

// CreateSegment makes a segment of size bytes, aligned to pages and zero if the memory was
// never used. The id is unique on the node, unless the segment is Private. callback, if
// not nil, gets its events from Service. Flags: Private, Empty, Sparse.
//
// Errors: ErrSegmentidUsed; ErrSizeAlignment for a size that is not positive; ErrNoSpace
// if the arena or its directory is full; ErrIllegalFlag, also for Sparse live or with another
// flag; ErrNotInitialized.
func (d *Device) CreateSegment(id SegmentID, size int, flags Flags, callback LocalCallback) (*LocalSegment, error) {
	fail := func(e Errno) (*LocalSegment, error) { return nil, e.at("create segment %#x", id) }
	d.step(callCreate)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.errClosed("create segment")
	case flags&^(Private|Empty|Sparse) != 0, flags&Sparse != 0 && (flags != Sparse || d.host == nil):
		return fail(ErrIllegalFlag)
	case size <= 0:
		return fail(ErrSizeAlignment)
	}
	s := &LocalSegment{dev: d, id: id, size: size, slot: -1, flags: flags, callback: callback}
	if flags&Private == 0 {
		if _, used := d.ids[id]; used {
			return fail(ErrSegmentidUsed)
		}
		if len(d.ids) == d.self.layout.Segments {
			return nil, ErrNoSpace.at("create segment %#x: the node has room for %d segments", id, len(d.ids))
		}
	}
	if flags&Empty == 0 {
		if err := s.takeMemory(); err != nil {
			return nil, err
		}
	}
	if flags&Private != 0 {
		d.privates[s] = struct{}{}
		return s, nil
	}
	s.slot = d.takeSlot()
	d.locals[s.slot] = s
	d.ids[id] = s.slot
	e := &d.self.dir.segments[s.slot]
	shm.Store32(&e.id, uint32(id))
	shm.Store64(&e.off, uint64(s.off))
	shm.Store64(&e.size, uint64(size))
	d.publish(s.slot, entryHidden)
	return s, nil
}

// takeMemory gives the segment its memory. Preconditions: dev.mu is held.
func (s *LocalSegment) takeMemory() error {
	d := s.dev
	if d.host != nil {
		if most := int(d.host.Network.machine.Profile().Limit.Segment); s.size > most {
			return ErrNoSpace.at("create segment %#x of %d bytes; the machine's driver makes %d at most", s.id, s.size, most)
		}
	}
	ok := false
	if s.size <= d.self.layout.Size() { // so that it can be rounded up
		s.off, ok = d.free.take(shm.RoundUp(s.size))
	}
	if !ok {
		return ErrNoSpace.at("create segment %#x of %d bytes; the largest free piece has %d", s.id, s.size, d.free.largest())
	}
	switch {
	case d.host == nil:
	case s.flags&Sparse != 0:
		s.memory = newBlocks(s.size)
	default:
		var err error
		if s.mem, err = d.host.Network.memory.take(s.size); err != nil {
			d.free.give(s.off, shm.RoundUp(s.size))
			return ErrSystem.at("create segment %#x: %v", s.id, err)
		}
	}
	return nil
}

// giveMemory takes it back. Preconditions: dev.mu is held.
func (s *LocalSegment) giveMemory() {
	s.dev.free.give(s.off, shm.RoundUp(s.size))
	if s.mem != nil {
		s.dev.host.Network.memory.give(s.mem)
	}
}

// takeSlot returns a free slot of the directory, which has one. Preconditions: d.mu is held.
func (d *Device) takeSlot() int {
	if last := len(d.vacant) - 1; last >= 0 {
		slot := d.vacant[last]
		d.vacant = d.vacant[:last]
		return slot
	}
	d.locals = append(d.locals, nil)
	if d.host != nil {
		d.self.dir.segments = append(d.self.dir.segments, segmentEntry{})
	}
	return len(d.locals) - 1
}

// publish stores a segment's state in the directory, in a new generation, with a full
// barrier, and tells who waits for it. Preconditions: d.mu is held.
func (d *Device) publish(slot int, state uint32) {
	e := &d.self.dir.segments[slot]
	shm.Swap32(&e.state, (shm.Load32(&e.state)>>2+1)<<2|state)
	d.self.dir.notify(&d.self.dir.exports)
}

// retract makes a segment hidden or free and marks its connections. Preconditions: d.mu is
// held.
func (d *Device) retract(slot int, state uint32, mark uint64) {
	d.publish(slot, state)
	if mark == 0 {
		return
	}
	for _, node := range d.self.dir.mark(slot, mark) {
		if p, err := d.peer(node, "tell node"); err == nil {
			p.dir.notify(&p.dir.events)
		}
	}
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

// Block returns n bytes at off of a Sparse segment, which must lie in one of its blocks of
// BlockSize bytes. Other nodes may store to them at any time. They are valid until Remove.
func (s *LocalSegment) Block(off, n int) []byte { return s.at(off, n) }

// ID returns the segment's id.
func (s *LocalSegment) ID() SegmentID { return s.id }

// Size returns the segment's bytes.
func (s *LocalSegment) Size() int { return s.size }

// Prepare makes the segment reachable by the adapter. Flags: DMASourceOnly.
//
// Errors: ErrIllegalOperation if it is prepared already.
func (s *LocalSegment) Prepare(flags Flags) error {
	s.dev.step(callPrepare)
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

// SetAvailable lets other nodes connect.
//
// Errors: ErrSegmentNotPrepared; ErrIllegalOperation for a private segment, or one that
// serves only as a DMA source, or is available.
func (s *LocalSegment) SetAvailable() error {
	s.dev.step(callShort)
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
	s.dev.publish(s.slot, entryAvailable)
	return nil
}

// SetUnavailable refuses new connections. Flags: Notify asks the connected nodes to
// disconnect; ForceDisconnect disconnects them: their stores fail from now on. Under a model either takes as long as a
// Disconnect.
//
// Errors: ErrIllegalOperation if the segment is not available.
func (s *LocalSegment) SetUnavailable(flags Flags) error {
	if flags&(Notify|ForceDisconnect) == 0 {
		s.dev.step(callShort)
	} else { // which drivers of other nodes are told
		if h := s.dev.host; h != nil {
			h.Network.machine.Expect()
			defer h.Network.machine.Came()
		}
		s.dev.step(callDisconnect)
	}
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

// Remove gives the segment's memory back. A node that was disconnected by force still has
// the memory mapped (there is no hardware that could take it away), so its connection
// counts until it disconnects itself or is lost.
//
// Errors: ErrBusy while the segment is mapped, available, connected to or named by a DMA
// queue.
func (s *LocalSegment) Remove() error {
	s.dev.step(callDisconnect)
	if err := s.enter("remove"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	d := s.dev
	if why := s.use(); why != "" {
		return ErrBusy.at("remove segment %#x: it is %s", s.id, why)
	}
	s.closed = true
	if s.slot < 0 {
		delete(d.privates, s)
	} else {
		d.retract(s.slot, entryFree, 0)
		d.locals[s.slot] = nil
		d.vacant = append(d.vacant, s.slot)
		delete(d.ids, s.id)
		d.self.dir.forget(s.slot)
	}
	if s.flags&Empty == 0 {
		s.giveMemory()
	}
	d.self.dir.notify(&d.self.dir.events) // whoever waits for an event of this segment
	return nil
}

// terminate ends the use of the segment by this node. Preconditions: dev.mu is held.
func (s *LocalSegment) terminate() error {
	s.closed = true
	var errs []error
	for len(s.maps) > 0 {
		m := s.maps[0]
		errs = append(errs, m.unmap())
	}
	return errors.Join(errs...)
}

// use says what a segment is used for. Preconditions: dev.mu is held.
func (s *LocalSegment) use() string {
	switch {
	case len(s.maps) > 0:
		return "mapped"
	case s.queued > 0:
		return "named by a DMA queue"
	case s.available:
		return "available"
	case s.slot >= 0 && s.dev.self.dir.connected(s.slot) > 0:
		return "connected to"
	}
	return ""
}
