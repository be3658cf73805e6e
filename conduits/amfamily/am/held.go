package am

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// held is the state of a node whose interrupts are held off but in polls (amfamily.Claimer).
//
// What would be a deadlock otherwise is kept off by two rules. A reply that has come is copied to memory by the interrupt, whatever the
// process does, so that the network for replies always moves. And a request stays in its port until the node's own port
// for replies is free, so that its handler never waits.
type held struct {
	holds   bool
	claimed bool                 // the port for requests
	replies fifo.Queue[*message] // in memory, and not handled
}

// Hold implements amfamily.Claimer. The length of a reply does not matter to a port.
func (n *Node) Hold(int) error {
	if n.w.of(false) == n.w.of(true) {
		return n.w.p.File.Errorf("net.networks is 1: requests that wait in the network would keep replies out of it, and nodes that ask each other stop for ever; 2 are needed")
	}
	n.holds = true
	return nil
}

// Claim implements amfamily.Claimer: one message at a time is in the port. A node that has as many replies in memory as am.replies
// allows polls first.
func (n *Node) Claim(int, int) bool {
	n.Proc().Sync()
	if n.claimed || n.w.ports[n.w.of(false)][n.ID()].out != nil || n.replies.Len() >= n.w.p.AM.Replies {
		return false
	}
	n.claimed = true
	return true
}

// Send implements amfamily.Claimer. It returns when the message has been given to the port.
func (n *Node) Send(to, handler int, args [amfamily.Args]uint32, data []byte, _ int) error {
	if err := n.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	n.claimed = false
	n.inject(to, handler, args, data, false)
	return nil
}

// inject gives a message to a port that is free.
func (n *Node) inject(to, handler int, args [amfamily.Args]uint32, data []byte, reply bool) {
	n.Proc().Charge(n.w.p.AM.Send)
	n.Proc().Sync()
	n.w.inject(n.w.compose(n.ID(), to, handler, args, data, reply))
}

// deposit copies a reply to memory. The poll that runs its handler is charged for the interrupt and the copy.
func (n *Node) deposit(network int) {
	if !n.holds || network != n.w.of(true) {
		return
	}
	if m := n.w.ports[network][n.ID()].in; m != nil {
		n.Count.Interrupts++
		n.replies.Push(m)
		n.w.take(m)
	}
}

// look lets interrupts through: those of replies that are in memory, and that of a request if its reply has room.
func (n *Node) look() (served int) {
	p := n.Proc()
	p.Charge(n.w.p.AM.Poll)
	p.Sync()
	for ; ; served++ {
		m, ok := n.replies.Pop()
		if !ok {
			return served + n.request()
		}
		p.Charge(n.w.p.AM.Receive + n.w.p.Memory.Copy.Time(len(m.Data)))
		p.Sync()
		n.Count.Copied += uint64(len(m.Data))
		n.Settle(n, &m.Message)
		n.w.release(m)
	}
}

// request runs the handler of a request that has come, if the port for its reply is free, and returns how many that were.
func (n *Node) request() int {
	m := n.w.ports[n.w.of(false)][n.ID()].in
	if m == nil || n.w.ports[n.w.of(true)][n.ID()].out != nil {
		return 0
	}
	n.Count.Interrupts++
	n.Proc().Charge(n.w.p.AM.Receive)
	n.Proc().Sync()
	n.Serve(n, &m.Message)
	n.Proc().Sync()
	n.w.take(m)
	n.w.release(m)
	return 1
}
