package udp

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var addresses = []string{"127.0.0.1", "::1"}

// eachFamily runs f for sockets of IPv4 and of IPv6, with and without offloads.
func eachFamily(t *testing.T, f func(t *testing.T, a, b *socket)) {
	for _, addr := range addresses {
		for _, off := range []bool{false, true} {
			name := addr
			if off {
				name += "/offloads off"
			}
			t.Run(name, func(t *testing.T) {
				o := socketOptions{buffer: 1 << 20, gso: !off, gro: !off}
				f(t, open(t, addr, o), open(t, addr, o))
			})
		}
	}
}

func open(t testing.TB, addr string, o socketOptions) *socket {
	t.Helper()
	s, err := openSocket(netip.MustParseAddr(addr), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

func name(t testing.TB, s *socket) *sockaddr {
	t.Helper()
	a, err := sockaddrOf(s.local)
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

// next waits for datagrams and returns them one by one.
func next(t *testing.T, s *socket, from *sockaddr) [][]byte {
	t.Helper()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}, 10000); n != 1 {
		t.Fatalf("nothing comes: %v", err)
	}
	buf := make([]byte, blockSize)
	n, segment, errno := s.receive(buf)
	if errno != 0 {
		t.Fatal(errno)
	}
	if s.in.from != *from {
		t.Errorf("from %v, want %v", s.in.from.addrPort(), from.addrPort())
	}
	var all [][]byte
	for ; n > segment; n -= segment {
		all, buf = append(all, buf[:segment]), buf[segment:]
	}
	return append(all, buf[:n])
}

// What is sent arrives: empty bodies, equal and different lengths, the largest of all.
func TestDatagrams(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *socket) {
		largest := pathMTU(a.local.Addr(), b.local)
		lengths := [][2]int{{100, 0}, {76, 24}, {80, 20}, {99, 1}, {60, 0}, {100, 0}, {1000, 500}, {92, largest - 92}, {1, 0}}
		var want [][]byte
		for i, l := range lengths {
			head, body := bytes.Repeat([]byte{byte(i)}, l[0]), bytes.Repeat([]byte{byte(100 + i)}, l[1])
			a.add(name(t, b), head, body, i == 2)
			want = append(want, append(head, body...))
		}
		a.flush()
		for len(want) > 0 {
			for _, got := range next(t, b, name(t, a)) {
				if !bytes.Equal(got, want[0]) {
					t.Fatalf("%d bytes, want %d", len(got), len(want[0]))
				}
				want = want[1:]
			}
		}
		if a.out.dropped != 0 || a.out.troubled || !a.whole {
			t.Errorf("dropped %d, troubled %v, whole %v", a.out.dropped, a.out.troubled, a.whole)
		}
	})
}

// Equal datagrams are divided and put together by the kernel.
func TestOffload(t *testing.T) {
	o := socketOptions{buffer: 1 << 20, gso: true, gro: true}
	a, b := open(t, "127.0.0.1", o), open(t, "127.0.0.1", o)
	if !a.gso {
		t.Skip("this kernel has no segmentation offload for UDP")
	}
	for i := range 10 {
		a.add(name(t, b), bytes.Repeat([]byte{byte(i)}, 104), nil, false)
	}
	a.flush()
	if got := next(t, b, name(t, a)); len(got) != 10 || got[9][0] != 9 {
		t.Errorf("%d datagrams at once, want 10", len(got))
	}
}

// More is gathered than one system call takes.
func TestManyDatagrams(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *socket) {
		const n = 2*batchItems + 10
		for i := range n {
			a.add(name(t, b), []byte{byte(i), byte(i >> 8), byte(i % 3)}[:2+i%2], nil, false)
		}
		a.flush()
		for i := 0; i < n; {
			for _, got := range next(t, b, name(t, a)) {
				if int(got[0])|int(got[1])<<8 != i {
					t.Fatalf("%d comes as number %d", int(got[0])|int(got[1])<<8, i)
				}
				i++
			}
		}
	})
}

