package sisci

import "unsafe"

// fetchesAndAdds tells whether the node's adapter has lock operations. Live, h is nil, and
// there is no adapter.
func (h *host) fetchesAndAdds() bool { return h != nil && h.profile().Lock.FetchAdd }

// FetchAdd adds v to the word at off, by the adapter of the node that owns it, and returns what
// was there before. It is a load through the map, so that the processor stalls until the answer
// is there. It is atomic with respect to other FetchAdds, also the owner's through a map of its
// own segment, and to nothing else.
//
// The answer OK says that it was done; Retriable, that the other side refused it and did
// nothing: try again at once. After all others nobody knows whether it was done.
//
// Errors: ErrIllegalOperation if the map was made without LockOperation; ErrOutOfRange;
// ErrOffsetAlignment unless off is a multiple of 4.
func (m *RemoteMap) FetchAdd(off int, v uint32) (before uint32, status Status, err error) {
	var e Errno
	switch {
	case !m.locks:
		e = ErrIllegalOperation
	case off < 0 || off > m.size-4:
		e = ErrOutOfRange
	case off%4 != 0:
		e = ErrOffsetAlignment
	}
	if e != 0 {
		return 0, NotRetriable, e.at("fetch and add at %d of segment %#x of node %d", off, m.seg.id, m.seg.peer.Node)
	}
	if status = m.seg.status(); status != OK {
		return 0, status, nil
	}
	word := (*uint32)(unsafe.Pointer(unsafe.SliceData(m.seg.local.at(m.at+off, 4))))
	before, outcome := m.host.adapter.FetchAdd(m.owner().adapter, word, v)
	return before, statusOf(outcome), nil
}
