package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// packet is a burst on its way from one node to another: a block that a CPU stored, a chunk of
// a DMA transfer, the request of a load, an interrupt. It is one packet on the links, or for
// DMA a train of some. It comes to one site after the other, is the target of its other events, and goes
// back into a pool at the end.
//
// With many hosts a packet is in no cache when it is served next. So it has three cache lines:
// what its way through the fabric needs, what becomes of it, and the bytes. What only few kinds
// need is elsewhere.
type packet struct {
	from, to *Node
	route    route      // what is left of its way, or of its answer's
	when     vtime.Time // it comes to the site that it is to be served at

	kind      kind
	outcome   Outcome
	parts     uint8      // how much of it goes on: its way and its answer's are one, its landing is another
	answering bool       // it is the answer that is on the way
	stage     uint8      // for which it comes to a site
	place     int16      // of a store in from.window
	length    vtime.Time // that it takes up a link
	acct      *Account   // of a store; may be nil
	dst       []byte     // of a write it is remote, of a read local
	size      int        // bytes on their way, in few or many
	next      *packet    // at the same site

	told     *vtime.Proc
	*special            // of all but stores
	behind   *packet    // waits for a buffer of the same adapter, or has crossed the bus
	lands    vtime.Time // in memory, of a write that has crossed the bus
	few      [8]byte    // so many bytes at most: of flags
	many     []byte
}

// special is what packets that no store has made have besides.
type special struct {
	queue *Queue // of a DMA chunk
	src   []byte // of a DMA chunk or a load; of a read it is remote

	word *uint32 // of a fetch-and-add, with what is added and what was there
	add  uint32
	old  uint32
	done bool // load and fetch-and-add: the proc may go on

	target vtime.Target // of an interrupt
	a, b   uint64
}

// carry has the packet take bytes along.
func (p *packet) carry(b []byte) {
	p.size = len(b)
	if len(b) <= len(p.few) {
		copy(p.few[:], b)
		return
	}
	p.many = append(p.many[:0], b...)
}

// data returns the bytes on their way.
func (p *packet) data() []byte {
	if p.size <= len(p.few) {
		return p.few[:p.size]
	}
	return p.many
}

// kind says what a packet is for.
type kind uint8

const (
	store     kind = iota // of the CPU
	dmaWrite              // a chunk from local to remote memory
	dmaRead               // a chunk from remote to local memory
	load                  // of the CPU
	fetchAdd              // of the CPU
	interrupt             // for the remote CPU
)

var kindNames = [...]string{"store", "DMA write", "DMA read", "load", "fetch-and-add", "interrupt"}

// reads tells whether data comes back with the answer.
func (k kind) reads() bool { return k == dmaRead || k == load || k == fetchAdd }

// isDMA tells whether the engine made the packet.
func (k kind) isDMA() bool { return k == dmaWrite || k == dmaRead }

// The stages of a packet. For the first six it comes to a site, and asks for a bus, a half of an adapter or a
// link; these serve in the order of arrival. The others are events of its own.
const (
	inject uint8 = iota // the burst is due on the local bus
	depart              // the adapter has it ready for the first link
	hop                 // its head, or its answer's, is at another link
	accept              // it is at a remote adapter to which there are two ways
	enter               // the receiving half has taken it in
	board               // it was first to wait for a buffer, and one is free

	fetch  // reads: the remote memory has given the data
	land   // the bytes are in the memory that they go to
	answer // reads and DMA: the answer is back, or will not come
)

var stageNames = [...]string{"inject", "depart", "hop", "accept", "enter", "board", "fetch", "land", "answer"}

// packet returns an idle packet.
func (m *Machine) packet(k kind, from, to *Node) *packet {
	var p *packet
	if last := len(m.idle) - 1; last >= 0 {
		p, m.idle = m.idle[last], m.idle[:last]
	} else {
		p = new(packet)
	}
	p.kind, p.from, p.to, p.parts = k, from, to, 1
	if from == to {
		from.inward++
		m.sites[from.site].plan() // what is before it there, see slack
	}
	if k == store {
		return p
	}
	if last := len(m.specials) - 1; last >= 0 {
		p.special, m.specials = m.specials[last], m.specials[:last]
	} else {
		p.special = new(special)
	}
	return p
}

