package tunnel

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

func newTunnel(t testing.TB, nodes, mtu int, text string) *Tunnel {
	t.Helper()
	s, err := impair.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	tun, err := New(Config{Nodes: nodes, Settings: s, Seed: 1, MTU: mtu})
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		t.Skipf("needs root that may make network namespaces and TUN devices: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tun.Close)
	return tun
}

// socket makes a UDP socket in a node.
func socket(t testing.TB, tun *Tunnel, node int) (conn *net.UDPConn) {
	t.Helper()
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		err := Enter(tun.Namespace(node))
		if err == nil {
			conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(port(node)))
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(patience))
	return conn
}

// port is where the socket of a node is.
func port(node int) netip.AddrPort { return netip.AddrPortFrom(Address(node), 7000) }

func TestNodesReachEachOther(t *testing.T) {
	const n = 5
	tun := newTunnel(t, n, 0, "delay=1ms")
	var socks []*net.UDPConn
	for i := range n {
		socks = append(socks, socket(t, tun, i))
	}
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			text := fmt.Sprintf("from %d to %d", i, j)
			if _, err := socks[i].WriteToUDPAddrPort([]byte(text), port(j)); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 100)
			got, from, err := socks[j].ReadFromUDPAddrPort(buf)
			if err != nil || string(buf[:got]) != text || from != port(i) {
				t.Fatalf("%s: %q from %v, %v", text, buf[:got], from, err)
			}
		}
	}
	if st := tun.Stats(); st.Delivered != n*(n-1) || st.Refused != 0 || st.Overrun != 0 {
		t.Errorf("%v", st)
	}
}

// What the links do reaches the sockets: altered payloads too, with their lengths.
func TestImpairedPayloads(t *testing.T) {
	const n = 2000
	tun := newTunnel(t, 2, 0, "corrupt=20%,truncate=20%,dup=10%,loss=10%,reorder=10%,hold=100us")
	from, to := socket(t, tun, 0), socket(t, tun, 1)
	whole := bytes.Repeat([]byte("payload "), 100)
	var arrived, short, spoilt uint64
	buf := make([]byte, 2000)
	for i := range n {
		before := tun.Stats().Delivered
		if _, err := from.WriteToUDPAddrPort(whole, port(1)); err != nil {
			t.Fatal(err)
		}
		// The tunnel has dealt with a datagram when its links have counted it.
		for tun.Stats().Sent <= uint64(i) {
			runtime.Gosched()
		}
		for range tun.Stats().Delivered - before {
			got, _, err := to.ReadFromUDPAddrPort(buf)
			if err != nil {
				t.Fatal(err)
			}
			arrived++
			if got < len(whole) {
				short++
			}
			if !bytes.Equal(buf[:got], whole[:got]) {
				spoilt++
			}
		}
	}
	st := tun.Stats()
	if arrived != st.Delivered || short != st.Truncated || spoilt != st.Corrupted || st.Refused != 0 ||
		short == 0 || spoilt == 0 || st.Duplicated == 0 || st.Lost == 0 || st.Reordered == 0 {
		t.Errorf("%d arrived, %d short, %d spoilt; %v", arrived, short, spoilt, st)
	}
}

// The devices have the MTU that is asked for: longer datagrams are refused if they must not be
// fragmented, and carried in fragments else.
func TestMTU(t *testing.T) {
	tun := newTunnel(t, 2, 1000, "")
	from, to := socket(t, tun, 0), socket(t, tun, 1)
	send := func(bytes int) error {
		_, err := from.WriteToUDPAddrPort(make([]byte, bytes), port(1))
		return err
	}
	raw, err := from.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fragment := func(how int) {
		raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, how) })
		if err != nil {
			t.Fatal(err)
		}
	}
	fragment(unix.IP_PMTUDISC_DO)
	if err := send(1000 - ipHeader - udpHeader + 1); !errors.Is(err, unix.EMSGSIZE) {
		t.Errorf("a packet of 1001 bytes: %v", err)
	}
	if err := send(1000 - ipHeader - udpHeader); err != nil {
		t.Errorf("a packet of 1000 bytes: %v", err)
	}
	fragment(unix.IP_PMTUDISC_DONT)
	if err := send(5000); err != nil {
		t.Error(err)
	}
	buf := make([]byte, 6000)
	for _, want := range []int{1000 - ipHeader - udpHeader, 5000} {
		if got, err := to.Read(buf); err != nil || got != want {
			t.Errorf("%d bytes arrive, %v; want %d", got, err, want)
		}
	}
}

