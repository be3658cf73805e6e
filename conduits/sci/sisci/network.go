package sisci

import (
	"math/bits"
	"runtime"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Network is what the devices on a modelled machine share. Like everything below a kernel
// it belongs to one logical thread.
type Network struct {
	machine *hardware.Machine
	byNode  map[NodeID]*host
	hosts   []*host // in the order in which they were first heard of
	buffers [bits.UintSize][][]byte
	memory  *heap
}

// NewNetwork returns the network of a modelled machine, without devices.
func NewNetwork(m *hardware.Machine) *Network {
	nw := &Network{machine: m, byNode: map[NodeID]*host{}, memory: new(heap)}
	runtime.AddCleanup(nw, (*heap).free, nw.memory)
	m.Watch(nw.learn)
	return nw
}

// Place says where on a modelled machine a device is.
type Place struct {
	Network *Network
	Index   int         // of the host within the machine
	Proc    *vtime.Proc // what runs on the host and makes the device's calls
	Limits  Layout      // what the node has room for; nothing is made before it is used

	// Provide, if not nil, is the driver's answer to a node that asks for a segment which does
	// not exist: it may create it, and make it available. It runs in the kernel of this node,
	// while from waits in Connect, and takes no time of this node's processor; it must not
	// wait. If it does not make the segment, Connect goes on as without it. There is no such
	// call in SISCI: it stands for a driver that would make command segments on demand, as a
	// machine of tens of thousands of nodes needs.
	Provide func(id SegmentID, from NodeID)
}

// host is a node of a network: what its peers reach of it.
type host struct {
	*Place
	node    NodeID
	adapter *hardware.Node
	dir     *directory
	dev     *Device
	waiting []*vtime.Proc // who waits for something in the directory to change
	free    []*uint64     // connection words that are not in use
	words   int           // connection words in all
	entries int           // map entries in use
	windows []window      // oldest first
	serving bool          // Provide runs
}

// place makes the host of a device that is being opened.
func (nw *Network) place(node NodeID, p *Place) (*host, error) {
	if nw.byNode[node] != nil {
		return nil, ErrBusy.at("open node %d: a device is or was open on it", node)
	}
	h := &host{Place: p, node: node}
	h.dir = &directory{header: new(header), host: h}
	nw.byNode[node] = h
	nw.hosts = append(nw.hosts, h)
	h.adapter = nw.machine.Node(p.Index)
	h.adapter.Run(p.Proc)
	h.dir.interrupts = make([]interruptEntry, p.Limits.Interrupts)
	return h, nil
}

// profile returns the machine's constants.
func (h *host) profile() *hardware.Profile { return h.Network.machine.Profile() }

// peer returns the node as a device sees it.
func (h *host) peer() *peer {
	return &peer{Peer: Peer{Node: h.node, FD: -1, Bell: -1}, dir: h.dir, layout: &h.Limits}
}

// meet makes another node of the network known to the device; it returns nil if there is
// none. Preconditions: dev.mu is held.
func (h *host) meet(node NodeID) *peer {
	to := h.Network.byNode[node]
	if to == nil {
		return nil
	}
	p := to.peer()
	p.state.Store(h.dev.self.state.Load() & localDown)
	if to.adapter.Lost() {
		p.set(nodeLost)
	} else if !h.adapter.Reaches(to.adapter) {
		at := h.Proc.Now() + h.profile().Error.Detect
		h.adapter.Expect()
		h.Proc.Kernel().At(at, (*inquiry)(h), uint64(node), 0)
	}
	h.dev.add(p)
	return p
}

// inquiry is how a driver finds out about a node that does not answer it from the first: as
// late as about a change of those that it knows.
type inquiry host

// Fire implements vtime.Target.
func (i *inquiry) Fire(node, _ uint64) {
	i.adapter.Came()
	d := i.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peers[NodeID(node)].learn(d.host, hardware.Event{Kind: hardware.LinkCut}) && !d.closed {
		d.self.dir.notify(&d.self.dir.events)
	}
}

// modelled returns another node of the device's network; nil live, or if there is none.
func (d *Device) modelled(node NodeID) *hardware.Node {
	if d.host == nil || d.host.Network.byNode[node] == nil {
		return nil
	}
	return d.host.Network.byNode[node].adapter
}

// ask returns what a call says that needs the driver of the node: of one that is no longer
// there, but not yet known to be, there is no answer.
func (d *Device) ask(p *peer) Errno {
	if e := p.access(); e != 0 {
		return e
	}
	if d.host != nil && !d.host.adapter.Reaches(p.dir.host.adapter) {
		return ErrNodeNotResponding
	}
	return 0
}

// learn tells the devices what their drivers find out: the driver probes the nodes that it
// has to do with.
func (nw *Network) learn(e hardware.Event) {
	for _, h := range nw.hosts {
		if h.dev != nil {
			h.dev.learn(e)
		}
	}
}

// learn sets the state of the nodes that the device knows.
func (d *Device) learn(e hardware.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed := false
	for _, p := range d.known {
		changed = p.learn(d.host, e) || changed
	}
	if (changed || d.waiting > 0) && !d.closed { // a call may wait for an answer
		d.self.dir.notify(&d.self.dir.events)
	}
}

// learn sets the state of a node as its host finds it, and reports whether it changed.
func (p *peer) learn(from *host, e hardware.Event) (changed bool) {
	before := p.state.Load()
	switch to := p.dir.host; {
	case to == from:
		return false
	case e.Kind == hardware.NodeLost && to.Index == e.Node:
		p.set(nodeLost)
		from.dir.drop(p.Node)
	case from.adapter.Reaches(to.adapter):
		p.clear(remoteDown)
	default:
		p.set(remoteDown)
	}
	return p.state.Load() != before
}

// step lets the time pass that a call takes, and brings the kernel to the end of it, where
// the call has its effect. A call of the driver is noted there as setting something up. Live step
// does nothing.
func (d *Device) step(c call) {
	if d.host == nil || d.host.serving {
		return
	}
	p := d.host.Proc
	p.Charge(d.host.Network.cost(c))
	p.Sync()
	if c != callShort {
		p.Kernel().SetUp()
	}
}

// call is a kind of call of the driver, as far as its cost goes.
type call uint8

const (
	callShort call = iota // what only the library does
	callCreate
	callPrepare
	callConnect
	callMap
	callDisconnect
)

// cost returns how long a call takes.
func (nw *Network) cost(c call) vtime.Time {
	p := nw.machine.Profile()
	switch c {
	case callCreate:
		return p.Call.Create
	case callPrepare:
		return p.Call.Prepare
	case callConnect:
		return p.Call.Connect
	case callMap:
		return p.Call.Map
	case callDisconnect:
		return p.Call.Disconnect
	}
	return p.Host.Call
}

// provide asks the driver of the node for a segment that does not exist. It reports whether
// there may be one now.
func (h *host) provide(id SegmentID, from NodeID) bool {
	if h == nil || h.Provide == nil || h.serving {
		return false
	}
	h.serving = true
	defer func() { h.serving = false }()
	h.Provide(id, from)
	return true
}

// find returns the directory slot of an available segment.
func (h *host) find(id SegmentID) (slot int, why Errno) {
	if h.dev == nil || h.dir.device != arenaOpen {
		return 0, ErrNoSuchSegment
	}
	slot, ok := h.dev.ids[id]
	switch {
	case !ok:
		return 0, ErrNoSuchSegment
	case h.dir.segments[slot].state&entryStates != entryAvailable:
		return 0, ErrConnectionRefused
	}
	return slot, 0
}

// claim returns a free connection word that holds the key now, or nil.
func (h *host) claim(key uint64) *uint64 {
	if len(h.free) == 0 {
		n := min(max(8, h.words), h.Limits.Connections-h.words)
		if n <= 0 {
			return h.unused(key)
		}
		table := make([]uint64, n)
		h.dir.connections = append(h.dir.connections, table)
		h.words += n
		for i := range table {
			h.free = append(h.free, &table[n-1-i])
		}
	}
	last := len(h.free) - 1
	c := h.free[last]
	h.free = h.free[:last]
	*c = key | live
	return c
}

// unused finds a word that has become free since it was claimed.
func (h *host) unused(key uint64) *uint64 {
	for c := range h.dir.words() {
		if *c == 0 {
			*c = key | live
			return c
		}
	}
	return nil
}

// notify wakes whoever waits for a change that e stands for. Under a model the node's own
// proc may wait for it anywhere, unless it concerns other nodes only.
func (d *directory) notify(e *shm.EventCount) {
	e.Notify()
	if d.host == nil {
		return
	}
	for _, p := range d.host.waiting {
		p.Arrive()
	}
	if e != &d.exports {
		d.host.Proc.Arrive()
	}
}

// wait parks the device's proc until ready, or the timeout has passed in virtual time.
func (h *host) wait(on *host, timeout time.Duration, ready func() bool) bool {
	p := h.Proc
	p.Sync()
	if ready() {
		return true
	}
	if timeout == 0 {
		return false
	}
	on.waiting = append(on.waiting, p)
	defer func() {
		i := slices.Index(on.waiting, p)
		on.waiting = slices.Delete(on.waiting, i, i+1)
	}()
	var over alarm
	if timeout > 0 {
		over.proc = p
		t := p.Kernel().NewTimer(&over, 0, 0)
		t.Reset(p.Now().Plus(vtime.FromDuration(timeout)))
		defer t.Stop()
	}
	p.SetWaiting("another node, in a call of SISCI")
	defer p.SetWaiting("")
	for !ready() {
		if over.rung {
			return false
		}
		p.Park(0)
	}
	return true
}

// alarm is the end of a timeout.
type alarm struct {
	proc *vtime.Proc
	rung bool
}

// Fire implements vtime.Target.
func (a *alarm) Fire(_, _ uint64) {
	a.rung = true
	a.proc.Arrive()
}

// buffer returns n bytes of staging memory, whatever they hold.
func (nw *Network) buffer(n int) []byte {
	class := bits.Len(uint(max(n, 64) - 1))
	idle := nw.buffers[class]
	if len(idle) == 0 {
		return alignedBytes(1 << class)[:n]
	}
	last := len(idle) - 1
	nw.buffers[class] = idle[:last]
	return idle[last][:n]
}

// recycle takes back what buffer returned.
func (nw *Network) recycle(b []byte) {
	class := bits.Len(uint(cap(b) - 1))
	nw.buffers[class] = append(nw.buffers[class], b)
}

// heap is the memory of a modelled machine's segments, in whole pages. A host gives memory to
// a page when it is first touched, and no more than addresses before: the segments of tens of
// thousands of nodes, of which little is used, would else be more than any host has. It lives
// as long as the network: a store may be under way when the devices of both ends have been
// closed.
type heap struct {
	arenas []*shm.Region // each all of an arena
	rest   []byte        // of the newest
	idle   map[int][][]byte
}

// heapGrowth is the addresses that a heap takes at a time, at least.
const heapGrowth = 256 << 20

// take returns size bytes, zero if they were never used.
func (h *heap) take(size int) ([]byte, error) {
	size = shm.RoundUp(size)
	if idle := h.idle[size]; len(idle) > 0 {
		last := len(idle) - 1
		h.idle[size] = idle[:last]
		return idle[last], nil
	}
	if size > len(h.rest) {
		if err := h.grow(max(size, heapGrowth)); err != nil {
			return nil, err
		}
	}
	b := h.rest[:size:size]
	h.rest = h.rest[size:]
	return b, nil
}

func (h *heap) grow(size int) error {
	arena, err := shm.NewArena(size)
	if err != nil {
		return err
	}
	r, err := arena.Region(size)
	if err != nil {
		return err
	}
	h.arenas, h.rest = append(h.arenas, r), r.Bytes()
	return nil
}

// give takes back what take returned.
func (h *heap) give(b []byte) {
	if h.idle == nil {
		h.idle = map[int][][]byte{}
	}
	h.idle[len(b)] = append(h.idle[len(b)], b)
}

// free gives the memory back to the host.
func (h *heap) free() {
	for _, r := range h.arenas {
		_ = r.Close() // unmaps what was mapped
	}
}