// A datagram to a port that nobody has comes back as an error that names it; those behind it
// leave all the same.
func TestRefused(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *socket) {
		gone := open(t, b.local.Addr().String(), socketOptions{buffer: 1 << 16})
		to := name(t, gone)
		unix.Close(gone.fd)
		gone.fd, _ = unix.Eventfd(0, 0) // for Cleanup
		a.add(to, []byte("nobody"), nil, false)
		a.flush()
		for range 3 {
			a.add(name(t, b), []byte("somebody"), nil, false)
			a.flush()
			if got := next(t, b, name(t, a)); string(got[0]) != "somebody" {
				t.Errorf("%q", got)
			}
		}
		f, ok := a.failed()
		if !ok || f.to != *to || f.errno != unix.ECONNREFUSED || f.by != to.addrPort().Addr() {
			t.Errorf("%v %v %v by %v, want %v", ok, f.to.addrPort(), f.errno, f.by, to.addrPort())
		}
		if _, more := a.failed(); more {
			t.Error("there is more than one error")
		}
		if a.out.dropped != 0 || !a.out.troubled {
			t.Errorf("dropped %d, troubled %v", a.out.dropped, a.out.troubled)
		}
	})
}

// What is too large for any packet is divided by IP, or counted.
func TestTooLarge(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *socket) {
		var told *sockaddr
		a.out.narrowed = func(to *sockaddr) { told = to }
		a.add(name(t, b), make([]byte, 60000), make([]byte, 10000), false)
		a.add(name(t, b), []byte("next"), nil, false)
		a.flush()
		if got := next(t, b, name(t, a)); string(got[0]) != "next" {
			t.Errorf("%d bytes", len(got[0]))
		}
		if told == nil || a.out.dropped != 1 || !a.whole {
			t.Errorf("told %v, dropped %d, whole %v", told, a.out.dropped, a.whole)
		}
	})
}

func TestSockaddr(t *testing.T) {
	for _, text := range []string{"10.1.2.3:4567", "[2001:db8::1]:80", "[fe80::1]:1"} {
		want := netip.MustParseAddrPort(text)
		s, err := sockaddrOf(want)
		if err != nil || s.addrPort() != want {
			t.Errorf("%v, %v, want %v", s.addrPort(), err, want)
		}
	}
	if _, err := sockaddrOf(netip.MustParseAddrPort("[fe80::1%nowhere]:1")); err == nil {
		t.Error("an interface that does not exist is accepted")
	}
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
		if !ofOneLink(want) {
			continue
		}
		for _, c := range [][2]string{{want.WithZone("").String(), ""}, {want.WithZone("").String() + "/128", ""}, {want.WithZone("").String(), want.Zone()}} {
			if got, err := chooseAddress(c[0], c[1], true); err != nil || got != want {
				t.Errorf("%v: %v, %v, want %v", c, got, err, want)
			}
		}
	}
}

// The kernel binds to a broadcast address; a rank there would hear what is for all hosts.
func TestBroadcastAddress(t *testing.T) {
	for _, addr := range []string{"127.255.255.255", "255.255.255.255"} {
		s, err := openSocket(netip.MustParseAddr(addr), socketOptions{buffer: 1 << 16})
		if err == nil {
			s.close()
		}
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(addr+": it is a broadcast address")) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestNoAllocationSending(t *testing.T) {
	o := socketOptions{buffer: 1 << 20, gso: true, gro: true}
	a, b := open(t, "127.0.0.1", o), open(t, "127.0.0.1", o)
	to, head, buf := name(t, b), make([]byte, 100), make([]byte, blockSize)
	if n := testing.AllocsPerRun(100, func() {
		for range 3 {
			a.add(to, head, head, false)
		}
		a.add(to, head, nil, false)
		a.flush()
		for {
			if _, _, errno := b.receive(buf); errno != 0 {
				break
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPingPong(b *testing.B) {
	o := socketOptions{buffer: 1 << 20, gso: true, gro: true}
	x, y := open(b, "127.0.0.1", o), open(b, "127.0.0.1", o)
	echo := func(s *socket, to *sockaddr, n int, first bool) {
		buf, out := make([]byte, blockSize), make([]byte, 104)
		for range n {
			if first {
				s.add(to, out, nil, false)
				s.flush()
			}
			for {
				if _, _, errno := s.receive(buf); errno == 0 {
					break
				}
			}
			if !first {
				s.add(to, out, nil, false)
				s.flush()
			}
		}
	}
	toX, toY := name(b, x), name(b, y)
	n := b.N
	done := make(chan bool)
	go func() { echo(y, toX, n, false); close(done) }()
	began := time.Now()
	echo(x, toY, n, true)
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(n), "ns/roundtrip")
	<-done
}

func BenchmarkEmptyReceive(b *testing.B) {
	x := open(b, "127.0.0.1", socketOptions{buffer: 1 << 20, gro: true})
	buf := make([]byte, blockSize)
	for range b.N {
		x.receive(buf)
	}
}
