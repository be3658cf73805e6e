package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/buffer"
)

// Config says where a port is. Rings and hosts are of one job.
type Config struct {
	Topology *fabric.Topology // which is not changed any more
	Host     int              // whose port it is

	In  []*Reader // from each host, its own included; nil: nothing comes from there
	Out []*Writer // to each host; nil: what comes to it is absorbed, as by a host without a NIC
	MTU int       // bytes of the longest packet, its route included and its CRC byte not

	// Ring wakes who drives a host's port, after something was deposited for it, or there is room for what it has held up. It may be nil.
	Ring func(host int)

	Errors Errors
	Rand   *rand.Rand // decides about Errors; nil if there are none
}

// HeaderSize is what a frame has in front of the bytes of a packet: a frame takes HeaderSize + MTU bytes of a ring at most.
//
//	CRC     4 bytes   CRC-32C of what was to arrive, in place of Myrinet's CRC byte
//	length  4 bytes   of what was to arrive
//
// Both are little endian.
const HeaderSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Counts is what a port has done so far. Packets that were damaged are counted where that happened, and again where they ended, as in
// fabric.Counts.
type Counts struct {
	Sent      uint64 // packets that the NIC has injected
	Hops      uint64 // switches that they came through
	Deposited uint64 // of them, those that came into a ring
	Bytes     uint64 // of these, without their routes
	Full      uint64 // of them, those that a full ring has held up
	NoRoute   uint64 // had no route byte where one was due
	NoPort    uint64 // asked for a port that there is not, or that has no cable
	Lost      uint64 // on a cable
	Truncated uint64 // on a cable
	Corrupted uint64 // on a cable

	Received  uint64 // packets that have come in rings
	Delivered uint64 // of them, those that the NIC took in with a good CRC
	BadCRC    uint64 // or corrupt or truncated
	Discarded uint64 // or that it has discarded
	Absorbed  uint64 // sent to a host without a NIC, or come to the port without one
}

// Port is the end of a host's link in a live job: a [transit.Port] on rings. One goroutine uses it, which calls Poll, and sleeps while Ready reports
// false. The NIC's methods are called from within Poll, and Gone also from within Inject.
type Port struct {
	host    int
	name    string
	names   []string
	cables  *cables
	senders []sender
	out     []*Writer
	mtu     int
	bell    func(host int)
	errors  Errors
	chance  *rand.Rand
	nic     fabric.NIC
	counts  Counts

	holds   bool // a packet that a full ring holds up
	leaving departure

	next      int  // the sender whose turn it is
	arrives   bool // a packet that the NIC has not finished
	arrival   fabric.Arrival
	recipient fabric.NIC // that was attached when it came
	memory    buffer.Pool
}

var _ transit.Port = (*Port)(nil)

// sender is a host from which packets come.
type sender struct {
	host int
	ring *Reader
}

// departure is what is left of a packet where its route ends.
type departure struct {
	to     int
	bytes  fabric.Packet // what arrives
	length int           // what was to arrive
	crc    uint32
	wrong  int // the byte that has been changed, if any has
	mask   byte
}

