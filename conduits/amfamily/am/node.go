package am

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Node is a process with Active Messages.
type Node struct {
	amfamily.End

	// Memory is what Put and Get reach: of the same size on all nodes.
	Memory []byte

	w        *Network
	put, get int // handlers

	held // see Hold
}

// New returns n nodes with memory of a size, 2 at least. The image has no handlers for Put and Get: they are added.
func New(loop *vtime.Loop, p *Profile, n, memory int, image amfamily.Image) ([]*Node, error) {
	if n < 2 || memory < 0 || int64(memory) > 1<<32 {
		return nil, fmt.Errorf("am: %d nodes with %d bytes of memory; a machine has 2 nodes at least, with at most 4 GB", n, memory)
	}
	w := newNetwork(loop, p)
	full := append(append(amfamily.Image(nil), image...), putHandler, getHandler)
	var all []*Node
	for i := range n {
		a := &Node{End: amfamily.NewEnd(i, n, int(p.AM.Message), full), Memory: make([]byte, memory), w: w, put: len(image), get: len(image) + 1}
		w.add(a)
		all = append(all, a)
	}
	return all, nil
}

// Build returns what makes a program on a machine, for measurements.
func Build(p *Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		all, err := New(&k.Loop, p, nodes, 0, image)
		return amfamily.Nodes(all), err
	}
}

func (n *Node) changed(network int) {
	n.deposit(network)
	n.Proc().Arrive()
}

// Request implements amfamily.Node.
func (n *Node) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := n.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	n.send(to, handler, args, data, false)
	return nil
}

// Reply implements amfamily.Node.
func (n *Node) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := n.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	if n.holds {
		n.inject(m.From, handler, args, data, true) // the port is free: see request
		return nil
	}
	n.send(m.From, handler, args, data, true)
	return nil
}

// send sends a message, and returns when it has left the port: then the data is the caller's again.
func (n *Node) send(to, handler int, args [amfamily.Args]uint32, data []byte, reply bool) {
	port := &n.w.ports[n.w.of(reply)][n.ID()]
	n.until("a port", func() bool { return port.out == nil })
	n.Proc().Charge(n.w.p.AM.Send)
	n.Proc().Sync()
	n.until("the network", func() bool { return port.out == nil }) // a handler may have sent meanwhile
	n.w.inject(n.w.compose(n.ID(), to, handler, args, data, reply))
	number := port.injected
	n.until("the network", func() bool { return port.left >= number })
}

// until takes what comes until done.
func (n *Node) until(op string, done func() bool) {
	p := n.Proc()
	for p.Sync(); !done(); p.Sync() {
		if n.serve() == 0 && !done() {
			p.SetWaiting(op)
			p.Park(0)
		}
	}
}

// serve runs the handlers of what has come, and returns how many. In the handler of a request only replies can have come, as
// the request occupies its port until the handler returns.
func (n *Node) serve() (served int) {
	for i := len(n.w.ports) - 1; i >= 0; i-- {
		m := n.w.ports[i][n.ID()].in
		if m == nil || m.taken {
			continue
		}
		m.taken = true
		served++
		n.Count.Interrupts++
		n.Proc().Charge(n.w.p.AM.Receive)
		n.Proc().Sync()
		if m.reply {
			n.Settle(n, &m.Message)
		} else {
			n.Serve(n, &m.Message)
		}
		n.Proc().Sync()
		n.w.take(m)
		n.w.release(m)
	}
	return served
}

// Poll implements amfamily.Node: the interrupts of what has come. It takes no time if nothing has, unless the node holds
// interrupts off.
func (n *Node) Poll() (int, error) {
	if err := n.CheckPoll(); err != nil {
		return 0, fmt.Errorf("am: %w", err)
	}
	if n.holds {
		return n.look(), nil
	}
	n.Proc().Sync()
	return n.serve(), nil
}

