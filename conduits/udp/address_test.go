package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
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

func TestChooseAddress(t *testing.T) {
	for _, c := range []struct {
		address, device string
		oneHost         bool
		want            string // an address, or part of an error
	}{
		{"", "", true, "127.0.0.1"},
		{"", "", false, "address=ADDRESS"},
		{"10.9.8.7", "", true, "10.9.8.7"},
		{"127.0.0.0/8", "", false, "127.0.0.1"},
		{"", "lo", false, "127.0.0.1"},
		{"::1", "lo", false, "::1"},
		{"::/0", "lo", false, "::1"},
		{"203.0.113.0/24", "", false, "no address in it"},
		{"203.0.113.1", "lo", false, "no fitting address"},
		{"", "nowhere0", false, "nowhere0"},
		{"ten", "", false, "want an address"},
		{"0.0.0.0", "", true, "not the address of one interface"},
		{"::", "", true, "not the address of one interface"},
		{"::ffff:0.0.0.0", "", true, "not the address of one interface"},
		{"224.0.0.1", "", true, "not the address of one interface"},
	} {
		got, err := chooseAddress(c.address, c.device, c.oneHost)
		if text := got.String(); err == nil && text != c.want || err != nil && !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%q %q %v: %v, %v; want %s", c.address, c.device, c.oneHost, got, err, c.want)
		}
	}
}

// An address that is good on one link gets its interface, be it found by itself, by a prefix or
// by the interface; one that no interface has is refused.
func TestLinkLocal(t *testing.T) {
	if _, err := chooseAddress("fe80::dead:beef", "", true); err == nil || !bytes.Contains([]byte(err.Error()), []byte("no address in it")) {
		t.Errorf("an address of no interface: %v", err)
	}
	if a, err := chooseAddress("fe80::1%lo", "", true); err != nil || a.String() != "fe80::1%lo" {
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
			if got, err := chooseAddress(c[0], c[1], true); err != nil || got != want {
				t.Errorf("%v: %v, %v, want %v", c, got, err, want)
			}
		}
	}
}
