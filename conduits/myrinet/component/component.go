package component

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/netdma"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The events of the NIC's program, the one of the highest priority first.
const (
	evRecv   lanai.Event = iota // a frame has come
	evSent                      // a frame has left
	evLoaded                    // a frame's payload has come from the host
	evStore                     // something is to go to the host
	evStored                    // it has
	evSend                      // something is to be sent
	evBell                      // an entry of the Tx FIFO Queue
	evCredit                    // Credits: the host has given frames of the staging buffer back
	evMatch                     // Rendezvous: a buffer has been posted, or a message wants one
	evTimer                     // Reliability: a time-out
	events   = iota
)

// The host DMA engine's chains: what goes to the host comes first, since it frees the Receive Ring.
const (
	rxChain = 1
	txChain = 2
)

// Sizes of what is in the SRAM or crosses the bus besides frames, in bytes.
const (
	entrySize  = 32 // of the Rx FIFO Queue: header and place
	tagSize    = 8  // before each frame in the staging buffer: its number, and padding
	peerSize   = 16 // of a node, for a protocol that keeps something of each
	postedSize = 16 // of a posted buffer
	creditSize = 8  // of the host's word that frames have been given back
)

// Errors of messages, and of calls.
var (
	ErrNoRoute     = errors.New("component: there is no route to the node")
	ErrUnreachable = errors.New("component: the node does not answer")
	ErrNoRoom      = errors.New("component: no room: wait until a message is done, or a posted buffer is filled")
)

// Counts is what a component has done so far.
type Counts struct {
	Messages  uint64 // handed to a handler
	Sent      uint64 // frames given to the network
	Fetched   uint64 // frames that the host DMA has fetched; the others the host's processor has written
	Received  uint64 // frames that were accepted
	Resent    uint64 // frames sent again: Reliability
	TimeOuts  uint64 //
	Acks      uint64 // sent
	Credits   uint64 // frames of kind Credit sent
	Requests  uint64 // messages that a rendezvous was made for
	Evaluated uint64 // units of encapsulated protocols that the NIC has evaluated

	// Bytes of payload, by what moved them: each is a copy.
	HostToNIC uint64 // by the host's processor or the host DMA, into the Send Ring
	NICToNIC  uint64 // by the network, into a Receive Ring; frames that are dropped there included
	NICToHost uint64 // by the host DMA, into the staging buffer or a posted one
	Staged    uint64 // by the host's processor, out of the staging buffer

	// Frames that were dropped.
	Corrupt   uint64 // because of their CRC
	Truncated uint64 // because their end was missing
	Malformed uint64 // because no component of this composition makes such
	Foreign   uint64 // because of their type
	Stray     uint64 // because they are for another node
	Duplicate uint64 // because they had been accepted before: Reliability
	Gap       uint64 // because one before them is missing: Reliability
	NoCredit  uint64 // because their sender had no credit: Credits
	BadBuffer uint64 // because their buffer was not granted to them: Rendezvous
	Unknown   uint64 // because nobody evaluates the unit that they carry: Active

	Held        uint64 // frames that had to wait in the network, as the Receive Ring was full
	Overwritten uint64 // frames that were overwritten in the staging buffer before they were copied
	Refused     uint64 // messages that were dropped, as a frame of theirs was overwritten or is missing
	NoPort      uint64 // messages that were dropped, as nobody listens at their port
}

// ring hands out the places of a circular structure. They are free again in the order in which they were handed out.
type ring struct {
	n          int
	head, tail uint64
	freed      []bool
}

func newRing(n int) ring { return ring{n: n, freed: make([]bool, n)} }

func (r *ring) room() int { return r.n - int(r.head-r.tail) }

// take returns the next place, which must be there.
func (r *ring) take() int {
	r.head++
	return int((r.head - 1) % uint64(r.n))
}

// free gives a place back.
func (r *ring) free(i int) {
	r.freed[i] = true
	for r.tail < r.head && r.freed[r.tail%uint64(r.n)] {
		r.freed[r.tail%uint64(r.n)] = false
		r.tail++
	}
}

