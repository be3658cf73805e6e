package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/sparse"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Image is a version of the firmware. The zero value is GRIM as it was in the end; the others are what it is compared with.
// All NICs of a cluster have one image.
type Image struct {
	Queue Organisation // of channels
	// PerNI numbers all messages from an NI to another together. Without it each pair of channels has numbers of its own.
	PerNI bool
	// NoControlQueue has an NI refuse input while a control message waits for the link, which others queue.
	NoControlQueue bool
	// TimeOuts has messages sent again that are not acknowledged for grim.resend: for networks that lose packets, or in-transit hosts.
	// Without it the firmware has no timers.
	TimeOuts bool
	// ITB has the firmware send packets in transit on. They come first, before control messages. Routes may then have several legs; those
	// of NewCluster are shortest ways.
	ITB bool
	// Pool is how many buffers there are for packets in transit, besides the two of grim.buffers. A packet that finds none and cannot leave at
	// once is dropped if there are TimeOuts. Without them it holds a buffer of the others, and the network when there is none: such
	// NIs can wait for each other for ever.
	Pool int
	// Multicast is how many buffers there are for multicast messages that an NI has taken in and sends on.
	Multicast int
	// Incoming gives half of each channel's queue to messages that have come and that the endpoint has no room for. Such are refused otherwise. It is for
	// queues that append.
	Incoming bool
	// UnlimitedSRAM has the NIC have as much SRAM as the channels and the arrays need. Results with it are of no NIC that there was.
	UnlimitedSRAM bool
}

// unlimited is the SRAM that Image.UnlimitedSRAM gives a NIC.
const unlimited = 1 << 40

// The events of the firmware, the one of the highest priority first. What ends the use of a receive buffer, or a wait for the host, comes before packets: else an NI that has to refuse
// packets until then, which come again without a pause, would refuse them forever.
const (
	evEarly      lanai.Event = iota // the first bytes of a packet have come
	evTranslated                    // the host has answered a miss of the translation cache
	evStored                        // a message is in the host's memory
	evIncoming                      // an endpoint may have room for messages of its incoming queue
	evRecv                          // a packet has come
	evSent                          // a packet has left
	evLoaded                        // a payload has come from the host
	evScan                          // a channel may have something to be sent
	evLate                          // a time-out, or what the host says of a silent peer
	events       = iota
)

// The host DMA engine's chains: what goes to the host comes first, since it frees buffers.
const (
	storeChain = 1
	loadChain  = 2
)

// Counts is what the firmware of a NIC has done so far.
type Counts struct {
	Sent       uint64 // messages, those that were sent again included
	Resent     uint64 // of them
	Received   uint64 // messages that were accepted
	ACKs       uint64 // sent
	NACKs      uint64 // sent
	Rollbacks  uint64 // NACKs that have come
	Refused    uint64 // messages for which an endpoint had no room; each was NACKed
	Dropped    uint64 // messages that came behind a refused one
	Gap        uint64 // messages that came out of order without that: the network has lost or reordered what was before them
	Queued     uint64 // control messages that had to wait for the link
	MostQueued int    // of them at once
	PutOff     uint64 // messages refused because the queue of control messages was full
	NoEndpoint uint64 // messages to channels without an endpoint: acknowledged, and dropped
	Foreign    uint64 // packets of others, dropped
	Stray      uint64 // packets for other NIs, or with bytes of a route left
	Malformed  uint64 // packets that no NI sends
	Corrupt    uint64 // packets whose CRC was wrong
	Truncated  uint64 // or whose end was missing
	Unknown    uint64 // control messages and replies that belong to nothing

	Unregistered uint64 // messages that name memory that is not registered: DENY was the answer, and nothing was written
	Misses       uint64 // of the translation cache: interrupts of the host
	Held         uint64 // packets that had to wait in the network for a receive buffer
	Scans        uint64 // scans of the channels that found a message
	Looked       uint64 // channels that these have looked at
	Incoming     uint64 // messages that had to wait in incoming queues
	Forwarded    uint64 // messages of others that were sent on along trees
	TimeOuts     uint64 // of messages
	Duplicate    uint64 // messages that had been accepted before
	Abandoned    uint64 // messages to hosts that were given up
	NoRoute      uint64 // packets that did not leave, as there was no route any more

	transit.Counts // packets in transit

	Scanning vtime.Time // that they have taken, without the dispatcher
}

