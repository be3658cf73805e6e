package gm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Errors of messages, and of calls.
var (
	ErrNoRoute     = errors.New("gm: there is no route to the node")
	ErrUnreachable = errors.New("gm: the node does not answer")
	ErrPortClosed  = errors.New("gm: the node's port is closed")
	ErrRejected    = errors.New("gm: the node's port does not accept messages of that size class")
	ErrNoBuffer    = errors.New("gm: the node's port has had no receive buffer for the message for too long")
	ErrNoToken     = errors.New("gm: no token left: wait for a callback, or a message")
	ErrClosed      = errors.New("gm: the port has been closed")
	ErrOver        = errors.New("gm: the simulation is over: nothing leaves any more after Run or Close")
)

// statuses are what an event can say of a message.
var statuses = [...]error{nil, ErrNoRoute, ErrUnreachable, ErrPortClosed, ErrRejected, ErrClosed, ErrNoBuffer}

// Priority is one of two classes of messages: each needs receive buffers of its own.
type Priority uint8

// The priorities.
const (
	Low Priority = iota
	High
)

// Port is a program's access to GM. Its methods are called by events, and charge their time to the host's processor.
type Port struct {
	host    *Host
	number  int
	opening uint64 // which of the host's ports it is, all counted that have ever been opened
	ringing int    // tokens that the NIC has not taken
	closed  bool

	receive func(*Message)

	sends []pendingSend
	free  []int // tokens for sending

	buffers []receiveToken
	unused  []int // tokens for receiving
	ready   [2 * Classes]fifo.Queue[*receiveToken]
	sizes   [2]uint32 // size classes that are accepted, by priority: bit c for class c

	events []byte // in the host's memory, a ring of slots
	slot   int
	slots  int
	got    Message
}

// pendingSend is a message between Send and its callback.
type pendingSend struct {
	token  sendToken
	memory *Memory
	done   func(error)
}

// receiveToken is a buffer between Provide and the message in it.
type receiveToken struct {
	slot     int
	memory   *Memory
	offset   int
	bytes    []byte
	class    uint8
	priority Priority
}

// Message is what has come. It is valid until the callback returns; Data is in the buffer, which is the program's
// again.
type Message struct {
	From     int // node
	FromPort int
	Priority Priority
	Data     []byte
	Memory   *Memory // that the buffer is in
	Offset   int     // of the buffer, as given to Provide
}

// Open opens a port. receive is called by an event for each message. A nil receive is for a port that sends only: a message
// that finds a receive buffer there counts as arrived, is dropped, and its buffer's token comes back. Open fails if the port
// is open or there is none of that number. Tokens of a closed port of that number that the NIC is not through with are missing
// until it is: see [Port.Tokens].
func (h *Host) Open(number int, receive func(*Message)) (*Port, error) {
	if number < 0 || number >= len(h.ports) {
		return nil, fmt.Errorf("gm: port %d; a node has %d", number, len(h.ports))
	}
	if h.ports[number] != nil {
		return nil, fmt.Errorf("gm: port %d of node %d is open already", number, h.program.id)
	}
	g := &h.profile.GM
	p := &Port{
		host: h, number: number, receive: receive,
		sends: make([]pendingSend, g.Sends), buffers: make([]receiveToken, g.Accepts), slots: g.Sends + g.Accepts,
		sizes: [2]uint32{1<<Classes - 1, 1<<Classes - 1},
	}
	p.events = make([]byte, p.slots*p.slotSize())
	for i := range p.sends {
		p.free = append(p.free, i)
	}
	for i := range p.buffers {
		p.buffers[i].slot = i
		p.unused = append(p.unused, i)
	}
	h.openings++
	p.opening = h.openings
	h.ports[number], h.opened[p.opening] = p, p
	return p, nil
}

// SetAcceptableSizes says which size classes of messages the port accepts of a priority: those whose bit is set; all, unless
// it is called. Others are refused, and their senders told ErrRejected, where they would wait for a receive buffer.
func (p *Port) SetAcceptableSizes(priority Priority, mask uint32) error {
	if priority > High {
		return fmt.Errorf("gm: priority %d; there are Low and High", priority)
	}
	p.sizes[priority] = mask
	return nil
}

// Number returns the number of the port.
func (p *Port) Number() int { return p.number }

// Close closes the port: messages to it are refused from now on, and no callback of it is called any more. What
// has been sent before is still carried out. Receive buffers are the program's again: those that the NIC has at once, those that are
// on the way to it when it has taken them, and one that a message comes into when that is over.
func (p *Port) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.host.ports[p.number] = nil
	for i := range p.ready {
		for {
			t, ok := p.ready[i].Pop()
			if !ok {
				break
			}
			p.finish(t)
		}
	}
	p.forget()
}

// forget drops a closed port when the NIC has taken all of its tokens.
func (p *Port) forget() {
	if p.closed && p.ringing == 0 {
		delete(p.host.opened, p.opening)
	}
}

// Class returns the size class of a buffer for messages of up to n bytes: the least c with n <= 2^c.
func Class(n int) uint8 { return uint8(bits.Len(uint(max(n, 1) - 1))) }

