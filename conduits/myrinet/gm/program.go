package gm

import (
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Image is a version of the control program.
type Image struct {
	// ITB is in-transit support. Without it there is no Early Recv Packet, and an in-transit packet is a foreign one.
	ITB bool
	// Transit says how in-transit support works. The Send machine re-injects packets with BySend, and else Recv itself.
	Transit transit.Options
}

// The events of the program, the one of the highest priority first.
const (
	evEarly  lanai.Event = iota // the first four bytes of a packet have come
	evRecv                      // a packet has come
	evSent                      // a packet has left
	evLoaded                    // a fragment is in the send queue
	evStore                     // something is to go to the host
	evStored                    // it has
	evSend                      // something is to be sent
	evSDMA                      // a fragment may be fetched
	evBell                      // a doorbell
	evTimer                     // a timer of a connection
	events   = iota
)

// The host DMA engine's chains of the program: what goes to the host comes first, since it frees receive buffers.
const (
	rdmaChain = 1
	sdmaChain = 2
)

// fragment is a packet in the send queue.
type fragment struct {
	packet fabric.Packet
	loaded uint64 // the SDMA chain's blocks that are finished when it is there
}

// store is what goes to the host.
type store struct {
	buffer  *transit.Buffer // of a packet; nil: none
	port    *Port
	payload []byte // to be put into memory
	memory  []byte
	event   []byte // and the event to follow; nil: none
	done    uint64 // the RDMA chain's blocks that are finished when it is there
}

// Counts is what a program has done so far. A sender's first packet to a node has no number to send with yet and asks for one: the
// receiver drops it, and counts it as a Gap. The sender begins anew with the number, which counts as Sent and not as Resent.
// So the first ten messages of a packet each to a node, over sound cables, are eleven packets Sent, ten Received and one Gap.
type Counts struct {
	Sent     uint64 // packets of messages, those that were sent again included
	Resent   uint64 // of them
	Received uint64 // packets of messages that were accepted
	Controls uint64 // ACKs and NACKs sent
	transit.Counts
	Corrupt   uint64 // packets dropped because of their CRC
	Truncated uint64 // or because their end was missing
	Malformed uint64 // or because no sender makes such
	Foreign   uint64 // or because of their type
	Stray     uint64 // or because they are for another node, or have bytes of a route left
	Duplicate uint64 // or because they had been accepted before, or belong to a session that is over
	Gap       uint64 // or because something before them is missing
	NoBuffer  uint64 // or because the port has no receive buffer for them
	TimeOuts  uint64
	Unknown   uint64 // ACKs and NACKs that do not belong to anything
	Held      uint64 // packets that had to wait in the network for a receive buffer
	Unsent    uint64 // packets of the mapper that were dropped for lack of a buffer
}

// Program is the control program of a NIC. Its machines are in files of their own.
type Program struct {
	loop    *vtime.Loop
	nic     *lanai.NIC
	port    *fabric.Port
	profile *Profile
	image   Image
	id      int
	host    *Host

	conns  []*connection // by node; nil: never spoken to
	routes [][]byte      // by node, as they are stamped; nil: none
	counts Counts
	chance *rand.Rand
	self   uint16 // Header.SenderConn of data packets: tells the program from those before it
	number uint16 // the last that a connection was given

	stopped bool // another program has taken its place

	packetSize int // of a buffer for a packet

	// mapping, if not nil, is called with packets of the mapper, which are foreign otherwise.
	mapping func(fabric.Packet)

	sdma, rdma *lanai.DMAChain
	fetched    uint64 // blocks of sdma so far
	issued     uint64 // blocks of rdma
	bells      *lanai.Doorbells

	// SDMA and Send.
	sendable fifo.Queue[*connection]
	slots    int                  // free buffers of the send queue
	loading  fifo.Queue[fragment] // on their way from the host
	loaded   fifo.Queue[fragment]
	controls fifo.Queue[*connection]
	mappings fifo.Queue[fabric.Packet] // of the mapper
	transit  transit.Transit
	busy     bool // the send DMA is programmed, as far as Send knows
	frees    bool // it is a fragment of the send queue

	// Recv and RDMA.
	current *transit.Buffer // programmed for reception
	waiting *fabric.Arrival
	queue   int // free buffers of the receive queue
	idle    *transit.Buffer
	done    *transit.Buffer // that Recv works on
	header  Header
	stores  fifo.Queue[store] // to be started
	storing fifo.Queue[store]
	item    store

	step steps
}

// steps are the continuations of handlers, made once.
type steps struct {
	look, transit, rearm, process, classify, accept, answered, finished func()
	token, fragment, loaded, choose, choosing, control, send, free      func()
	store, stored, resend                                               func()
}

// load puts the program into a NIC.
func load(nic *lanai.NIC, port *fabric.Port, p *Profile, image Image, id, nodes int) (*Program, error) {
	g := &Program{
		loop: nic.Loop(), nic: nic, port: port, profile: p, image: image, id: id,
		conns: make([]*connection, nodes), routes: make([][]byte, nodes),
		chance: nic.Loop().Rand(fmt.Sprint("myrinet/gm: time-outs of node ", id)),
		slots:  p.GM.Queue, queue: p.GM.Queue,
	}
	numbers := nic.Loop().Rand(fmt.Sprintf("myrinet/gm: node %d from %d on", id, nic.Loop().Now()))
	g.self, g.number = uint16(1+numbers.IntN(1<<16-1)), uint16(numbers.IntN(1<<16))
	before, restarted := port.NIC().(*Program)
	if restarted { // the host counts its programs, so that none is taken for one of those before
		g.self = max(1, before.self+1)
	}
	if !image.ITB && image.Transit != (transit.Options{}) {
		return nil, fmt.Errorf("gm: an image %+v: Transit is for in-transit support", image)
	}
	if err := image.Transit.Check(); err != nil {
		return nil, fmt.Errorf("gm: an image: %w", err)
	}
	g.transit.Init(image.Transit, port, &g.counts.Counts)
	if err := g.allocate(nodes); err != nil {
		return nil, fmt.Errorf("gm: node %d: %w", id, err)
	}
	g.step = steps{
		look: g.look, transit: g.forward, rearm: g.rearm, process: g.process, classify: g.classify, accept: g.acceptData,
		answered: g.answered, finished: g.transitEnds,
		token: g.takeToken, fragment: g.fetch, loaded: g.enqueue, choose: g.choose, choosing: g.pick, control: g.sendControl, send: g.sendFragment,
		free: g.free, store: g.startStore, stored: g.endStores, resend: g.resend,
	}
	handlers := [events]lanai.Handler{
		evEarly:  {Name: "Recv: early packet", Run: func() { g.spend(p.ITB.Early, g.step.look) }},
		evRecv:   {Name: "Recv: packet", Run: g.received},
		evSent:   {Name: "Send: sent", Run: func() { g.spend(p.Steps.Sent, g.step.free) }},
		evLoaded: {Name: "SDMA: loaded", Run: func() { g.spend(p.Steps.Loaded, g.step.loaded) }},
		evStore:  {Name: "RDMA: store", Run: g.store},
		evStored: {Name: "RDMA: stored", Run: func() { g.spend(p.Steps.Stored, g.step.stored) }},
		evSend:   {Name: "Send: send", Run: g.choose},
		evBell:   {Name: "SDMA: doorbell", Run: func() { g.spend(p.Steps.Token, g.step.token) }},
		evSDMA:   {Name: "SDMA: fetch", Run: g.mayFetch},
		evTimer:  {Name: "Send: time-out", Run: func() { g.spend(p.Steps.Resend, g.step.resend) }},
	}
	if err := nic.CPU.Load(handlers[:]); err != nil {
		return nil, err
	}
	g.arm()
	if restarted {
		before.stop()
	}
	port.Attach(g)
	return g, nil
}

// stop ends a program for another one. A packet that it is sending leaves as a whole.
func (g *Program) stop() {
	g.stopped = true
	g.nic.CPU.Halt()
	for _, c := range g.conns {
		if c != nil {
			c.timer.Stop()
			c.silence.Stop()
		}
	}
	if a := g.waiting; a != nil {
		g.waiting = nil
		a.Discard()
	}
}

// newNumber returns a number that no connection has been given, until all have been, and that is another one than but.
func (g *Program) newNumber(but uint16) uint16 {
	g.number++
	for g.number == 0 || g.number == but {
		g.number++
	}
	return g.number
}

// What entries of tables take of the SRAM.
const (
	connectionSize = 64
	sendTokenSize  = 24
	recvTokenSize  = 16
	doorbellSize   = 8
	chainBlocks    = 16
	mappingBuffers = 4 // for packets of the mapper that wait to be sent
)

// allocate takes the program's regions out of the SRAM.
func (g *Program) allocate(nodes int) (err error) {
	gm := &g.profile.GM
	packet := HeaderSize + gm.Route + gm.MTU
	g.packetSize = int(packet)
	tokens := lanai.Bytes(gm.Ports * (gm.Sends + gm.Accepts))
	reserve := func(name string, size lanai.Bytes) {
		if err == nil {
			err = g.nic.SRAM.Reserve(name, size)
		}
	}
	reserve("program", gm.Code)
	reserve("send queue", lanai.Bytes(gm.Queue)*packet)
	reserve("receive queue", lanai.Bytes(gm.Queue)*packet)
	reserve("mapper's queue", mappingBuffers*packet)
	reserve("in-transit pool", lanai.Bytes(g.image.Transit.Pool)*packet)
	reserve("routes", lanai.Bytes(nodes)*gm.Route)
	reserve("connections", lanai.Bytes(nodes)*connectionSize)
	reserve("tokens", lanai.Bytes(gm.Ports)*(lanai.Bytes(gm.Sends)*sendTokenSize+lanai.Bytes(gm.Accepts)*recvTokenSize))
	if err != nil {
		return err
	}
	if g.bells, err = g.nic.Doorbells(doorbellSize*gm.Ports, int(tokens), evBell); err != nil {
		return err
	}
	if g.rdma, err = g.nic.DMA.Open(rdmaChain, "RDMA", chainBlocks, evStored); err != nil {
		return err
	}
	g.sdma, err = g.nic.DMA.Open(sdmaChain, "SDMA", max(chainBlocks, gm.Queue), evLoaded)
	return err
}

func (g *Program) spend(n int, then func()) { g.nic.CPU.Spend(n, then) }

// Counts returns what the program has done so far.
func (g *Program) Counts() Counts { return g.counts }

// connection returns what the NIC keeps of a node.
func (g *Program) connection(node int) *connection {
	c := g.conns[node]
	if c == nil {
		c = &connection{p: g, node: node, session: 1}
		c.timer, c.silence = g.loop.NewTimer(c, lateTimer, 0), g.loop.NewTimer(c, silenceTimer, 0)
		g.conns[node] = c
	}
	return c
}

// report tells the host what has become of a message.
func (g *Program) report(t *sendToken, err error) {
	g.stores.Push(store{port: t.port, event: t.port.sentEvent(t.slot, err)})
	g.nic.CPU.Raise(evStore)
}