// Program is the firmware of a NIC. Its parts are in files of their own: send.go, receive.go, channel.go, transit.go, timeout.go.
type Program struct {
	loop    *vtime.Loop
	nic     *lanai.NIC
	port    transit.Port
	paced   *fabric.Port // the port, of a program with a hybrid queue: its packets are sent in two parts
	profile *Profile
	image   Image
	id      int
	nodes   int
	counts  Counts

	routes     sparse.Table[routeEntry] // by node
	router     func(node int) ([][]byte, error)
	channels   []channel
	flows      sparse.Table[flow]   // see flowIndex
	inflows    sparse.Table[inflow] // likewise
	scoreboard [tokens]*message

	load, store *lanai.DMAChain
	timeOuts    *timeOuts           // nil: none
	trees       [MaxTrees + 1]*tree // by number
	forwarder   *channel            // nil: none
	forwards    int                 // buffers of Image.Multicast that are free
	loading     fifo.Queue[loading] // payloads on their way from the host
	promised    int                 // blocks of load that the host is about to append
	ordered     uint64              // that it has appended so far
	stores      fifo.Queue[store]
	deposited   uint64 // blocks of store so far

	// Sending.
	busy       bool   // the send DMA is programmed
	borrowed   []byte // what it sends, of a control message or a reply
	controls   fifo.Queue[control]
	late       fifo.Queue[control] // NACKs that are owed: one for each incoming flow at most
	controlled bool                // a control message was sent last
	capacity   int                 // of controls
	at         int                 // the channel at which the next scan begins
	found      *channel            // by the scan under way
	leaving    *message            // that is about to be sent
	mark       idleMark            // when the last scan was
	sending    *fabric.Sending     // of a hybrid queue
	headGone   bool                // its header has left
	rest       int                 // bytes of its payload

	// Receiving.
	room    int // receive buffers that are free
	armed   bool
	current *transit.Buffer // what the receive DMA takes in
	done    *transit.Buffer // what the processor looks at
	spare   *transit.Buffer // records that nobody looks at any more
	transit transit.Transit
	blocked *fabric.Arrival // in the network, for a receive buffer
	header  Header
	control Control
	answer  control
	target  *Endpoint // of the message that has been accepted

	// Remote memory.
	host      *Host
	cache     cache
	operation Operation         // that the packet asks for
	task      *task             // that the processor works at
	misses    fifo.Queue[*task] // that wait for the host, which has been asked for the first
	replies   fifo.Queue[*task] // that are to be sent
	replying  bool              // one is leaving
	held      int               // receive buffers that replies have, and tasks that wait
	owed      int               // control messages for what has been accepted, that are not made yet

	slab    *slab
	blocks  []lanai.Block // of the payload that is written, to be used again
	signal  [word]byte    // a word that is moved so that something else happens
	step    steps
	observe func(Step, uint8, uint8)
}

// Step is what the firmware does with a message, for people who want to see it.
type Step uint8

// The steps. The first two, Acknowledged and RolledBack are the sending NI's, the others the receiving one's.
const (
	Sends        Step = iota
	SendsAgain        // after a rollback
	Accepts           // and sends an ACK
	Refuses           // as the endpoint has no room, and sends a NACK
	Drops             // what came behind a refused message
	Acknowledged      // an ACK has come
	RolledBack        // a NACK has come
)

var stepNames = [...]string{"sends", "sends again", "accepts", "refuses", "drops", "acknowledged", "rolled back"}

// String returns the name of the step.
func (s Step) String() string { return stepNames[s] }

// note tells the observer of a step of a message, by its header.
func (p *Program) note(s Step, sequence, token uint8) {
	if p.observe != nil {
		p.observe(s, sequence, token)
	}
}

// loading is a message whose payload is there when so many blocks have been carried out.
type loading struct {
	message *message
	end     uint64
}

// control is a control message that is to be sent.
type control struct {
	node    int
	message Control
}

// steps are the continuations of handlers, made once.
type steps struct {
	rearm, classify, accept, answered, store, respond, refuse, stored, loaded, sent, found, transmit, await, second, control, rolled func()

	look, forward, transitEnds, next, late, fork, drain     func()
	translate, committed, denied, written, reply, installed func()
}