// over says that one part of p is, and puts it back if that was the last.
func (p *packet) over() {
	if p.parts--; p.parts == 0 {
		p.recycle()
	}
}

// recycle puts p back when nothing is to come of it.
func (p *packet) recycle() {
	m := p.from.m
	if p.from == p.to {
		p.from.inward--
	}
	if p.special != nil {
		*p.special = special{}
		m.specials = append(m.specials, p.special)
	}
	*p = packet{many: p.many}
	m.idle = append(m.idle, p)
}

// Label implements vtime.Labelled.
func (p *packet) Label(stage, _ uint64) string {
	return fmt.Sprintf("%s %s %d to %d, %d B", kindNames[p.kind], stageNames[stage], p.from.id, p.to.id, p.bytes())
}

// serve has the packet take what it needs at the site that it has come to.
func (p *packet) serve() {
	switch p.stage {
	case inject:
		p.inject()
	case depart:
		p.depart()
	case hop:
		p.travel()
	case accept:
		p.accept()
	case enter:
		p.enter()
	case board:
		p.to.board(p.when)
	}
}

// Fire implements vtime.Target.
func (p *packet) Fire(stage, _ uint64) {
	switch uint8(stage) {
	case fetch:
		p.when = p.from.m.kernel.Now()
		p.from.m.sites[p.to.site].serve(p.when)
		p.to.Look()
		p.fetch()
	case land:
		p.land()
	case answer:
		p.when = p.from.m.kernel.Now()
		p.answered()
	}
}

func (p *packet) at(t vtime.Time, stage uint8) { p.from.m.kernel.At(t, p, uint64(stage), 0) }

// come has the packet come to the site of a node.
func (p *packet) come(n *Node, stage uint8, when vtime.Time) {
	p.from.m.sites[n.site].come(p, stage, when)
}

// reach has the packet come to the site from which the next link of its route leaves.
func (p *packet) reach(stage uint8, when vtime.Time) {
	p.from.m.sites[p.from.m.fabric.site(p.route.link())].come(p, stage, when)
}

// bytes is how many bytes the packet is to move.
func (p *packet) bytes() int {
	if p.kind.reads() {
		return len(p.src)
	}
	return p.size
}

// out and back are how many of them go with the request and with the answer.
func (p *packet) out() int {
	if p.kind.reads() {
		return 0
	}
	return p.size
}

func (p *packet) back() int {
	if p.kind.reads() {
		return len(p.src)
	}
	return 0
}

// packets returns how many packets n bytes of a packet's kind are cut into.
func (m *Machine) packets(k kind, n int) int {
	large := int(m.profile.Packet.Large)
	if !k.isDMA() || n <= large {
		return 1
	}
	return (n + large - 1) / large
}

// wire returns how many bytes n bytes of data take on a link, with headers and unused room.
func (m *Machine) wire(k kind, n int) int {
	s := &m.profile.Packet
	frame := int(s.Header + s.CRC)
	if n == 0 {
		return frame
	}
	for _, size := range [...]machine.Bytes{s.Small, s.Medium, s.Large} {
		if n <= int(size) {
			return frame + int(size)
		}
	}
	return m.packets(k, n) * (frame + int(s.Large))
}

// incoming returns how long n bytes occupy the bus of the host that they come to: each packet
// is a burst.
func (m *Machine) incoming(k kind, n int) vtime.Time {
	count := m.packets(k, n)
	bus := &m.profile.Bus
	return vtime.Time(count)*bus.WriteTime(0) + bus.WriteTime(n) - bus.WriteTime(0)
}

