package gm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func second[T any](_ T, err error) error { return err }

// TestErrors gives the library what makes no sense: it says what, and loses no token.
func TestErrors(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	h := b.hosts[0]
	p, err := h.Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, other := h.Register(make([]byte, 100)), b.hosts[1].Register(make([]byte, 100))
	send := func(m *gm.Memory, offset, size int, priority gm.Priority, node, port int) error {
		return p.Send(m, offset, size, priority, node, port, nil)
	}
	for want, err := range map[string]error{
		"port 16; a node has 16":      second(h.Open(16, nil)),
		"port 2 of node 0 is open":    second(h.Open(2, nil)),
		"bytes 50 to 101":             send(m, 50, 51, gm.Low, 1, 2),
		"bytes -1 to":                 send(m, -1, 1, gm.Low, 1, 2),
		"not registered":              send(other, 0, 1, gm.Low, 1, 2),
		"is not registered with":      send(nil, 0, 1, gm.Low, 1, 2),
		"node 0 to node 2":            send(m, 0, 1, gm.Low, 2, 2),
		"node 0 to node 0":            send(m, 0, 1, gm.Low, 0, 2),
		"to port 16":                  send(m, 0, 1, gm.Low, 1, 16),
		"priority 2":                  send(m, 0, 1, 2, 1, 2),
		"size class 32":               p.Provide(m, 0, 32, gm.Low),
		"of registered memory of 100": p.Provide(m, 0, 7, gm.Low),
		"priority 3":                  p.Provide(m, 0, 6, 3),
		"a route to node 2":           h.SetRoute(2, []byte{0x81}),
		"not its top bit":             h.SetRoute(1, []byte{0x01}),
		"room for 64":                 h.SetRoute(1, make([]byte, 0), nil),
		"a fabric of 2":               second(gm.NewHost(b.f, profile(t, nil), gm.Image{}, 2)),
		"for in-transit support":      second(gm.NewHost(b.f, profile(t, nil), gm.Image{Transit: transit.Options{Pool: 1}}, 1)),
		"SRAM: in-transit pool needs": second(gm.NewHost(b.f, profile(t, nil), gm.Image{ITB: true, Transit: transit.Options{Pool: 1000}}, 1)),
		"round trips of -1 B":         second(gm.HalfRoundTrip(b.Simulation, h, b.hosts[1], -1, 1)),
		"already":                     second(gm.HalfRoundTrip(b.Simulation, h, b.hosts[1], 1, 1)),
	} {
		if want == "room for 64" {
			err = h.SetRoute(1, long(65))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if s, r := p.Tokens(); s != 61 || r != 254 {
		t.Errorf("%d send and %d receive tokens are left of 61 and 254", s, r)
	}
	for range 61 {
		if err := send(m, 0, 1, gm.Low, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(m, 0, 1, gm.Low, 1, 2); !errors.Is(err, gm.ErrNoToken) {
		t.Errorf("message 62: %v", err)
	}
	if m.Deregister() == nil {
		t.Error("memory in use has been deregistered")
	}
	b.RunUntil(vtime.Second)
	if n := h.Counts(); n.TimeOuts+n.Resent > 0 { // each is refused at once, though others come behind it
		t.Errorf("messages to a closed port: %+v", n)
	}
	if err := m.Deregister(); err != nil {
		t.Error(err)
	}
	if err := send(m, 0, 1, gm.Low, 1, 2); err == nil {
		t.Error("memory is used that has been deregistered")
	}
	p.Close()
	for _, err := range []error{send(m, 0, 1, gm.Low, 1, 2), p.Provide(m, 0, 3, gm.Low)} {
		if !errors.Is(err, gm.ErrClosed) {
			t.Errorf("a closed port: %v", err)
		}
	}
	if _, err := h.Open(2, nil); err != nil {
		t.Errorf("it can be opened again: %v", err)
	}
}

func long(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 0x80
	}
	return b
}

// TestPriorities has buffers of one size class for either priority: messages find their own.
func TestPriorities(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	src, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []gm.Message
	dst, err := b.hosts[1].Open(5, func(m *gm.Message) { got = append(got, *m) })
	if err != nil {
		t.Fatal(err)
	}
	out, in := b.hosts[0].Register([]byte("high")), b.hosts[1].Register(make([]byte, 8))
	if err := errors.Join(dst.Provide(in, 0, 2, gm.Low), dst.Provide(in, 4, 2, gm.High)); err != nil {
		t.Fatal(err)
	}
	b.RunUntil(vtime.Millisecond)
	if err := src.Send(out, 0, 4, gm.High, 1, 5, nil); err != nil {
		t.Fatal(err)
	}
	b.RunUntil(vtime.Second)
	if len(got) != 1 || got[0].Priority != gm.High || got[0].Offset != 4 || got[0].Memory != in || string(got[0].Data) != "high" || got[0].From != 0 || got[0].FromPort != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestReopen closes a port before the NIC has taken its token, and opens it again: both messages arrive, each once.
func TestReopen(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	var got []string
	dst, err := b.hosts[1].Open(5, func(m *gm.Message) { got = append(got, string(m.Data)) })
	if err != nil {
		t.Fatal(err)
	}
	out, in := b.hosts[0].Register([]byte("onetwo")), b.hosts[1].Register(make([]byte, 16))
	for i := range 4 {
		if err := dst.Provide(in, 4*i, 2, gm.Low); err != nil {
			t.Fatal(err)
		}
	}
	b.RunUntil(vtime.Millisecond)
	for i := range 2 {
		src, err := b.hosts[0].Open(2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Send(out, 3*i, 3, gm.Low, 1, 5, func(error) { t.Error("a callback of a closed port") }); err != nil {
			t.Fatal(err)
		}
		src.Close()
	}
	b.RunUntil(vtime.Second)
	if strings.Join(got, " ") != "one two" {
		t.Errorf("got %q", got)
	}
	if err := out.Deregister(); err != nil {
		t.Error(err)
	}
}

// TestMappingBuffers sends more packets of the mapper at once than the NIC has buffers for, and one that is too long: the others
// leave, and the buffers are part of the SRAM's budget.
func TestMappingBuffers(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	got := 0
	b.hosts[1].OnMapping(func(fabric.Packet) { got++ })
	send := func(size int) {
		b.hosts[0].SendMapping(fabric.Packet{Head: append([]byte{fabric.RouteByte(1), 0x70, 0x0f}, make([]byte, size)...)})
	}
	send(1 << 13)
	for range 10 {
		send(100)
	}
	b.RunUntil(vtime.Second)
	if n := b.hosts[0].Counts(); got != 4 || n.Unsent != 7 {
		t.Errorf("%d packets have come: %+v", got, n)
	}
	if r := b.hosts[0].NIC().SRAM.Report(); !strings.Contains(r, "mapper's queue") {
		t.Error(r)
	}
	send(100)
	if b.RunUntil(2 * vtime.Second); got != 5 {
		t.Error("no packet leaves any more")
	}
}

// TestClosedTokens opens and closes a port with messages and receive buffers: the NIC never has more tokens of that number than its
// SRAM has room for. They come back when the NIC is through with them, so that all messages arrive in order, and the memory with
// them.
func TestClosedTokens(t *testing.T) {
	t.Parallel()
	const sends, accepts, openings = 4, 40, 60
	b := star(t, 2, profile(t, func(p *gm.Profile) {
		p.GM.Ports, p.GM.Sends, p.GM.Accepts = 3, sends, accepts
		p.Host.Send = 0 // faster than the NIC takes them
	}), gm.Image{})
	got := 0
	var dst *gm.Port
	dst, err := b.hosts[1].Open(2, func(m *gm.Message) {
		if int(m.Data[0]) != got {
			t.Errorf("message %d comes after %d", m.Data[0], got)
		}
		got++
		if err := dst.Provide(m.Memory, m.Offset, 0, gm.Low); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]byte, sends*openings)
	for i := range numbers {
		numbers[i] = byte(i)
	}
	out, in := b.hosts[0].Register(numbers), b.hosts[1].Register(make([]byte, accepts))
	for i := range accepts {
		if err := dst.Provide(in, i, 0, gm.Low); err != nil {
			t.Fatal(err)
		}
	}
	b.RunUntil(vtime.Millisecond)
	sent, refused := 0, 0
	for sent < len(numbers) {
		src, err := b.hosts[0].Open(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, a := src.Tokens(); s < 0 || s > sends || a < 0 || a > accepts {
			t.Fatalf("%d and %d tokens are left", s, a)
		}
		for range min(sends, len(numbers)-sent) {
			err := src.Send(out, sent, 1, gm.Low, 1, 2, nil)
			if errors.Is(err, gm.ErrNoToken) {
				refused++
				b.RunUntil(b.Now() + 10*vtime.Microsecond)
				break
			} else if err != nil {
				t.Fatal(err)
			}
			sent++
		}
		for range accepts {
			if err := src.Provide(out, 0, 0, gm.Low); err != nil && !errors.Is(err, gm.ErrNoToken) {
				t.Fatal(err)
			}
		}
		src.Close()
	}
	b.RunUntil(2 * vtime.Second)
	if got != sent || refused == 0 {
		t.Errorf("%d of %d messages have come; %d times there was no token", got, sent, refused)
	}
	if err := out.Deregister(); err != nil {
		t.Error(err)
	}
	if again, err := b.hosts[0].Open(1, nil); err != nil {
		t.Error(err)
	} else if s, a := again.Tokens(); s != sends || a != accepts {
		t.Errorf("%d and %d tokens are left of %d and %d", s, a, sends, accepts)
	}
}

// TestAfterRun has the library refuse what could not leave any more, and no token lost by that.
func TestAfterRun(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p, err := b.hosts[0].Open(5, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := b.hosts[0].Register(make([]byte, 8))
	if err := b.Run(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		p.Send(m, 0, 8, gm.Low, 1, 2, nil), p.Provide(m, 0, 3, gm.Low),
		second(gm.Stream(b.Simulation, 1, 1, [2]*gm.Host{b.hosts[1], b.hosts[0]})),
	} {
		if !errors.Is(err, gm.ErrOver) {
			t.Errorf("after Run: %v", err)
		}
	}
	if s, a := p.Tokens(); s != 61 || a != 254 {
		t.Errorf("%d and %d tokens are left", s, a)
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]uint8{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 4096: 12, 4097: 13, gm.MaxMessage: 31} {
		if got := gm.Class(n); got != want {
			t.Errorf("%d B: class %d, want %d", n, got, want)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range gm.Library().Names() {
		p, err := gm.Load(name)
		if err == nil {
			_, err = gm.NewTestbed(p, gm.Image{ITB: true}, 1)
		}
		if err != nil {
			t.Error(err)
		}
	}
	f, err := gm.Library().Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"gm.mtu", "1", "B"}, {"gm.ports", "0", "count"}, {"gm.tries", "0", "count"}, {"gm.window", "20000", "count"}, {"gm.queue", "0", "count"},
		{"gm.resend", "0", "us"}, {"gm.resend", "900", "s"}, {"host.visible", "0", "us"}, {"gm.fast", "8", "KB"}, {"dma.outstanding", "2", "count"},
		{"fabric.slack.size", "10", "count"}, {"fabric.link.rate", "100000", "GB/s"}, {"fabric.slack.stop", "30", "count"},
	} {
		changed, err := f.With(c[0], c[1], c[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gm.NewProfile(changed); err == nil || !strings.Contains(err.Error(), "changed: "+c[0]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := gm.Load("lanai7"); err == nil || !strings.Contains(err.Error(), "more constants are missing") {
		t.Errorf("a NIC without a program: %v", err)
	}
}

// with returns the paper's machine with one constant changed.
func with(t testing.TB, name, value, unit string) *gm.Profile {
	t.Helper()
	f, err := gm.Library().Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	if f, err = f.With(name, value, unit); err != nil {
		t.Fatal(err)
	}
	p, err := gm.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
