package grim

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// tokens is how many messages an NI can have sent that are not acknowledged. A token has 8 bits, and one value less keeps
// sequence numbers of 8 bits from meeting themselves.
const tokens = 255

// state is that of a message in a queue.
type state uint8

const (
	unused  state = iota // the scoreboard's entry is free
	notSent              // or it is to be sent again
	sent                 // and not acknowledged
	acknowledged
)

// message is a message in a channel's queue.
type message struct {
	bytes  []byte // header, payload and padding; not changed any more when it has been sent
	to     EndpointID
	loaded bool // its payload is there
	state  state
	named  bool // it has a token and a sequence number
	again  bool // it has been sent before
	flow   *flow
	branch *branching // of a forwarder; nil: of an endpoint
	track  *track     // with time-outs: the flow's
	late   vtime.Time // with time-outs: when its answer is, once the last byte has left
	index  uint64     // of all messages of the channel

	fetch     [][]byte   // host memory that the NIC fetches the end of the payload from; nil: it has been written
	from      int        // where that begins in bytes
	fetched   *operation // which is told that the NIC has it; nil: none
	operation *operation // of remote memory, of which the library wants to know the end
	answered  bool       // that end is being dealt with
}

// channel is a logical channel: the queue of an endpoint's outgoing messages in SRAM, with its registers, and what the NI knows of
// the endpoint.
type channel struct {
	program *Program
	number  int
	owner   *Endpoint // nil: none
	queue   *queue    // the host's

	messages fifo.Queue[*message] // from the front on
	front    uint64               // register: how many messages have left the queue
	back     uint64               // register: how many have been appended, as the host has told
	next     uint64               // register: the next one to be sent

	free fifo.Queue[uint8] // tokens: entries of the scoreboard

	incoming incoming
	circular bool         // of a forwarder: see around
	pause    *vtime.Timer // of a forwarder: until refused messages are sent again
}

// at returns a message by its index; it is in the queue.
func (c *channel) at(index uint64) *message { return *c.messages.At(int(index - c.front)) }

// sendable moves the next register to the first message that is to be sent, and returns it if it can be sent now; else nil. Messages
// to hosts that are given up are dropped.
func (c *channel) sendable() *message {
	m := c.following()
	for m != nil && m.loaded && c.program.timeOuts.gone(c.program.node(m.to)) {
		c.program.abandon(c, m)
		m = c.following()
	}
	if m == nil || !c.may(m) {
		return nil
	}
	return m
}

// may tells whether a message that is to be sent can be sent now.
func (c *channel) may(m *message) bool {
	switch {
	case !m.loaded, !m.named && c.free.Len() == 0, m.again && c.pauses():
		return false
	case m.flow == nil:
		m.flow, m.track = c.program.flow(c, m.to)
	}
	if t := m.track; t != nil && !m.named && (m.flow.fresh-t.base >= mostNumbered || t.reads > 0 && typeIn(m.bytes) != RMRV) {
		return false
	}
	f := m.flow // others of the flow, in other channels, may come first
	return m.named && m.bytes[sequenceByte] == f.next || !m.named && f.next == f.fresh
}

// pauses tells whether refused messages of a forwarder still wait.
func (c *channel) pauses() bool {
	if c.pause == nil {
		return false
	}
	_, set := c.pause.Set()
	return set
}

// following moves the next register to the first message that is to be sent, and returns it; nil: there is none.
func (c *channel) following() *message {
	if c.circular {
		return c.around()
	}
	for ; c.next < c.back; c.next++ {
		if m := c.at(c.next); m.state == notSent && !m.answered {
			return m
		}
	}
	return nil
}

// around returns the first message of a forwarder that can be sent, from the next register on and then from the front: a refused message
// does not hold up those to others, which NIs might wait for in a circle.
func (c *channel) around() *message {
	n := c.back - c.front
	for k := range n {
		if m := c.at(c.front + (c.next-c.front+k)%n); m.state == notSent && c.may(m) {
			return m
		}
	}
	return nil
}

// where the stamp of the sending NI is in a header.
const (
	tokenByte       = 2
	sequenceByte    = 3
	typeByte        = 4
	treeByte        = 5
	sourceByte      = 6
	destinationByte = 10
	channelByte     = 12
)

// leave marks a message as sent. One that is sent for the first time gets a token and a sequence number.
func (c *channel) leave(m *message) {
	f, fresh := m.flow, !m.named
	if fresh {
		m.named = true
		token, _ := c.free.Pop()
		stamp(m.bytes, token, f.fresh)
		c.program.scoreboard[token] = m
		f.fresh++
	}
	f.next = m.bytes[sequenceByte] + 1
	m.state = sent
	if t := c.program.timeOuts; t != nil {
		t.numbered(m, fresh)
	}
	c.next = m.index + 1
}

