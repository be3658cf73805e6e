package ssam

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A message begins with its length, its handler, and its arguments; all is big-endian.
const (
	headerBytes = 4 + amfamily.ArgBytes
	noHandler   = 1<<16 - 1 // a reply to a request whose handler has not replied
)

// Process is a process with SSAM's library: a node.
type Process struct {
	amfamily.End

	p        *Profile
	device   *Device
	partners []partner
	ready    fifo.Queue[message] // whole, and not handled
	held                         // see Hold

	text    []byte   // of the message that is sent, kept
	idle    [][]byte // memory of messages that have been handled
	handled message  // whose handler runs
}

// A message is whole.
type message struct {
	reply bool
	amfamily.Message
	text []byte // of which its data is part
}

// A partner is what a process knows of another one.
type partner struct {
	room      int // cells that may be sent to it
	owed      int // cells that have come from it, and of which it has not been told
	unsettled int // requests to it that it has not replied to
	trains    [2]train
}

// A train is a connection from a partner: of requests, or of replies.
type train struct {
	seq    uint16 // of the next cell from it
	out    uint16 // of the next cell to it
	broken bool   // a cell is missing: the rest of the message is dropped
	data   []byte
}

// Cluster is workstations at a switch.
type Cluster struct {
	Cards   []*Card
	p       *Profile
	path    Path
	kernels []*kernel
	all     []*Process // of all programs
}

// creditCells is how many cells a partner may use beside its window, to return room: in each of the two halves of the other's
// window one, and one more that has been sent when the second was owed.
const creditCells = 3

// NewCluster returns n workstations, 2 at least, whose processes take a path.
func NewCluster(loop *vtime.Loop, p *Profile, path Path, n int) (*Cluster, error) {
	if most := p.Card.Input/(2+creditCells) + 1; n < 2 || n > most {
		return nil, fmt.Errorf("ssam: %d workstations, but must be from 2 to %d: an input FIFO of %d cells is shared by all partners", n, most, p.Card.Input)
	}
	c := &Cluster{Cards: newCards(loop, p, n), p: p, path: path}
	for i, card := range c.Cards {
		k := &kernel{loop: loop, p: p, path: path, card: card, id: i}
		card.ready = k.come
		c.kernels = append(c.kernels, k)
	}
	return c, nil
}

// Program starts a program: a process of it on every workstation. With the path User there is one program. It is called
// before Run.
func (c *Cluster) Program(image amfamily.Image) ([]*Process, error) {
	n, before := len(c.Cards), len(c.kernels[0].devices)
	if len(image) >= noHandler {
		return nil, fmt.Errorf("ssam: a program of %d handlers; there may be %d", len(image), noHandler-1)
	}
	if c.path == User && before > 0 {
		return nil, fmt.Errorf("ssam: a second program, but the card is mapped into the process of the first")
	}
	var all []*Process
	for i, k := range c.kernels {
		p := &Process{End: amfamily.NewEnd(i, n, int(c.p.SSAM.Message), image), p: c.p, partners: make([]partner, n)}
		p.device = k.open(before, p.Proc)
		all = append(all, p)
	}
	c.all = append(c.all, all...)
	return all, c.share()
}

// window returns how many cells a process may have under way to a partner, among n workstations with so many programs.
func (p *Profile) window(n, programs int) int { return p.Card.Input/((n-1)*programs) - creditCells }

// share has the processes of all programs share the input FIFOs.
func (c *Cluster) share() error {
	programs := len(c.kernels[0].devices)
	window := c.p.window(len(c.Cards), programs)
	if window < 2 {
		return fmt.Errorf("ssam: %d programs on %d workstations: an input FIFO of %d cells is shared by all partners", programs, len(c.Cards), c.p.Card.Input)
	}
	for _, p := range c.all {
		p.device.half = window / 2
		for i := range p.partners {
			p.partners[i].room = window
		}
	}
	return nil
}

