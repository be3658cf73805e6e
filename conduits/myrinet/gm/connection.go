package gm

import (
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// sendToken is a message that a host has handed over.
type sendToken struct {
	port     *Port
	slot     int // of the port's tokens
	bytes    []byte
	node     int
	target   uint8 // subport
	class    uint8
	packets  int
	started  bool   // its first packet has a number
	sequence uint64 // of its first packet
}

// connection is what a NIC keeps of another node: the packets to it, and those from it.
type connection struct {
	p    *Program
	node int

	// To the node. Numbers of packets have 16 bits on the wire. Here they do not wrap, since a message can have more
	// packets than that.
	tokens  fifo.Queue[*sendToken] // whose messages are not acknowledged
	session uint16
	next    uint64 // number of the next packet
	high    uint64 // of the one after the last that was ever sent
	acked   uint64 // all before are acknowledged
	at      int    // the token that the next packet is of
	packet  int    // and which packet of that
	waits   bool   // the node has no receive buffer
	waited  int    // NACKs since the last progress that have said so
	queued  bool   // in Program.sendable
	timer   *vtime.Timer
	late    bool   // the timer has rung
	known   uint16 // the number that the node's program has given to packets from here; 0: none has come
	tries   int    // of the timer since the last progress, or since the node has said that it has no receive buffer

	// From the node. Its program is told a number, and begins sessions only by packets that have that number. A packet
	// of a program that was on its NIC before has another one, however late it comes.
	id       uint16 // the number of the program that has begun a session; 0: none has
	program  uint16 // Header.SenderConn of that program
	offer    uint16 // the number for another program, which has not begun a session; 0: none
	offered  uint16 // Header.SenderConn of that one
	peer     uint16 // the session
	expected uint16
	nacked   bool // a NACK for what is expected is on its way
	refused  Kind // what is expected has been refused with this NACK, and the sender begins another session; 0: it has not
	lacks    bool // what is expected has found no receive buffer
	since    vtime.Time
	in       assembly
	silence  *vtime.Timer // while a message has not come as a whole: until the node has been silent for too long
	silent   bool         // it has rung
	control  Header       // that is to be sent; Kind 0: none
}

// assembly is a message that comes in.
type assembly struct {
	port   *Port
	buffer *receiveToken // nil: no message
	length int
}

// after returns by how much number a comes after b.
func after(a, b uint16) int { return int(int16(a - b)) }

// mayIssue tells whether a packet can be sent. A node whose number is not known is asked for it by one packet.
func (c *connection) mayIssue() bool {
	window := uint64(c.p.profile.GM.Window)
	if c.known == 0 {
		window = 1
	}
	return c.at < c.tokens.Len() && !c.waits && c.next < c.acked+window && c.p.routes[c.node] != nil
}

// issue returns the next packet to be sent: its header, and what it is of.
func (c *connection) issue() (h Header, payload []byte) {
	t := *c.tokens.At(c.at)
	mtu := int(c.p.profile.GM.MTU)
	if !t.started {
		t.started, t.sequence = true, c.next
	}
	from := c.packet * mtu
	payload = t.bytes[from:min(from+mtu, len(t.bytes))]
	h = Header{
		Kind: Data, First: c.packet == 0, Last: c.packet == t.packets-1, Class: t.class,
		Target: uint32(c.node), Session: c.session, Sequence: uint16(c.next), Length: uint16(len(payload)),
		TargetPort: t.target, SenderPort: uint8(t.port.number) << 1, Sender: uint32(c.p.id),
		TargetConn: c.known, SenderConn: c.p.self,
	}
	if c.packet++; c.packet == t.packets {
		c.at, c.packet = c.at+1, 0
	}
	c.next++
	c.high = max(c.high, c.next)
	if _, set := c.timer.Set(); !set {
		c.restart(c.p.profile.GM.Resend)
	}
	return h, payload
}

// seek goes on with the packet of a number, which is not acknowledged and has been sent, or is next.
func (c *connection) seek(number uint64) {
	c.next, c.at, c.packet = number, 0, 0
	for c.at < c.tokens.Len() {
		t := *c.tokens.At(c.at)
		if !t.started {
			return
		}
		if c.packet = int(number - t.sequence); c.packet < t.packets {
			return
		}
		c.at, c.packet = c.at+1, 0
	}
}

// acknowledge takes note that the node has all packets before a number. It reports false for a number that no
// packet has.
func (c *connection) acknowledge(sequence uint16) bool {
	n := after(sequence, uint16(c.acked))
	if n < 0 || n > int(c.high-c.acked) {
		return false
	} else if n > 0 {
		c.tries, c.waited = 0, 0
	}
	c.acked += uint64(n)
	for c.tokens.Len() > 0 {
		t := *c.tokens.At(0)
		if !t.started || c.acked-t.sequence < uint64(t.packets) {
			break
		}
		c.tokens.Drop()
		c.p.report(t, nil)
	}
	c.seek(max(c.next, c.acked))
	c.waits = false
	if c.high == c.acked {
		c.timer.Stop()
	} else {
		c.restart(c.p.profile.GM.Resend)
	}
	return true
}

// restart sets the time-out.
func (c *connection) restart(d vtime.Time) { c.timer.Reset(c.p.loop.Now() + d) }

// renew begins another session, with the messages that are not acknowledged. What is under way of the old one
// counts for nothing any more.
func (c *connection) renew() {
	c.session++
	c.next, c.high, c.acked = 0, 0, 0
	for i := range c.tokens.Len() {
		(*c.tokens.At(i)).started = false
	}
	c.seek(0)
	c.waits = false
	c.timer.Stop()
}

// fail gives up the first messages, n of them, and begins another session.
func (c *connection) fail(n int, why error) {
	for range min(n, c.tokens.Len()) {
		t, _ := c.tokens.Pop()
		c.p.report(t, why)
	}
	c.tries, c.waited = 0, 0
	c.renew()
}

// block has the connection wait for a receive buffer of the node, longer each time.
func (c *connection) block() {
	gm := &c.p.profile.GM
	c.waits, c.tries = true, 0 // the node answers: it can be reached
	c.restart(max(gm.Wait, min(gm.Wait<<min(c.waited, 16), gm.Resend)))
	c.waited++
}

// The timers of a connection.
const (
	lateTimer    uint64 = iota // connection.timer
	silenceTimer               // connection.silence
)

// Fire implements vtime.Target: a timer has rung.
func (c *connection) Fire(timer, _ uint64) {
	if timer == lateTimer {
		c.late = true
	} else {
		c.silent = true
	}
	c.p.nic.CPU.Raise(evTimer)
}

// heard takes note that the node is there, which owes the rest of a message. A node that has been silent for longer than its own
// time-outs last has given the message up, or has been switched off, whether it could tell (NACKClose) or not.
func (c *connection) heard() {
	if c.in.buffer == nil {
		c.silence.Stop()
		return
	}
	gm := &c.p.profile.GM
	c.silence.Reset(c.p.loop.Now() + 2*gm.Resend*vtime.Time(gm.Tries+1))
}

// forget has the port have the buffer back of a message whose rest does not come. Should it come all the same, it is refused.
func (c *connection) forget() {
	c.silent = false
	if _, set := c.silence.Set(); !set && c.in.buffer != nil {
		c.drop()
		c.refused = NACKDown
	}
}

// judge says what is to be done with a data packet by its number, session and sequence. A later session of the program
// begins with whatever packet of it comes first.
func (c *connection) judge(h *Header) judgement {
	switch {
	case c.id != 0 && h.TargetConn == c.id && h.SenderConn == c.program:
		if n := after(h.Session, c.peer); n < 0 {
			return stale
		} else if n > 0 {
			c.begin(h.Session)
		}
	case c.offer != 0 && h.TargetConn == c.offer && h.SenderConn == c.offered:
		c.id, c.program, c.offer = c.offer, c.offered, 0
		c.begin(h.Session)
	default:
		return unknown
	}
	switch n := after(h.Sequence, c.expected); {
	case n == 0:
		return expected
	case n < 0:
		return duplicate
	}
	return gap
}

type judgement uint8

const (
	expected  judgement = iota
	duplicate           // it has been accepted before
	gap                 // something before it is missing
	stale               // of a session that is over
	unknown             // of a program that has not got its number, or not from here
)

// begin begins a session of the node. A message of the last one that has not come as a whole is forgotten, and its buffer is for
// another.
func (c *connection) begin(session uint16) {
	c.drop()
	c.peer, c.expected, c.nacked, c.refused, c.lacks = session, 0, false, 0, false
}

// number returns the number for the program of the node that has sent a packet. A new one is not that of the packet, which a program
// before this one has given: the sender takes no number that it has already.
func (c *connection) number(h *Header) uint16 {
	if c.id != 0 && c.program == h.SenderConn {
		return c.id
	}
	if c.offer == 0 || c.offered != h.SenderConn {
		c.offer, c.offered = c.p.newNumber(h.TargetConn), h.SenderConn
	}
	return c.offer
}

// drop forgets a message that has not come as a whole.
func (c *connection) drop() {
	if c.in.buffer != nil {
		c.in.port.giveBack(c.in.buffer)
		c.in = assembly{}
		c.silence.Stop()
	}
}

// patient tells whether what is expected may go on waiting for a receive buffer. The node decides that, and not the sender: what
// the node has refused for good, and what is behind, it does not accept from another copy that is under way.
func (c *connection) patient() bool {
	now := c.p.loop.Now()
	if !c.lacks {
		c.lacks, c.since = true, now
	}
	return now-c.since < c.p.profile.GM.Patience
}

// answer has a data packet answered.
func (c *connection) answer(k Kind, to *Header, wait bool) {
	c.tell(Header{Kind: k, Last: wait, Session: to.Session, TargetConn: to.SenderConn, SenderConn: c.number(to)})
}

// tell has a packet without payload sent. The latest counts.
func (c *connection) tell(h Header) {
	if c.control.Kind == 0 {
		c.p.controls.Push(c)
	}
	c.control = h
	c.p.nic.CPU.Raise(evSend)
}

// Label implements vtime.Labelled.
func (c *connection) Label(timer, _ uint64) string {
	return [...]string{"GM time-out", "GM: silence of a node"}[timer]
}
