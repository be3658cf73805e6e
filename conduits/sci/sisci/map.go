package sisci

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// LocalMap is local memory of a segment.
type LocalMap struct {
	seg    *LocalSegment
	mem    []byte
	region *shm.Region // the mapping; nil if it is that of the arena
}

// Bytes returns the memory, which other nodes may store to at any time. It is valid until
// Unmap.
func (m *LocalMap) Bytes() []byte { return m.mem }

// Map gives access to size bytes at off, which must be a multiple of the page size.
// Flags: ReadOnly, which makes a store a fault where the arena is Shared memory.
//
// Errors: ErrSegmentNotPrepared; ErrSizeAlignment for a size that is not positive;
// ErrOffsetAlignment; ErrOutOfRange; ErrIllegalOperation for an Empty or Sparse segment;
// ErrIllegalFlag.
func (s *LocalSegment) Map(off, size int, flags Flags) (*LocalMap, error) {
	if err := s.enter("map"); err != nil {
		return nil, err
	}
	defer s.dev.mu.Unlock()
	fail := func(e Errno) (*LocalMap, error) {
		return nil, e.at("map %d bytes at %d of segment %#x", size, off, s.id)
	}
	switch {
	case flags&^ReadOnly != 0:
		return fail(ErrIllegalFlag)
	case !s.prepared:
		return fail(ErrSegmentNotPrepared)
	case s.flags&(Empty|Sparse) != 0:
		return fail(ErrIllegalOperation)
	}
	if e := mappable(off, size, s.size); e != 0 {
		return fail(e)
	}
	m := &LocalMap{seg: s, mem: s.part(off, size)}
	if arena := s.dev.self.Arena; flags&ReadOnly != 0 && arena != nil && arena.FD() >= 0 {
		var err error
		if m.region, err = shm.MapReadOnly(arena.FD(), int64(s.off+off), size); err != nil {
			return nil, ErrSystem.at("map segment %#x: %v", s.id, err)
		}
		m.mem = m.region.Bytes()
	}
	s.maps = append(s.maps, m)
	return m, nil
}

// part returns a part of the segment, which must lie in it.
func (s *LocalSegment) part(off, size int) []byte {
	if s.mem != nil {
		return s.mem[off : off+size : off+size]
	}
	at := s.off + off
	return s.dev.self.Arena.Bytes()[at : at+size : at+size]
}

// mappable says what is wrong with mapping size bytes at off of a segment of whole bytes.
func mappable(off, size, whole int) Errno {
	switch {
	case size <= 0:
		return ErrSizeAlignment
	case off < 0 || off > whole || size > whole-off:
		return ErrOutOfRange
	case off%shm.PageSize != 0:
		return ErrOffsetAlignment
	}
	return 0
}

// Unmap ends the access.
//
// Errors: ErrIllegalOperation if it has ended.
func (m *LocalMap) Unmap() error {
	if err := m.seg.enter("unmap"); err != nil {
		return err
	}
	defer m.seg.dev.mu.Unlock()
	if !slices.Contains(m.seg.maps, m) {
		return ErrIllegalOperation.at("unmap segment %#x: it is not mapped", m.seg.id)
	}
	return m.unmap()
}

// unmap ends the access. Preconditions: dev.mu is held.
func (m *LocalMap) unmap() error {
	m.seg.maps = slices.DeleteFunc(m.seg.maps, func(o *LocalMap) bool { return o == m })
	m.mem = nil
	if m.region == nil {
		return nil
	}
	return m.region.Close()
}

// Segment returns the segment that is mapped.
func (m *RemoteMap) Segment() *RemoteSegment { return m.seg }

// Size returns the bytes of the map.
func (m *RemoteMap) Size() int { return m.size }

// Unmap ends the access. What Ptr and Window returned may not be used any more.
//
// Errors: ErrBusy while a Sequence of the map exists; ErrIllegalOperation if the access
// has ended; ErrNotConnected if the connection has.
func (m *RemoteMap) Unmap() error {
	m.seg.dev.step(callDisconnect)
	if err := m.enter("unmap"); err != nil {
		return err
	}
	defer m.seg.dev.mu.Unlock()
	if m.sequences > 0 {
		return ErrBusy.at("unmap segment %#x of node %d: it has %d sequences", m.seg.id, m.seg.peer.Node, m.sequences)
	}
	return m.unmap()
}

// enter locks the device for a call on the map.
func (m *RemoteMap) enter(op string) error {
	if err := m.seg.enter(op); err != nil {
		return err
	}
	if !m.mapped() {
		m.seg.dev.mu.Unlock()
		return ErrIllegalOperation.at("%s segment %#x of node %d: it is not mapped", op, m.seg.id, m.seg.peer.Node)
	}
	return nil
}

// mapped reports whether the access has not ended. Preconditions: dev.mu is held.
func (m *RemoteMap) mapped() bool {
	for o := m.seg.maps; o != nil; o = o.next {
		if o == m {
			return true
		}
	}
	return false
}

// unmap ends the access, which has not ended. Preconditions: dev.mu is held.
func (m *RemoteMap) unmap() error {
	o := &m.seg.maps
	for *o != m {
		o = &(*o).next
	}
	*o = m.next
	if m.host != nil {
		m.host.unmap(m)
	}
	m.base, m.stage, m.size = nil, nil, 0
	if m.region == nil {
		return nil
	}
	return m.region.Close()
}

// transfer carries out a MemCpy that is in order, and reports whether it arrived as far as
// that is checked.
func (m *RemoteMap) transfer(q *Sequence, b []byte, off int, flags Flags) bool {
	checked := flags&ErrorCheck != 0
	if checked && q.Start() != OK {
		return false
	}
	switch {
	case m.host != nil:
		return m.modelled(q, b, off, flags)
	case flags&BlockRead != 0:
		copy(b, m.remote(off, len(b)))
	case checked:
		copy(m.Window(off, len(b)), b)
		q.Push(off, len(b))
	default:
		copy(m.Window(off, len(b)), b)
		m.Push(off, len(b))
	}
	return !checked || q.Check() == OK
}

// MemCpy copies b to off of the map, or with BlockRead from there into b, which stalls the
// processor at every load. With ErrorCheck it starts the sequence before and checks it
// after; without, q may be nil and the copy is posted like any store. Flags: BlockRead,
// ErrorCheck.
//
// Errors: ErrOutOfRange; ErrIllegalFlag; ErrIllegalParameter if q is not a sequence of
// this map and ErrorCheck needs one; ErrIllegalOperation for a store to a ReadOnly map;
// ErrTransferFailed if the sequence did not answer OK: the caller repeats as the Status
// that q.Status returns demands.
func (m *RemoteMap) MemCpy(q *Sequence, b []byte, off int, flags Flags) error {
	var e Errno
	switch {
	case flags&^(BlockRead|ErrorCheck) != 0:
		e = ErrIllegalFlag
	case q != nil && q.m != m || q == nil && flags&ErrorCheck != 0:
		e = ErrIllegalParameter
	case off < 0 || off > m.size || len(b) > m.size-off:
		e = ErrOutOfRange
	case flags&BlockRead == 0 && m.readOnly:
		e = ErrIllegalOperation
	case !m.transfer(q, b, off, flags):
		e = ErrTransferFailed
	}
	if e != 0 {
		return e.at("copy %d bytes at %d of segment %#x of node %d", len(b), off, m.seg.id, m.seg.peer.Node)
	}
	return nil
}
