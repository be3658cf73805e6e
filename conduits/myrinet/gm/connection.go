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
	queued  bool   // in Program.sendable
	timer   *vtime.Timer
	late    bool   // the timer has rung
	known   uint16 // Header.SenderConn of the node's answers in this session; 0: none has come
	tries   int    // of the timer since the last progress, or since the node has said that it waits for a buffer

	// From the node.
	open     bool // it has begun a session
	peer     uint16
	program  uint16 // Header.SenderConn of its packets in that session
	expected uint16
	nacked   bool // a NACK for what is expected is on its way
	refused  Kind // what is expected has been refused with this NACK, and the sender begins another session; 0: it has not
	in       assembly
	control  Kind // that is to be sent; 0: none
	answers  uint16
	wait     bool // of a NACK
}

// assembly is a message that comes in.
type assembly struct {
	port   *Port
	buffer *receiveToken // nil: no message
	length int
}

// after returns by how much number a comes after b.
func after(a, b uint16) int { return int(int16(a - b)) }

// mayIssue tells whether a packet can be sent.
func (c *connection) mayIssue() bool {
	return c.at < c.tokens.Len() && !c.waits && c.next < c.acked+uint64(c.p.profile.GM.Window)
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
		c.tries = 0
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
	c.known = 0
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
	c.tries = 0
	c.renew()
}

// Fire implements vtime.Target: the time-out.
func (c *connection) Fire(_, _ uint64) {
	c.late = true
	c.p.nic.CPU.Raise(evTimer)
}

// judge says what is to be done with a data packet by its session and number.
func (c *connection) judge(h *Header) judgement {
	known := c.open && h.SenderConn == c.program // else the node has another program than before
	switch {
	case (!known || after(h.Session, c.peer) > 0) && h.Sequence == 0 && h.First:
		c.begin(h)
		return expected
	case !known:
		return unknown
	case h.Session != c.peer:
		return stale
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
	unknown             // of a session that has not begun here
)

// begin begins the session of the peer that a packet is of. A message of the last one that has not come as a whole is forgotten, and its
// buffer is for another.
func (c *connection) begin(h *Header) {
	c.drop()
	c.open, c.peer, c.program, c.expected, c.nacked, c.refused = true, h.Session, h.SenderConn, 0, false, 0
}

// drop forgets a message that has not come as a whole.
func (c *connection) drop() {
	if c.in.buffer != nil {
		c.in.port.giveBack(c.in.buffer)
		c.in = assembly{}
	}
}

// answer has an ACK or a NACK sent. The latest counts.
func (c *connection) answer(k Kind, session uint16, wait bool) {
	if c.control == 0 {
		c.p.controls.Push(c)
	}
	c.control, c.answers, c.wait = k, session, wait
	c.p.nic.CPU.Raise(evSend)
}

// Label implements vtime.Labelled.
func (c *connection) Label(_, _ uint64) string { return "GM time-out" }
