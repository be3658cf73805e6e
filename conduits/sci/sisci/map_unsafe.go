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
// it, or have a Sequence push it; then Close the window. Live, Window is the remote memory
// itself and Push has nothing left to do. On a device with Config.Fault, Window is memory of
// the map's own and Push carries it over, so that a packet can be lost and what was filled in
// be pushed again. Under a model, Window is a buffer until it is closed, and Push hands what
// is in it to the adapter, as stores of the processor.
//
// A flag is stored after everything that was stored before it, through whatever map of the
// same node.
type RemoteMap struct {
	base      unsafe.Pointer // the remote memory
	stage     unsafe.Pointer // what Ptr and Window lead to: base, or the map's own memory
	seg       *RemoteSegment
	size      int
	at        int         // of the map in its segment
	region    *shm.Region // the mapping; nil when the memory belongs to this process
	next      *RemoteMap  // of the segment's
	host      *host       // the device's, under a model, where there is no base; nil live
	sequences int32       // guarded by dev.mu
	readOnly  bool
	locks     bool // made with LockOperation
}

// view gives the map its memory, live.
func (m *RemoteMap) view() error {
	s := m.seg
	mem, region, err := s.peer.view(s.off+m.at, m.size, m.readOnly)
	if err != nil {
		return err
	}
	m.base, m.region = unsafe.Pointer(unsafe.SliceData(mem)), region
	m.stage = m.base
	if s.dev.fault != nil {
		m.stage = unsafe.Pointer(unsafe.SliceData(make([]uint64, (m.size+7)/8)))
	}
	return nil
}

// alignedBytes returns n bytes, aligned to double words.
func alignedBytes(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// Ptr returns where to store what goes to off, not under a model: there is no memory to
// point at before a Window is opened.
func (m *RemoteMap) Ptr(off int) unsafe.Pointer { return unsafe.Add(m.stage, off) }

// Window returns n bytes to store what goes to off and after it. Any number of windows may be
// open at a time. What two windows with the same off become is as if both were one piece of
// memory, or not.
func (m *RemoteMap) Window(off, n int) []byte {
	if m.host != nil {
		return m.host.window(m, off, n)
	}
	return unsafe.Slice((*byte)(unsafe.Add(m.stage, off)), n)
}

// Close ends the use of the window that was opened at off, the newest if there are several;
// if there is none it does nothing.
func (m *RemoteMap) Close(off int) {
	if m.host != nil {
		m.host.close(m, off)
	}
}

// remote returns the remote memory that Window(off, n) goes to.
func (m *RemoteMap) remote(off, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, off)), n)
}

// staged reports that Push has something to do.
func (m *RemoteMap) staged() bool { return m.stage != m.base || m.host != nil }

// Push sends n bytes from off that were stored by Ptr or Window, unwatched.
func (m *RemoteMap) Push(off, n int) {
	switch {
	case m.host != nil:
		m.store(off, m.host.staged(m, off, n), nil)
	case m.staged():
		copy(m.remote(off, n), m.Window(off, n))
	}
}

// Publish64 stores a flag at p, which Ptr returned, on a live device without Config.Fault.
func (m *RemoteMap) Publish64(p *uint64, v uint64) { shm.Publish64(p, v) }

// PublishFenced64 is Publish64, seen before any later load.
func (m *RemoteMap) PublishFenced64(p *uint64, v uint64) { shm.Swap64(p, v) }

// Publish8 stores a flag of a byte on a live device.
func (m *RemoteMap) Publish8(off int, v uint8) { shm.Store8((*uint8)(unsafe.Add(m.base, off)), v) }

// Store8 stores a flag of a byte.
func (m *RemoteMap) Store8(off int, v uint8) {
	if m.host != nil {
		m.flag(off, uint64(v), 1, m.owner().Proc)
		return
	}
	shm.Store8((*uint8)(unsafe.Add(m.base, off)), v)
}

// Note8 is Store8 for a flag at which the owner looks only when it has seen another one,
// stored after it: under a model it does not wake the owner.
func (m *RemoteMap) Note8(off int, v uint8) {
	if m.host != nil {
		m.flag(off, uint64(v), 1, nil)
		return
	}
	shm.Store8((*uint8)(unsafe.Add(m.base, off)), v)
}

// StoreFenced8 is Store8, seen before any later load.
func (m *RemoteMap) StoreFenced8(off int, v uint8) {
	if m.host != nil {
		m.Store8(off, v)
		return
	}
	shm.Swap8((*uint8)(unsafe.Add(m.base, off)), v)
}

// Store64 stores a flag of an aligned double word.
func (m *RemoteMap) Store64(off int, v uint64) {
	if m.host != nil {
		m.flag(off, v, 8, m.owner().Proc)
		return
	}
	shm.Store64((*uint64)(unsafe.Add(m.base, off)), v)
}

// StoreFenced64 is Store64, seen before any later load.
func (m *RemoteMap) StoreFenced64(off int, v uint64) {
	if m.host != nil {
		m.Store64(off, v)
		return
	}
	shm.Swap64((*uint64)(unsafe.Add(m.base, off)), v)
}

// Store32 stores a flag of an aligned word.
func (m *RemoteMap) Store32(off int, v uint32) {
	if m.host != nil {
		m.flag(off, uint64(v), 4, m.owner().Proc)
		return
	}
	shm.Store32((*uint32)(unsafe.Add(m.base, off)), v)
}