// Build returns what makes one program on a machine, for measurements.
func Build(p *Profile, path Path) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		c, err := NewCluster(&k.Loop, p, path, nodes)
		if err != nil {
			return nil, err
		}
		all, err := c.Program(image)
		return amfamily.Nodes(all), err
	}
}

// Device returns the process's device.
func (p *Process) Device() *Device { return p.device }

// Counts implements amfamily.Node.
func (p *Process) Counts() amfamily.Counts {
	c := p.Count
	c.Traps, c.Interrupts = p.device.traps, p.device.interrupts
	return c
}

// Request implements amfamily.Node. While too many requests to the partner have no reply it polls.
func (p *Process) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := p.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("ssam: %w", err)
	}
	if err := amfamily.Wait(p, "replies to earlier requests", func() bool { return p.partners[to].unsettled < p.p.SSAM.Depth }); err != nil {
		return err
	}
	p.partners[to].unsettled++
	if err := p.send(to, handler, false, args, data); err != nil {
		return err
	}
	p.run()
	return nil
}

// Reply implements amfamily.Node.
func (p *Process) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := p.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("ssam: %w", err)
	}
	return p.send(m.From, handler, true, args, data)
}

// train returns the half of a partner that requests, or replies, go by.
func (q *partner) train(reply bool) *train {
	if reply {
		return &q.trains[1]
	}
	return &q.trains[0]
}

