package gm_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestMessages sends messages of all sizes between all of three hosts at once.
func TestMessages(t *testing.T) {
	t.Parallel()
	b := star(t, 3, profile(t, nil), gm.Image{})
	var flows []*flow
	for i, from := range b.hosts {
		for j, to := range b.hosts {
			if i != j {
				f := newFlow(t, from, to, 2+len(flows), 60, 0, 1, 127, 128, 129, 4095, 4096, 4097, 8192)
				flows = append(flows, f)
			}
		}
	}
	b.RunUntil(vtime.Millisecond)
	for _, f := range flows {
		f.start()
	}
	b.RunUntil(vtime.Second)
	for _, f := range flows {
		f.finished()
	}
	for i, h := range b.hosts {
		if n := h.Counts(); n.Resent > n.Sent/4 || n.TimeOuts > 0 {
			t.Errorf("node %d on a network without errors: %+v", i, n)
		}
	}
}

// faulty is a profile whose cables change, cut and lose packets.
func faulty(t testing.TB, chance machine.Chance) *gm.Profile {
	return profile(t, func(p *gm.Profile) {
		e := &p.Fabric.Error
		e.Corrupt, e.Truncate, e.Lose = chance, chance, chance
		p.GM.Resend = 300 * vtime.Microsecond
	})
}

// TestLoss has an eighth of all packets damaged or lost on each cable, ACKs among them: messages arrive all the
// same, once and in order, and what is damaged is counted.
func TestLoss(t *testing.T) {
	t.Parallel()
	b := star(t, 3, faulty(t, machine.Certain/25), gm.Image{ITB: true, Pool: 2})
	flows := []*flow{
		newFlow(t, b.hosts[0], b.hosts[1], 2, 150, 1, 200, 5000),
		newFlow(t, b.hosts[1], b.hosts[0], 3, 150, 1, 200, 5000),
		newFlow(t, b.hosts[2], b.hosts[1], 4, 150, 1, 200, 5000),
	}
	b.RunUntil(vtime.Millisecond)
	for _, f := range flows {
		f.start()
	}
	b.RunUntil(10 * vtime.Second)
	var sum gm.Counts
	for _, f := range flows {
		f.finished()
		n := f.to.Counts()
		sum.Corrupt += n.Corrupt
		sum.Truncated += n.Truncated
		sum.Duplicate += n.Duplicate
		sum.Gap += n.Gap
		sum.TimeOuts += n.TimeOuts
		sum.Resent += n.Resent
	}
	if sum.Corrupt == 0 || sum.Truncated == 0 || sum.Duplicate == 0 || sum.Gap == 0 || sum.TimeOuts == 0 || sum.Resent == 0 {
		t.Errorf("nothing of some kind has happened: %+v", sum)
	}
}

// TestRerouting has a link fail in the middle of a transfer, and the routes changed later to a way of another
// length, and back: nothing is lost, nothing comes twice.
func TestRerouting(t *testing.T) {
	t.Parallel()
	topo := &fabric.Topology{}
	s1, s2 := topo.AddSwitch("s1", make([]fabric.Kind, 8)...), topo.AddSwitch("s2", make([]fabric.Kind, 8)...)
	topo.Connect(fabric.HostEnd(topo.AddHost("a")), fabric.SwitchEnd(s1, 0), 300)
	topo.Connect(fabric.HostEnd(topo.AddHost("b")), fabric.SwitchEnd(s2, 0), 300)
	topo.Connect(fabric.SwitchEnd(s1, 1), fabric.SwitchEnd(s2, 1), 300)
	topo.Connect(fabric.SwitchEnd(s1, 2), fabric.SwitchEnd(s2, 2), 1000)
	b := newBed(t, topo, profile(t, nil), gm.Image{})
	by := func(port int) {
		for i, h := range b.hosts {
			if err := h.SetRoute(1-i, []byte{fabric.RouteByte(port), fabric.RouteByte(-port)}); err != nil {
				t.Error(err)
			}
		}
	}
	by(1)
	f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 400, 3000, 10, 6000), newFlow(t, b.hosts[1], b.hosts[0], 3, 400, 10, 6000)
	link := fabric.SwitchEnd(s1, 1)
	b.do(vtime.Millisecond, func() { f.start(); g.start() })
	b.do(3*vtime.Millisecond, func() { b.f.FailLink(link) })
	b.do(9*vtime.Millisecond, func() { by(2) })
	b.do(12*vtime.Millisecond, func() { b.f.RepairLink(link) })
	for i := range 20 { // the shorter way overtakes what is on the longer one
		b.do(vtime.Time(12000+50*i)*vtime.Microsecond, func() { by(1 + i%2) })
	}
	b.RunUntil(5 * vtime.Second)
	f.finished()
	g.finished()
	if f.from.Counts().TimeOuts == 0 || b.f.Counts().Failed == 0 {
		t.Errorf("the link has not failed while it was in use: %+v, %+v", f.from.Counts(), b.f.Counts())
	}
}

