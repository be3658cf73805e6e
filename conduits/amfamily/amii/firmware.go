package amii

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/netdma"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The events of the firmware, the one of the highest priority first.
const (
	evDone    lanai.Event = iota // the host DMA is through
	evRecv                       // a packet has come
	evSent                       // a packet has left
	evStart                      // something is to cross the host's bus
	evInject                     // a packet is ready to leave
	evService                    // a time of the protocol has come, or an acknowledgement is owed
	evSend                       // an endpoint has a packet to be sent
	events    = iota
)

// Program is the firmware of a NIC. It has one host DMA under way, as the engine of LANai 4 has registers for one.
type Program struct {
	loop    *vtime.Loop
	nic     *lanai.NIC
	net     *netdma.Engines
	profile *Profile
	memory  *memory
	id      int
	routes  [][]byte // by node
	counts  Counts
	driver  driver

	queues   []*queues          // of all endpoints
	numbered map[uint16]*queues // the same by their numbers
	nobody   *queues

	// Sending.
	turn    int // of the weighted round robin
	quota   int // packets left of the turn
	looked  int
	found   *queues
	buffers int                       // for packets on their way out that are free
	ready   fifo.Queue[fabric.Packet] // to leave
	due     fifo.Queue[*queues]

	// The host DMA.
	chain *lanai.DMAChain
	jobs  [jobKinds]fifo.Queue[job]
	job   job // under way
	works bool

	done incoming // the packet that the processor looks at

	step steps
}

// Counts is what a NIC and its driver have done so far.
type Counts struct {
	Sent       uint64 // packets
	Received   uint64 // packets that the protocol has looked at
	NoStaging  uint64 // fragments dropped, since the endpoint's staging area was full
	Absent     uint64 // packets dropped, since their endpoint was not resident
	Faults     uint64 // of processes that used an endpoint which was not resident
	Interrupts uint64 // by the NIC, for an endpoint that is not resident, or for a process that sleeps
	PagedIn    uint64 // endpoints
	PagedOut   uint64 // endpoints
	Corrupt    uint64 // packets whose CRC was wrong, or whose end was missing
	Foreign    uint64 // packets of others, dropped
	Malformed  uint64 // packets that no firmware sends
	NoRoute    uint64 // packets for nodes to which there is no route
}

// jobKind is what the host DMA is for. The first one comes first.
type jobKind uint8

const (
	storing  jobKind = iota // a payload that has come
	fetching                // a payload to be sent
	paging                  // a frame
	jobKinds
)

// job is something to cross the host's bus.
type job struct {
	kind  jobKind
	block lanai.Block
	in    incoming // of storing
	out   outgoing // of fetching
}

// incoming is a packet that has come.
type incoming struct {
	q        *queues
	node     int
	block    *am2.Block
	packet   []byte // as it came
	datagram []byte
	fragment bool
	kind     am2.Kind // of a fragment
	payload  int      // bytes by DMA
}

// steps are the continuations of handlers, made once.
type steps struct {
	made, inject, sent, classify, rearm, accept, start, done, service func()
}

// load puts the firmware into a NIC of a cluster of so many nodes.
func load(nic *lanai.NIC, port *fabric.Port, p *Profile, m *memory, id, nodes int) (*Program, error) {
	f := &Program{
		loop: nic.Loop(), nic: nic, profile: p, memory: m, id: id, routes: make([][]byte, nodes),
		numbered: map[uint16]*queues{}, buffers: p.AM2.Buffers,
	}
	f.driver = driver{program: f, free: p.AM2.Frames, random: f.loop.Rand(fmt.Sprintf("amii.driver of node %d", id))}
	fail := func(err error) (*Program, error) { return nil, fmt.Errorf("amii: node %d: %w", id, err) }
	packet := typeSize + p.AM2.Route + lanai.Bytes(p.config().Datagram)
	size := func(n int, each lanai.Bytes) lanai.Bytes { return lanai.Bytes(n) * each }
	for _, r := range []lanai.Region{
		{Name: "program", Size: p.AM2.Code},
		{Name: "endpoint frames", Size: size(p.AM2.Frames, p.AM2.Frame)},
		{Name: "receive buffers", Size: size(p.AM2.Buffers, packet)},
		{Name: "send buffers", Size: size(p.AM2.Buffers, packet)},
		{Name: "routes", Size: size(nodes, p.AM2.Route)},
		{Name: "channels", Size: size(nodes*p.AM2.Frames, p.AM2.Channel)},
	} {
		if err := nic.SRAM.Reserve(r.Name, r.Size); err != nil {
			return fail(err)
		}
	}
	var err error
	if f.net, err = netdma.New(nic, port, p.AM2.Buffers, evRecv, evSent); err != nil {
		return fail(err)
	}
	if f.chain, err = nic.DMA.Open(0, "host", 1, evDone); err != nil {
		return fail(err)
	}
	if f.nobody, err = newQueues(f, nil, 1); err != nil {
		return fail(err)
	}
	f.queues = append(f.queues, f.nobody)
	f.step = steps{
		made: f.made, inject: f.injectFirst, sent: f.free, classify: f.classify, rearm: f.rearm, accept: f.accept,
		start: f.startFirst, done: f.through, service: f.serviceFirst,
	}
	s := &p.Steps
	handlers := [events]lanai.Handler{
		evDone:    {Name: "host DMA done", Run: func() { f.spend(s.Done, f.step.done) }},
		evRecv:    {Name: "packet", Run: f.received},
		evSent:    {Name: "sent", Run: func() { f.spend(s.Sent, f.step.sent) }},
		evStart:   {Name: "host DMA", Run: f.start},
		evInject:  {Name: "inject", Run: f.inject},
		evService: {Name: "service", Run: func() { f.spend(s.Service, f.step.service) }},
		evSend:    {Name: "send", Run: f.send},
	}
	return f, nic.CPU.Load(handlers[:])
}