// acknowledge marks a message as acknowledged. If it is the oldest, it and what is acknowledged behind it leave the queue.
func (c *channel) acknowledge(m *message) {
	m.state = acknowledged
	if m.branch != nil {
		c.program.branched(m.branch)
	}
	for c.messages.Len() > 0 && c.at(c.front).state == acknowledged {
		m, _ := c.messages.Pop()
		c.front++
		if m.named {
			token := m.bytes[tokenByte]
			c.program.scoreboard[token] = nil
			c.free.Push(token)
		}
		if !c.program.busy && m.branch == nil { // else it may be leaving again
			c.program.slab.free(m.bytes)
		}
	}
	c.next = max(c.next, c.front)
	c.owner.returned()
}

// rollback has the messages of a flow sent again that the channel has sent from a sequence number on, and returns how many they
// are. Messages of other flows stay as they are.
func (c *channel) rollback(f *flow, sequence uint8) (n int) {
	for i := c.front; i < c.back; i++ {
		m := c.at(i)
		if m.state == notSent && !m.named && !c.circular {
			break // nor is anything behind it
		}
		if m.flow == f && m.named && m.state == sent && !m.answered && m.bytes[sequenceByte]-sequence < f.fresh-sequence {
			m.state = notSent
			if !c.circular {
				c.next = min(c.next, i)
			}
			n++
		}
	}
	return n
}

// flow is the messages that are numbered together, at the NI that sends them.
type flow struct {
	fresh uint8 // the number of the next message that is sent for the first time
	next  uint8 // the number of the next message that is sent: less than fresh after a rollback
}

// inflow is the messages that are numbered together, at the NI that receives them.
type inflow struct {
	expected uint8
	nacked   bool  // the expected message was refused, and what follows is dropped until that comes again
	pending  uint8 // messages that have been accepted, and not answered
	held     bool  // the message before it waits for the host: the expected one is refused meanwhile
}

// What sequencing takes of the SRAM, in bytes: an element of the array of outgoing flows, and of that of incoming ones, which has the number that is expected, marks, and the token and the
// number of a message whose NACK is owed.
const (
	flowSize   = 2
	inflowSize = 4
)

// flowIndex returns the element of the arrays that a message between a channel here and one of another NI belongs to. Both arrays are
// indexed alike: by local channel, remote NI, remote channel; or by remote NI alone.
func (p *Program) flowIndex(local, node, remote int) int {
	if p.image.PerNI {
		return node
	}
	n := p.profile.GRIM.Channels
	return (local*p.nodes+node)*n + remote
}

// flows returns how many elements the arrays have.
func (p *Program) flowCount() int {
	if p.image.PerNI {
		return p.nodes
	}
	n := p.profile.GRIM.Channels
	return n * p.nodes * n
}

// flow returns that of messages from a channel to an endpoint, and what time-outs need of it.
func (p *Program) flow(c *channel, to EndpointID) (*flow, *track) {
	node, remote := p.place(to)
	i := p.flowIndex(c.number, node, remote)
	if p.timeOuts == nil {
		return p.flows.At(i), nil
	}
	return p.flows.At(i), p.timeOuts.tracks.At(i)
}

// place returns which NI an endpoint is at, and which channel of it.
func (p *Program) place(id EndpointID) (node, channel int) {
	n := p.profile.GRIM.Channels
	return int(id) / n, int(id) % n
}

// node returns which NI an endpoint is at.
func (p *Program) node(id EndpointID) int {
	n, _ := p.place(id)
	return n
}

// endpoint returns the endpoint of a channel of an NI.
func (p *Program) endpoint(node, channel int) EndpointID {
	return EndpointID(node*p.profile.GRIM.Channels + channel)
}

// openChannel gives a channel its endpoint, and its part of the scoreboard.
func (p *Program) openChannel(number int, e *Endpoint) (*channel, error) {
	if number < 0 || number >= len(p.channels) {
		return nil, fmt.Errorf("grim: channel %d; a NIC has %d (grim.channels)", number, len(p.channels))
	}
	c := &p.channels[number]
	if c.owner != nil {
		return nil, fmt.Errorf("grim: channel %d of host %d has an endpoint already", number, p.id)
	}
	q, err := newQueue(p.image, p.profile)
	if err != nil {
		return nil, err
	}
	*c = channel{program: p, number: number, owner: e, queue: q}
	each := tokens / len(p.channels)
	for i := range each {
		c.free.Push(uint8(number*each + i))
	}
	return c, nil
}
