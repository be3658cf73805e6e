package am

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Network is the networks of a machine, with the ports of all nodes.
type Network struct {
	loop   *vtime.Loop
	p      *Profile
	nodes  []node
	ports  [][]port // by network and node
	flying map[uint64]*message
	count  uint64
}

// A node is told when something changes at one of its ports.
type node interface{ changed(network int) }

// A message is in a network from when its sender gives it to its port until its receiver has taken it.
type message struct {
	amfamily.Message
	to, network int
	reply       bool
	left        bool // its sender's port
	taken       bool // its handler runs
}

// A port is a node's in a network.
type port struct {
	out     *message // on its way out
	in      *message // has come
	coming  bool     // a message is on its way in
	waiting fifo.Queue[*message]
}

func newNetwork(loop *vtime.Loop, p *Profile) *Network {
	return &Network{loop: loop, p: p, ports: make([][]port, p.Net.Networks), flying: map[uint64]*message{}}
}

// add adds a node.
func (w *Network) add(n node) {
	w.nodes = append(w.nodes, n)
	for i := range w.ports {
		w.ports[i] = append(w.ports[i], port{})
	}
}

// of returns the network for requests, or that for replies.
func (w *Network) of(reply bool) int {
	if reply {
		return len(w.ports) - 1
	}
	return 0
}

// The events of a network.
const (
	header uint64 = iota // a message's header has come to its receiver's port
	tail                 // its last byte has
)

var networkEvents = [...]string{"header", "tail"}

// Label implements vtime.Labelled.
func (w *Network) Label(event, _ uint64) string { return "network " + networkEvents[event] }

// Fire implements vtime.Target.
func (w *Network) Fire(event, number uint64) {
	m := w.flying[number]
	to := &w.ports[m.network][m.to]
	switch event {
	case header:
		if to.coming || to.in != nil {
			to.waiting.Push(m)
			delete(w.flying, number)
			return
		}
		w.accept(to, m, number)
	case tail:
		delete(w.flying, number)
		to.coming, to.in = false, m
		m.left = true
		w.ports[m.network][m.From].out = nil
		w.nodes[m.From].changed(m.network)
		w.nodes[m.to].changed(m.network)
	}
}

// accept lets a message into its receiver's port.
func (w *Network) accept(to *port, m *message, number uint64) {
	to.coming = true
	n := int(w.p.Net.Header) + 4 + amfamily.ArgBytes + len(m.Data)
	w.loop.At(w.loop.Now()+w.p.Net.Rate.Time(n), w, tail, number)
}

// inject gives a message to its sender's port, which must be free.
func (w *Network) inject(m *message) {
	w.ports[m.network][m.From].out = m
	w.count++
	w.flying[w.count] = m
	w.loop.At(w.loop.Now()+w.p.Net.Latency, w, header, w.count)
}

// take frees a receiver's port, for a message that waits.
func (w *Network) take(m *message) {
	p := &w.ports[m.network][m.to]
	p.in = nil
	if next, ok := p.waiting.Pop(); ok {
		w.count++
		w.flying[w.count] = next
		w.accept(p, next, w.count)
	}
}