// MaxMessage is the size of the largest message, in bytes.
const MaxMessage = 1<<(Classes-1) - 1

// Tokens returns how many messages can be sent, and how many receive buffers provided, at present. The NIC has room for
// gm.send-tokens and gm.receive-tokens for each number of a port, so those of a port that has been closed count until the NIC is
// through with them. No callback tells of these.
func (p *Port) Tokens() (send, provide int) {
	g, out := &p.host.profile.GM, p.out()
	return g.Sends - out.sends, g.Accepts - out.accepts
}

// out counts the tokens that are out, of this port and of those closed that had its number before.
func (p *Port) out() *tokens { return &p.host.out[p.number] }

// Send sends size bytes of registered memory to a port of a node, for a receive buffer of the size class of that
// size. It takes a token, which comes back when done is called: with nil when the message has arrived, or with the
// reason why nobody knows whether it has. Without done (nil) the token comes back all the same, and nobody is told of a
// failure. The bytes must not be changed before. A message of size 0 arrives as any other does, in a buffer of size class 0. Messages of one port to another
// one arrive in the order of the calls, each once. A message waits while there is no receive buffer for it, and those behind it
// to the same node wait, too; after gm.patience it fails with ErrNoBuffer. Send fails, and does nothing, with ErrNoToken,
// ErrClosed, ErrOver, or for arguments that make no sense.
func (p *Port) Send(m *Memory, offset, size int, priority Priority, node, port int, done func(error)) error {
	h := p.host
	b, err := p.part(m, offset, size, priority)
	switch {
	case err != nil:
		return err
	case size > MaxMessage:
		return fmt.Errorf("gm: a message of %d B; the largest has %d", size, MaxMessage)
	case node < 0 || node >= len(h.program.conns) || node == h.program.id:
		return fmt.Errorf("gm: a message of node %d to node %d, of %d", h.program.id, node, len(h.program.conns))
	case port < 0 || port >= len(h.ports):
		return fmt.Errorf("gm: a message to port %d; a node has %d", port, len(h.ports))
	case p.out().sends == h.profile.GM.Sends:
		return ErrNoToken
	}
	slot := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	mtu := int(h.profile.GM.MTU)
	p.out().sends++
	m.users++
	p.sends[slot] = pendingSend{memory: m, done: done, token: sendToken{
		port: p, slot: slot, bytes: b, node: node, target: uint8(port)<<1 | uint8(priority), class: Class(size), packets: max(1, (size+mtu-1)/mtu),
	}}
	p.ring(h.profile.Host.Send, uint64(slot))
	return nil
}

// Provide gives the port a buffer in registered memory for messages of a size class and a priority: 2^class bytes
// from offset on. It takes a token, which comes back with the message. It fails as Send does.
func (p *Port) Provide(m *Memory, offset int, class uint8, priority Priority) error {
	h := p.host
	if class >= Classes {
		return fmt.Errorf("gm: size class %d; there are %d", class, Classes)
	}
	b, err := p.part(m, offset, 1<<class, priority)
	switch {
	case err != nil:
		return err
	case p.out().accepts == h.profile.GM.Accepts:
		return ErrNoToken
	}
	slot := p.unused[len(p.unused)-1]
	p.unused = p.unused[:len(p.unused)-1]
	p.out().accepts++
	m.users++
	p.buffers[slot] = receiveToken{slot: slot, memory: m, offset: offset, bytes: b, class: class, priority: priority}
	p.ring(h.profile.Host.Provide, uint64(slot)|provided)
	return nil
}

// part returns the part of registered memory that a token of a priority is for.
func (p *Port) part(m *Memory, offset, size int, priority Priority) ([]byte, error) {
	switch {
	case p.closed:
		return nil, ErrClosed
	case p.host.loop.Over():
		return nil, ErrOver
	case priority > High:
		return nil, fmt.Errorf("gm: priority %d; there are Low and High", priority)
	}
	return m.part(p.host, offset, size)
}

// A doorbell has the slot of a token in its low 32 bits, then provided, and then which of the host's ports it is of.
const (
	provided     = 1 << 32
	openingShift = 33
)

// ring has the library write a token, which takes the host's processor a time, and ring for it.
func (p *Port) ring(take vtime.Time, word uint64) {
	p.ringing++
	p.host.loop.At(p.host.cpu.Use(p.host.loop.Now(), take), p, word|p.opening<<openingShift, tokenWritten)
}

// The events of a port, by their second word.
const (
	eventWritten uint64 = iota // the NIC has written an event into a slot: lanai.Block.Written
	eventSeen                  // the program that polls has it
	eventHandled               // the library has decoded it
	tokenWritten               // the library has a token ready
)

var portEvents = [...]string{"event written", "event seen", "event handled", "token written"}

// Label implements vtime.Labelled.
func (p *Port) Label(_, what uint64) string {
	return fmt.Sprintf("GM node %d port %d: %s", p.host.program.id, p.number, portEvents[what])
}