// txSlot is a place of the Send Ring.
type txSlot struct {
	index   int
	bytes   []byte
	header  Header
	to      *address
	message *message
	fetched uint64 // the Tx chain's blocks that are finished when the payload is there
	large   bool   // the payload comes by DMA
	loaded  bool   // it is there
	refs    int    // frames that need it
}

// outgoing is a frame for a node.
type outgoing struct {
	header Header
	slot   *txSlot // nil: no payload, made by the NIC itself
}

// rxSlot is a place of the Receive Ring. A frame's tag is before it, so that both go to the staging buffer in one block.
type rxSlot struct {
	index   int
	bytes   []byte
	n       int // of the frame; it is not there if it does not fit
	verdict fabric.Verdict
}

// store is what goes to the host: a frame, an entry, or both.
type store struct {
	slot  *rxSlot // nil: an entry alone
	sram  []byte
	host  []byte
	entry entry
	done  uint64 // the Rx chain's blocks that are finished when it is there
}

// entry is an entry of the Rx FIFO Queue.
type entry struct {
	header Header
	place  int    // in the staging buffer; -1: a posted buffer, or no frame
	tag    uint32 // of the frame there
	offset int    // of the payload behind the tag
}

// peer is what a component keeps of another node.
type peer struct {
	node    int
	own     *address
	out     fifo.Queue[*outgoing] // that have not left
	control fifo.Queue[*outgoing] // likewise, made by the NIC itself: they go first
	queued  bool                  // in Baseline.sendable
	in      assembly

	reliable
	credited
	rendezvous
	activated
}

// Baseline is what all compositions have in common: the structures that the algorithm and the protocols act on. A program has it
// as a part of a [Component].
type Baseline struct {
	loop    *vtime.Loop
	nic     *lanai.NIC
	net     *netdma.Engines
	profile *Profile
	traits  Traits
	set     Protocol
	self    int
	routes  [][]byte
	peers   []*peer // by node; nil: itself
	counts  Counts
	header  int // size of the largest header of the composition
	cost    struct{ leave, arrive int }

	// Sending.
	sendRing ring
	slots    []txSlot
	tx       *lanai.DMAChain
	fetched  uint64
	bells    *lanai.Doorbells // the Tx FIFO Queue
	token    *txSlot          // that is being queued
	loading  fifo.Queue[*txSlot]
	sendable fifo.Queue[*peer]
	acks     fifo.Queue[*peer]
	sending  *outgoing // what it sends, if that is free afterwards
	records  []*outgoing

	// Receiving.
	receiveRing ring
	frames      []rxSlot
	done        *rxSlot // that is being looked at
	rx          *lanai.DMAChain
	issued      uint64
	stores      fifo.Queue[store]
	storing     fifo.Queue[store]
	placed      uint32 // frames put into the staging buffer
	staging     [][]byte

	entries fifo.Queue[entry] // the Rx FIFO Queue, as the host sees it
	used    int               // of its room

	host
	groups   []group
	grants   grants
	capsules map[uint16]func(from int, unit []byte)
	carried  struct {
		peer *peer
		port uint16
		unit []byte
	}
	share  int // Credits: places of the staging buffer that each other node has
	mtu    int // of messages that are handed over
	choice choice
	due    fifo.Queue[*peer] // Credits: whom something has been given back of

	tracer func(Point, Protocol)
	step   steps
}

// steps are the continuations of handlers, made once.
type steps struct {
	token, spread, loaded, choose, leave, ack, free, rearm, classify, store, stored, timeout, credit, match, evaluate func()
}

// Component is a node's low-level communication component: the program on its NIC, and the library on its host, which is called
// by events of the loop, never blocks, and charges the time of its calls to the host's processor. S names the set of its
// lightweight protocols ([Protocol]).
type Component[S any] struct{ Baseline }

// New puts a component on a NIC at the port of host id of a fabric, which is its node number too. It fails if the traits make no
// sense, or if the six structures and the tables of the protocols do not fit into the SRAM; the error says who has what there.
func New[S any](f *fabric.Fabric, p *Profile, t Traits, id int) (*Component[S], error) {
	c := new(Component[S])
	c.set, c.target, c.releaser = setOf[S](), (*hostSide[S])(c), c.releases
	c.step = steps{
		token: c.takeToken, spread: c.spread, loaded: c.loadedFrames, choose: c.choose, leave: c.leave, ack: c.sendAck,
		classify: c.classify, timeout: c.resendLate, credit: c.sendCredits, match: c.match, evaluate: c.evaluate,
	}
	return c, c.load(f, p, t, id)
}

