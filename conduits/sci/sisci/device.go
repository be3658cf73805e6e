package sisci

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Forever is a timeout that never ends. A timeout of 0 asks for an answer at once.
const Forever time.Duration = -1

// Config is what Open needs.
type Config struct {
	Node  NodeID
	Arena *shm.Region // this node's memory, made by NewArena
	Bell  int         // what other nodes ring for this node; -1: none
	Peers []Peer      // the other nodes

	// Place, if not nil, says where on a modelled machine the node is. Its memory is then
	// the machine's, and so are its peers: Arena and Peers are nil, and Bell is not used.
	Place *Place

	// Fault, if not nil, is asked at each point where hardware could fail and decides
	// how it does. It is for tests of those who must cope.
	Fault func(Fault) Status
}

// Device is a node's access to the network: the SISCI descriptor. One device at a time
// can be open on an arena.
//
// All methods of a device and of what is made from it may be called by several goroutines
// at a time, except those of RemoteMap and Sequence: of these, any number of goroutines may
// store through a map, but a Sequence belongs to one, and nobody may use a map that is
// being unmapped. No method polls; those with a timeout block their thread, the others
// never do.
type Device struct {
	self  *peer
	peers map[NodeID]*peer // self included; under a model those that were asked for
	known []*peer          // the same, in the order in which they were added
	host  *host            // nil live
	fault func(Fault) Status

	serviced atomic.Uint32 // the count of events that Service has looked at

	mu         sync.Mutex // guards what follows, and the life-cycle fields of all handles
	closed     bool
	free       extents
	locals     []*LocalSegment // by slot; private segments have none
	vacant     []int           // slots whose segments have been removed
	ids        map[SegmentID]int
	privates   map[*LocalSegment]struct{}
	remotes    []*RemoteSegment
	queues     int
	interrupts int // created and connected ones
	waiting    int // calls under way that wait
	serial     uint16
}

// Open opens the node's device. All the arenas must have been made; their nodes need not
// have opened their devices yet.
//
// Errors: ErrInconsistentVersions if an arena is of another version; ErrIllegalNodeid if an
// arena is another node's, or a node appears twice; ErrBusy if a device is open on this arena,
// or was terminated on it; ErrIllegalParameter without an arena; ErrSystem.
func Open(cfg Config) (*Device, error) {
	d := &Device{
		peers:    map[NodeID]*peer{},
		fault:    cfg.Fault,
		ids:      map[SegmentID]int{},
		privates: map[*LocalSegment]struct{}{},
	}
	if cfg.Place != nil {
		return d, d.openPlace(cfg)
	}
	if cfg.Arena == nil {
		return nil, ErrIllegalParameter.at("open node %d: it has no arena", cfg.Node)
	}
	self := Peer{Node: cfg.Node, Arena: cfg.Arena, FD: -1, Bell: cfg.Bell}
	for _, p := range append([]Peer{self}, cfg.Peers...) {
		if d.peers[p.Node] != nil {
			return nil, errors.Join(ErrIllegalNodeid.at("open node %d: node %d appears twice", cfg.Node, p.Node), d.closePeers())
		}
		np := &peer{Peer: p}
		d.add(np)
		if err := np.open(); err != nil {
			return nil, errors.Join(err, d.closePeers())
		}
	}
	d.self = d.peers[cfg.Node]
	if !atomic.CompareAndSwapUint32(&d.self.dir.device, arenaFree, arenaOpen) {
		return nil, errors.Join(ErrBusy.at("open node %d: a device is or was open on its arena", cfg.Node), d.closePeers())
	}
	l := d.self.layout
	d.free = extents{{l.directorySize(), shm.RoundUp(l.Memory)}}
	return d, nil
}

// openPlace opens the device on a modelled machine.
func (d *Device) openPlace(cfg Config) error {
	if cfg.Arena != nil || cfg.Peers != nil || cfg.Fault != nil {
		return ErrIllegalParameter.at("open node %d: a modelled node has no arena, no list of peers and no faults but its machine's", cfg.Node)
	}
	if err := cfg.Place.Limits.check(); err != nil {
		return ErrIllegalParameter.at("open node %d: %v", cfg.Node, err)
	}
	h, err := cfg.Place.Network.place(cfg.Node, cfg.Place)
	if err != nil {
		return err
	}
	d.host, h.dev = h, d
	d.self = h.peer()
	d.add(d.self)
	d.free = extents{{0, shm.RoundUp(cfg.Place.Limits.Memory)}}
	h.dir.device = arenaOpen
	return nil
}