// cost is what a burst asks of the machine on the way to its target.
type cost struct {
	packets  int        // that it is cut into
	outgoing vtime.Time // across the bus of the host that it comes from
	length   vtime.Time // that it takes up a link
	incoming vtime.Time // across the bus of the host that it comes to
}

// cost returns what n bytes cost that go with a request.
func (m *Machine) cost(k kind, n int) cost {
	outgoing := m.profile.Bus.WriteTime(n)
	if k == dmaWrite {
		outgoing = m.profile.Memory.Read + m.profile.Bus.ReadTime(n)
	}
	return cost{m.packets(k, n), outgoing, m.profile.Link.Rate.Time(m.wire(k, n)), m.incoming(k, n)}
}

// cost returns what the packet costs; the answer is valid until the next call.
func (p *packet) cost() *cost {
	m := p.from.m
	if p.kind == store {
		return &m.stores[p.size]
	}
	m.other = m.cost(p.kind, p.out())
	return &m.other
}

// inject takes the burst across the local bus and through the adapter.
func (p *packet) inject() {
	n, c := p.from, p.cost()
	m := n.m
	n.counts.Bursts++
	crossed := n.bus.Use(p.when, c.outgoing)
	if p.kind.isDMA() {
		p.queue.chain.Sent(crossed)
	}
	if p.from == p.to { // past the adapter
		p.come(n, enter, crossed)
		return
	}
	n.counts.Packets += int64(c.packets)
	ready := n.sending.Use(crossed, vtime.Time(c.packets)*m.profile.Adapter.Send)
	p.route = m.fabric.request(n.spot, p.to.spot)
	p.length = c.length
	p.come(n, depart, ready+m.profile.Adapter.Forward)
}

// injectNow is inject at the kernel's time, of what was not known before: it comes last.
func (p *packet) injectNow() {
	p.when = p.from.m.kernel.Now()
	p.from.m.look(p.from.site)
	p.inject()
}

// depart sends the burst along the links.
func (p *packet) depart() {
	if p.from.lost {
		p.fail(Dead)
		return
	}
	p.travel()
}

// travel has the next link of the route carry the packet as soon as it is free. The head goes
// on to the link after that before the rest has come (cut-through).
func (p *packet) travel() {
	m := p.from.m
	l := &m.fabric.links[p.route.link()]
	if l.cut {
		p.fail(Dead)
		return
	}
	_, tail := l.Carry(p.when, p.length)
	tail += m.profile.Link.Hop
	head := tail - p.length
	switch more, turn := p.route.step(); {
	case turn:
		p.reach(hop, head+m.fabric.turn)
	case more:
		p.reach(hop, head)
	case p.answering:
		p.conclude(tail+m.profile.Adapter.Answer, p.outcome)
	case m.fabric.oneWayIn(): // nothing else comes to the adapter before
		p.when = tail + m.profile.Adapter.Accept
		p.accept()
	default:
		p.come(p.to, accept, tail+m.profile.Adapter.Accept)
	}
}

// accept takes the burst into the remote adapter, where it may meet an error.
func (p *packet) accept() {
	m := p.from.m
	// The driver takes care of interrupts itself. Stores that nobody watches are flags, which
	// no program could repeat: the adapters do that, at no cost here.
	fallible := m.fallible && p.kind != interrupt && (p.kind != store || p.acct != nil)
	if fallible && p.to.strikes(m.profile.Error.Lost) {
		p.from.counts.Dropped++
		if p.to.strikes(machine.Certain / 2) {
			p.fail(Unknown)
			return
		}
		p.outcome = Unknown // its answer is to be lost
	}
	if fallible && p.outcome == Delivered && p.to.strikes(m.profile.Error.Busy) {
		p.from.counts.Refused++
		p.outcome = Busy
	}
	work := vtime.Time(p.cost().packets) * m.profile.Adapter.Receive
	p.come(p.to, enter, p.to.receives.Use(p.when, work))
}

