package fabric

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// NIC is what is attached to a port. Its methods are called by events of the loop, and may call those of the
// port, its arrivals and sendings. What is told of arrivals is in order, and so is what is told of sendings. Of an arrival and
// a sending at the same picosecond either may be told first; equal runs have the same order.
type NIC interface {
	// Head says that the first byte of a packet is in the slack buffer of the port. There the packet stays, and
	// holds up what it has come through, until a.Accept or a.Discard is called, at once or later.
	Head(a *Arrival)
	// Received says that the first n bytes are in, as a.Watch asked.
	Received(a *Arrival, n int)
	// Tail says that all of an arrival is in. The verdict is final, and the arrival is void when Tail returns.
	Tail(a *Arrival)
	// Sent says that the first n bytes have left, as s.Watch asked.
	Sent(s *Sending, n int)
	// Gone says that the last byte has left. The sending is void from now on, and the port is idle.
	Gone(s *Sending)
	// Reset says that the time limit has reset the port: what was in its slack buffer is lost. Tail has been
	// called for the arrival that there was.
	Reset(p *Port)
}

// Port is the end of a host's link, where its NIC is. Without a NIC it absorbs what comes, as an adapter without
// a control program does (Myricom, link specification).
type Port struct {
	f       *Fabric
	host    int
	nic     NIC
	in, out *channel // nil: no cable
	arrival Arrival
	sending Sending

	resetting bool // the arrival is being ended by a reset
}

// Attach gives the port its NIC, or takes it away with nil. What is being received goes on to the NIC before.
func (p *Port) Attach(n NIC) { p.nic = n }

// NIC returns what is attached to the port; nil: nothing.
func (p *Port) NIC() NIC { return p.nic }

// Host returns the number of the host.
func (p *Port) Host() int { return p.host }

// Rate returns the rate of the cable, or that of the constants if there is none.
func (p *Port) Rate() machine.Rate {
	if p.out == nil {
		return p.f.constants.Link.Rate
	}
	return p.out.rate
}

// Idle reports whether a packet may be sent: no other is being sent, and there is a cable.
func (p *Port) Idle() bool { return p.out != nil && !p.out.busy }

// Sending returns the packet that is being sent, or nil.
func (p *Port) Sending() *Sending {
	if p.out == nil || !p.out.busy {
		return nil
	}
	return &p.sending
}

// Held returns for how long STOP has kept the port from sending, a packet being there or not.
func (p *Port) Held() vtime.Time {
	if p.out == nil {
		return 0
	}
	return p.out.traffic().Held
}

// Sending is a packet that a port sends: what the send DMA does. A port has one at a time.
type Sending struct {
	port   *Port
	nic    NIC
	supply stream // what the NIC has supplied
	mark   int
}

// Inject sends a packet that is in the NIC's memory. The port must be idle.
func (p *Port) Inject(packet Packet) *Sending { return p.InjectAs(packet, Good) }

// InjectAs is Inject of a packet that has come before with a verdict, and keeps it: a CRC that is wrong stays wrong.
func (p *Port) InjectAs(packet Packet, v Verdict) *Sending {
	s := p.inject(packet, v)
	s.Supply(packet.Len()-1, 0)
	return s
}

// InjectPaced sends a packet of which nothing is in the NIC's memory yet: Supply says when it is. The port must be
// idle.
func (p *Port) InjectPaced(packet Packet) *Sending { return p.inject(packet, Good) }

func (p *Port) inject(packet Packet, v Verdict) *Sending {
	s := p.start()
	s.supply.stretch, s.supply.before = none(0), s.supply.before[:0]
	p.out.begin(&s.supply, 0, 0, nil, int64(packet.Len()))
	p.out.send(p.f.worm(packet, v))
	return s
}

// Forward sends a packet that is still arriving, or has arrived just now, without its first skip bytes: each
// byte goes on as soon as it is in. What becomes of the arrival becomes of the packet too: a CRC that is wrong stays
// wrong, and it ends where the arrival does. The arrival has been accepted, and is not void; the port is idle.
func (p *Port) Forward(a *Arrival, skip int) *Sending {
	sink := &a.port.in.sink
	if !a.accepted {
		panic(fmt.Sprintf("fabric: host %s: Forward of an arrival that has not been accepted", p.name()))
	}
	if skip < 0 || skip >= a.Len() {
		panic(fmt.Sprintf("fabric: host %s: Forward of a packet of %d bytes without its first %d", p.name(), a.Len(), skip))
	}
	s := p.start()
	first := sink.begun + int64(skip)
	p.out.begin(&sink.out, first, 0, nil, sink.end-first)
	sink.follower = &p.out.pump
	p.out.send(p.f.worm(a.packet.Skip(skip), a.Verdict()))
	return s
}

