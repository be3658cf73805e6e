package component

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// plain is the baseline written by hand: the same structures, and an algorithm that knows no protocol. What compositions without
// one cost is compared with it.
type plain struct{ Baseline }

func newPlain(t testing.TB, f *fabric.Fabric, p *Profile, traits Traits, id int) *plain {
	c := new(plain)
	c.target, c.releaser = (*plainHost)(c), c.releases
	c.step = steps{token: c.takeToken, loaded: c.loadedFrames, choose: c.choose, leave: c.leave, classify: c.classify}
	if err := c.load(f, p, traits, id); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *plain) takeToken() {
	r, ok := c.bells.Next()
	if !ok {
		return
	}
	if c.bells.Waiting() > 0 {
		c.nic.CPU.Raise(evBell)
	}
	c.unblock()
	s := &c.slots[r.Value]
	if s.large {
		if err := c.tx.Start(); err != nil {
			panic(err)
		}
		c.loading.Push(s)
	}
	f := c.record()
	f.header, f.slot = s.header, s
	f.header.Target = uint16(s.to.peer.node)
	s.refs = 1
	s.to.peer.out.Push(f)
	c.offer(s.to.peer)
}

func (c *plain) loadedFrames() {
	for c.loading.Len() > 0 && (*c.loading.At(0)).fetched <= c.tx.Finished() {
		s, _ := c.loading.Pop()
		s.loaded = true
		c.counts.Fetched++
		c.counts.HostToNIC += uint64(s.header.Length)
		c.offer(s.to.peer)
	}
	c.unblock()
}

func (p *peer) loaded() bool { return p.out.Len() > 0 && (*p.out.At(0)).slot.loaded }

func (c *plain) offer(p *peer) {
	if !p.queued && p.loaded() {
		p.queued = true
		c.sendable.Push(p)
		c.nic.CPU.Raise(evSend)
	}
}

func (c *plain) choose() {
	if !c.busy && c.port.Idle() && c.sendable.Len() > 0 {
		c.spend(c.cost.leave, c.step.leave)
	}
}

func (c *plain) leave() {
	p, _ := c.sendable.Pop()
	p.queued = false
	if !p.loaded() {
		c.choose()
		return
	}
	f, _ := p.out.Pop()
	c.sending = f
	route := c.routes[p.node]
	payload := f.slot.bytes[:f.header.Length]
	packet := append(make([]byte, 0, len(route)+c.header+len(payload)), route...)
	packet = append(Append[[0]byte](&f.header, packet), payload...)
	c.counts.Sent++
	c.busy = true
	c.nic.Works(lanai.Send, true)
	c.port.Inject(fabric.Packet{Head: packet})
	c.offer(p)
}

func (c *plain) classify() {
	b := c.done
	h, payload, err := Decode[[0]byte](b.bytes[tagSize:][:b.n])
	if b.verdict != fabric.Good || b.long || err != nil || int(h.Source) >= len(c.peers) || int(h.Target) != c.self || int(h.Source) == c.self {
		c.freeFrame(b)
		return
	}
	c.counts.NICToNIC += uint64(h.Length)
	c.counts.Received++
	place := int(c.placed % uint32(len(c.staging)))
	c.placed++
	c.put(c.stage(&h, b, place, len(payload)))
}

type plainHost plain

func (e *plainHost) Label(_, what uint64) string { return hostEvents[what] }

func (e *plainHost) Fire(_, what uint64) {
	c := (*plain)(e)
	switch what {
	case frameMade:
		c.write()
	case roomSeen:
		c.drive()
	case messageDone:
		c.end()
	case entrySeen:
		c.seen++
		c.look()
	case entryFound:
		c.loop.At(c.nic.Bus.Use(c.loop.Now(), c.profile.Bus.ReadTime(entrySize)), e, 0, entryRead)
	case entryRead:
		c.entry, _ = c.entries.Pop()
		c.used--
		c.nic.CPU.Raise(evStore)
		c.loop.At(c.cpu.Use(c.loop.Now(), c.profile.Host.Copy.Time(int(c.entry.header.Length))), e, 0, frameTaken)
	case frameTaken:
		c.process(&c.entry)
		c.hosting = false
		c.look()
	}
}