// send sends a message, cell by cell.
func (p *Process) send(to, handler int, reply bool, args [amfamily.Args]uint32, data []byte) error {
	text := binary.BigEndian.AppendUint16(p.text[:0], uint16(len(data)))
	text = binary.BigEndian.AppendUint16(text, uint16(handler))
	for _, a := range args {
		text = binary.BigEndian.AppendUint32(text, a)
	}
	text = append(text, data...)
	p.text = text
	p.Count.Copied += uint64(len(data))
	size := int(p.p.Card.Data)
	if p.device.k.path >= Driver {
		p.call(p.p.cells(len(data)))
	}
	for len(text) > 0 {
		n := min(size, len(text))
		if err := p.untilRoom(to); err != nil {
			return err
		}
		p.partners[to].room--
		if err := p.cell(cell{to: to, reply: reply, last: n == len(text)}, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// call is the system call that sends or receives a message of so many cells by the driver.
func (p *Process) call(cells int) {
	t := p.p.Driver.Call + p.p.copied(cells)
	if p.device.k.path == Vendor {
		t += p.p.Vendor.Call + p.p.copied(cells)
	}
	p.device.traps++
	p.Count.Copied += uint64(cells) * uint64(p.p.Card.Data)
	p.device.work(t)
}

// untilRoom polls until a partner has room for a cell. The polls run no handlers, as it may be one that waits.
func (p *Process) untilRoom(to int) error {
	for p.partners[to].room == 0 {
		if seen := p.Proc().Arrivals; p.take() == 0 && p.partners[to].room == 0 && p.Proc().Arrivals == seen {
			p.device.asleep = p.device.k.path >= Driver
			p.Proc().SetWaiting("room for a cell")
			p.Proc().Park(p.p.Trap.Time)
		}
	}
	return nil
}

// cell sends a cell, which tells of room, and polls.
func (p *Process) cell(x cell, data []byte) error {
	q := &p.partners[x.to]
	t := q.train(x.reply)
	x.seq, x.room = t.out, q.owed
	t.out++
	q.owed = 0
	d := p.device
	switch d.k.path {
	case Traps:
		d.work(p.p.SSAM.Format + p.p.copied(1))
		offset, buffer := d.Next()
		if err := d.send(x, offset, copy(buffer, data)); err != nil {
			return err
		}
	case User:
		d.work(p.p.SSAM.Format)
		d.put(x, data)
		p.take()
		return nil
	default:
		d.work(p.p.Driver.Cell)
		d.put(x, data)
		return nil
	}
	p.take()
	return nil
}

// take polls the network and puts messages together; it returns how many cells have come.
func (p *Process) take() (n int) {
	d := p.device
	switch d.k.path {
	case Traps:
		d.Poll()
	case User:
		d.drain(0)
	default:
		p.Proc().Sync()
	}
	for ; ; n++ {
		x, ok := d.received.Pop()
		if !ok {
			return n
		}
		q := &p.partners[x.from]
		q.room += x.room
		if len(x.data) > 0 { // cells that only return room are not counted as such
			q.owed++
			p.Count.Copied += uint64(len(x.data))
		}
		p.assemble(q.train(x.reply), x)
		d.k.card.recycle(x)
		if q.owed >= p.device.half {
			p.giveRoom(x.from)
		}
	}
}

// giveRoom tells a partner how much has been taken out of the FIFO.
func (p *Process) giveRoom(to int) {
	q, d := &p.partners[to], p.device
	x := cell{to: to, reply: true, last: true, seq: q.trains[1].out, room: q.owed}
	q.trains[1].out++
	q.owed = 0
	if d.k.path == Traps {
		d.traps++
		d.work(p.p.Trap.Time + p.p.Trap.Check)
	}
	d.put(x, nil)
}

// assemble adds a cell to the message of its train.
func (p *Process) assemble(t *train, x cell) {
	p.device.work(p.p.SSAM.Dispatch)
	if x.seq != t.seq {
		t.broken, t.seq = true, x.seq
	}
	t.seq++
	if len(x.data) == 0 {
		return
	}
	t.data = append(t.data, x.data...)
	if !x.last {
		return
	}
	text, broken := t.data, t.broken
	t.data, t.broken = nil, false
	if last := len(p.idle) - 1; last >= 0 {
		t.data, p.idle = p.idle[last][:0], p.idle[:last]
	}
	if m, ok := decode(x.from, text); ok && !broken && (p.Known(m.Handler) || x.reply && m.Handler == noHandler) {
		p.ready.Push(message{x.reply, m, text})
	} else {
		p.Count.Malformed++
		p.idle = append(p.idle, text)
	}
}

// decode reads a message.
func decode(from int, b []byte) (m amfamily.Message, ok bool) {
	if len(b) < headerBytes || int(binary.BigEndian.Uint16(b)) != len(b)-headerBytes {
		return m, false
	}
	m = amfamily.Message{From: from, Handler: int(binary.BigEndian.Uint16(b[2:])), Data: b[headerBytes:]}
	for i := range m.Args {
		m.Args[i] = binary.BigEndian.Uint32(b[4+4*i:])
	}
	return m, true
}

// Poll implements amfamily.Node.
func (p *Process) Poll() (int, error) {
	if err := p.CheckPoll(); err != nil {
		return 0, fmt.Errorf("ssam: %w", err)
	}
	cells := p.take()
	n := p.run()
	if p.device.k.path >= Driver {
		p.device.asleep = n == 0
	}
	return n + cells, nil
}

// run runs the handlers of whole messages in a loop, but for requests that are held.
func (p *Process) run() (n int) {
	p.look()
	for ; ; n++ {
		ok := false
		if p.handled, ok = p.next(); !ok {
			return n
		}
		m := &p.handled
		if p.device.k.path >= Driver {
			p.call(p.p.cells(len(m.Data)))
		}
		switch {
		case !m.reply:
			if !p.Serve(p, &m.Message) {
				if err := p.send(m.From, noHandler, true, m.Args, nil); err != nil {
					panic(err) // the kernel refuses what the library sends
				}
			}
		case p.partners[m.From].unsettled == 0:
			p.Count.Malformed++
		default:
			p.partners[m.From].unsettled--
			if m.Handler != noHandler {
				p.Settle(p, &m.Message)
			}
		}
		p.idle = append(p.idle, m.text)
	}
}