// enter finds the burst a buffer in the remote adapter, unless it is refused.
func (p *packet) enter() {
	switch {
	case p.to.lost:
		p.fail(Dead)
	case p.outcome == Busy:
		p.reply(p.from.m.bare)
	default:
		p.to.admit(p)
	}
}

// cross takes the burst, which has a buffer, across the bus of the remote host, and returns
// when the buffer is free again. A write is answered as soon as it has the buffer.
func (p *packet) cross() (free vtime.Time) {
	m, n := p.from.m, p.to
	now := p.when
	switch {
	case n.lost: // while the burst waited
		p.fail(Dead)
		return now
	case p.kind.reads():
		free = n.bus.Use(now, m.profile.Memory.Read+m.profile.Bus.ReadTime(p.back()))
		p.at(max(free, n.landed), fetch) // reads push writes ahead of them
		return free
	}
	free = n.bus.Use(now, p.cost().incoming)
	if p.kind == interrupt {
		n.Expect()
		p.at(free+m.profile.Interrupt.Latency, land)
		return free
	}
	p.parts++
	n.landed = free + m.profile.Memory.Visible
	n.land(p)
	p.reply(m.bare)
	return free
}

// fetch reads the remote memory and sends the data back.
func (p *packet) fetch() {
	if p.kind == fetchAdd {
		p.old = *p.word
		*p.word += p.add
	} else {
		p.carry(p.src)
	}
	m := p.from.m
	p.reply(m.profile.Link.Rate.Time(m.wire(p.kind, p.back())))
}

// reply sends the answer, which takes up a link for length.
func (p *packet) reply(length vtime.Time) {
	switch {
	case p.outcome == Unknown:
		p.fail(Unknown)
	case p.from == p.to:
		p.conclude(p.when, p.outcome)
	default:
		p.route = p.from.m.fabric.answer(p.from.spot, p.to.spot)
		p.length = length
		p.answering = true
		p.travel()
	}
}

// fail says that no answer will come, which is known when it is overdue.
func (p *packet) fail(o Outcome) {
	if p.kind == interrupt {
		p.over()
		return
	}
	p.conclude(p.when+p.from.m.profile.Error.Timeout, o)
}

// conclude says when it is known how the packet fared. The CPU that stored takes that time
// from its window and the account; for all others it is an event.
func (p *packet) conclude(at vtime.Time, o Outcome) {
	p.outcome = o
	if p.kind != store {
		p.at(at, answer)
		return
	}
	if a := p.acct; a != nil && a.last == p {
		if a.last = nil; a.open > 1 { // it has failed before those before it were answered
			p.from.await()
		}
	}
	p.from.settle(int(p.place), at, o, p.acct)
	p.over()
}

// answered ends a load, or a part of a DMA transfer.
func (p *packet) answered() {
	switch {
	case p.kind == load || p.kind == fetchAdd:
		p.done = true
		p.from.proc.Arrive()
	case p.kind == dmaRead && p.outcome == Delivered:
		m, n := p.from.m, p.from
		m.sites[n.site].serve(p.when)
		crossed := n.bus.Use(p.when, m.incoming(p.kind, p.back()))
		p.at(crossed+m.profile.Memory.Visible, land)
	default:
		p.queue.answered(p.outcome)
		p.over()
	}
}

// land has an interrupt come, or puts the bytes of a read where they go.
func (p *packet) land() {
	if p.kind == interrupt {
		p.to.Came()
		if p.to.Look(); !p.to.lost {
			p.target.Fire(p.a, p.b)
		}
	} else {
		p.from.Look()
		p.put(p.from)
		p.queue.answered(p.outcome)
	}
	p.over()
}

// put stores the bytes in the memory of a node.
func (p *packet) put(n *Node) {
	if n.lost {
		return
	}
	p.from.counts.Bytes += int64(copy(p.dst, p.data()))
	switch {
	case p.told == nil:
	case p.told == n.proc && n.deaf():
		p.told.Arrivals++
	default:
		p.told.Arrive()
	}
}