// Send is Component.Send.
func (c *plain) Send(node, port int, data []byte, done func(error)) error {
	switch {
	case node < 0 || node >= len(c.peers) || node == c.self || port < 0 || port >= 1<<16 || len(data) > c.traits.MTU<<16:
		return errNoFrame
	case c.routes[node] == nil:
		return ErrNoRoute
	case c.pending == c.traits.Messages:
		return ErrNoRoom
	}
	var m *message
	if n := len(c.unused) - 1; n >= 0 {
		m, c.unused = c.unused[n], c.unused[:n]
	} else {
		m = new(message)
	}
	c.pending++
	c.numbered++
	*m = message{kind: Data, port: uint16(port), data: data, done: done, number: c.numbered, mtu: c.traits.MTU}
	to := c.peers[node].own
	to.messages.Push(m)
	c.turn(to)
	c.drive()
	return nil
}

func (c *plain) turn(to *address) {
	if !to.queued {
		to.queued = true
		c.turns.Push(to)
	}
}

func (c *plain) drive() {
	if c.driving || c.turns.Len() == 0 {
		return
	}
	m := *(*c.turns.At(0)).messages.At(0)
	take := c.profile.Host.Frame
	if !m.begun {
		m.begun = true
		take += c.profile.Host.Message
	}
	if c.sendRing.room() == 0 || c.bells.Room() == 0 || c.tx.Room() == 0 {
		c.blocked = true
		return
	}
	c.driving = true
	c.loop.At(c.cpu.Use(c.loop.Now(), take), c.target, 0, frameMade)
}

func (c *plain) write() {
	c.driving = false
	to := *c.turns.At(0)
	m := *to.messages.At(0)
	size := min(m.mtu, len(m.data)-m.offset)
	s := &c.slots[c.sendRing.take()]
	s.to, s.message, s.loaded, s.large = to, m, true, size > c.traits.Small
	s.header = Header{Kind: Data, Source: uint16(c.self), Port: m.port, Message: m.number, Index: uint16(m.index), Length: uint16(size), Total: uint32(len(m.data))}
	m.frames++
	data := m.data[m.offset : m.offset+size]
	if s.large {
		s.loaded = false
		c.nic.HostWrite(c.header, nil, 0, 0)
		c.nic.HostWrite(lanai.BlockSize, nil, 0, 0)
		if err := c.tx.Append(lanai.Block{Direction: lanai.FromHost, Host: data, SRAM: s.bytes[:size], Terminal: true, Signal: true}); err != nil {
			panic(err)
		}
		c.fetched++
		s.fetched = c.fetched
	} else {
		c.nic.HostWrite(c.header+size, nil, 0, 0)
		c.counts.HostToNIC += uint64(copy(s.bytes, data))
	}
	if err := c.bells.Write(0, uint64(s.index)); err != nil {
		panic(err)
	}
	m.offset += size
	if m.index++; m.offset == len(m.data) {
		m.handed = true
		to.messages.Drop()
		c.turns.Drop()
		to.queued = false
		if to.messages.Len() > 0 {
			c.turn(to)
		}
	}
	c.drive()
}

func (c *plain) process(e *entry) {
	h := &e.header
	in := &c.peers[h.Source].in
	if h.Index == 0 {
		if in.active {
			c.counts.Refused++
		}
		*in = assembly{active: true, number: h.Message, port: h.Port, total: h.Total, buffer: in.buffer[:0], parts: in.parts[:0]}
	}
	fits := in.active && in.number == h.Message && in.next == h.Index && in.total == h.Total && in.port == h.Port
	in.next++
	in.got += uint32(h.Length)
	if !fits || !c.copyOut(in, e) || in.got > in.total {
		c.counts.Refused++
		in.active = false
		return
	}
	if in.got == in.total {
		c.deliver(c.peers[h.Source])
	}
}

