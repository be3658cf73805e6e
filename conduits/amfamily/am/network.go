package am

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Network is the networks of a machine, with the ports of all nodes.
type Network struct {
	loop  *vtime.Loop
	p     *Profile
	nodes []node
	ports [][]port // by network and node

	messages []*message // by number
	idle     []*message // of them, those that are not in use
}

// A node is told when something changes at one of its ports.
type node interface{ changed(network int) }

// A message is in a network from when its sender gives it to its port until its receiver has taken it.
type message struct {
	amfamily.Message
	number      int // in Network.messages
	to, network int
	reply       bool
	taken       bool   // its handler runs
	text        []byte // the memory of its data, kept
}

// A port is a node's in a network.
type port struct {
	out     *message // on its way out
	in      *message // has come
	coming  bool     // a message is on its way in
	waiting fifo.Queue[*message]

	injected, left uint64 // messages that were given to it, and of them those that have left
}

func newNetwork(loop *vtime.Loop, p *Profile) *Network {
	return &Network{loop: loop, p: p, ports: make([][]port, p.Net.Networks)}
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

// compose returns a message with a copy of the data.
func (w *Network) compose(from, to, handler int, args [amfamily.Args]uint32, data []byte, reply bool) *message {
	if len(w.idle) == 0 {
		m := &message{number: len(w.messages)}
		w.messages, w.idle = append(w.messages, m), append(w.idle, m)
	}
	last := len(w.idle) - 1
	m := w.idle[last]
	w.idle = w.idle[:last]
	m.text = append(m.text[:0], data...)
	m.Message = amfamily.Message{From: from, Handler: handler, Args: args, Data: m.text}
	m.to, m.network, m.reply, m.taken = to, w.of(reply), reply, false
	return m
}

// release says that nobody uses a message any more.
func (w *Network) release(m *message) { w.idle = append(w.idle, m) }

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
	m := w.messages[number]
	to, from := &w.ports[m.network][m.to], &w.ports[m.network][m.From]
	switch event {
	case header:
		if to.coming || to.in != nil {
			to.waiting.Push(m)
			return
		}
		w.accept(to, m)
	case tail:
		to.coming, to.in = false, m
		from.out = nil
		from.left++
		w.nodes[m.From].changed(m.network)
		w.nodes[m.to].changed(m.network)
	}
}

// accept lets a message into its receiver's port.
func (w *Network) accept(to *port, m *message) {
	to.coming = true
	n := int(w.p.Net.Header) + 4 + amfamily.ArgBytes + len(m.Data)
	w.loop.At(w.loop.Now()+w.p.Net.Rate.Time(n), w, tail, uint64(m.number))
}

// inject gives a message to its sender's port, which must be free.
func (w *Network) inject(m *message) {
	port := &w.ports[m.network][m.From]
	if port.out != nil {
		panic("am: a message is given to a port that is occupied")
	}
	port.out = m
	port.injected++
	w.loop.At(w.loop.Now()+w.p.Net.Latency, w, header, uint64(m.number))
}

// take frees a receiver's port, for a message that waits.
func (w *Network) take(m *message) {
	p := &w.ports[m.network][m.to]
	p.in = nil
	if next, ok := p.waiting.Pop(); ok {
		w.accept(p, next)
	}
}