// Free is for ports that use the memory of packets again. Here a packet may be on the way elsewhere too, so that its memory is left to the garbage collector.
func (p *Port) Free(Packet) {}

func (p *Port) name() string { return p.f.topology.Hosts[p.host] }

func (p *Port) start() *Sending {
	if !p.Idle() {
		panic(fmt.Sprintf("fabric: host %s: a packet is given to a port that is not idle", p.name()))
	}
	p.out.step = p.out.period
	p.out.obey(p.f.loop.Now())
	p.sending.port, p.sending.nic = p, p.nic
	return &p.sending
}

// marked tells the NIC that the bytes before the mark of a pump have left it.
func (p *Port) marked(m *pump) {
	switch {
	case m.to == nil:
		p.arrival.nic.Received(&p.arrival, p.arrival.mark)
	case p.sending.nic != nil:
		p.sending.nic.Sent(&p.sending, p.sending.mark)
	}
}

// gone lets the NIC know that the port is idle.
func (p *Port) gone() {
	if sink := &p.in.sink; sink.follower == &p.out.pump {
		sink.follower = nil
	}
	p.out.watch = 0
	if n := p.sending.nic; n != nil {
		n.Gone(&p.sending)
	}
}

// Supply says that n more bytes of an InjectPaced packet will be in the NIC's memory: all at once now if period is
// 0, else one each period from now on, or from when what was said before is. The CRC byte is not supplied.
func (s *Sending) Supply(n int, period vtime.Time) {
	now := s.port.f.loop.Now()
	p := &s.port.out.pump
	end := s.supply.end + int64(n)
	if p.supply != &s.supply || n < 0 || end >= p.end-p.begun {
		panic(fmt.Sprintf("fabric: host %s: Supply of %d bytes, which the packet has not", s.port.name(), n))
	}
	at := max(now, s.supply.last())
	if n > 0 {
		s.supply.add(at+period, period, end)
	}
	if end == p.end-p.begun-1 {
		if n > 0 {
			at = s.supply.last()
		}
		s.supply.add(at, 0, end+1)
	}
	p.replan()
}

// SetPeriod sets the least time from byte to byte, as a send DMA that memory keeps waiting has; 0 is the link's rate.
func (s *Sending) SetPeriod(period vtime.Time) {
	s.port.out.step = max(period, s.port.out.period)
	s.port.out.replan()
}

// Watch has the NIC told once when the first n bytes have left, the CRC byte counted as the last. It replaces a mark
// that was set before.
func (s *Sending) Watch(n int) {
	s.mark = n
	s.port.out.setWatch(n)
}

// Sent returns how many bytes have left.
func (s *Sending) Sent() int { return s.port.out.moved() }

// Len returns the length of the packet, CRC byte included.
func (s *Sending) Len() int { return int(s.port.out.pump.end - s.port.out.begun) }

// Stopped reports whether STOP keeps the port from sending.
func (s *Sending) Stopped() bool {
	s.port.out.review(s.port.f.loop.Now())
	return s.port.out.held
}

// Abort ends the packet after the byte that is being sent: it arrives truncated. Gone is called as ever.
func (s *Sending) Abort() {
	c := s.port.out
	now := c.f.loop.Now()
	c.settle(now)
	c.cut(now)
	c.trim(c.out.end)
	c.pump.end = c.out.end
	c.news = other
	c.replan()
}

// Arrival is a packet that a port receives: what the receive DMA does. A port has one at a time.
type Arrival struct {
	port     *Port // nil: see Whole
	nic      NIC
	packet   Packet
	length   int
	verdict  Verdict
	accepted bool
	wish     Wish // of one that is there as a whole
	mark     int
}

// Whole returns the arrival of a packet that is there as a whole: a network delivers it that is not modelled. That network calls the NIC's Head, Received and
// Tail itself; Wanted tells what the NIC has asked for meanwhile. Such an arrival cannot be paused.
func Whole(p Packet, v Verdict) Arrival {
	return Arrival{packet: p, length: p.Len(), verdict: v}
}

