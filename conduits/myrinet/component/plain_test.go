package component

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// plain is the baseline written by hand: the same structures, and the same algorithm, cut into functions alike, that knows no protocol. What
// compositions without one cost is compared with it.
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
	c.token = &c.slots[r.Value]
	if c.token.large {
		if err := c.tx.Start(); err != nil {
			panic(err)
		}
	}
	c.spread()
}

func (c *plain) spread() {
	s := c.token
	s.refs = 0
	if s.large {
		c.loading.Push(s)
	}
	c.queue(s.to.peer, s)
}

func (c *plain) queue(p *peer, s *txSlot) {
	f := c.record()
	f.header, f.slot = s.header, s
	f.header.Target = uint16(p.node)
	s.refs++
	p.out.Push(f)
	c.offer(p)
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

func (c *plain) mayLeave(p *peer) bool { return p.out.Len() > 0 && (*p.out.At(0)).slot.loaded }

func (c *plain) offer(p *peer) {
	if !p.queued && c.mayLeave(p) {
		p.queued = true
		c.sendable.Push(p)
		c.nic.CPU.Raise(evSend)
	}
}

func (c *plain) choose() {
	if c.net.Idle() && c.sendable.Len() > 0 {
		c.spend(c.cost.leave, c.step.leave)
	}
}

func (c *plain) leave() {
	p, _ := c.sendable.Pop()
	p.queued = false
	if !c.mayLeave(p) {
		c.offer(p)
		c.choose()
		return
	}
	f, _ := p.out.Pop()
	c.sending = f
	var payload []byte
	if f.slot != nil {
		payload = f.slot.bytes[:f.header.Length]
	}
	c.inject(p.node, &f.header, payload)
	c.offer(p)
}

func (c *plain) inject(node int, h *Header, payload []byte) {
	route := c.routes[node]
	packet := append(make([]byte, 0, len(route)+c.header+len(payload)), route...)
	packet = append(Append[[0]byte](h, packet), payload...)
	c.counts.Sent++
	c.net.Send(fabric.Packet{Head: packet})
}

func (c *plain) classify() {
	b := c.done
	h, payload, ok := c.legible(b)
	if !ok {
		c.freeFrame(b)
		return
	}
	c.counts.NICToNIC += uint64(h.Length)
	c.counts.Received++
	if h.Kind != Data {
		c.freeFrame(b)
		return
	}
	s, ok := c.where(&h, b, payload)
	if !ok {
		c.freeFrame(b)
		return
	}
	c.put(s)
}

func (c *plain) where(h *Header, b *rxSlot, payload []byte) (s store, ok bool) {
	place := int(c.placed % uint32(len(c.staging)))
	c.placed++
	return c.stage(h, b, place, len(payload)), true
}

// legible is Component.legible.
func (c *plain) legible(b *rxSlot) (h Header, payload []byte, ok bool) {
	n := &c.counts
	switch {
	case b.verdict == fabric.Corrupt:
		n.Corrupt++
		return h, nil, false
	case b.verdict == fabric.Truncated:
		n.Truncated++
		return h, nil, false
	case b.n > len(b.bytes)-tagSize:
		n.Malformed++
		return h, nil, false
	}
	h, payload, err := Decode[[0]byte](b.bytes[tagSize:][:b.n])
	switch {
	case errors.Is(err, errNoFrame):
		n.Foreign++
	case err != nil || int(h.Source) >= len(c.peers) || len(payload) > c.traits.MTU:
		n.Malformed++
	case int(h.Target) != c.self || int(h.Source) == c.self:
		n.Stray++
	default:
		return h, payload, true
	}
	return h, nil, false
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
		c.read()
	case frameTaken:
		c.process(&c.entry)
		c.hosting = false
		c.look()
	}
}

func (c *plain) read() {
	c.entry, _ = c.entries.Pop()
	c.used--
	c.nic.CPU.Raise(evStore)
	now := c.loop.Now()
	if c.entry.place >= 0 {
		now = c.cpu.Use(now, c.profile.Host.Copy.Time(int(c.entry.header.Length)))
	}
	c.loop.At(now, c.target, 0, frameTaken)
}

// Send is Component.Send.
func (c *plain) Send(node, port int, data []byte, done func(error)) error {
	if node < 0 || node >= len(c.peers) || node == c.self {
		return errNoFrame
	}
	if c.routes[node] == nil {
		return ErrNoRoute
	}
	return c.hand(c.peers[node].own, Data, port, data, done)
}

func (c *plain) hand(to *address, kind Kind, port int, data []byte, done func(error)) error {
	switch {
	case port < 0 || port >= 1<<16 || len(data) > c.traits.MTU<<16:
		return errNoFrame
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
	*m = message{kind: kind, port: uint16(port), data: data, done: done, number: c.numbered, mtu: c.traits.MTU}
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
	s.header = Header{
		Kind: m.kind, Source: uint16(c.self), Port: m.port, Message: m.number, Index: uint16(m.index), Length: uint16(size),
		Total: uint32(len(m.data)), Buffer: m.buffer, Group: uint16(to.group),
	}
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
		c.next(to)
	}
	c.drive()
}

func (c *plain) next(to *address) {
	to.messages.Drop()
	c.turns.Drop()
	to.queued = false
	if to.messages.Len() > 0 {
		c.turn(to)
	}
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

// TestCompiled looks at what the compiler has made of the point-cuts: with all protocols a function each, and without any none.
func TestCompiled(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return strings.HasSuffix(s.Name, ".gopclntab") })
	if i < 0 || f.Section(".text") == nil {
		t.Fatalf("%s has no table of functions", path)
	}
	lines, err := f.Sections[i].Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(lines, f.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, fn := range table.Funcs {
		_, name, _ := strings.Cut(fn.Name, "component.(*Component[go.shape.")
		made[name] = true
	}
	must := func(set Protocol, method string, want bool) {
		if name := fmt.Sprintf("[%d]uint8]).%s", set, method); made[name] != want {
			t.Errorf("there is a function %s: %v", name, made[name])
		}
	}
	for _, point := range []string{"handed", "addressed", "ready", "leaving", "arrived"} {
		must(All, point, true)
		must(0, point, false)
	}
	must(0, "leave", true) // it is the baseline's, and where leaving would be called
}

// BenchmarkNothing has both beside each other. Their ratio is of the fastest of many short parts of the run, by turns: what others do
// on the machine disturbs most parts, and not all.
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
	b.Run("ratio", func(b *testing.B) {
		const part = 50
		order := []int{0, 1, 1, 0} // two of each: where something lies in memory matters too
		var ones []func()
		for _, i := range order {
			_, _, one := run(b, i == 1, 8)
			ones = append(ones, one)
		}
		least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
		for turn := 0; b.Loop(); turn++ {
			one, i := ones[turn%len(ones)], order[turn%len(ones)]
			begin := time.Now()
			for range part {
				one()
			}
			least[i] = min(least[i], time.Since(begin))
		}
		b.ReportMetric(float64(least[0])/part, "ns/composed")
		b.ReportMetric(float64(least[1])/part, "ns/by-hand")
		b.ReportMetric(float64(least[0])/float64(least[1]), "composed/by-hand")
	})
}

// TestNeeds has Adaptive refused without Rendezvous.
func TestNeeds(t *testing.T) {
	traits := Defaults()
	if err := traits.check(Adaptive, 2); err == nil || !strings.Contains(err.Error(), "Rendezvous") {
		t.Errorf("Adaptive alone: %v", err)
	}
}
