package component

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Network is the family of networks: the interface that a technology has in common with the others. A member may have more;
// whoever wants that asks for it ([Grouped]). Myrinet's member is [Component], in any composition, and the host's own memory's is [Local].
type Network interface {
	Self() int                                                // this node
	Nodes() int                                               // of the network
	Unit() int                                                // bytes of a message that needs no cutting
	Delivers() bool                                           // every message arrives, once and in order, or its sender is told
	Send(node, port int, data []byte, done func(error)) error // see Component.Send
	Handle(port int, f func(*Message)) error                  // see Component.Handle
}

// Grouped is the extension of networks with multicast.
type Grouped interface {
	SendGroup(group, port int, data []byte, done func(error)) error
}

// Self returns the number of the node.
func (c *Baseline) Self() int { return c.self }

// Nodes returns how many nodes the network has.
func (c *Baseline) Nodes() int { return len(c.peers) }

// Unit returns how many bytes fit into a frame.
func (c *Baseline) Unit() int { return c.mtu }

// Delivers tells whether every message arrives, once and in order, or its sender is told: Reliability sends again what the network
// loses, and with Credits nothing is overwritten in the staging buffer.
func (c *Component[S]) Delivers() bool { return has[S](Reliability) && has[S](Credits) }

// Local is a network of one node: messages of programs of one host to each other. Nothing is copied.
type Local struct {
	loop     *vtime.Loop
	handlers map[int]func(*Message)
	pending  []local
}

// local is a message on its way.
type local struct {
	port int
	data []byte
	done func(error)
}

// NewLocal returns a network without messages.
func NewLocal(loop *vtime.Loop) *Local { return &Local{loop: loop, handlers: map[int]func(*Message){}} }

// Self implements Network.
func (l *Local) Self() int { return 0 }

// Nodes implements Network.
func (l *Local) Nodes() int { return 1 }

// Unit implements Network.
func (l *Local) Unit() int { return 1 << 30 }

// Delivers implements Network.
func (l *Local) Delivers() bool { return true }

// Handle implements Network. A handler that keeps a message has it until the sender is told, not longer.
func (l *Local) Handle(port int, f func(*Message)) error {
	if l.handlers[port] = f; f == nil {
		delete(l.handlers, port)
	}
	return nil
}

// Send implements Network.
func (l *Local) Send(node, port int, data []byte, done func(error)) error {
	if node != 0 {
		return fmt.Errorf("component: a message to node %d of a host's own network", node)
	}
	l.pending = append(l.pending, local{port, data, done})
	l.loop.At(l.loop.Now(), l, 0, 0)
	return nil
}

// Fire implements vtime.Target: a message arrives.
func (l *Local) Fire(_, _ uint64) {
	p := l.pending[0]
	l.pending = l.pending[1:]
	end := func() {
		if p.done != nil {
			p.done(nil)
		}
	}
	m := &Message{Port: p.port, Group: -1, Parts: [][]byte{p.data}, handling: true, ended: end}
	if f := l.handlers[p.port]; f != nil {
		f(m)
	}
	m.handling = false
	if !m.kept || m.released {
		end()
	}
}