func (p *Program) spend(n int, then func()) { p.nic.CPU.Spend(n, then) }

// send looks for the endpoint whose turn it is, if there is a buffer for its packet.
func (p *Program) send() {
	if p.buffers == 0 {
		return // one that becomes free brings this event
	}
	p.looked = 0
	for range len(p.queues) + 1 {
		p.looked++
		if q := p.queues[p.turn]; p.quota > 0 && q.out.Len() > 0 {
			p.quota--
			p.found = q
			p.buffers--
			p.spend(p.looked*p.profile.Steps.Look+p.profile.Steps.Send, p.step.made)
			return
		}
		p.turn = (p.turn + 1) % len(p.queues)
		p.quota = p.queues[p.turn].weight
	}
}

// made has a packet leave, or have its payload fetched first.
func (p *Program) made() {
	o, _ := p.found.out.Pop()
	p.found.attend() // it may be paged out now
	if p.routes[o.node] == nil {
		p.counts.NoRoute++
		p.buffers++
	} else if o.host != nil {
		sram := o.bytes[len(o.bytes)-len(o.host):]
		p.enqueue(job{kind: fetching, block: lanai.Block{Direction: lanai.FromHost, Host: o.host, SRAM: sram}, out: o})
	} else {
		p.leave(o)
	}
	p.nic.CPU.Raise(evSend)
}

// leave has a packet wait for the link.
func (p *Program) leave(o outgoing) {
	p.ready.Push(fabric.Packet{Head: p.routes[o.node], Body: o.bytes})
	p.nic.CPU.Raise(evInject)
}

func (p *Program) inject() {
	if p.ready.Len() > 0 && p.net.Idle() {
		p.spend(p.profile.Steps.Inject, p.step.inject)
	}
}

func (p *Program) injectFirst() {
	packet, _ := p.ready.Pop()
	p.counts.Sent++
	p.net.Send(packet)
}

// free frees the buffer of a packet that has left.
func (p *Program) free() {
	p.net.Ended()
	p.buffers++
	p.nic.CPU.Raise(evInject)
	p.nic.CPU.Raise(evSend)
}

// serviceFirst has the protocol of an endpoint do what is due.
func (p *Program) serviceFirst() {
	q, _ := p.due.Pop()
	if p.due.Len() > 0 {
		p.nic.CPU.Raise(evService)
	}
	q.serving = false
	if q.place == resident {
		q.bundle.Service(q.Now())
		q.notify()
	}
	q.attend()
}

// enqueue has something cross the host's bus.
func (p *Program) enqueue(j job) {
	p.jobs[j.kind].Push(j)
	p.nic.CPU.Raise(evStart)
}

// start takes up what is to cross the bus next, if nothing does.
func (p *Program) start() {
	for k := 0; k < len(p.jobs) && !p.works; k++ {
		if j, ok := p.jobs[k].Pop(); ok {
			p.works, p.job = true, j
			p.spend(p.profile.Steps.Start, p.step.start)
		}
	}
}

func (p *Program) startFirst() {
	b := p.job.block
	b.Terminal, b.Signal = true, true
	err := p.chain.Append(b)
	if err == nil {
		err = p.chain.Start()
	}
	if err != nil {
		panic(err) // the chain has a block, and the job has bytes
	}
}

// through goes on with what has crossed the bus.
func (p *Program) through() {
	j := p.job
	p.works, p.job = false, job{}
	p.nic.CPU.Raise(evStart)
	switch j.kind {
	case storing:
		p.memory.put(j.block.Host)
		p.done = j.in
		p.spend(p.profile.Steps.Accept+p.profile.Steps.Fragment, p.step.accept)
	case fetching:
		p.memory.put(j.block.Host)
		p.leave(j.out)
	case paging:
		p.driver.moved()
	}
}