// load puts the firmware into a NIC.
func load(nic *lanai.NIC, port transit.Port, p *Profile, image Image, id, nodes int) (*Program, error) {
	g := &p.GRIM
	f := &Program{
		loop: nic.Loop(), nic: nic, port: port, profile: p, image: image, id: id, nodes: nodes,
		channels: make([]channel, g.Channels), room: g.Buffers, capacity: g.Controls, cache: newCache(p), slab: new(slab),
	}
	if nodes*g.Channels > 1<<16 {
		return nil, fmt.Errorf("grim: %d hosts with %d channels each (grim.channels); a header can name %d endpoints", nodes, g.Channels, 1<<16)
	}
	if image.NoControlQueue {
		f.capacity = 1
	}
	if err := f.allocate(); err != nil {
		return nil, fmt.Errorf("grim: host %d: %w", id, err)
	}
	if image.Pool < 0 || image.Pool > 0 && !image.ITB {
		return nil, fmt.Errorf("grim: a pool of %d buffers (Image.Pool), with in-transit support %v", image.Pool, image.ITB)
	}
	if f.forwards = image.Multicast; f.forwards < 0 {
		return nil, fmt.Errorf("grim: %d buffers for multicast messages (Image.Multicast)", f.forwards)
	}
	f.transit.Init(transit.Options{Pool: image.Pool, Drop: image.TimeOuts}, port, &f.counts.Counts)
	if image.TimeOuts {
		f.timeOuts = newTimeOuts(f)
	}
	f.routes.Init(nodes)
	f.flows.Init(f.flowCount())
	f.inflows.Init(f.flowCount())
	f.step = steps{
		rearm: f.rearm, classify: f.classify, accept: f.accept, answered: f.answered, store: f.startStore, respond: f.respond, refuse: f.refuse, stored: f.endStore, loaded: f.endLoad,
		sent: f.free, found: f.foundOne, transmit: f.transmit, await: f.await, second: f.second, control: f.sendControl, rolled: func() {},
		translate: f.translate, committed: f.committed, denied: f.denied, written: f.written, reply: f.reply, installed: f.installed,
		look: f.look, forward: f.forward, transitEnds: f.transitEnds, next: f.sendNext, late: f.resendLate, fork: f.fork, drain: f.drain,
	}
	s := &p.Steps
	handlers := [events]lanai.Handler{
		evEarly:      {Name: "early packet", Run: func() { f.spend(p.ITB.Early, f.step.look) }},
		evRecv:       {Name: "packet", Run: f.received},
		evSent:       {Name: "sent", Run: func() { f.spend(s.Sent, f.step.sent) }},
		evStored:     {Name: "stored", Run: func() { f.spend(s.Stored, f.step.stored) }},
		evLoaded:     {Name: "loaded", Run: func() { f.spend(s.Loaded, f.step.loaded) }},
		evScan:       {Name: "scan", Run: f.scan},
		evIncoming:   {Name: "incoming", Run: func() { f.spend(s.Store, f.step.drain) }},
		evLate:       {Name: "time-out", Run: func() { f.spend(s.Late, f.step.late) }},
		evTranslated: {Name: "translated", Run: f.translated},
	}
	if err := nic.CPU.Load(handlers[:]); err != nil {
		return nil, err
	}
	f.arm()
	port.Attach(f)
	return f, nil
}

// What entries of tables take of the SRAM, in bytes.
const (
	scoreSize    = 16 // address, length, destination and state of a message
	registerSize = 32 // of a channel: front, back, next, and the endpoint's
)

// allocate takes the firmware's regions out of the SRAM.
func (p *Program) allocate() (err error) {
	g := &p.profile.GRIM
	size := func(n int, each lanai.Bytes) lanai.Bytes { return lanai.Bytes(n) * each }
	q, err := newQueue(p.image, p.profile)
	if err != nil {
		return err
	}
	buffer, pooled, sequencing := lanai.Bytes(HeaderSize+MaxPayload), HeaderSize+lanai.Bytes(q.most())+g.Route, lanai.Bytes(flowSize+inflowSize)
	if p.image.ITB {
		buffer += g.Route
	}
	if p.image.TimeOuts {
		sequencing += trackSize
	}
	for _, r := range []lanai.Region{
		{Name: "program", Size: g.Code},
		{Name: "receive buffers", Size: size(g.Buffers, buffer)},
		{Name: "in-transit pool", Size: size(p.image.Pool, pooled)},
		{Name: "multicast buffers", Size: size(p.image.Multicast, pooled)},
		{Name: "queues", Size: size(g.Channels, g.Queue)},
		{Name: "registers", Size: size(g.Channels, registerSize)},
		{Name: "scoreboard", Size: tokens * scoreSize},
		{Name: "control messages", Size: size(g.Controls, ControlSize)},
		{Name: "routes", Size: size(p.nodes, g.Route)},
		{Name: "translation cache", Size: size(g.Static, staticSize) + size(g.Runtime, lanai.Bytes(runtimeSize+addressSize*g.Pages))},
		{Name: "sequencing", Size: size(p.flowCount(), sequencing)},
	} {
		if err := p.nic.SRAM.Reserve(r.Name, r.Size); err != nil {
			return err
		}
	}
	if p.store, err = p.nic.DMA.Open(storeChain, "store", p.profile.storeBlocks(), evStored); err != nil {
		return err
	}
	// A block for each payload that is fetched and that the queues have room for, and those of one of remote memory at least.
	blocks := max(g.Channels*(int(g.Queue)/(HeaderSize+int(g.PIO)+1)+1), MaxPayload/int(g.Page)+3)
	p.load, err = p.nic.DMA.Open(loadChain, "load", blocks, evLoaded)
	return err
}

// loads tells whether the chain of payloads from the host has room for so many blocks.
func (p *Program) loads(blocks int) bool { return p.load.Room()-p.promised >= blocks }

func (p *Program) spend(n int, then func()) { p.nic.CPU.Spend(n, then) }

// pair is what the look-up of a flow takes more with any-to-any sequencing.
func (p *Program) pair() int {
	if p.image.PerNI {
		return 0
	}
	return p.profile.Steps.Sequence
}

// Reset implements fabric.NIC. The port has called Tail for what there was.
func (p *Program) Reset(*fabric.Port) {}
