package socket

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var addresses = []string{"127.0.0.1", "::1"}

// eachFamily runs f for sockets of IPv4 and of IPv6, with and without offloads.
func eachFamily(t *testing.T, f func(t *testing.T, a, b *Socket)) {
	for _, addr := range addresses {
		for _, off := range []bool{false, true} {
			name := addr
			if off {
				name += "/offloads off"
			}
			t.Run(name, func(t *testing.T) {
				o := Options{Buffer: 1 << 20, GSO: !off, GRO: !off}
				f(t, open(t, addr, o), open(t, addr, o))
			})
		}
	}
}

func open(t testing.TB, addr string, o Options) *Socket {
	t.Helper()
	s, err := Open(netip.MustParseAddr(addr), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func name(t testing.TB, s *Socket) *Addr {
	t.Helper()
	a, err := AddrOf(s.Local)
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

// next waits for datagrams and returns them one by one.
func next(t *testing.T, s *Socket, from *Addr) [][]byte {
	t.Helper()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.FD), Events: unix.POLLIN}}, 10000); n != 1 {
		t.Fatalf("Nothing comes: %v", err)
	}
	buf := make([]byte, BlockSize)
	n, segment, errno := s.Receive(buf)
	if errno != 0 {
		t.Fatal(errno)
	}
	if s.From != *from {
		t.Errorf("from %v, want %v", s.From.AddrPort(), from.AddrPort())
	}
	var all [][]byte
	for ; n > segment; n -= segment {
		all, buf = append(all, buf[:segment]), buf[segment:]
	}
	return append(all, buf[:n])
}

// What is sent arrives: empty bodies, equal and different lengths, the largest of all.
func TestDatagrams(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *Socket) {
		largest := PathMTU(a.Local.Addr(), b.Local)
		lengths := [][2]int{{100, 0}, {76, 24}, {80, 20}, {99, 1}, {60, 0}, {100, 0}, {1000, 500}, {92, largest - 92}, {1, 0}}
		var want [][]byte
		for i, l := range lengths {
			head, body := bytes.Repeat([]byte{byte(i)}, l[0]), bytes.Repeat([]byte{byte(100 + i)}, l[1])
			a.Add(name(t, b), head, body, i == 2)
			want = append(want, append(head, body...))
		}
		a.Flush()
		for len(want) > 0 {
			for _, got := range next(t, b, name(t, a)) {
				if !bytes.Equal(got, want[0]) {
					t.Fatalf("%d bytes, want %d", len(got), len(want[0]))
				}
				want = want[1:]
			}
		}
		if a.out.dropped != 0 || a.Troubled || !a.whole {
			t.Errorf("dropped %d, troubled %v, whole %v", a.out.dropped, a.Troubled, a.whole)
		}
	})
}

// Equal datagrams are divided and put together by the kernel.
func TestOffload(t *testing.T) {
	o := Options{Buffer: 1 << 20, GSO: true, GRO: true}
	a, b := open(t, "127.0.0.1", o), open(t, "127.0.0.1", o)
	if !a.gso {
		t.Skip("this kernel has no segmentation offload for UDP")
	}
	for i := range 10 {
		a.Add(name(t, b), bytes.Repeat([]byte{byte(i)}, 104), nil, false)
	}
	a.Flush()
	if got := next(t, b, name(t, a)); len(got) != 10 || got[9][0] != 9 {
		t.Errorf("%d datagrams at once, want 10", len(got))
	}
}

// More is gathered than one system call takes.
func TestManyDatagrams(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *Socket) {
		const n = 2*batchItems + 10
		for i := range n {
			a.Add(name(t, b), []byte{byte(i), byte(i >> 8), byte(i % 3)}[:2+i%2], nil, false)
		}
		a.Flush()
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
	eachFamily(t, func(t *testing.T, a, b *Socket) {
		gone := open(t, b.Local.Addr().String(), Options{Buffer: 1 << 16})
		to := name(t, gone)
		unix.Close(gone.FD)
		gone.FD, _ = unix.Eventfd(0, 0) // for Cleanup
		a.Add(to, []byte("nobody"), nil, false)
		a.Flush()
		for range 3 {
			a.Add(name(t, b), []byte("somebody"), nil, false)
			a.Flush()
			if got := next(t, b, name(t, a)); string(got[0]) != "somebody" {
				t.Errorf("%q", got)
			}
		}
		f, ok := a.Failed()
		if !ok || f.To != *to || f.Errno != unix.ECONNREFUSED || f.By != to.AddrPort().Addr() {
			t.Errorf("%v %v %v by %v, want %v", ok, f.To.AddrPort(), f.Errno, f.By, to.AddrPort())
		}
		if _, more := a.Failed(); more {
			t.Error("there is more than one error")
		}
		if a.out.dropped != 0 || !a.Troubled {
			t.Errorf("dropped %d, troubled %v", a.out.dropped, a.Troubled)
		}
	})
}

// What is too large for any packet is divided by IP, or counted.
func TestTooLarge(t *testing.T) {
	eachFamily(t, func(t *testing.T, a, b *Socket) {
		var told *Addr
		a.Narrowed = func(to *Addr) { told = to }
		a.Add(name(t, b), make([]byte, 60000), make([]byte, 10000), false)
		a.Add(name(t, b), []byte("next"), nil, false)
		a.Flush()
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
		s, err := AddrOf(want)
		if err != nil || s.AddrPort() != want {
			t.Errorf("%v, %v, want %v", s.AddrPort(), err, want)
		}
	}
	if _, err := AddrOf(netip.MustParseAddrPort("[fe80::1%nowhere]:1")); err == nil {
		t.Error("an interface that does not exist is accepted")
	}
}

// The kernel binds to a broadcast address; a rank there would hear what is for all hosts.
func TestBroadcastAddress(t *testing.T) {
	for _, addr := range []string{"127.255.255.255", "255.255.255.255"} {
		s, err := Open(netip.MustParseAddr(addr), Options{Buffer: 1 << 16})
		if err == nil {
			s.Close()
		}
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(addr+": it is a broadcast address")) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestNoAllocationSending(t *testing.T) {
	o := Options{Buffer: 1 << 20, GSO: true, GRO: true}
	a, b := open(t, "127.0.0.1", o), open(t, "127.0.0.1", o)
	to, head, buf := name(t, b), make([]byte, 100), make([]byte, BlockSize)
	if n := testing.AllocsPerRun(100, func() {
		for range 3 {
			a.Add(to, head, head, false)
		}
		a.Add(to, head, nil, false)
		a.Flush()
		for {
			if _, _, errno := b.Receive(buf); errno != 0 {
				break
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPingPong(b *testing.B) {
	o := Options{Buffer: 1 << 20, GSO: true, GRO: true}
	x, y := open(b, "127.0.0.1", o), open(b, "127.0.0.1", o)
	echo := func(s *Socket, to *Addr, n int, first bool) {
		buf, out := make([]byte, BlockSize), make([]byte, 104)
		for range n {
			if first {
				s.Add(to, out, nil, false)
				s.Flush()
			}
			for {
				if _, _, errno := s.Receive(buf); errno == 0 {
					break
				}
			}
			if !first {
				s.Add(to, out, nil, false)
				s.Flush()
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
	x := open(b, "127.0.0.1", Options{Buffer: 1 << 20, GRO: true})
	buf := make([]byte, BlockSize)
	for range b.N {
		x.Receive(buf)
	}
}
