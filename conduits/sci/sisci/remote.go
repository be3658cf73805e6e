package sisci

import (
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// RemoteSegment is a connection to a segment of another node, or of this one.
type RemoteSegment struct {
	dev      *Device
	peer     *peer
	id       SegmentID
	at       int32 // in dev.remotes; guarded by dev.mu
	off      int
	size     int
	local    *LocalSegment // the segment itself, under a model; nil live
	key      uint64
	conn     *uint64 // the connection's word in the owner's directory
	callback RemoteCallback

	// guarded by dev.mu
	maps   *RemoteMap // the newest, linked by next
	dma    *dmaView   // live; nil before the first transfer
	queued int32      // DMA transfers that name it
	told   struct {   // the events so far
		marks      uint8 // of asked and forced
		down, lost bool
	}
	closed    bool
	cancelled bool // by the callback's answer
}

// dmaView is a whole segment, mapped for DMA.
type dmaView struct {
	mem    []byte
	region *shm.Region
}

// Connect connects to the segment with the given id of a node. While the segment does not
// exist or is not available, or the node does not answer, it tries again until the timeout. callback, if not nil, gets
// the events of the connection from Service.
//
// Errors: ErrNoSuchNodeid; ErrNoSuchSegment, ErrConnectionRefused or ErrNodeNotResponding with
// a timeout of 0, else ErrTimeout; ErrNoLinkAccess and ErrNoRemoteLinkAccess if a link is
// known to be down or the node to be lost; ErrNoSpace if the owner has no room for a connection.
func (d *Device) Connect(node NodeID, id SegmentID, timeout time.Duration, callback RemoteCallback) (*RemoteSegment, error) {
	if to := d.modelled(node); to != nil {
		to.Expect()
		defer to.Came()
	}
	d.step(callConnect)
	d.mu.Lock()
	p, err := d.peer(node, "connect to node")
	if err == nil {
		d.waiting++
	}
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var s *RemoteSegment
	var why Errno
	d.wait(p.dir, &p.dir.exports, timeout, func() bool {
		s, why = d.connect(p, id, callback)
		return !passing(why)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting--
	switch {
	case s != nil:
		s.at = int32(len(d.remotes))
		d.remotes = append(d.remotes, s)
		d.self.dir.notify(&d.self.dir.events) // Service may have missed what has befallen it since
		return s, nil
	case timeout != 0 && passing(why):
		return nil, ErrTimeout.at("connect to segment %#x of node %d: %v", id, node, why)
	}
	return nil, why.at("connect to segment %#x of node %d", id, node)
}

// passing reports whether a call that was answered so is tried again.
func passing(why Errno) bool {
	return why == ErrNoSuchSegment || why == ErrConnectionRefused || why == ErrNodeNotResponding
}

// connect tries once.
func (d *Device) connect(p *peer, id SegmentID, callback RemoteCallback) (*RemoteSegment, Errno) {
	if e := d.ask(p); e != 0 {
		return nil, e
	}
	slot, e := p.find(id)
	if e == ErrNoSuchSegment && p.dir.host.provide(id, d.self.Node) {
		slot, e = p.find(id)
	}
	if e != 0 {
		return nil, e
	}
	d.mu.Lock()
	d.serial++
	key := connectionKey(slot, d.self.Node, d.serial)
	d.mu.Unlock()
	entry := &p.dir.segments[slot]
	state := shm.Load32(&entry.state)
	conn := p.dir.claim(key)
	if conn == nil {
		return nil, ErrNoSpace
	}
	s := &RemoteSegment{
		dev: d, peer: p, id: id, key: key, conn: conn, callback: callback,
		off: int(shm.Load64(&entry.off)), size: int(shm.Load64(&entry.size)),
	}
	// The claim comes before this look at the state, as retracting does before marking
	// the connections: one of the two sees the other.
	if state&entryStates != entryAvailable || shm.Load32(&entry.state) != state || shm.Load32(&entry.id) != uint32(id) {
		release(conn, key)
		return nil, ErrConnectionRefused
	}
	if p.dir.host != nil {
		s.local = p.dir.host.dev.locals[slot]
	} else if s.size <= 0 || s.off < p.layout.directorySize() || s.off > p.layout.Size() || s.size > p.layout.Size()-s.off {
		release(conn, key)
		return nil, ErrSystem
	}
	p.dir.notify(&p.dir.events)
	return s, 0
}

// find returns the directory slot of an available segment.
func (p *peer) find(id SegmentID) (slot int, why Errno) {
	if h := p.dir.host; h != nil {
		return h.find(id)
	}
	for i := range p.dir.segments {
		e := &p.dir.segments[i]
		if shm.Load32(&e.id) != uint32(id) {
			continue
		}
		switch shm.Load32(&e.state) & entryStates {
		case entryAvailable:
			return i, 0
		case entryHidden:
			return 0, ErrConnectionRefused
		}
	}
	return 0, ErrNoSuchSegment
}

// Size returns the segment's bytes.
func (s *RemoteSegment) Size() int { return s.size }

// Node returns the node that owns the segment.
func (s *RemoteSegment) Node() NodeID { return s.peer.Node }

// status says whether stores still reach the segment.
func (s *RemoteSegment) status() Status {
	if s.peer.access() != 0 || !intact(s.conn, s.key) {
		return NotRetriable
	}
	return OK
}

// enter locks the device for a call on the connection.
func (s *RemoteSegment) enter(op string) error {
	s.dev.mu.Lock()
	if s.dev.closed || s.closed {
		s.dev.mu.Unlock()
		return ErrNotConnected.at("%s segment %#x of node %d", op, s.id, s.peer.Node)
	}
	return nil
}

// Map gives access to size bytes at off, which must be a multiple of the page size.
// Flags: ReadOnly; LockOperation, for maps through which the adapter fetches and adds.
//
// Errors: ErrOffsetAlignment; ErrSizeAlignment for a size that is not positive;
// ErrOutOfRange; ErrIllegalFlag; ErrFlagNotImplemented for LockOperation live, and on machines
// whose adapters do not fetch and add; ErrNotConnected if the segment is disconnected, by this
// node or its owner, or cannot be reached; ErrHWNoSpace if a modelled adapter has no map
// entries left.
func (s *RemoteSegment) Map(off, size int, flags Flags) (*RemoteMap, error) {
	s.dev.step(callMap)
	if err := s.enter("map"); err != nil {
		return nil, err
	}
	defer s.dev.mu.Unlock()
	fail := func(e Errno) (*RemoteMap, error) {
		return nil, e.at("map %d bytes at %d of segment %#x of node %d", size, off, s.id, s.peer.Node)
	}
	switch {
	case flags&^(ReadOnly|LockOperation) != 0:
		return fail(ErrIllegalFlag)
	case flags&LockOperation != 0 && !s.dev.host.fetchesAndAdds():
		return fail(ErrFlagNotImplemented)
	case s.status() != OK:
		return fail(ErrNotConnected)
	}
	if e := mappable(off, size, s.size); e != 0 {
		return fail(e)
	}
	if !s.dev.host.takeEntries(size) {
		return fail(ErrHWNoSpace)
	}
	m := &RemoteMap{
		seg: s, size: size, at: off, host: s.dev.host,
		readOnly: flags&ReadOnly != 0, locks: flags&LockOperation != 0,
	}
	if m.host == nil {
		if err := m.view(); err != nil {
			return nil, ErrSystem.at("map segment %#x of node %d: %v", s.id, s.peer.Node, err)
		}
	}
	m.next, s.maps = s.maps, m
	return m, nil
}

// Disconnect ends the connection.
//
// Errors: ErrBusy while the segment is mapped or named by a DMA queue; ErrNotConnected if
// it is over.
func (s *RemoteSegment) Disconnect() error {
	if to := s.dev.modelled(s.peer.Node); to != nil {
		to.Expect()
		defer to.Came()
	}
	s.dev.step(callDisconnect)
	if err := s.enter("disconnect"); err != nil {
		return err
	}
	defer s.dev.mu.Unlock()
	if s.maps != nil || s.queued > 0 {
		return ErrBusy.at("disconnect segment %#x of node %d: it is mapped or queued", s.id, s.peer.Node)
	}
	return s.disconnect()
}

// disconnect ends the connection. Preconditions: dev.mu is held, nothing is mapped.
func (s *RemoteSegment) disconnect() error {
	s.closed = true
	s.dev.forget(s)
	release(s.conn, s.key)
	s.peer.dir.notify(&s.peer.dir.events)
	s.dev.self.dir.notify(&s.dev.self.dir.events) // whoever waits for an event of this connection
	if s.dma == nil || s.dma.region == nil {
		return nil
	}
	return s.dma.region.Close()
}

// forget takes a connection out of the list. Preconditions: d.mu is held.
func (d *Device) forget(s *RemoteSegment) {
	last := len(d.remotes) - 1
	d.remotes[s.at] = d.remotes[last]
	d.remotes[s.at].at = s.at
	d.remotes[last] = nil
	d.remotes = d.remotes[:last]
}

// whole returns all of the segment's memory, which stays mapped until it is disconnected.
// Preconditions: dev.mu is held.
func (s *RemoteSegment) whole() ([]byte, error) {
	if s.local != nil {
		return s.local.mem, nil
	}
	if s.dma == nil {
		mem, region, err := s.peer.view(s.off, s.size, false)
		if err != nil {
			return nil, ErrSystem.at("map segment %#x of node %d: %v", s.id, s.peer.Node, err)
		}
		s.dma = &dmaView{mem, region}
	}
	return s.dma.mem, nil
}
