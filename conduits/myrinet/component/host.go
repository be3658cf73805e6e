package component

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// host is what the library keeps.
type host struct {
	cpu      vtime.Resource
	target   vtime.Target // of the library's events
	handlers map[uint16]func(*Message)

	turns    fifo.Queue[*address] // that have a message to be cut; the first one's is
	driving  bool                 // a frame is being made
	blocked  bool                 // a structure of the NIC is full
	pending  int                  // messages that are not done
	numbered uint16
	finished fifo.Queue[*message] // that the program is to be told of
	unused   []*message

	seen    int  // entries of the Rx FIFO Queue that have not been looked at
	hosting bool // an entry is being looked at
	entry   entry
	copying vtime.Time // when the copy began
	tags    uint32     // of frames in the staging buffer, so far
	spare   []*Message

	releaser func(*Message) // the point-cut Released
}

// message is a message on its way out.
type message struct {
	kind   Kind
	port   uint16
	data   []byte
	done   func(error)
	err    error
	number uint16
	mtu    int
	offset int // of what has not been handed to the NIC
	index  int
	frames int  // in the Send Ring
	begun  bool // its turn has come
	handed bool // all of it has been handed to the NIC

	long   bool       // Adaptive: it is worth a rendezvous
	asks   bool       // Rendezvous: the next frame asks for a buffer
	asked  vtime.Time // Rendezvous: when
	buffer uint32     // Rendezvous: that has been granted
}

// address is whom messages are for: a node, or a group. Messages to one address leave in order.
type address struct {
	peer     *peer // nil: a group
	group    int   // from 1 on
	messages fifo.Queue[*message]
	queued   bool // in host.turns
	waits    bool // Rendezvous: the first message has asked for a buffer
}

// hostSide has the library's events.
type hostSide[S any] Component[S]

// The library's events.
const (
	frameMade   uint64 = iota // a frame is ready to be written to the NIC
	roomSeen                  // a structure of the NIC has room again
	messageDone               // a message is done
	entrySeen                 // there is an entry of the Rx FIFO Queue
	entryFound                // the library looks at it
	entryRead                 // it has crossed the bus
	frameTaken                // the frame has been copied, or need not be
	nodeDead                  // a node does not answer
)

var hostEvents = [...]string{"frame made", "room seen", "message done", "entry seen", "entry found", "entry read", "frame taken", "node dead"}

// Label implements vtime.Labelled.
func (e *hostSide[S]) Label(_, what uint64) string {
	return fmt.Sprintf("component %d: %s", e.self, hostEvents[what])
}

// Fire implements vtime.Target.
func (e *hostSide[S]) Fire(a, what uint64) {
	c := (*Component[S])(e)
	switch what {
	case frameMade:
		c.write()
	case roomSeen:
		c.drive()
	case messageDone:
		c.end()
	case entrySeen:
		c.seen++
		c.look()
	case entryFound:
		n := c.nic.Bus.Use(c.loop.Now(), c.profile.Bus.ReadTime(entrySize))
		c.loop.At(n, e, 0, entryRead)
	case entryRead:
		c.read()
	case frameTaken:
		c.process(&c.entry)
		c.hosting = false
		c.look()
	case nodeDead:
		if to := c.peers[a].own; to.messages.Len() > 0 {
			to.waits = false
			c.queueAddress(to)
		}
		c.drive()
	}
}

// Compute has the host's processor busy for a time, as a program that does not communicate has it. What the library has to do
// waits.
func (c *Baseline) Compute(d vtime.Time) { c.cpu.Use(c.loop.Now(), d) }

// Send sends a message to a port of a node. The bytes must not be changed before done is called: with nil when they have left,
// or have been acknowledged with Reliability, or with the reason why nobody knows whether they have arrived. done may be nil.
// Messages to one node arrive in the order of the calls, if they arrive. Send fails, and does nothing, with ErrNoRoute,
// ErrUnreachable, ErrNoRoom, or for arguments that make no sense. It does not block, and handlers may call it.
func (c *Component[S]) Send(node, port int, data []byte, done func(error)) error {
	return c.sendKind(Data, node, port, data, done)
}

func (c *Component[S]) sendKind(kind Kind, node, port int, data []byte, done func(error)) error {
	if node < 0 || node >= len(c.peers) || node == c.self {
		return fmt.Errorf("component: a message of node %d to node %d, of %d", c.self, node, len(c.peers))
	}
	p := c.peers[node]
	switch {
	case c.routes[node] == nil:
		return ErrNoRoute
	case has[S](Reliability) && p.dead:
		return ErrUnreachable
	}
	return c.hand(p.own, kind, port, data, done)
}

// maxMessage is the size of the largest message: a frame's index has 16 bits.
func (c *Component[S]) maxMessage() int {
	if has[S](MTU) {
		return minMTU << 16
	}
	return c.traits.MTU << 16
}

// hand takes a message over.
func (c *Component[S]) hand(to *address, kind Kind, port int, data []byte, done func(error)) error {
	switch {
	case port < 0 || port >= 1<<16:
		return fmt.Errorf("component: a message to port %d; there are 0 to %d", port, 1<<16-1)
	case len(data) > c.maxMessage():
		return fmt.Errorf("component: a message of %d B; the largest has %d", len(data), c.maxMessage())
	case c.pending == c.traits.Messages:
		return ErrNoRoom
	}
	var m *message
	if n := len(c.unused) - 1; n >= 0 {
		m, c.unused = c.unused[n], c.unused[:n]
	} else {
		m = new(message)
	}
	c.pending++
	c.numbered++
	*m = message{kind: kind, port: uint16(port), data: data, done: done, number: c.numbered, mtu: c.traits.MTU}
	to.messages.Push(m)
	c.queueAddress(to)
	c.drive()
	return nil
}