// Compute lets the process compute for so long; what comes meanwhile interrupts it, and takes its time besides.
func (n *Node) Compute(d vtime.Time) error {
	if err := n.CheckPoll(); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	p := n.Proc()
	end := p.Now() + d
	timer := p.Kernel().NewTimer(alarm{n}, 0, 0)
	for p.Sync(); p.Now() < end; p.Sync() {
		begin := p.Now()
		if n.serve() > 0 {
			end += p.Now() - begin
			continue
		}
		timer.Reset(end)
		p.SetWaiting("the end of a computation")
		p.Park(0)
	}
	timer.Stop()
	return nil
}

// alarm wakes a node that computes.
type alarm struct{ n *Node }

// Fire implements vtime.Target.
func (a alarm) Fire(_, _ uint64) { a.n.Proc().Arrive() }

// Label implements vtime.Labelled.
func (alarm) Label(_, _ uint64) string { return "computed" }

// FlagBytes is the size of a flag: a 32-bit counter in memory, little-endian.
const FlagBytes = 4

// Flag returns the flag at an address of the node's memory.
func (n *Node) Flag(address int) uint32 { return binary.LittleEndian.Uint32(n.Memory[address:]) }

// Put copies data to an address of another node's memory, and adds one there to the flag at another address. It returns when
// the data is the caller's again.
func (n *Node) Put(to, address int, data []byte, flag int) error {
	if err := n.inMemory(address, len(data), flag); err != nil {
		return err
	}
	return n.Request(to, n.put, [amfamily.Args]uint32{uint32(address), uint32(len(data)), uint32(flag)}, data)
}

// Get copies from an address of another node's memory to one of the node's own, and adds one to the node's own flag at a third
// address when the data is there. It returns when the request has been sent.
func (n *Node) Get(from, address, length, local, flag int) error {
	if err := n.inMemory(address, length, flag); err != nil {
		return err
	}
	if err := n.inMemory(local, length, flag); err != nil {
		return err
	}
	if length > int(n.w.p.AM.Message) {
		return fmt.Errorf("am: node %d: a get of %d bytes, but a message has %d at most", n.ID(), length, n.w.p.AM.Message)
	}
	return n.Request(from, n.get, [amfamily.Args]uint32{uint32(address), uint32(length), uint32(flag), uint32(local)}, nil)
}

// inMemory returns an error unless all of it is in memory.
func (n *Node) inMemory(address, length, flag int) error {
	size := len(n.Memory)
	if address < 0 || length < 0 || flag < 0 || address > size-length || flag > size-FlagBytes {
		return fmt.Errorf("am: node %d: %d bytes at %d with a flag at %d are not within the %d bytes of memory", n.ID(), length, address, flag, size)
	}
	return nil
}

// putHandler stores the data of a Put, or of the answer to a Get.
func putHandler(on amfamily.Node, m *amfamily.Message) {
	n := on.(*Node)
	address, length, flag := int(m.Args[0]), int(m.Args[1]), int(m.Args[2])
	if length != len(m.Data) || n.inMemory(address, length, flag) != nil {
		n.Count.Malformed++
		return
	}
	n.Proc().Charge(n.w.p.Memory.Copy.Time(length))
	n.Count.Copied += uint64(copy(n.Memory[address:], m.Data))
	binary.LittleEndian.PutUint32(n.Memory[flag:], n.Flag(flag)+1)
}

// getHandler sends a Put back that is built from the header.
func getHandler(on amfamily.Node, m *amfamily.Message) {
	n := on.(*Node)
	address, length, flag, local := int(m.Args[0]), int(m.Args[1]), m.Args[2], m.Args[3]
	if len(m.Data) > 0 || length > int(n.w.p.AM.Message) || n.inMemory(address, length, 0) != nil {
		n.Count.Malformed++
		return
	}
	if err := n.Reply(m, n.put, [amfamily.Args]uint32{local, uint32(length), flag}, n.Memory[address:address+length]); err != nil {
		panic(err) // all of it was checked
	}
}
