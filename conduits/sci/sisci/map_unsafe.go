package sisci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// RemoteMap is remote memory that this node can store to: the message path. A store is
// posted; it is certain to have arrived only after a Sequence has been checked. Nothing
// here checks ranges (the methods cost a nanosecond): offsets come from layouts that the
// caller has checked against Size.
//
// Window and Push are how larger stores are made: fill what Window returned, then Push
// it. Live, Window is the remote memory itself and Push has nothing left to do.
type RemoteMap struct {
	base   unsafe.Pointer
	seg    *RemoteSegment
	size   int
	region *shm.Region // the mapping; nil when the memory belongs to this process
}

func newRemoteMap(s *RemoteSegment, mem []byte, region *shm.Region) *RemoteMap {
	return &RemoteMap{base: unsafe.Pointer(unsafe.SliceData(mem)), seg: s, size: len(mem), region: region}
}

// Segment returns the segment that is mapped.
func (m *RemoteMap) Segment() *RemoteSegment { return m.seg }

// Size returns the bytes of the map.
func (m *RemoteMap) Size() int { return m.size }

// Ptr returns where to store what goes to off.
func (m *RemoteMap) Ptr(off int) unsafe.Pointer { return unsafe.Add(m.base, off) }

// Window returns n bytes to store what goes to off and after it.
func (m *RemoteMap) Window(off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n)
}

// Push sends n bytes from off that were stored by Ptr or Window.
func (m *RemoteMap) Push(off, n int) {}

// Publish64 stores the word at p, which Ptr returned, after everything before it, and has
// the line of next fetched for a coming store.
func (m *RemoteMap) Publish64(p *uint64, v uint64, next unsafe.Pointer) {
	shm.PublishPrefetch(p, v, next)
}

// PublishFenced64 stores the word at p as Publish64 does, before any later load.
func (m *RemoteMap) PublishFenced64(p *uint64, v uint64) { shm.Swap64(p, v) }

// Store8 stores a byte flag after everything before it.
func (m *RemoteMap) Store8(off int, v uint8) { shm.Store8((*uint8)(unsafe.Add(m.base, off)), v) }

// StoreFenced8 is Store8, seen before any later load.
func (m *RemoteMap) StoreFenced8(off int, v uint8) { shm.Swap8((*uint8)(unsafe.Add(m.base, off)), v) }

// Store32 stores a word flag after everything before it.
func (m *RemoteMap) Store32(off int, v uint32) { shm.Store32((*uint32)(unsafe.Add(m.base, off)), v) }

// StoreFenced32 is Store32, seen before any later load.
func (m *RemoteMap) StoreFenced32(off int, v uint32) {
	shm.Swap32((*uint32)(unsafe.Add(m.base, off)), v)
}

// Unmap ends the access.
//
// Errors: ErrBusy while a Sequence of the map exists; ErrIllegalOperation if it has ended.
func (m *RemoteMap) Unmap() error {
	if err := m.seg.enter("unmap"); err != nil {
		return err
	}
	defer m.seg.dev.mu.Unlock()
	if _, ok := m.seg.maps[m]; !ok {
		return ErrIllegalOperation.at("unmap segment %#x of node %d: it is not mapped", m.seg.id, m.seg.peer.Node)
	}
	return m.unmap()
}

// unmap ends the access. Preconditions: dev.mu is held.
func (m *RemoteMap) unmap() error {
	delete(m.seg.maps, m)
	m.base = nil
	if m.region == nil {
		return nil
	}
	return m.region.Close()
}