func (c *plain) deliver(p *peer) {
	in := &p.in
	in.active = false
	var m *Message
	if n := len(c.spare) - 1; n >= 0 {
		m, c.spare = c.spare[n], c.spare[:n]
	} else {
		m = new(Message)
	}
	*m = Message{From: p.node, Port: int(in.port), Group: -1, Parts: append(m.Parts[:0], in.parts...), c: &c.Baseline, peer: p, buffer: in.buffer, handling: true}
	in.buffer = nil
	if f := c.handlers[in.port]; f != nil {
		c.counts.Messages++
		f(m)
	} else {
		c.counts.NoPort++
	}
	m.handling = false
	if !m.kept || m.released {
		m.released = true
		c.releases(m)
	}
}

func (c *plain) releases(m *Message) {
	if m.peer.in.buffer == nil {
		m.peer.in.buffer = m.buffer[:0]
	}
	c.spare = append(c.spare, m)
}

// sender is what both have.
type sender interface {
	Send(node, port int, data []byte, done func(error)) error
	Handle(port int, f func(*Message)) error
	Counts() Counts
}

// pair returns two nodes of the composition without protocols, or of the baseline that was written by hand.
func pair(t testing.TB, byHand bool) (*vtime.Simulation, [2]sender) {
	p, err := Load("epos-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	sim := vtime.NewSimulation(1)
	f, err := star(&sim.Loop, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	var nodes [2]sender
	for i := range nodes {
		if byHand {
			c := newPlain(t, f, p, Defaults(), i)
			nodes[i], err = c, c.routeStar()
		} else if c, e := New[[0]byte](f, p, Defaults(), i); e == nil {
			nodes[i], err = c, c.routeStar()
		} else {
			err = e
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return sim, nodes
}

// run sends messages of a size, and returns what runs another one.
func run(t testing.TB, byHand bool, size int) (*vtime.Simulation, [2]sender, func()) {
	sim, nodes := pair(t, byHand)
	came := 0
	if err := nodes[1].Handle(1, func(*Message) { came++ }); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, size)
	one := func() {
		before := came
		if err := nodes[0].Send(1, 1, data, nil); err != nil {
			t.Fatal(err)
		}
		sim.RunUntil(sim.Now() + vtime.Millisecond)
		if came != before+1 {
			t.Fatalf("%d messages have come of one", came-before)
		}
	}
	for range 100 {
		one()
	}
	return sim, nodes, one
}

// TestNothing compares the composition without protocols with the baseline that was written by hand: the same events, at the same times,
// with as many allocations, and the same done.
func TestNothing(t *testing.T) {
	for _, size := range []int{0, 8, 256, 257, 4096, 20000} {
		s1, n1, one := run(t, false, size)
		s2, n2, hand := run(t, true, size)
		var last [2]vtime.Time
		for i, n := range [][2]sender{n1, n2} {
			s := []*vtime.Simulation{s1, s2}[i]
			if err := n[0].Handle(1, nil); err != nil {
				t.Fatal(err)
			}
			if err := n[0].Send(1, 1, make([]byte, size), func(error) { last[i] = s.Now() }); err != nil {
				t.Fatal(err)
			}
			s.RunUntil(s.Now() + vtime.Millisecond)
		}
		if s1.Events() != s2.Events() || last[0] != last[1] || n1[0].Counts() != n2[0].Counts() || n1[1].Counts() != n2[1].Counts() {
			t.Errorf("%d B: %d events until %v, by hand %d until %v", size, s1.Events(), last[0], s2.Events(), last[1])
		}
		if a, b := testing.AllocsPerRun(100, one), testing.AllocsPerRun(100, hand); a != b || a > float64(1+size/4096+1) {
			t.Errorf("%d B: %g allocations, by hand %g", size, a, b)
		}
	}
}

// BenchmarkNothing has both beside each other.
func BenchmarkNothing(b *testing.B) {
	for _, c := range []struct {
		name   string
		byHand bool
	}{{"composed", false}, {"by-hand", true}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			_, _, one := run(b, c.byHand, 8)
			for b.Loop() {
				one()
			}
		})
	}
}

// TestNeeds has Adaptive refused without Rendezvous.
func TestNeeds(t *testing.T) {
	traits := Defaults()
	if err := traits.check(Adaptive, 2); err == nil || !strings.Contains(err.Error(), "Rendezvous") {
		t.Errorf("Adaptive alone: %v", err)
	}
}
