package sisci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// RemoteMap is remote memory that this node can store to: the message path. A store is
// posted; it is certain to have arrived only after a Sequence has been checked. The
// methods of this file cost a nanosecond and check no ranges: offsets come from layouts
// that the caller has checked against Size. (MemCpy checks.)
//
// Window and Push are how larger stores are made: fill what Window returned, then Push
// it, or have a Sequence push it. Live, Window is the remote memory itself and Push has
// nothing left to do. On a device with Config.Fault, Window is memory of the map's own and
// Push carries it over, so that a packet can be lost and what was filled in be pushed again.
//
// A flag is stored after everything that was stored before it, through whatever map of the
// same node.
type RemoteMap struct {
	base      unsafe.Pointer // the remote memory
	stage     unsafe.Pointer // what Ptr and Window lead to: base, or the map's own memory
	seg       *RemoteSegment
	size      int
	region    *shm.Region // the mapping; nil when the memory belongs to this process
	readOnly  bool
	sequences int // guarded by dev.mu
}

func newRemoteMap(s *RemoteSegment, mem []byte, region *shm.Region, readOnly bool) *RemoteMap {
	m := &RemoteMap{
		base: unsafe.Pointer(unsafe.SliceData(mem)), seg: s, size: len(mem),
		region: region, readOnly: readOnly,
	}
	m.stage = m.base
	if s.dev.fault != nil {
		m.stage = unsafe.Pointer(unsafe.SliceData(make([]uint64, (m.size+7)/8)))
	}
	return m
}

// Ptr returns where to store what goes to off.
func (m *RemoteMap) Ptr(off int) unsafe.Pointer { return unsafe.Add(m.stage, off) }

// Window returns n bytes to store what goes to off and after it.
func (m *RemoteMap) Window(off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.stage, off)), n)
}

// remote returns the remote memory that Window(off, n) goes to.
func (m *RemoteMap) remote(off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n)
}

// staged reports that Push has something to do.
func (m *RemoteMap) staged() bool { return m.stage != m.base }

// Push sends n bytes from off that were stored by Ptr or Window, unwatched.
func (m *RemoteMap) Push(off, n int) {
	if m.staged() {
		copy(m.remote(off, n), m.Window(off, n))
	}
}

// Publish64 stores a flag at p, which Ptr returned, on a device without Config.Fault.
func (m *RemoteMap) Publish64(p *uint64, v uint64) { shm.Publish64(p, v) }

// PublishFenced64 is Publish64, seen before any later load.
func (m *RemoteMap) PublishFenced64(p *uint64, v uint64) { shm.Swap64(p, v) }

// Store8 stores a flag of a byte.
func (m *RemoteMap) Store8(off int, v uint8) { shm.Store8((*uint8)(unsafe.Add(m.base, off)), v) }

// StoreFenced8 is Store8, seen before any later load.
func (m *RemoteMap) StoreFenced8(off int, v uint8) { shm.Swap8((*uint8)(unsafe.Add(m.base, off)), v) }

// Store64 stores a flag of an aligned double word.
func (m *RemoteMap) Store64(off int, v uint64) { shm.Store64((*uint64)(unsafe.Add(m.base, off)), v) }

// StoreFenced64 is Store64, seen before any later load.
func (m *RemoteMap) StoreFenced64(off int, v uint64) {
	shm.Swap64((*uint64)(unsafe.Add(m.base, off)), v)
}

// Store32 stores a flag of an aligned word.
func (m *RemoteMap) Store32(off int, v uint32) { shm.Store32((*uint32)(unsafe.Add(m.base, off)), v) }