// New returns a host's port without a NIC.
func New(c Config) (*Port, error) {
	if c.Topology == nil {
		return nil, errors.New("link: a port without a topology")
	}
	if err := c.Topology.Check(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	hosts := c.Topology.Hosts
	if c.Host < 0 || c.Host >= len(hosts) {
		return nil, fmt.Errorf("link: the port of host %d; the topology has hosts 0 to %d", c.Host, len(hosts)-1)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("link: port of host %s: %w", hosts[c.Host], fmt.Errorf(format, args...))
	}
	switch err := c.Errors.check(c.Rand); {
	case len(c.In) != len(hosts) || len(c.Out) != len(hosts):
		return nil, bad("rings from %d hosts and to %d; the topology has %d", len(c.In), len(c.Out), len(hosts))
	case c.MTU < 1:
		return nil, bad("packets of %d bytes; give an MTU of 1 or more", c.MTU)
	case err != nil:
		return nil, bad("%w", err)
	}
	p := &Port{host: c.Host, name: hosts[c.Host], names: hosts, cables: newCables(c.Topology), out: c.Out, mtu: c.MTU, bell: c.Ring, errors: c.Errors, chance: c.Rand}
	for to, w := range c.Out {
		if w != nil && w.Most() < HeaderSize+c.MTU {
			return nil, bad("the ring to %s takes frames of %d bytes, and packets have %d and their header %d: give it more memory", hosts[to], w.Most(), c.MTU, HeaderSize)
		}
	}
	for from, r := range c.In {
		if r != nil {
			p.senders = append(p.senders, sender{from, r})
		}
	}
	if p.bell == nil {
		p.bell = func(int) {}
	}
	return p, nil
}

// Attach implements transit.Port. What has come goes on to the NIC before.
func (p *Port) Attach(n fabric.NIC) { p.nic = n }

// Host returns the number of the host.
func (p *Port) Host() int { return p.host }

// Counts returns what the port has done so far.
func (p *Port) Counts() Counts { return p.counts }

// Idle implements transit.Port: no packet is held up, and there is a cable.
func (p *Port) Idle() bool { return !p.holds && p.cables.hosts[p.host] != nowhere }

// Inject implements transit.Port. It panics if the port is not idle, or the packet is longer than the MTU.
func (p *Port) Inject(packet fabric.Packet) *fabric.Sending {
	p.send(packet, fabric.Good)
	return nil
}

// InjectAs implements transit.Port: the CRC of what arrives is as wrong as it was.
func (p *Port) InjectAs(packet fabric.Packet, v fabric.Verdict) *fabric.Sending {
	p.send(packet, v)
	return nil
}

// Forward implements transit.Port. A packet that arrives is there as a whole.
func (p *Port) Forward(a *fabric.Arrival, skip int) *fabric.Sending {
	if wish, _ := a.Wanted(); wish != fabric.Accepts {
		panic(fmt.Sprintf("link: host %s: Forward of an arrival that has not been accepted", p.name))
	}
	if skip < 0 || skip >= a.Len() {
		panic(fmt.Sprintf("link: host %s: Forward of a packet of %d bytes without its first %d", p.name, a.Len(), skip))
	}
	p.send(a.Packet().Skip(skip), a.Verdict())
	return nil
}

// send has a packet walk to where its route ends, and deposits there what is left of it.
func (p *Port) send(packet fabric.Packet, v fabric.Verdict) {
	if !p.Idle() {
		panic(fmt.Sprintf("link: host %s: a packet is given to a port that is not idle", p.name))
	}
	if n := packet.Len() - 1; n > p.mtu {
		panic(fmt.Sprintf("link: host %s: a packet of %d bytes; its MTU is %d", p.name, n, p.mtu))
	}
	p.counts.Sent++
	w := p.cables.begin(p.host, packet)
	arrives := p.travel(&w, v != fabric.Good)
	p.counts.Hops += uint64(w.hops)
	if !arrives {
		p.gone()
		return
	}
	p.leaving = depart(&w, v)
	if !p.deposit() {
		p.counts.Full++
		p.holds = true
		return
	}
	p.gone()
}

// travel has a packet walk, and reports whether it arrives. damaged says that its CRC is wrong already.
func (p *Port) travel(w *walk, damaged bool) bool {
	for {
		if p.errors != (Errors{}) && !p.cross(w, damaged) {
			return false
		}
		if !w.at.input() {
			return true
		}
		switch w.step() {
		case NoRoute:
			p.counts.NoRoute++
			return false
		case NoPort:
			p.counts.NoPort++
			return false
		case Ends: // it has been counted where it was cut off
			return false
		}
	}
}

// depart returns what is left of a packet that has come to a host. Its sender has computed the CRC of what was to arrive.
func depart(w *walk, v fabric.Verdict) departure {
	rest := w.packet.Skip(w.hops)
	d := departure{to: w.at.host(), bytes: rest.Cut(w.end - w.hops - 1), length: rest.Len() - 1, wrong: w.wrong - w.hops, mask: w.mask}
	d.crc = crc32.Update(crc32.Update(0, castagnoli, rest.Head), castagnoli, rest.Body)
	if v == fabric.Truncated {
		d.length++ // at least
	}
	if v != fabric.Good || d.mask != 0 && (d.wrong < 0 || d.wrong >= d.length) { // a byte of the route, or the CRC itself
		d.crc = ^d.crc
	}
	return d
}

// deposit puts what leaves into the ring of its host. It reports false if that is full.
func (p *Port) deposit() bool {
	d := &p.leaving
	w := p.out[d.to]
	if w == nil {
		p.counts.Absorbed++
		return true
	}
	b := w.Reserve(HeaderSize + d.bytes.Len() - 1)
	if b == nil {
		return false
	}
	binary.LittleEndian.PutUint32(b, d.crc)
	binary.LittleEndian.PutUint32(b[4:], uint32(d.length))
	data := b[HeaderSize:]
	copy(data[copy(data, d.bytes.Head):], d.bytes.Body)
	if d.mask != 0 && d.wrong >= 0 && d.wrong < len(data) {
		data[d.wrong] ^= d.mask
	}
	w.Commit(len(b))
	p.counts.Deposited++
	p.counts.Bytes += uint64(len(data))
	p.bell(d.to)
	return true
}

// gone lets the NIC know that the port is idle.
func (p *Port) gone() {
	p.holds = false
	p.leaving.bytes = fabric.Packet{}
	if p.nic != nil {
		p.nic.Gone(nil)
	}
}

// Ready reports whether Poll would do something.
func (p *Port) Ready() bool {
	if p.holds {
		if w, n := p.out[p.leaving.to], HeaderSize+p.leaving.bytes.Len()-1; w.Room(n) || w.Err() != nil {
			return true
		}
	}
	if p.arrives {
		wish, _ := p.arrival.Wanted()
		return wish != fabric.Waits
	}
	for i := range p.senders {
		if !p.senders[i].ring.Empty() {
			return true
		}
	}
	return false
}

// Poll tries again what a full ring has held up, and hands the NIC what has come: a packet of each sender at most, by turns, and none while the NIC neither
// accepts nor discards the one before. It returns how many packets have left and come. An error says that the memory shared with a host has
// what no port writes there; nothing more comes from that host.
func (p *Port) Poll() (n int, err error) {
	if p.holds {
		switch w := p.out[p.leaving.to]; {
		case p.deposit():
			n++
			p.gone()
		case w.Err() != nil:
			return n, p.malformed("to", p.leaving.to, w.Err())
		}
	}
	if p.arrives {
		if !p.finish() {
			return n, nil
		}
		n++
	}
	for range p.senders {
		s := &p.senders[p.next]
		if p.next++; p.next == len(p.senders) {
			p.next = 0
		}
		b, err := s.ring.Next()
		if err == nil && b != nil && (len(b) < HeaderSize || len(b) > HeaderSize+p.mtu) {
			err = fmt.Errorf("a frame of %d bytes; frames have %d to %d", len(b), HeaderSize, HeaderSize+p.mtu)
		}
		if err != nil {
			return n, p.malformed("from", s.host, err)
		}
		if b == nil {
			continue
		}
		n++
		if p.receive(b, s); p.arrives {
			return n, nil
		}
	}
	return n, nil
}

func (p *Port) malformed(way string, host int, err error) error {
	return fmt.Errorf("link: host %s: the ring %s host %s: %w", p.name, way, p.names[host], err)
}

// receive takes a frame out of a sender's ring, and shows it to the NIC. Its bytes are copied before they are looked at.
func (p *Port) receive(frame []byte, s *sender) {
	p.counts.Received++
	absorbed := p.nic == nil
	if !absorbed {
		crc, length := binary.LittleEndian.Uint32(frame), binary.LittleEndian.Uint32(frame[4:])
		b := p.memory.Take(len(frame) - HeaderSize)
		copy(b, frame[HeaderSize:])
		p.arrival = fabric.Whole(fabric.Packet{Head: b}, verdict(b, crc, length))
	}
	s.ring.Drop()
	if s.ring.Wanted() {
		p.bell(s.host)
	}
	if absorbed {
		p.counts.Absorbed++
		return
	}
	p.arrives, p.recipient = true, p.nic
	p.recipient.Head(&p.arrival)
	p.finish()
}

// verdict returns what CRC and length say of the bytes that have come.
func verdict(b []byte, crc, length uint32) fabric.Verdict {
	switch {
	case uint64(len(b)) < uint64(length):
		return fabric.Truncated
	case crc32.Checksum(b, castagnoli) != crc:
		return fabric.Corrupt
	}
	return fabric.Good
}

// finish does for the packet that arrives what the NIC has asked for. It reports false if that has asked for nothing yet.
func (p *Port) finish() bool {
	a := &p.arrival
	for told := 0; ; {
		switch wish, mark := a.Wanted(); {
		case wish == fabric.Waits:
			return false
		case wish == fabric.Discards:
			p.counts.Discarded++
			p.arrives = false
			p.Free(a.Packet())
			return true
		case mark > told && mark <= a.Len():
			told = mark
			p.recipient.Received(a, mark)
		default:
			if a.Verdict() == fabric.Good {
				p.counts.Delivered++
			} else {
				p.counts.BadCRC++
			}
			p.arrives = false
			p.recipient.Tail(a)
			return true
		}
	}
}

// Free implements transit.Port: the bytes of the packet are those of another one next. What is not given back is collected as any memory is.
func (p *Port) Free(packet fabric.Packet) { p.memory.Give(packet.Head) }