// add makes a node known to the device.
func (d *Device) add(p *peer) {
	d.peers[p.Node] = p
	d.known = append(d.known, p)
}

// Node returns the number of the device's node.
func (d *Device) Node() NodeID { return d.self.Node }

// Bell returns the descriptor to sleep on until an interrupt of this node is triggered,
// or -1 if it has none.
func (d *Device) Bell() int { return d.self.Bell }

// Close closes the device. Error: ErrBusy as long as any segment, connection, DMA queue
// or interrupt exists, or a call waits; the device stays open then. So when it has been
// closed, the arena may be.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errClosed("close")
	}
	if n := d.resources(); n > 0 {
		return ErrBusy.at("close node %d: %d resources exist", d.self.Node, n)
	}
	return d.close(arenaFree)
}

// Terminate closes the device with everything that exists on it, in whatever state: for
// a job that has failed. Connections that other nodes have to this node's segments are
// broken. Nobody may be in any other call, and no map, sequence or remote interrupt may be
// used, then or later. No device can be opened on the arena again. Under a model it takes no time, so that a connected
// node that looks ahead (see hardware.Node.Unchanged) may see it up to memory.visible later.
func (d *Device) Terminate() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	var errs []error
	note := func(err error) {
		if err != nil { // a list of nil for every connection would be most of what closing takes
			errs = append(errs, err)
		}
	}
	for len(d.remotes) > 0 {
		r := d.remotes[len(d.remotes)-1]
		for r.maps != nil {
			note(r.maps.unmap())
		}
		note(r.disconnect())
	}
	for slot, s := range d.locals {
		if s != nil {
			note(s.terminate())
			d.retract(slot, entryFree, forced)
		}
	}
	for s := range d.privates {
		note(s.terminate())
	}
	for i := range d.self.dir.interrupts {
		d.self.dir.interrupts[i].retire()
	}
	return errors.Join(append(errs, d.close(arenaTerminated))...)
}

// resources counts what keeps the device from being closed.
func (d *Device) resources() int {
	return len(d.ids) + len(d.privates) + len(d.remotes) + d.queues + d.interrupts + d.waiting
}

func (d *Device) close(state uint32) error {
	d.closed = true
	shm.Store32(&d.self.dir.device, state)
	return d.closePeers()
}

func (d *Device) closePeers() error {
	var errs []error
	for _, p := range d.known {
		if err := p.close(); err != nil {
			errs = append(errs, ErrSystem.at("unmap the directory of node %d: %v", p.Node, err))
		}
	}
	return errors.Join(errs...)
}

func (d *Device) errClosed(op string) error {
	return ErrNotInitialized.at("%s: the device is closed", op)
}

// NodeLost tells the device that a node is gone for ever, as its supervisor knows it.
// Connections from and to it are lost: their segments' events say so, sequences answer
// NotRetriable, and what needs the node fails with ErrNoRemoteLinkAccess.
func (d *Device) NodeLost(node NodeID) error {
	return d.setLink(node, func(p *peer) {
		p.set(nodeLost)
		d.self.dir.drop(node)
	})
}

// SetLink tells the device that a node's link works or has ceased to work. While it does
// not, sequences answer NotRetriable and connections report NotOperational; all of that
// ends when the link works again. For the device's own node it is the local link, and
// concerns all nodes.
func (d *Device) SetLink(node NodeID, works bool) error {
	return d.setLink(node, func(p *peer) {
		bit, concerned := remoteDown, []*peer{p}
		if p == d.self {
			bit, concerned = localDown, d.known
		}
		for _, p := range concerned {
			if works {
				p.clear(bit)
			} else {
				p.set(bit)
			}
		}
	})
}

func (d *Device) setLink(node NodeID, change func(*peer)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.peer(node, "set the link of node")
	if err != nil {
		return err
	}
	change(p)
	d.self.dir.notify(&d.self.dir.events)
	for _, p := range d.known { // calls of this process that wait for the node
		p.dir.notify(&p.dir.exports)
	}
	return nil
}

// peer returns a node, if the device is open and knows it.
func (d *Device) peer(node NodeID, op string) (*peer, error) {
	if d.closed {
		return nil, d.errClosed(fmt.Sprintf("%s %d", op, node))
	}
	p := d.peers[node]
	if p == nil && d.host != nil {
		p = d.host.meet(node)
	}
	if p == nil {
		return nil, ErrNoSuchNodeid.at("%s %d", op, node)
	}
	return p, nil
}