// TestUnreachable sends to nodes that cannot be reached: the sender is told why, and other nodes are served
// meanwhile.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := star(t, 4, profile(t, func(p *gm.Profile) { p.GM.Tries = 3 }), gm.Image{})
	dead, fine := newFlow(t, b.hosts[0], b.hosts[1], 2, 70, 10, 5000), newFlow(t, b.hosts[0], b.hosts[2], 3, 70, 10, 5000)
	lost := newFlow(t, b.hosts[0], b.hosts[3], 4, 5, 10)
	if err := b.hosts[0].SetRoute(3); err != nil {
		t.Fatal(err)
	}
	b.do(vtime.Millisecond, func() {
		b.f.FailLink(fabric.HostEnd(1))
		dead.start()
		fine.start()
		lost.start()
	})
	b.RunUntil(vtime.Second)
	fine.finished()
	if dead.failed != 70 || dead.why != gm.ErrUnreachable || len(dead.got) > 0 {
		t.Errorf("%d of 70 messages have failed with %v, %d have come", dead.failed, dead.why, len(dead.got))
	}
	if lost.failed != 5 || lost.why != gm.ErrNoRoute {
		t.Errorf("%d of 5 messages have failed with %v", lost.failed, lost.why)
	}
	// It is mended: a new session begins.
	b.f.RepairLink(fabric.HostEnd(1))
	dead.src.Close()
	again := newFlow(t, b.hosts[0], b.hosts[1], 5, 20, 10, 5000)
	b.do(b.Now()+vtime.Millisecond, again.start)
	b.RunUntil(2 * vtime.Second)
	again.finished()
}