// Fire implements vtime.Target.
func (p *Port) Fire(word, what uint64) {
	h := p.host
	if h.program.stopped {
		return
	}
	now := h.loop.Now()
	switch what {
	case tokenWritten:
		h.ring(p, word)
	case eventWritten:
		h.loop.At(now+h.profile.Host.Visible, p, word, eventSeen)
	case eventSeen:
		take := h.profile.Host.Receive + h.profile.Host.Copy.Time(p.inline(word))
		h.loop.At(h.cpu.Use(now, take), p, word, eventHandled)
	case eventHandled:
		p.handle(p.event(word))
	}
}

// rung takes a token that the host has rung for: a message, which it returns, or a receive buffer.
func (h *Host) rung(value uint64) *sendToken {
	p := h.opened[value>>openingShift]
	slot := uint32(value)
	p.ringing--
	p.forget()
	if value&provided == 0 {
		return &p.sends[slot].token
	}
	p.giveBack(&p.buffers[slot])
	return nil
}

// list returns the number of the list of tokens that fit the same messages.
func (t *receiveToken) list() int { return int(t.class)<<1 | int(t.priority) }

// takeBuffer returns a receive buffer, or nil.
func (p *Port) takeBuffer(class, priority uint8) *receiveToken {
	t, _ := p.ready[int(class)<<1|int(priority)].Pop()
	return t
}

// giveBack has a buffer ready for a message: a new one, or one whose message has not come as a whole. A closed port has no use for
// it.
func (p *Port) giveBack(t *receiveToken) {
	if p.closed {
		p.finish(t)
		return
	}
	p.ready[t.list()].Push(t)
}

// finish has the token of a buffer back.
func (p *Port) finish(t *receiveToken) {
	t.memory.users--
	p.unused = append(p.unused, t.slot)
	p.out().accepts--
	*t = receiveToken{slot: t.slot}
}

// An event in the host's memory: what it is, a status, the sender's subport, a byte unused, length, node, and slot
// of the token, 4 bytes each; for a short message its bytes behind.
const eventSize = 16

const (
	sentKind     = 1
	receivedKind = 2
	inlineKind   = 3 // received, with its bytes
)

func (p *Port) slotSize() int { return eventSize + int(p.host.profile.GM.Fast) }

// sentEvent makes the event that tells what has become of a message.
func (p *Port) sentEvent(slot int, err error) []byte {
	e := make([]byte, eventSize)
	e[0] = sentKind
	for i, s := range statuses {
		if s == err {
			e[1] = byte(i)
		}
	}
	binary.BigEndian.PutUint32(e[12:], uint32(slot))
	return e
}

// receiveEvent makes the event that tells of a message. inline is the message itself, or nil.
func (p *Port) receiveEvent(t *receiveToken, node int, subport uint8, length int, inline []byte) []byte {
	e := make([]byte, eventSize, eventSize+len(inline))
	e[0], e[2] = receivedKind, subport&^1|uint8(t.priority)
	if inline != nil {
		e[0] = inlineKind
	}
	binary.BigEndian.PutUint32(e[4:], uint32(length))
	binary.BigEndian.PutUint32(e[8:], uint32(node))
	binary.BigEndian.PutUint32(e[12:], uint32(t.slot))
	return append(e, inline...)
}

// eventSlot returns the next slot for an event of n bytes, and its memory. There are as many as there are tokens,
// and an event is of a token that comes back with it.
func (p *Port) eventSlot(n int) (slot uint64, memory []byte) {
	i := p.slot
	p.slot = (p.slot + 1) % p.slots
	at := i * p.slotSize()
	return uint64(i), p.events[at : at+n]
}

// event returns the memory of a slot.
func (p *Port) event(slot uint64) []byte {
	at := int(slot) * p.slotSize()
	return p.events[at : at+p.slotSize()]
}

// inline returns how many bytes of a message an event has.
func (p *Port) inline(slot uint64) int {
	if e := p.event(slot); e[0] == inlineKind {
		return int(binary.BigEndian.Uint32(e[4:]))
	}
	return 0
}

// handle does what an event says. The callback of a message is called when its token is free again.
func (p *Port) handle(e []byte) {
	slot := int(binary.BigEndian.Uint32(e[12:]))
	if e[0] == sentKind {
		s := p.sends[slot]
		p.sends[slot] = pendingSend{}
		s.memory.users--
		p.free = append(p.free, slot)
		p.out().sends--
		if s.done != nil && !p.closed {
			s.done(statuses[e[1]])
		}
		return
	}
	t := p.buffers[slot]
	p.finish(&p.buffers[slot])
	n := int(binary.BigEndian.Uint32(e[4:]))
	if e[0] == inlineKind {
		copy(t.bytes, e[eventSize:eventSize+n])
	}
	if p.closed || p.receive == nil {
		return
	}
	p.got = Message{
		From: int(binary.BigEndian.Uint32(e[8:])), FromPort: int(e[2] >> 1), Priority: t.priority,
		Data: t.bytes[:n], Memory: t.memory, Offset: t.offset,
	}
	p.receive(&p.got)
}