// load puts the program into a new NIC.
func (c *Baseline) load(f *fabric.Fabric, p *Profile, t Traits, id int) error {
	nodes := len(f.Topology().Hosts)
	if id < 0 || id >= nodes || nodes > 1<<16 {
		return fmt.Errorf("component: host %d of a fabric of %d", id, nodes)
	}
	if err := t.check(c.set, nodes); err != nil {
		return err
	}
	c.loop, c.profile, c.traits, c.self = f.Loop(), p, t, id
	c.nic = lanai.New(f.Loop(), &p.Profile, f.Port(id).Rate())
	c.header = BaseHeader + extension*bits.OnesCount8(uint8(c.set&inHeader))
	c.routes, c.mtu = make([][]byte, nodes), t.MTU
	c.handlers = map[uint16]func(*Message){}
	if err := c.allocate(f.Port(id), nodes); err != nil {
		return fmt.Errorf("component: node %d, %v: %w", id, c.set, err)
	}
	for node := range nodes {
		c.peers = append(c.peers, nil)
		if node != id {
			c.peers[node] = c.newPeer(node)
		}
	}
	c.prices()
	c.step.free, c.step.rearm, c.step.store, c.step.stored = c.free, c.rearm, c.startStore, c.endStores
	s := &p.Steps
	handlers := [events]lanai.Handler{
		evRecv:   {Name: "receive", Run: func() { c.spend(s.Arm, c.step.rearm) }},
		evSent:   {Name: "sent", Run: func() { c.spend(s.Sent, c.step.free) }},
		evLoaded: {Name: "loaded", Run: func() { c.spend(s.Loaded, c.step.loaded) }},
		evStore:  {Name: "store", Run: c.mayStore},
		evStored: {Name: "stored", Run: func() { c.spend(s.Stored, c.step.stored) }},
		evSend:   {Name: "send", Run: c.step.choose},
		evBell:   {Name: "doorbell", Run: func() { c.spend(s.Token, c.step.token) }},
		evCredit: {Name: "credits", Run: func() { c.spend(p.Protocol.Credits, c.step.credit) }},
		evMatch:  {Name: "rendezvous", Run: func() { c.spend(p.Protocol.Rendezvous, c.step.match) }},
		evTimer:  {Name: "time-out", Run: func() { c.spend(p.Protocol.Timeout, c.step.timeout) }},
	}
	if err := c.nic.CPU.Load(handlers[:]); err != nil {
		return err
	}
	c.loop.CountUsage(c.usage)
	return nil
}

// usage returns what the host's processor and bus have been used for.
func (c *Baseline) usage() (all []vtime.Usage) {
	for _, r := range []struct {
		name string
		of   *vtime.Resource
	}{{"processor", &c.cpu}, {"bus", &c.nic.Bus}} {
		if r.of.Used() {
			all = append(all, r.of.Usage(fmt.Sprintf("%s of node %d", r.name, c.self)))
		}
	}
	return all
}

func (c *Baseline) newPeer(node int) *peer {
	p := &peer{node: node, activated: activated{active: c.set}}
	p.own = &address{peer: p}
	p.reliable.timer = c.loop.NewTimer((*lateTimer)(c), uint64(node), 0)
	return p
}