func (c *Component[S]) queueAddress(to *address) {
	if !to.queued && !(has[S](Rendezvous) && to.waits) {
		to.queued = true
		c.turns.Push(to)
	}
}

// drive has the processor make the next frame, if there is one and room for it.
func (c *Component[S]) drive() {
	if c.driving || c.turns.Len() == 0 {
		return
	}
	to := *c.turns.At(0)
	m := *to.messages.At(0)
	if has[S](Reliability) && to.peer != nil && to.peer.dead {
		m.err, m.handed = ErrUnreachable, true
		c.next(to)
		c.mayEnd(m)
		c.drive()
		return
	}
	take := c.profile.Host.Frame
	if !m.begun {
		m.begun = true
		take += c.profile.Host.Message
		if has[S](Adaptive) {
			take += c.profile.Host.Choose
		}
		if has[S](atHanded) {
			c.handed(m, to)
		}
	}
	if c.sendRing.room() == 0 || c.bells.Room() == 0 || c.tx.Room() == 0 {
		c.blocked = true
		return
	}
	c.driving = true
	c.loop.At(c.cpu.Use(c.loop.Now(), take), c.target, 0, frameMade)
}

// unblock has the library go on when it sees that a structure of the NIC has room again.
func (c *Baseline) unblock() {
	if c.blocked {
		c.blocked = false
		c.loop.At(c.loop.Now()+c.profile.Host.Visible, c.target, 0, roomSeen)
	}
}

// write writes a frame to the NIC: header and small payload by the processor, or a control block of the host DMA for a large
// one. Then it rings the doorbell.
func (c *Component[S]) write() {
	c.driving = false
	to := *c.turns.At(0)
	m := *to.messages.At(0)
	size := min(m.mtu, len(m.data)-m.offset)
	asks := has[S](Rendezvous) && m.asks
	if asks {
		size = 0
	}
	s := &c.slots[c.sendRing.take()]
	s.to, s.message, s.loaded, s.large = to, m, true, size > c.traits.Small
	s.header = Header{
		Kind: m.kind, Source: uint16(c.self), Port: m.port, Message: m.number, Index: uint16(m.index), Length: uint16(size),
		Total: uint32(len(m.data)), Buffer: m.buffer, Group: uint16(to.group),
	}
	if has[S](MTU) && m.kind == Data {
		s.header.MTU = uint32(m.mtu)
	}
	m.frames++
	data := m.data[m.offset : m.offset+size]
	if s.large {
		s.loaded = false
		c.nic.HostWrite(c.header, nil, 0, 0)
		c.nic.HostWrite(lanai.BlockSize, nil, 0, 0)
		if err := c.tx.Append(lanai.Block{Direction: lanai.FromHost, Host: data, SRAM: s.bytes[:size], Terminal: true, Signal: true}); err != nil {
			panic(err) // there is room
		}
		c.fetched++
		s.fetched = c.fetched
	} else {
		c.nic.HostWrite(c.header+size, nil, 0, 0)
		c.counts.HostToNIC += uint64(copy(s.bytes, data))
	}
	if err := c.bells.Write(0, uint64(s.index)); err != nil {
		panic(err) // there is room
	}
	m.offset += size
	m.index++
	switch {
	case asks:
		s.header.Kind, s.header.Index = Request, 0
		m.asks, m.index, m.asked = false, 0, c.loop.Now()
		to.waits = true
		c.counts.Requests++
		c.turns.Drop()
		to.queued = false
	case m.offset == len(m.data):
		m.handed = true
		c.next(to)
	}
	c.drive()
}

// next goes on to the next message.
func (c *Component[S]) next(to *address) {
	to.messages.Drop()
	c.turns.Drop()
	to.queued = false
	if to.messages.Len() > 0 {
		c.queueAddress(to)
	}
}

// mayEnd tells the program of a message when nothing of it is left in the NIC.
func (c *Baseline) mayEnd(m *message) {
	if m.handed && m.frames == 0 {
		c.finished.Push(m)
		c.loop.At(c.loop.Now()+c.profile.Host.Visible, c.target, 0, messageDone)
	}
}

func (c *Baseline) end() {
	m, _ := c.finished.Pop()
	done, err := m.done, m.err
	*m = message{}
	c.unused = append(c.unused, m)
	c.pending--
	if done != nil {
		done(err)
	}
}

// Handle has f called for each message to a port, by an event; nil ends that. The message is f's until it returns, or until
// Release after Keep.
func (c *Baseline) Handle(port int, f func(*Message)) error {
	if port < 0 || port >= 1<<16 {
		return fmt.Errorf("component: port %d; there are 0 to %d", port, 1<<16-1)
	}
	if f == nil {
		delete(c.handlers, uint16(port))
	} else {
		c.handlers[uint16(port)] = f
	}
	return nil
}

// look has the processor look at the next entry of the Rx FIFO Queue.
func (c *Baseline) look() {
	if !c.hosting && c.seen > 0 {
		c.hosting = true
		c.seen--
		c.loop.At(c.cpu.Use(c.loop.Now(), c.profile.Host.Receive), c.target, 0, entryFound)
	}
}

// read takes the entry, so that the Rx FIFO Queue has room for another one, and has its frame copied if that is staged.
func (c *Component[S]) read() {
	c.entry, _ = c.entries.Pop()
	c.used--
	c.nic.CPU.Raise(evStore)
	now := c.loop.Now()
	if has[S](Adaptive) {
		c.copying = now
	}
	if c.entry.place >= 0 && !(has[S](Credits) && c.lends(&c.entry.header)) {
		now = c.cpu.Use(now, c.profile.Host.Copy.Time(int(c.entry.header.Length)))
	}
	c.loop.At(now, c.target, 0, frameTaken)
}