// Wish is what a NIC wants of an arrival that is there as a whole.
type Wish uint8

// The wishes.
const (
	Waits    Wish = iota // neither Accept nor Discard has been called
	Accepts              // the packet is taken in
	Discards             // the packet is forgotten
)

// Wanted returns what the NIC wants of an arrival that Whole has made, and the mark of Watch: 0 if there is none.
func (a *Arrival) Wanted() (w Wish, mark int) { return a.wish, a.mark }

// offer shows the first packet to the NIC.
func (p *Port) offer(w *worm) {
	w.state = waiting
	if p.nic == nil {
		p.f.counts.Absorbed++
		p.in.absorb(w)
		return
	}
	p.arrival = Arrival{port: p, nic: p.nic, packet: w.packet, length: w.len(), verdict: w.verdict}
	p.in.limit(1)
	p.nic.Head(&p.arrival)
}

// current returns the worm that the arrival is.
func (a *Arrival) current() *worm { return a.port.in.first }

// Packet returns the bytes that arrive, without the route bytes that switches have consumed and without the CRC
// byte. Those from Taken on have not come yet, and may never.
func (a *Arrival) Packet() Packet { return a.packet }

// Len returns the length of what arrives, CRC byte included. It is less than that of Packet if the packet
// has been truncated.
func (a *Arrival) Len() int {
	if a.active() {
		return a.current().len()
	}
	return a.length
}

// whole reports whether Whole has made the arrival.
func (a *Arrival) whole() bool { return a.port == nil }

func (a *Arrival) active() bool {
	return !a.whole() && a.port.in.first != nil && a.current().state != coming && !a.current().ghost
}

// Verdict returns what is known of the CRC. It is final in Tail; hardware knows nothing before.
func (a *Arrival) Verdict() Verdict {
	if a.active() {
		return a.current().verdict
	}
	return a.verdict
}

// Accept has the packet taken in as fast as it comes, but at most a byte each period; 0 is the link's rate. Called
// again it changes the pace, and goes on after Pause.
func (a *Arrival) Accept(period vtime.Time) {
	if a.whole() {
		a.wish, a.accepted = Accepts, true
		return
	}
	c := a.port.in
	c.timeout.Stop()
	c.sink.step, c.sink.held = max(period, c.period), false
	if a.accepted {
		c.sink.replan()
		return
	}
	a.accepted = true
	w := a.current()
	w.state = passing
	c.sink.host = a.port
	c.drain(&c.sink, w, 0)
	c.sink.start(c.f.loop.Now())
}

// Pause takes no more bytes in after the one under way, until Accept is called. The time limit runs meanwhile.
func (a *Arrival) Pause() {
	c := a.port.in
	c.sink.held = true
	c.sink.replan()
	c.limit(1)
}

// Taken returns how many bytes are in.
func (a *Arrival) Taken() int {
	switch {
	case !a.accepted:
		return 0
	case a.whole():
		return a.length
	}
	return a.port.in.sink.moved()
}

// Watch has the NIC told once when the first n bytes are in, the CRC byte counted as the last. It replaces a mark that
// was set before. The arrival has been accepted.
func (a *Arrival) Watch(n int) {
	a.mark = n
	if a.whole() {
		return
	}
	a.port.in.sink.setWatch(n)
}

// When returns when the first n bytes will be in, as far as is known now; it reports false if nothing is.
func (a *Arrival) When(n int) (vtime.Time, bool) {
	sink := &a.port.in.sink
	if !a.accepted || n < 1 {
		return 0, a.accepted
	}
	at := sink.out.when(sink.begun + int64(n) - 1)
	if at == never {
		return 0, false
	}
	return at, true
}

// Discard takes the packet in and forgets it: there is no Tail, and the arrival is void.
func (a *Arrival) Discard() {
	if a.whole() {
		a.wish = Discards
		return
	}
	c := a.port.in
	c.timeout.Stop()
	c.sink.watch = 0
	if !a.accepted {
		c.absorb(a.current())
		return
	}
	c.sink.host = nil
	c.sink.held, c.sink.step = false, c.period
	c.sink.replan()
}

// taken tells the NIC that an arrival is in.
func (p *Port) taken() {
	p.in.sink.watch = 0
	p.f.counts.verdict(p.arrival.verdict)
	p.arrival.nic.Tail(&p.arrival)
	if p.resetting {
		p.resetting = false
		p.arrival.nic.Reset(p)
	}
}
