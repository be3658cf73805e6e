package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/netif"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
)

var addresses = []string{"127.0.0.1", "::1"}

// open returns a socket at an address, and what others send to.
func open(t testing.TB, addr string) (*socket.Socket, socket.Addr) {
	t.Helper()
	s, err := socket.Open(netip.MustParseAddr(addr), socket.Options{Buffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	to, err := socket.AddrOf(s.Local)
	if err != nil {
		t.Fatal(err)
	}
	return s, to
}

// next waits for a datagram from an address.
func next(t *testing.T, s *socket.Socket, from *socket.Addr) []byte {
	t.Helper()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.FD), Events: unix.POLLIN}}, 10000); n != 1 {
		t.Fatalf("nothing comes: %v", err)
	}
	buf := make([]byte, socket.BlockSize)
	n, _, errno := s.Receive(buf)
	if errno != 0 || s.From != *from {
		t.Fatalf("%v, from %v, want %v", errno, s.From.AddrPort(), from.AddrPort())
	}
	return buf[:n]
}

func TestAddressSaid(t *testing.T) {
	for _, c := range []struct {
		address, device string
		want            string // an address, or part of an error
	}{
		{"10.9.8.7", "", "10.9.8.7"},
		{"127.0.0.0/8", "auto", "127.0.0.1"},
		{"", "lo", "127.0.0.1"},
		{"::1", "lo", "::1"},
		{"::/0", "lo", "::1"},
		{"203.0.113.0/24", "auto", "no address in it"},
		{"203.0.113.1", "lo", "no fitting address"},
		{"", "nowhere0", "nowhere0"},
		{"ten", "", "want an address"},
		{"0.0.0.0", "", "not the address of one interface"},
		{"::", "", "not the address of one interface"},
		{"::ffff:0.0.0.0", "", "not the address of one interface"},
		{"224.0.0.1", "", "not the address of one interface"},
	} {
		got, err := addressSaid(c.address, c.device)
		if text := got.String(); err == nil && text != c.want || err != nil && !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%q %q: %v, %v; want %s", c.address, c.device, got, err, c.want)
		}
	}
}

// pretender is the bootstrap of rank 0 of two. They are on two hosts unless one is set.
type pretender struct {
	core.Bootstrap
	one   bool
	other []byte // what rank 1 gives to Exchange; nil: the same as rank 0
}

func (p *pretender) Rank() core.Rank { return 0 }
func (p *pretender) Size() int       { return 2 }

func (p *pretender) Local() []core.Rank {
	if p.one {
		return []core.Rank{0, 1}
	}
	return []core.Rank{0}
}

func (p *pretender) Exchange(b []byte) ([][]byte, error) {
	if p.other == nil {
		return [][]byte{b, b}, nil
	}
	return [][]byte{b, p.other}, nil
}

func TestChooseAddress(t *testing.T) {
	far := &netif.Offer{Namespace: 1, Addresses: []ifaddr.Address{{Interface: "eth0", Prefix: netip.MustParsePrefix("203.0.113.1/32")}}}
	for _, c := range []struct {
		boot            *pretender
		address, device string
		want            string // an address, or part of an error
	}{
		{&pretender{one: true}, "", "auto", "127.0.0.1"},
		{&pretender{one: true}, "127.0.0.9", "auto", "127.0.0.9"},
		{&pretender{}, "", "auto", "127.0.0.1"}, // in one network namespace after all
		{&pretender{}, "127.0.0.9", "auto", "127.0.0.9"},
		{&pretender{other: far.Encode()}, "10.9.8.7", "auto", "10.9.8.7"},
		{&pretender{other: far.Encode()}, "127.0.0.9", "auto", "rank 1 is on another host or in another network namespace, where loopbacks do not meet; say which"},
		{&pretender{other: far.Encode()}, "", "lo", "loopbacks do not meet; say which"},
		{&pretender{other: []byte("x")}, "", "auto", "the addresses of rank 1"},
	} {
		got, offers, err := chooseAddress(c.boot, &params{address: c.address, device: c.device})
		if text := got.String(); err == nil && text != c.want || err != nil && !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%+v %q %q: %v, %v; want %s", c.boot, c.address, c.device, got, err, c.want)
		}
		if err == nil && (offers != nil) == c.boot.one {
			t.Errorf("%+v: offers %v", c.boot, offers)
		}
	}
}

// An address that is good on one link gets its interface, be it found by itself, by a prefix or
// by the interface; one that no interface has is refused.
func TestLinkLocal(t *testing.T) {
	if _, err := addressSaid("fe80::dead:beef", ""); err == nil || !bytes.Contains([]byte(err.Error()), []byte("no address in it")) {
		t.Errorf("an address of no interface: %v", err)
	}
	if a, err := addressSaid("fe80::1%lo", ""); err != nil || a.String() != "fe80::1%lo" {
		t.Errorf("%v, %v", a, err)
	}
	own, err := addressesOf("")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range own {
		if !socket.OfOneLink(want) {
			continue
		}
		for _, c := range [][2]string{{want.WithZone("").String(), ""}, {want.WithZone("").String() + "/128", ""}, {want.WithZone("").String(), want.Zone()}} {
			if got, err := addressSaid(c[0], c[1]); err != nil || got != want {
				t.Errorf("%v: %v, %v, want %v", c, got, err, want)
			}
		}
	}
}
