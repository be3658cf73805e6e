package udp

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/core"
)

// card is what a rank tells the others of itself when they attach. It travels over the
// bootstrap's connections, which the job trusts.
type card struct {
	addr        netip.AddrPort // without a zone
	incarnation uint32
	mode        seal.Mode
	buffer      uint32   // bytes that the kernel keeps for it at most
	network     uint64   // of its network namespace, see netif.Namespace
	key         seal.Key // the job's, if this is rank 0's
}

// The layout of a card: 16 bytes of address, 1 if that is IPv4, mode, port, incarnation,
// buffer, network, key.
const (
	atFamily      = 16
	atMode        = 17
	atPort        = 18
	atIncarnation = 20
	atBuffer      = 24
	atNetwork     = 28
	atKey         = 36
	cardSize      = atKey + seal.KeySize
)

func (c *card) encode() []byte {
	b := make([]byte, cardSize)
	a := c.addr.Addr().As16()
	copy(b, a[:])
	if c.addr.Addr().Is4() {
		b[atFamily] = 1
	}
	b[atMode] = byte(c.mode)
	binary.LittleEndian.PutUint16(b[atPort:], c.addr.Port())
	binary.LittleEndian.PutUint32(b[atIncarnation:], c.incarnation)
	binary.LittleEndian.PutUint32(b[atBuffer:], c.buffer)
	binary.LittleEndian.PutUint64(b[atNetwork:], c.network)
	copy(b[atKey:], c.key[:])
	return b
}

func parseCard(b []byte) (c card, err error) {
	if len(b) != cardSize {
		return c, fmt.Errorf("%d bytes, want %d", len(b), cardSize)
	}
	a := netip.AddrFrom16([16]byte(b))
	if b[atFamily] == 1 {
		a = a.Unmap()
	}
	c.addr = netip.AddrPortFrom(a, binary.LittleEndian.Uint16(b[atPort:]))
	c.incarnation = binary.LittleEndian.Uint32(b[atIncarnation:])
	c.mode = seal.Mode(b[atMode])
	c.buffer = binary.LittleEndian.Uint32(b[atBuffer:])
	c.network = binary.LittleEndian.Uint64(b[atNetwork:])
	copy(c.key[:], b[atKey:])
	if (b[atFamily] == 1) != a.Is4() || c.addr.Port() == 0 {
		return c, fmt.Errorf("%v is no address to send to", c.addr)
	}
	return c, nil
}

// name is what the keys of the rank's traffic are bound to: no other socket of any job has it.
func (c *card) name() string { return string(c.encode()[:atBuffer]) }

// tag returns the tag of the job's endpoints, derived from the key that all share.
func (c *card) tag() am2.Tag {
	t := am2.Tag(binary.LittleEndian.Uint64(c.key.Public("tag")))
	if t == am2.NeverMatch || t == am2.Wildcard {
		t = 1
	}
	return t
}

// exchange tells all ranks about this one, and returns their cards. Rank 0 makes the key.
func exchange(boot core.Bootstrap, own card) ([]card, error) {
	if boot.Rank() == 0 {
		own.key = seal.NewKey()
	}
	all, err := boot.Exchange(own.encode())
	if err != nil {
		return nil, err
	}
	cards := make([]card, len(all))
	for r, b := range all {
		if cards[r], err = parseCard(b); err != nil {
			return nil, fmt.Errorf("udp: what rank %d tells of itself: %w", r, err)
		}
		if cards[r].mode != own.mode {
			return nil, fmt.Errorf("udp: rank %d has security=%v, rank %d %v; they must agree", boot.Rank(), own.mode, r, cards[r].mode)
		}
		if cards[r].addr.Addr().Is4() != own.addr.Addr().Is4() {
			return nil, fmt.Errorf("udp: rank %d has address %v, rank %d %v; they must be of one family", boot.Rank(), own.addr, r, cards[r].addr)
		}
		if own.addr.Addr().IsLoopback() != cards[r].addr.Addr().IsLoopback() {
			return nil, fmt.Errorf("udp: rank %d has address %v, rank %d %v; either both are loopbacks or none: say which addresses to use by the setting address=PREFIX/BITS or interface=NAME for all ranks", boot.Rank(), own.addr, r, cards[r].addr)
		}
		if own.addr.Addr().IsLoopback() && cards[r].network != own.network {
			return nil, fmt.Errorf("udp: ranks %d and %d are in different network namespaces, where loopbacks do not meet; say which address to use by the setting address=PREFIX/BITS or interface=NAME", boot.Rank(), r)
		}
	}
	return cards, nil
}
