package component

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Communicator is the family of communicators, the component's main interface: what all of its members together can do. A member
// refuses what it cannot ([ErrMember]), so that the choice of a member is one line of a program.
type Communicator interface {
	// Send sends a message to a node; Link: to its peer, whichever node is given.
	Send(node int, data []byte, done func(error)) error
	// SendGroup sends a message to a group: Port and Mailbox, on a network that is Grouped.
	SendGroup(group int, data []byte, done func(error)) error
	// Receive returns the next message, which is the program's until Release; false if there is none. Port: never, as its
	// messages go to the handler.
	Receive() (*Message, bool)
	// Close ends reception. What is waiting is released.
	Close()
}

// ErrMember says that a member of a family cannot do what another one can.
var ErrMember = errors.New("component: this member of the family cannot do that")

// ErrClosed says that a communicator has been closed.
var ErrClosed = errors.New("component: the communicator has been closed")

// communicator is what the members share.
type communicator struct {
	net    Network
	port   int
	closed bool
	queue  fifo.Queue[*Message]
	notify func()
}

func (c *communicator) open(net Network, port int, f func(*Message)) error {
	c.net, c.port = net, port
	return net.Handle(port, f)
}

// Receive implements Communicator.
func (c *communicator) Receive() (*Message, bool) { return c.queue.Pop() }

// Waiting returns how many messages can be received.
func (c *communicator) Waiting() int { return c.queue.Len() }

// Notify has f called when a message has come that can be received.
func (c *communicator) Notify(f func()) { c.notify = f }

// Close implements Communicator.
func (c *communicator) Close() {
	if c.closed {
		return
	}
	c.closed = true
	_ = c.net.Handle(c.port, nil) // the port was good when it was opened
	for m, ok := c.queue.Pop(); ok; m, ok = c.queue.Pop() {
		m.Release()
	}
}

// keep queues a message.
func (c *communicator) keep(m *Message) {
	m.Keep()
	c.queue.Push(m)
	if c.notify != nil {
		c.notify()
	}
}

func (c *communicator) send(node int, data []byte, done func(error)) error {
	if c.closed {
		return ErrClosed
	}
	return c.net.Send(node, c.port, data, done)
}

// SendGroup implements Communicator.
func (c *communicator) SendGroup(group int, data []byte, done func(error)) error {
	g, ok := c.net.(Grouped)
	switch {
	case c.closed:
		return ErrClosed
	case !ok:
		return ErrMember
	}
	return g.SendGroup(group, c.port, data, done)
}

// Link is a communicator between two nodes, which each open it with the other one as its peer. Messages wait until they are
// received; what comes from others is dropped and counted.
type Link struct {
	communicator
	peer   int
	Others uint64 // messages of other nodes
}

// NewLink opens a link at a port, which is the same at both nodes.
func NewLink(net Network, port, peer int) (*Link, error) {
	if peer < 0 || peer >= net.Nodes() {
		return nil, fmt.Errorf("component: a link to node %d of %d", peer, net.Nodes())
	}
	l := &Link{peer: peer}
	return l, l.open(net, port, func(m *Message) {
		if m.From != peer {
			l.Others++
			return
		}
		l.keep(m)
	})
}

// Send implements Communicator.
func (l *Link) Send(_ int, data []byte, done func(error)) error { return l.send(l.peer, data, done) }

// SendGroup implements Communicator: a link has one peer.
func (l *Link) SendGroup(int, []byte, func(error)) error { return ErrMember }

// Port is a communicator with any node that has opened the same port. Messages go to the handler as they come, and are the
// program's until that returns.
type Port struct{ communicator }

// NewPort opens a port.
func NewPort(net Network, port int, handler func(*Message)) (*Port, error) {
	p := new(Port)
	if handler == nil {
		return nil, errors.New("component: a port without a handler; messages that wait are a Mailbox's")
	}
	return p, p.open(net, port, handler)
}

// Send implements Communicator.
func (p *Port) Send(node int, data []byte, done func(error)) error { return p.send(node, data, done) }

// Mailbox is a communicator with any node that has opened the same port. Messages wait until they are received, up to a number;
// what comes when it is full is dropped and counted. With Credits a message that waits keeps its sender's credits, so that with no
// more credits than room nothing is dropped.
type Mailbox struct {
	communicator
	room int
	Full uint64 // messages that were dropped
}

// NewMailbox opens a mailbox with room for so many messages.
func NewMailbox(net Network, port, room int) (*Mailbox, error) {
	if room < 1 {
		return nil, fmt.Errorf("component: a mailbox with room for %d messages", room)
	}
	b := &Mailbox{room: room}
	return b, b.open(net, port, func(m *Message) {
		if b.queue.Len() == room {
			b.Full++
			return
		}
		b.keep(m)
	})
}

// Send implements Communicator.
func (b *Mailbox) Send(node int, data []byte, done func(error)) error {
	return b.send(node, data, done)
}