// allocate takes the six structures and the protocols' tables out of the SRAM, and the staging buffer out of the host's memory.
func (c *Baseline) allocate(port *fabric.Port, nodes int) (err error) {
	t, sram := &c.traits, c.nic.SRAM
	size := lanai.Bytes(c.header + t.MTU)
	reserve := func(name string, size lanai.Bytes) {
		if err == nil {
			err = sram.Reserve(name, size)
		}
	}
	reserve("program", c.profile.NIC.Code)
	reserve("routes", lanai.Bytes(nodes)*c.profile.NIC.Route)
	reserve("Rx FIFO Queue", entrySize*lanai.Bytes(t.RxFIFO))
	for _, r := range []struct {
		of   Protocol
		size int
	}{
		{Reliability, peerSize * nodes}, {Credits, peerSize * nodes}, {Multicast, t.Groups * ((nodes + 7) / 8)}, {MTU, 4},
		{Active, nodes}, {Rendezvous, postedSize*t.Posted + peerSize*nodes},
	} {
		if c.set&r.of != 0 {
			reserve(r.of.String(), lanai.Bytes(r.size))
		}
	}
	if err != nil {
		return err
	}
	send, err := sram.Alloc("Send Ring", lanai.Bytes(t.SendRing)*size)
	if err != nil {
		return err
	}
	receive, err := sram.Alloc("Receive Ring", lanai.Bytes(t.ReceiveRing)*(tagSize+size))
	if err != nil {
		return err
	}
	if c.net, err = netdma.New(c.nic, port, t.ReceiveRing, evRecv, evSent); err != nil {
		return err
	}
	if c.bells, err = c.nic.Doorbells(8, t.TxFIFO, evBell); err != nil {
		return err
	}
	if c.rx, err = c.nic.DMA.Open(rxChain, "Rx DMA Requests", t.RxRequests, evStored); err != nil {
		return err
	}
	if c.tx, err = c.nic.DMA.Open(txChain, "Tx DMA Requests", t.TxRequests, evLoaded); err != nil {
		return err
	}
	c.sendRing, c.receiveRing = newRing(t.SendRing), newRing(t.ReceiveRing)
	for i := range t.SendRing {
		c.slots = append(c.slots, txSlot{index: i, bytes: part(send, i, int(size))})
	}
	for i := range t.ReceiveRing {
		c.frames = append(c.frames, rxSlot{index: i, bytes: part(receive, i, tagSize+int(size))})
	}
	staging := make([]byte, t.Staging*(tagSize+int(size)))
	for i := range t.Staging {
		c.staging = append(c.staging, part(staging, i, tagSize+int(size)))
	}
	c.share = t.Staging / max(1, nodes-1)
	c.grants.table = make([]posted, t.Posted)
	c.groups = make([]group, t.Groups+1)
	for i := range c.groups {
		c.groups[i].address = &address{group: i + 1}
	}
	for node := range nodes {
		if node != c.self {
			c.groups[0].members = append(c.groups[0].members, node)
		}
	}
	return nil
}

// part returns the i-th part of b, of size bytes.
func part(b []byte, i, size int) []byte { return b[i*size : (i+1)*size : (i+1)*size] }

// prices adds up what a frame costs the LANai when it leaves and when it arrives.
func (c *Baseline) prices() {
	s, p := &c.profile.Steps, &c.profile.Protocol
	c.cost.leave, c.cost.arrive = s.Send, s.Receive
	for _, of := range []struct {
		protocol Protocol
		steps    int
	}{{Active, p.Active}, {Reliability, p.Reliability}, {Credits, p.Credits}, {MTU, p.MTU}} {
		if c.set&of.protocol != 0 {
			c.cost.leave += of.steps
			c.cost.arrive += of.steps
		}
	}
}

func (c *Baseline) spend(n int, then func()) { c.nic.CPU.Spend(n, then) }

// Protocols returns the composition.
func (c *Component[S]) Protocols() Protocol { return setOf[S]() }

// NIC returns the component's NIC.
func (c *Baseline) NIC() *lanai.NIC { return c.nic }

// Counts returns what the component has done so far.
func (c *Baseline) Counts() Counts {
	n := c.counts
	n.Held = c.net.Held()
	return n
}

// SetRoute says how to reach a node: the route bytes from here.
func (c *Baseline) SetRoute(node int, route []byte) error {
	if node < 0 || node >= len(c.peers) || node == c.self {
		return fmt.Errorf("component: a route of node %d to node %d, of %d", c.self, node, len(c.peers))
	}
	if most := int(c.profile.NIC.Route); len(route) > most {
		return fmt.Errorf("component: a route of %d bytes to node %d; the table has room for %d (nic.route)", len(route), node, most)
	}
	for _, b := range route {
		if _, ok := fabric.RouteDelta(b); !ok {
			return fmt.Errorf("component: %#02x is no route byte", b)
		}
	}
	c.routes[node] = append([]byte{}, route...)
	return nil
}
