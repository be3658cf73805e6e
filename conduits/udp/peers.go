package udp

import (
	"net/netip"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
)

// directory finds the ranks of the group by their addresses.
type directory struct {
	byAddr map[socket.Addr]*entry
	recent *peer // who was looked up last
	known  []*peer
}

// entry is what is kept about a rank that may never be spoken to.
type entry struct {
	rank        core.Rank
	local       bool // on this host
	far         bool // what is sent to it leaves the network namespace, as far as addresses tell
	addr        netip.AddrPort
	incarnation uint32 // of its endpoint
	name        string // see card.name
	peer        *peer  // nil before the first datagram
}

// peer is a rank that this one has sent to, or that has sent to it.
type peer struct {
	*entry
	sockaddr socket.Addr
	mtu      int // bytes of a datagram that pass undivided
	seal     *seal.Peer
	widen    time.Duration // when the path is looked at again that was found narrow; 0: it was not
	pieces   uint32        // datagrams sent in pieces
	closed   bool          // it has said that it closes
}

// fill enters the ranks of the group and calls f for each.
func (d *directory) fill(cards []card, group []core.Rank, zone string, f func(*entry, core.Rank) error) error {
	d.byAddr = make(map[socket.Addr]*entry, len(group))
	entries := make([]entry, len(group))
	for i, r := range group {
		e := &entries[i]
		e.rank, e.addr, e.incarnation, e.name = r, withZone(cards[r].addr, zone), cards[r].incarnation, cards[r].name()
		s, err := socket.AddrOf(e.addr)
		if err != nil {
			return err
		}
		d.byAddr[s] = e
		if err := f(e, r); err != nil {
			return err
		}
	}
	return nil
}

// sender returns the peer that has an address, or nil if nobody of the group has.
func (c *conduit) sender(s *socket.Addr) *peer {
	if p := c.recent; p != nil && p.sockaddr.Is(s) {
		return p
	}
	return c.lookUp(s)
}

// lookUp is sender for another than the last.
func (c *conduit) lookUp(s *socket.Addr) *peer {
	e := c.byAddr[*s]
	if e == nil {
		return nil
	}
	return c.meetPeer(e, s)
}

// receiver returns the peer that has an address, which somebody of the group has.
func (c *conduit) receiver(to netip.AddrPort) *peer {
	if p := c.recent; p != nil && p.addr == to {
		return p
	}
	return c.lookUpReceiver(to)
}

// lookUpReceiver is receiver for another than the last.
func (c *conduit) lookUpReceiver(to netip.AddrPort) *peer {
	s, err := socket.AddrOf(to)
	if err != nil {
		return nil
	}
	return c.sender(&s)
}

// meetPeer returns what is known of a rank that has been looked up.
func (c *conduit) meetPeer(e *entry, s *socket.Addr) *peer {
	p := e.peer
	if p == nil {
		p = &peer{entry: e, sockaddr: *s, seal: c.ring.Peer(e.name), mtu: socket.PathMTU(c.sock.Local.Addr(), e.addr)}
		e.peer = p
		c.known = append(c.known, p)
	}
	c.recent = p
	return p
}

// narrowed learns the path to an address anew.
func (c *conduit) narrowed(to *socket.Addr) {
	if p := c.sender(to); p != nil && p.widen == 0 {
		p.mtu = socket.PathMTU(c.sock.Local.Addr(), p.addr)
	}
}

// withoutZone returns an address as other hosts may know it.
func withoutZone(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().WithZone(""), a.Port())
}

// withZone returns an address as this host reaches it through the interface, if it is good on
// one link only.
func withZone(a netip.AddrPort, zone string) netip.AddrPort {
	if !socket.OfOneLink(a.Addr()) {
		return a
	}
	return netip.AddrPortFrom(a.Addr().WithZone(zone), a.Port())
}
