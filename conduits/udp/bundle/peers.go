package bundle

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// site is an address where processes have received, one after another.
type site struct {
	addr     netip.AddrPort
	sockaddr socket.Addr
	far      bool     // what is sent to it leaves the host, as far as addresses tell
	mtu      int      // bytes of a datagram that pass undivided
	current  *process // whose datagrams came last; nil: none came
}

// process is a bundle of another program, or a program of the same kind: whoever has an
// incarnation at a site. It is known when something is to be sent to it, or something authentic
// has come from it, and stays so, since seal knows what was received from it.
type process struct {
	site        *site
	incarnation uint32
	seal        *seal.Peer
	waits       time.Duration // since when an answer is awaited while others are heard there; -1: none is
	over        bool          // it has closed, or another one has come in its place
}

// processKey finds a process.
type processKey struct {
	addr        socket.Addr
	incarnation uint32
}

// nameOf returns what the keys of the traffic of a process are bound to. It has what both ends
// must agree about, so that nobody is heard who does not.
func (b *Bundle) nameOf(a netip.AddrPort, incarnation uint32) string {
	o, ip := &b.options, a.Addr().As16()
	name := append([]byte("between jobs 1 "), byte(o.Security))
	for _, n := range []int{o.Config.Depth, o.Config.MaxMedium, o.Config.MaxBulk} {
		name = binary.LittleEndian.AppendUint32(name, uint32(n))
	}
	agree := byte(0)
	if o.Config.ReplyAcks {
		agree |= 1
	}
	if a.Addr().Is4() {
		agree |= 2
	}
	name = append(append(name, agree), ip[:]...)
	name = binary.LittleEndian.AppendUint16(name, a.Port())
	return string(binary.LittleEndian.AppendUint32(name, incarnation))
}

// mostTries is how many datagrams of unknown senders a poll tries. It derives keys for each, which
// takes some microseconds; the keys of those that are not authentic are dropped again.
const mostTries = 4

// stranger returns what may become the process that has sent a datagram. It returns nil, and
// counts the datagram, if it is not to be tried.
func (b *Bundle) stranger(from *socket.Addr, incarnation uint32) *process {
	addr := from.AddrPort()
	switch {
	case socket.OfOneLink(addr.Addr()) || addr.Port() == 0:
		b.drops.Misaddressed++
		return nil
	case len(b.known) >= b.options.Config.Peers:
		b.drops.Full++
		return nil
	case b.tried >= mostTries:
		b.drops.Untried++
		return nil
	}
	b.tried++
	return b.newProcess(from, addr, incarnation)
}

// receiver returns the process with an incarnation at an address, or nil if it cannot be sent to.
func (b *Bundle) receiver(to netip.AddrPort, incarnation uint32) *process {
	if p := b.recent; p != nil && p.site.addr == to && p.incarnation == incarnation {
		return p
	}
	s, ok := b.reach(to)
	if !ok {
		return nil
	}
	p := b.lookUp(&s, incarnation)
	if p == nil {
		if len(b.known) >= b.options.Config.Peers {
			b.drops.Full++
			return nil
		}
		p = b.newProcess(&s, to, incarnation)
		b.admit(p)
	}
	return p
}

// reach returns an address for the kernel, or false if the socket does not reach it.
func (b *Bundle) reach(to netip.AddrPort) (s socket.Addr, ok bool) {
	if to.Addr().Is4() == b.sock.V6 || to.Addr().Zone() != "" || socket.OfOneLink(to.Addr()) {
		return s, false
	}
	s, err := socket.AddrOf(to)
	return s, err == nil
}

// lookUp returns a process that is known, or nil.
func (b *Bundle) lookUp(s *socket.Addr, incarnation uint32) *process {
	if p := b.recent; p != nil && p.incarnation == incarnation && p.site.sockaddr == *s {
		return p
	}
	p := b.processes[processKey{*s, incarnation}]
	if p != nil {
		b.recent = p
	}
	return p
}

// newProcess returns a process that is not known yet.
func (b *Bundle) newProcess(s *socket.Addr, addr netip.AddrPort, incarnation uint32) *process {
	at := b.sites[*s]
	if at == nil {
		at = &site{addr: addr, sockaddr: *s, far: addr.Addr() != b.sock.Local.Addr() && !addr.Addr().IsLoopback()}
	}
	return &process{site: at, incarnation: incarnation, waits: -1, seal: b.ring.Peer(b.nameOf(addr, incarnation))}
}

// admit makes a process known.
func (b *Bundle) admit(p *process) {
	at := p.site
	if at.mtu == 0 {
		at.mtu = socket.PathMTU(b.sock.Local.Addr(), at.addr)
		b.sites[at.sockaddr] = at
	}
	b.processes[processKey{at.sockaddr, p.incarnation}] = p
	b.known = append(b.known, p)
	b.recent = p
}

// heard notes that something authentic has come from a process. If others were at its address,
// they are over; should one be heard again all the same, it is the other way round.
func (b *Bundle) heard(now time.Duration, p *process) {
	old := p.site.current
	if old == p {
		return
	}
	p.site.current, p.over, p.waits = p, false, -1
	if old != nil {
		b.end(now, old)
	}
}

// end notes that a process is over. What is for it is returned to the program.
func (b *Bundle) end(now time.Duration, p *process) {
	p.over = true
	b.am.Ended(now, p.site.addr, p.incarnation, am2.Refused)
}

// undeliverable is a process that cannot be sent to: it is over or out of reach.
type undeliverable struct {
	addr        netip.AddrPort
	incarnation uint32
}

// refuse notes that a datagram to a process was not sent. What is for that process is returned to the program
// by returnRefused, since am2, which is sending, cannot be called now.
func (b *Bundle) refuse(to netip.AddrPort, incarnation uint32) {
	if u := (undeliverable{to, incarnation}); !slices.Contains(b.refused, u) {
		b.refused = append(b.refused, u)
	}
}

// returnRefused has am2 return what is for the processes that refuse has noted.
func (b *Bundle) returnRefused() {
	for _, u := range b.refused {
		b.am.Ended(b.now(), u.addr, u.incarnation, am2.Refused)
	}
	b.refused = b.refused[:0]
}

// awaits notes that something is sent to a process. To am2 an address that is heard is reachable;
// so if it is another process that is heard there, sweep has to look for how long.
func (b *Bundle) awaits(p *process) {
	if p.waits < 0 && p.site.current != nil {
		p.waits = b.now()
	}
}

// sweep does at times what is not urgent: it forgets keys that are not used, and gives processes
// up of which nothing is heard though something is from their addresses.
func (b *Bundle) sweep(now time.Duration) {
	if now-b.swept < socket.KeysKept/2 {
		return
	}
	b.swept = now
	b.ring.Sweep()
	for _, p := range b.known {
		if p.waits >= 0 && now-p.waits >= b.options.Config.Unreachable {
			p.waits = -1
			b.am.Ended(now, p.site.addr, p.incarnation, am2.Unreachable)
		}
	}
}

// narrowed learns the path to an address anew.
func (b *Bundle) narrowed(to *socket.Addr) {
	if at := b.sites[*to]; at != nil {
		at.mtu = socket.PathMTU(b.sock.Local.Addr(), at.addr)
	}
}