// A link can be broken, in one direction, and mended.
func TestImpair(t *testing.T) {
	tun := newTunnel(t, 2, 0, "")
	a, b := socket(t, tun, 0), socket(t, tun, 1)
	if err := tun.Impair(0, 1, impair.Settings{Loss: 1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from *net.UDPConn
		to   netip.AddrPort
	}{{a, port(1)}, {b, port(0)}} {
		if _, err := c.from.WriteToUDPAddrPort([]byte("first"), c.to); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 100)
	if _, err := a.Read(buf); err != nil {
		t.Error(err)
	}
	for tun.Stats().Lost == 0 {
		runtime.Gosched()
	}
	if err := tun.Impair(0, 1, impair.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteToUDPAddrPort([]byte("second"), port(1)); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Read(buf); err != nil || string(buf[:n]) != "second" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// Nothing is left of a tunnel: neither descriptors, nor threads in its namespaces, nor names.
func TestCloseLeavesNothing(t *testing.T) {
	newTunnel(t, 1, 0, "").Close() // the runtime's own descriptors are there now
	before := descriptors(t)
	tun := newTunnel(t, 3, 0, "delay=1s")
	from := socket(t, tun, 0)
	if _, err := from.WriteToUDPAddrPort([]byte("lost"), port(1)); err != nil {
		t.Fatal(err)
	}
	from.Close()
	tun.Close()
	tun.Close() // once more does no harm
	if after := descriptors(t); len(after) > len(before) {
		t.Errorf("descriptors before: %v, after: %v", before, after)
	}
	if names, _ := filepath.Glob("/run/netns/*aq*"); len(names) > 0 {
		t.Errorf("there is %v", names)
	}
}

// descriptors returns what this process has open.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && !strings.HasSuffix(to, "/fd") { // the directory that is being read
			open = append(open, name+" "+to)
		}
	}
	return open
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		config Config
		says   string
	}{
		{Config{}, "0 nodes: want 1 to"},
		{Config{Nodes: MaxNodes + 1}, "1025 nodes"},
		{Config{Nodes: 1, MTU: 10}, "MTU of 10 bytes: want 68"},
		{Config{Nodes: 1, MTU: 65536}, "MTU of 65536 bytes"},
		{Config{Nodes: 1, Settings: impair.Settings{Loss: 2}}, "loss=2"},
	} {
		if _, err := New(c.config); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.says)
		}
	}
	if err := Enter("/proc/self/no-such-namespace"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Enter: %v", err)
	}
}

// The cost of a packet, from one socket to another by way of the tunnel.
func BenchmarkPacket(b *testing.B) {
	tun := newTunnel(b, 2, 0, "")
	from, to := socket(b, tun, 0), socket(b, tun, 1)
	buf := make([]byte, 1400)
	for b.Loop() {
		const window = 32
		for range window {
			if _, err := from.WriteToUDPAddrPort(buf, port(1)); err != nil {
				b.Fatal(err)
			}
		}
		for range window {
			if _, err := to.Read(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/packet")
}

// The time from one socket to another and back, over links with and without delay.
func BenchmarkRoundTrip(b *testing.B) {
	for _, link := range []string{"", "delay=100us", "delay=1ms"} {
		b.Run("link="+link, func(b *testing.B) {
			tun := newTunnel(b, 2, 0, link)
			from, to := socket(b, tun, 0), socket(b, tun, 1)
			buf := make([]byte, 8)
			for b.Loop() {
				for _, leg := range []struct {
					from, to *net.UDPConn
					port     netip.AddrPort
				}{{from, to, port(1)}, {to, from, port(0)}} {
					if _, err := leg.from.WriteToUDPAddrPort(buf, leg.port); err != nil {
						b.Fatal(err)
					}
					if _, err := leg.to.Read(buf); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
