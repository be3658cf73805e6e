// Package matching is the two-sided part of a message-passing library as a pure state
// machine: it matches messages with receives by source and tag, keeps what comes before its
// receive, and carries large messages by rendezvous. Calls, messages and bytes go in;
// messages to transmit and completions come out. It knows no network, no time and no
// threads: whoever drives it carries the messages, charges for the searches, and
// serialises the calls.
//
// # Matching
//
// The rules are those of MPI (MPI 3.1, section 3.5). A receive names a tag and a source, or
// [AnySource]. A message goes to the first posted receive that matches it; if none does it
// joins the unexpected queue, at which every new receive looks first. If the driver keeps the
// messages of a pair in order, two messages that match the same receives are therefore
// received in the order in which they were sent.
//
// # Eager and rendezvous
//
// A message of at most the eager size is transmitted at once, and copied if it is
// unexpected. Of a larger one only the envelope is ([Request]); the receiver answers when it
// has matched it ([Grant]), and the sender transmits the payload ([Data]), which goes
// straight into the buffer of the receive. So unexpected messages take no more than the
// eager size each.
package matching

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// AnySource is the source of a receive that takes messages of every rank.
const AnySource = -1

// Kind says what a message on the network is.
type Kind uint8

// The kinds of messages.
const (
	Eager   Kind = iota // an envelope with its whole payload
	Request             // the envelope of a large message
	Grant               // the answer: the large message has been matched
	Data                // payload of a large message, all or a part
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Eager:
		return "eager"
	case Request:
		return "request"
	case Grant:
		return "grant"
	case Data:
		return "data"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Message is what travels between two engines.
type Message struct {
	Kind     Kind
	From, To int32
	Tag      int32  // Eager, Request
	Size     int    // bytes of the whole message
	Offset   int    // Data: where in the message Payload begins
	Send     uint32 // the sender's number of the transfer
	Recv     uint32 // Grant, Data: the receiver's number of it
	Payload  []byte // Eager, Data
}

// Completion tells that a send or a receive is over and its buffer the caller's again.
type Completion struct {
	ID      uint64 // as given to Send or Receive
	Receive bool
	Source  int32 // Receive: who sent the message
	Tag     int32 // Receive: its tag
	Len     int   // bytes sent or received
}

// Engine is one rank's end. It allocates only when more is under way than ever before.
type Engine struct {
	rank  int32
	eager int

	sends      slab[send]
	receives   slab[receive]
	arrivals   slab[arrival]
	posted     list
	unexpected list

	out  fifo.Queue[Message]
	done fifo.Queue[Completion]

	waiting  int // unexpected messages now
	most     int // and at most so far
	searched int // queue entries looked at since Searched
	copies   int // payloads copied since Copied
	copied   int // and their bytes
}

type send struct {
	id   uint64
	to   int32
	buf  []byte
	wait bool // for its grant
}

type receive struct {
	id      uint64
	from    int32 // AnySource until it is matched
	tag     int32
	buf     []byte
	size    int // of the message that it was matched with
	left    int // bytes still to come
	granted bool
}

// arrival is an unexpected message; payload is kept for reuse.
type arrival struct {
	from, tag int32
	size      int
	send      uint32
	large     bool
	payload   []byte
}

// New returns the engine of a rank that transmits messages of up to eager bytes at once.
func New(rank int32, eager int) *Engine {
	empty := list{none, none}
	return &Engine{rank: rank, eager: eager, posted: empty, unexpected: empty}
}

// Send begins to send buf, which stays unchanged until its completion.
func (e *Engine) Send(to, tag int32, buf []byte, id uint64) {
	n := e.sends.take()
	s := e.sends.at(n)
	*s = send{id: id, to: to, buf: buf, wait: len(buf) > e.eager}
	m := Message{Kind: Eager, From: e.rank, To: to, Tag: tag, Size: len(buf), Send: n, Payload: buf}
	if s.wait {
		m.Kind, m.Payload = Request, nil
	}
	e.out.Push(m)
}

// Sent tells that the driver has transmitted the payload of a message that Next returned,
// all of it, and needs it no more: the send is complete. For Request and Grant, which have no
// payload, it does nothing.
func (e *Engine) Sent(m Message) {
	if m.Kind != Eager && m.Kind != Data {
		return
	}
	s := e.sends.at(m.Send)
	e.done.Push(Completion{ID: s.id, Len: len(s.buf)})
	*s = send{}
	e.sends.put(m.Send)
}

// Receive posts a receive: buf, at least as long as the message that it will match, is the
// engine's until its completion. It fails if it matches an unexpected message that is longer.
func (e *Engine) Receive(from, tag int32, buf []byte, id uint64) error {
	n := e.receives.take()
	*e.receives.at(n) = receive{id: id, from: from, tag: tag, buf: buf}
	for prev, i := none, e.unexpected.first; i != none; prev, i = i, e.arrivals.next(i) {
		e.searched++
		if a := e.arrivals.at(i); matches(from, tag, a.from, a.tag) {
			e.arrivals.cut(&e.unexpected, prev, i)
			err := e.match(n, a.from, a.size, a.send, a.large, a.payload)
			a.payload = a.payload[:0]
			e.arrivals.put(i)
			e.waiting--
			return err
		}
	}
	e.receives.append(&e.posted, n)
	return nil
}

// Handle takes a message from the network. Its payload is copied. An error means that no
// correct peer sends such a message, or that a message is longer than its receive.
func (e *Engine) Handle(m Message) error {
	switch {
	case m.To != e.rank:
		return fmt.Errorf("message for rank %d", m.To)
	case m.Size < 0 || m.Kind == Eager && len(m.Payload) != m.Size:
		return fmt.Errorf("%v message of %d bytes with %d", m.Kind, m.Size, len(m.Payload))
	case m.Kind == Eager || m.Kind == Request:
		return e.arrive(m)
	case m.Kind == Grant:
		return e.granted(m)
	case m.Kind == Data:
		return e.data(m)
	}
	return fmt.Errorf("message of unknown kind %d", m.Kind)
}

// arrive matches a message that has come with the posted receives.
func (e *Engine) arrive(m Message) error {
	for prev, i := none, e.posted.first; i != none; prev, i = i, e.receives.next(i) {
		e.searched++
		if r := e.receives.at(i); matches(r.from, r.tag, m.From, m.Tag) {
			e.receives.cut(&e.posted, prev, i)
			return e.match(i, m.From, m.Size, m.Send, m.Kind == Request, m.Payload)
		}
	}
	i := e.arrivals.take()
	a := e.arrivals.at(i)
	*a = arrival{m.From, m.Tag, m.Size, m.Send, m.Kind == Request, append(a.payload[:0], m.Payload...)}
	e.count(len(m.Payload))
	e.arrivals.append(&e.unexpected, i)
	e.waiting++
	e.most = max(e.most, e.waiting)
	return nil
}

func matches(from, tag, source, sent int32) bool {
	return tag == sent && (from == AnySource || from == source)
}

// match gives a message to receive n, which is in no queue.
func (e *Engine) match(n uint32, source int32, size int, send uint32, large bool, payload []byte) error {
	r := e.receives.at(n)
	if size > len(r.buf) {
		return fmt.Errorf("message of %d bytes from rank %d, tag %d, for a receive of %d", size, source, r.tag, len(r.buf))
	}
	r.from, r.size, r.left = source, size, size
	if large && size > 0 {
		r.granted = true
		e.out.Push(Message{Kind: Grant, From: e.rank, To: source, Send: send, Recv: n})
		return nil
	}
	e.count(copy(r.buf, payload))
	e.received(n)
	return nil
}

// received completes receive n.
func (e *Engine) received(n uint32) {
	r := e.receives.at(n)
	e.done.Push(Completion{ID: r.id, Receive: true, Source: r.from, Tag: r.tag, Len: r.size})
	*r = receive{}
	e.receives.put(n)
}

// granted transmits the payload of a large message.
func (e *Engine) granted(m Message) error {
	if !e.sends.valid(m.Send) {
		return fmt.Errorf("grant for a message that was not sent, number %d", m.Send)
	}
	s := e.sends.at(m.Send)
	if !s.wait || s.to != m.From {
		return fmt.Errorf("grant for message %d, which waits for none of rank %d", m.Send, m.From)
	}
	s.wait = false
	e.out.Push(Message{Kind: Data, From: e.rank, To: m.From, Size: len(s.buf), Send: m.Send, Recv: m.Recv, Payload: s.buf})
	return nil
}

// data copies payload of a large message into its receive. The parts of a message may come in
// any order, but each once.
func (e *Engine) data(m Message) error {
	if !e.receives.valid(m.Recv) {
		return fmt.Errorf("data for a message that was not granted, number %d", m.Recv)
	}
	r := e.receives.at(m.Recv)
	switch {
	case !r.granted || r.from != m.From:
		return fmt.Errorf("data for receive %d, which was not granted to rank %d", m.Recv, m.From)
	case len(m.Payload) == 0 || len(m.Payload) > r.left || m.Offset < 0 || m.Offset > r.size-len(m.Payload):
		return fmt.Errorf("%d bytes of data at %d of a message of %d bytes that lacks %d", len(m.Payload), m.Offset, r.size, r.left)
	}
	e.count(copy(r.buf[m.Offset:], m.Payload))
	if r.left -= len(m.Payload); r.left == 0 {
		e.received(m.Recv)
	}
	return nil
}

// Next returns the next message to transmit. The messages to one rank must arrive in this
// order. Its payload belongs to the send until Sent.
func (e *Engine) Next() (Message, bool) { return e.out.Pop() }

// Completed returns the next completion.
func (e *Engine) Completed() (Completion, bool) { return e.done.Pop() }

// Unexpected returns how many messages wait for a receive, and how many have at most.
func (e *Engine) Unexpected() (now, most int) { return e.waiting, e.most }

// Searched returns how many entries of its two queues the engine has looked at since the
// last call: what matching costs.
func (e *Engine) Searched() int {
	n := e.searched
	e.searched = 0
	return n
}

// Copied returns how many payloads the engine has copied since the last call, into receives or
// the unexpected queue, and their bytes: what copying costs. Empty payloads do not count.
func (e *Engine) Copied() (payloads, bytes int) {
	payloads, bytes = e.copies, e.copied
	e.copies, e.copied = 0, 0
	return payloads, bytes
}

// count takes note of a copy of n bytes.
func (e *Engine) count(n int) {
	if n > 0 {
		e.copies++
		e.copied += n
	}
}
