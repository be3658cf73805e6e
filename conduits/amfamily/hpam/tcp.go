package hpam

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Sockets is a process that sends its messages by TCP, over a connection with every other: a node with the kernel between
// itself and the card. A message is a segment. What is modelled is what a segment costs: the system call and the
// copy into the kernel, TCP and IP, the driver and the copy to the card; at the receiver the interrupt, the driver's copy,
// IP and TCP, an acknowledgement for every second segment, which the kernel sends, and the wake-up of the process, its
// system call, and its copy. The copies compute the checksum. Processor and kernel share one processor. The window
// limits what is sent and not acknowledged. Loss is not modelled: there are no retransmissions, and the card's memory, which is not
// divided into buffers of a page here, holds what the windows let out.
type Sockets struct {
	amfamily.End

	loop    *vtime.Loop
	p       *Profile
	card    *Card
	cpu     vtime.Resource
	peers   []connection
	arrived fifo.Queue[frame] // segments in the kernel's buffers
	asleep  bool              // in a system call, until the kernel wakes it
	events  fifo.Queue[frame] // frames whose interrupts have not ended
	acks    fifo.Queue[frame] // acknowledgements that the kernel is about to send
}

// A connection is what the kernel knows of one.
type connection struct {
	unacknowledged int // bytes sent
	delayed        int // segments received and not acknowledged
	bytes          int // of these
}

// NewSockets returns a process on each of n workstations, all of which are connected with each other. The ring must
// lose no frames.
func NewSockets(loop *vtime.Loop, p *Profile, n int, image amfamily.Image) ([]*Sockets, error) {
	if p.Ring.Lose > 0 {
		return nil, p.File.Errorf("ring.lose is more than 0, but TCP is modelled without retransmissions")
	}
	if n < 2 {
		return nil, fmt.Errorf("hpam: %d workstations; a ring has 2 at least", n)
	}
	ring := NewRing(loop, p, n)
	var all []*Sockets
	for i := range n {
		s := &Sockets{End: amfamily.NewEnd(i, n, p.Most(), image), loop: loop, p: p, card: ring.Card(i), peers: make([]connection, n)}
		s.card.ready = s.interrupt
		s.card.free = 1 << 30
		all = append(all, s)
	}
	return all, nil
}

// BuildTCP is Build for TCP.
func BuildTCP(p *Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		all, err := NewSockets(&k.Loop, p, nodes, image)
		return amfamily.Nodes(all), err
	}
}

// work has the process use the processor, which the kernel may have at the time.
func (s *Sockets) work(d vtime.Time) {
	p := s.Proc()
	p.Sync()
	p.Charge(s.cpu.Use(s.loop.Now(), d) - s.loop.Now())
	p.Sync()
}

// Request implements amfamily.Node. While the window is full it polls.
func (s *Sockets) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := s.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	room := func() bool { return s.peers[to].unacknowledged+headerBytes+len(data) <= int(s.p.TCP.Window) }
	if err := amfamily.Wait(s, "room in the window", room); err != nil {
		return err
	}
	s.write(to, &header{kind: aRequest, handler: uint16(handler), args: args}, data)
	return nil
}

// Reply implements amfamily.Node. The window does not limit it: there are no more replies than requests in the other's.
func (s *Sockets) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := s.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("tcp: %w", err)
	}
	s.write(m.From, &header{kind: aReply, handler: uint16(handler), args: args}, data)
	return nil
}

// write is the system call that sends a segment.
func (s *Sockets) write(to int, h *header, data []byte) {
	c, t := &s.peers[to], &s.p.TCP
	s.Count.Traps++
	s.Count.Copied += 2 * uint64(len(data))
	n := headerBytes + len(data)
	b := &sendBuffer{to: to}
	h.seq = uint32(c.bytes) // the segment acknowledges what has come
	c.delayed, c.bytes = 0, 0
	b.data = append(encode(nil, h, data), make([]byte, t.Header)...)
	c.unacknowledged += n
	s.work(t.Call + s.p.Memory.Copy.Time(n) + t.Output + t.Driver + s.p.store(len(b.data)))
	s.card.post(b)
}

// The events of the kernel.
const (
	segment uint64 = iota // the interrupt of a frame has ended
	ack                   // an acknowledgement is in the card
	awake                 // the process runs on
)

var kernelEvents = [...]string{"segment", "ack", "awake"}

// Label implements vtime.Labelled.
func (s *Sockets) Label(event, _ uint64) string { return "kernel " + kernelEvents[event] }

// interrupt is the card's for a frame that has come: the driver copies it out.
func (s *Sockets) interrupt() {
	f, _ := s.card.rx.Pop()
	t := &s.p.TCP
	s.Count.Interrupts++
	s.events.Push(f)
	s.kernel(t.Interrupt+t.Driver+s.p.load(len(f.data))+t.Input, segment)
}

// kernel has the kernel use the processor for a time, and an event happen then.
func (s *Sockets) kernel(d vtime.Time, event uint64) {
	s.loop.At(s.cpu.Use(s.loop.Now(), d), s, event, 0)
}

// Fire implements vtime.Target.
func (s *Sockets) Fire(event, _ uint64) {
	switch event {
	case segment:
		s.card.release()
		f, _ := s.events.Pop()
		s.segment(f)
	case ack:
		f, _ := s.acks.Pop()
		s.card.post(&sendBuffer{data: f.data, to: f.to})
	case awake:
		s.Proc().Arrive()
	}
}

// segment takes a segment, or an acknowledgement, which has nothing but the header.
func (s *Sockets) segment(f frame) {
	c, t := &s.peers[f.from], &s.p.TCP
	if len(f.data) == int(t.Header) {
		c.unacknowledged -= int(binary.BigEndian.Uint32(f.data))
		s.wake()
		return
	}
	f.data = f.data[:len(f.data)-int(t.Header)]
	h, data, _ := decode(f.data) // written by write
	c.unacknowledged -= int(h.seq)
	s.Count.Copied += uint64(len(data))
	c.bytes += len(f.data)
	if c.delayed++; c.delayed == 2 {
		b := make([]byte, t.Header)
		binary.BigEndian.PutUint32(b, uint32(c.bytes))
		c.delayed, c.bytes = 0, 0
		s.acks.Push(frame{to: f.from, data: b})
		s.kernel(t.Output+t.Driver+s.p.store(int(t.Header)), ack)
	}
	s.arrived.Push(f)
	s.wake()
}

// wake wakes the process if it sleeps.
func (s *Sockets) wake() {
	if s.asleep {
		s.asleep = false
		s.kernel(s.p.TCP.Wakeup, awake)
	}
}

// Poll implements amfamily.Node: the system call that reads what has come. If nothing has, the process sleeps in it from
// now on.
func (s *Sockets) Poll() (n int, err error) {
	if err := s.CheckPoll(); err != nil {
		return 0, fmt.Errorf("tcp: %w", err)
	}
	s.Proc().Sync()
	for ; ; n++ {
		f, ok := s.arrived.Pop()
		if !ok {
			s.asleep = n == 0
			return n, nil
		}
		h, data, _ := decode(f.data)
		s.Count.Traps++
		s.Count.Copied += uint64(len(data))
		s.work(s.p.TCP.Call + s.p.Memory.Copy.Time(len(f.data)))
		m := &amfamily.Message{From: f.from, Handler: int(h.handler), Args: h.args, Data: data}
		if h.kind == aReply {
			s.Settle(s, m)
		} else {
			s.Serve(s, m)
		}
	}
}