// TestGivenUp has a sender give up in the middle of a message. The next session begins with a message to another
// port, and the buffer of the first one is free for a third.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, func(p *gm.Profile) { p.GM.Tries = 2 }), gm.Image{})
	src, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, in := b.hosts[0].Register(make([]byte, 1<<16)), b.hosts[1].Register(make([]byte, 1<<17))
	var got, results []string
	for i, number := range []int{3, 4} {
		p, err := b.hosts[1].Open(number, func(m *gm.Message) { got = append(got, fmt.Sprint(number, " ", len(m.Data))) })
		if err == nil {
			err = p.Provide(in, i<<16, 16, gm.Low)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(port, size int) {
		err := src.Send(out, 0, size, gm.Low, 1, port, func(err error) { results = append(results, fmt.Sprint(port, " ", err)) })
		if err != nil {
			t.Error(err)
		}
	}
	b.do(vtime.Millisecond, func() { send(3, 60000) })
	b.do(vtime.Millisecond+200*vtime.Microsecond, func() { b.f.FailLink(fabric.HostEnd(1)) })
	b.do(50*vtime.Millisecond, func() {
		b.f.RepairLink(fabric.HostEnd(1))
		send(4, 50000)
		send(3, 40000)
	})
	b.RunUntil(vtime.Second)
	if fmt.Sprint(got) != "[4 50000 3 40000]" || fmt.Sprint(results) != fmt.Sprint([]string{"3 " + gm.ErrUnreachable.Error(), "4 <nil>", "3 <nil>"}) {
		t.Errorf("%v have come, results %v, %+v", got, results, b.hosts[1].Counts())
	}
}

// TestWrap sends more packets than there are numbers for, over cables that lose some.
func TestWrap(t *testing.T) {
	t.Parallel()
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	b, err := gm.NewPair(faulty(t, machine.Certain/2000), gm.Image{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1<<16 + 5000
	if _, err := gm.Stream(b.Simulation, 1, n, [2]*gm.Host{b.Hosts[0], b.Hosts[1]}); err != nil {
		t.Error(err)
	}
	if c := b.Hosts[1].Counts(); c.Received != n {
		t.Errorf("%d of %d messages have been accepted: %+v", c.Received, n, c)
	}
}

// TestNACKs has a port without buffers, a closed one, and one that closes in the middle of a message: the first
// costs time, the others the message, and those behind it arrive.
func TestNACKs(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	src, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := b.hosts[0].Register(make([]byte, 1<<16))
	in := b.hosts[1].Register(make([]byte, 1<<17))
	var came []string
	open := func(number int) *gm.Port {
		p, err := b.hosts[1].Open(number, func(m *gm.Message) { came = append(came, fmt.Sprint(number, " ", len(m.Data))) })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	late, closes := open(3), open(4)
	if err := closes.Provide(in, 1<<16, 16, gm.Low); err != nil {
		t.Fatal(err)
	}
	var results []string
	send := func(port, size int) {
		err := src.Send(memory, 0, size, gm.Low, 1, port, func(err error) { results = append(results, fmt.Sprint(port, " ", size, " ", err)) })
		if err != nil {
			t.Error(err)
		}
	}
	b.do(vtime.Millisecond, func() {
		send(3, 100) // there is a buffer later
		send(9, 5000)
		send(3, 101)
		send(4, 60000)
		send(3, 102)
	})
	b.do(2*vtime.Millisecond, func() {
		if len(came) > 0 {
			t.Errorf("%q have come without a buffer", came)
		}
		// It is sent again after gm.wait, 50 µs, and not at once.
		if n := b.hosts[1].Counts().NoBuffer; n < 10 || n > 20 {
			t.Errorf("%d packets have found no buffer within a millisecond", n)
		}
		for i := range 3 {
			if err := late.Provide(in, 128*i, 7, gm.Low); err != nil {
				t.Error(err)
			}
		}
	})
	b.do(2*vtime.Millisecond+300*vtime.Microsecond, closes.Close) // the large message is coming in
	b.RunUntil(vtime.Second)
	if want := "[3 100 3 101 3 102]"; fmt.Sprint(came) != want {
		t.Errorf("%v have come, want %s", came, want)
	}
	want := fmt.Sprint([]string{"3 100 <nil>", "9 5000 " + gm.ErrPortClosed.Error(), "3 101 <nil>", "4 60000 " + gm.ErrPortClosed.Error(), "3 102 <nil>"})
	if fmt.Sprint(results) != want {
		t.Errorf("results\n%v, want\n%s", results, want)
	}
	if n := b.hosts[1].Counts(); n.NoBuffer == 0 {
		t.Errorf("no NACK: %+v", n)
	}
}

// TestSessions closes a host and has another program on its NIC, which knows nothing of the sessions: senders
// begin new ones.
func TestSessions(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000)
	b.do(vtime.Millisecond, f.start)
	b.RunUntil(10 * vtime.Millisecond)
	f.finished()
	b.hosts[1].Close()
	b.RunUntil(20 * vtime.Millisecond)
	restarted, err := gm.NewHost(b.f, profile(t, nil), gm.Image{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := restarted.SetRoute(0, []byte{fabric.RouteByte(-1)}); err != nil {
		t.Fatal(err)
	}
	f.src.Close()
	again := newFlow(t, b.hosts[0], restarted, 2, 10, 10, 5000)
	back := newFlow(t, restarted, b.hosts[0], 3, 10, 10, 5000)
	b.do(30*vtime.Millisecond, func() { again.start(); back.start() })
	b.RunUntil(vtime.Second)
	again.finished()
	back.finished()
	if restarted.Counts().Gap == 0 {
		t.Errorf("no packet of an unknown session has come: %+v", restarted.Counts())
	}
}

// TestCloseAndOpen closes a host, and opens ports of it again: messages from and to it arrive.
func TestCloseAndOpen(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 3, 10, 10, 5000)
	b.do(vtime.Millisecond, func() { f.start(); g.start() })
	b.RunUntil(10 * vtime.Millisecond)
	f.finished()
	g.finished()
	b.hosts[1].Close()
	b.RunUntil(20 * vtime.Millisecond)
	f.src.Close()
	f, g = newFlow(t, b.hosts[0], b.hosts[1], 4, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 5, 10, 10, 5000)
	b.do(30*vtime.Millisecond, func() { f.start(); g.start() })
	b.RunUntil(vtime.Second)
	f.finished()
	g.finished()
}

// TestRestart has another program on a NIC whose host was not closed: its first messages are not taken for those that the
// program before it has sent.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 4, 10, 10, 5000)
	b.do(vtime.Millisecond, func() { f.start(); g.start() })
	b.RunUntil(10 * vtime.Millisecond)
	f.finished()
	g.finished()
	restarted, err := gm.NewHost(b.f, profile(t, nil), gm.Image{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := restarted.SetRoute(0, []byte{fabric.RouteByte(-1)}); err != nil {
		t.Fatal(err)
	}
	f.src.Close()
	again := newFlow(t, b.hosts[0], restarted, 2, 10, 10, 5000)
	back := newFlow(t, restarted, b.hosts[0], 3, 10, 10, 5000)
	b.do(30*vtime.Millisecond, func() { again.start(); back.start() })
	b.RunUntil(vtime.Second)
	again.finished()
	back.finished()
}

// TestCloseInTransfer closes a host at many times of a transfer, and opens other ports: their messages arrive.
func TestCloseInTransfer(t *testing.T) {
	t.Parallel()
	for us := vtime.Time(1000); us < 1400; us += 7 {
		b := star(t, 2, profile(t, nil), gm.Image{})
		f := newFlow(t, b.hosts[0], b.hosts[1], 2, 40, 10, 5000)
		b.do(vtime.Millisecond, func() { f.start() })
		b.RunUntil(us * vtime.Microsecond)
		b.hosts[1].Close()
		f.src.Close()
		x, y := newFlow(t, b.hosts[0], b.hosts[1], 4, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 5, 10, 10, 5000)
		b.RunUntil(us*vtime.Microsecond + 300*vtime.Microsecond)
		x.start()
		y.start()
		b.RunUntil(vtime.Second)
		x.finished()
		y.finished()
	}
}

// TestRefusedTwice sends a packet twice whose port is closed, and open when it comes again: it stays refused, since the sender
// sends all that was behind it in another session.
func TestRefusedTwice(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	var got []string
	open := func(n int) {
		port, err := b.hosts[1].Open(n, func(m *gm.Message) { got = append(got, string(m.Data)) })
		if err != nil {
			t.Fatal(err)
		}
		in := b.hosts[1].Register(make([]byte, 64))
		for i := range 4 {
			if err := port.Provide(in, 8*i, 3, gm.Low); err != nil {
				t.Fatal(err)
			}
		}
	}
	open(3)
	packet := func(port uint8, session, sequence uint16, payload string) {
		h := gm.Header{
			Kind: gm.Data, First: true, Last: true, Class: 3, Target: 1, TargetPort: port << 1,
			Session: session, Sequence: sequence, Length: uint16(len(payload)),
		}
		b.hosts[0].SendMapping(fabric.Packet{Head: append(h.Append([]byte{fabric.RouteByte(1)}), payload...)})
	}
	b.do(vtime.Millisecond, func() { packet(2, 7, 0, "down") })
	b.do(2*vtime.Millisecond, func() { open(2) })
	b.do(3*vtime.Millisecond, func() { packet(2, 7, 0, "down"); packet(3, 7, 1, "next"); packet(3, 8, 0, "next") })
	b.RunUntil(vtime.Second)
	if fmt.Sprint(got) != "[next]" {
		t.Errorf("%v", got)
	}
}

// TestLateOpen has a NACK come that says that the session is not known, though it is: it was sent before the packet came that has
// begun it. Nothing comes twice.
func TestLateOpen(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f := newFlow(t, b.hosts[0], b.hosts[1], 2, 20, 10, 4096)
	b.do(vtime.Millisecond, f.start)
	b.do(vtime.Millisecond+6*vtime.Microsecond, func() { // the first message is on its way, and has not been acknowledged
		h := gm.Header{Kind: gm.NACKOpen, Target: 0, Sender: 1, Session: 1, SenderConn: 1}
		b.hosts[1].SendMapping(fabric.Packet{Head: h.Append([]byte{fabric.RouteByte(-1)})})
	})
	b.RunUntil(vtime.Second)
	f.finished()
	if n := b.hosts[1].Counts(); n.Duplicate == 0 {
		t.Errorf("the NACK came too late, or nothing has been sent again: %+v %+v", n, b.hosts[0].Counts())
	}
}

// TestTraces runs the same twice, with one processor and with all: the traces are equal.
func TestTraces(t *testing.T) {
	run := func(procs int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		b := star(t, 3, faulty(t, machine.Certain/100), gm.Image{ITB: true, Pool: 1, Drop: true})
		var trace bytes.Buffer
		b.Trace(&trace)
		f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 30, 10, 5000), newFlow(t, b.hosts[2], b.hosts[1], 3, 30, 10, 5000)
		b.do(vtime.Millisecond, func() { f.start(); g.start() })
		b.RunUntil(vtime.Second)
		f.finished()
		g.finished()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return trace.Bytes()
	}
	if one, all := run(1), run(runtime.NumCPU()); !bytes.Equal(one, all) || len(one) < 1000 {
		t.Errorf("traces of %d and %d B differ", len(one), len(all))
	}
}

// TestLargeMessage sends a message of more packets than half of the numbers that packets have.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	const packet, size = 64, 33_000 * 64
	b := star(t, 2, profile(t, func(p *gm.Profile) { p.GM.MTU, p.GM.Fast = packet, packet }), gm.Image{})
	var came, sent bool
	in, out := b.hosts[1].Register(make([]byte, 1<<gm.Class(size))), b.hosts[0].Register(make([]byte, size))
	for i := range out.Bytes() {
		out.Bytes()[i] = byte(i / packet * 7 >> 3)
	}
	to, err := b.hosts[1].Open(2, func(m *gm.Message) { came = string(m.Data) == string(out.Bytes()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Provide(in, 0, gm.Class(size), gm.Low); err != nil {
		t.Fatal(err)
	}
	from, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.do(vtime.Millisecond, func() {
		if err := from.Send(out, 0, size, gm.Low, 1, 2, func(err error) { sent = err == nil }); err != nil {
			t.Error(err)
		}
	})
	b.RunUntil(2 * vtime.Second)
	if !came || !sent {
		t.Errorf("come %v, sent %v", came, sent)
	}
}

// TestLateBuffer provides a receive buffer long after the message: the node answers meanwhile, so that it counts as reachable.
func TestLateBuffer(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, func(p *gm.Profile) { p.GM.Tries = 3 }), gm.Image{})
	var came int
	result := gm.ErrClosed
	in, out := b.hosts[1].Register(make([]byte, 128)), b.hosts[0].Register(make([]byte, 100))
	to, err := b.hosts[1].Open(2, func(*gm.Message) { came++ })
	if err != nil {
		t.Fatal(err)
	}
	from, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.do(vtime.Millisecond, func() {
		if err := from.Send(out, 0, 100, gm.Low, 1, 2, func(err error) { result = err }); err != nil {
			t.Error(err)
		}
	})
	b.do(10*vtime.Millisecond, func() {
		if err := to.Provide(in, 0, 7, gm.Low); err != nil {
			t.Error(err)
		}
	})
	b.RunUntil(vtime.Second)
	if came != 1 || result != nil {
		t.Errorf("%d messages have come; the sender is told %v", came, result)
	}
}
