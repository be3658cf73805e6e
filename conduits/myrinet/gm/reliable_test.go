package gm_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
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
	b := star(t, 3, faulty(t, machine.Certain/25), gm.Image{ITB: true, Transit: transit.Options{Pool: 2}})
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
	send, results := outbox(t, b)
	in := b.hosts[1].Register(make([]byte, 1<<17))
	var got []string
	for i, number := range []int{3, 4} {
		p, err := b.hosts[1].Open(number, func(m *gm.Message) { got = append(got, fmt.Sprint(number, " ", len(m.Data))) })
		if err == nil {
			err = p.Provide(in, i<<16, 16, gm.Low)
		}
		if err != nil {
			t.Fatal(err)
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
	if fmt.Sprint(got) != "[4 50000 3 40000]" || fmt.Sprint(*results) != fmt.Sprint([]string{"3 60000 " + gm.ErrUnreachable.Error(), "4 50000 <nil>", "3 40000 <nil>"}) {
		t.Errorf("%v have come, results %v, %+v", got, *results, b.hosts[1].Counts())
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
	send, results := outbox(t, b)
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
		// It is sent again after gm.wait, 50 µs, and then after longer and longer times.
		if n := b.hosts[1].Counts().NoBuffer; n != 5 {
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
	if fmt.Sprint(*results) != want {
		t.Errorf("results\n%v, want\n%s", *results, want)
	}
	if n := b.hosts[1].Counts(); n.NoBuffer == 0 {
		t.Errorf("no NACK: %+v", n)
	}
}

// restart puts another program on the NIC of a host of a star, with a route to one of the others.
func (b *bed) restart(t testing.TB, p *gm.Profile, host, to int) *gm.Host {
	t.Helper()
	h, err := gm.NewHost(b.f, p, gm.Image{}, host)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetRoute(to, []byte{fabric.RouteByte(to - host)}); err != nil {
		t.Fatal(err)
	}
	return h
}

// exchange has flows start at a time, and be finished at another one.
func (b *bed) exchange(start, end vtime.Time, flows ...*flow) {
	b.do(start, func() {
		for _, f := range flows {
			f.start()
		}
	})
	b.RunUntil(end)
	for _, f := range flows {
		f.finished()
	}
}

// TestSessions closes a host and has another program on its NIC, which knows nothing of the sessions: senders
// begin new ones.
func TestSessions(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000)
	b.exchange(vtime.Millisecond, 10*vtime.Millisecond, f)
	b.hosts[1].Close()
	b.RunUntil(20 * vtime.Millisecond)
	restarted := b.restart(t, profile(t, nil), 1, 0)
	f.src.Close()
	again := newFlow(t, b.hosts[0], restarted, 2, 10, 10, 5000)
	back := newFlow(t, restarted, b.hosts[0], 3, 10, 10, 5000)
	b.exchange(30*vtime.Millisecond, vtime.Second, again, back)
	if restarted.Counts().Gap == 0 {
		t.Errorf("no packet of an unknown session has come: %+v", restarted.Counts())
	}
}

// TestCloseAndOpen closes a host, and opens ports of it again: messages from and to it arrive.
func TestCloseAndOpen(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 3, 10, 10, 5000)
	b.exchange(vtime.Millisecond, 10*vtime.Millisecond, f, g)
	b.hosts[1].Close()
	b.RunUntil(20 * vtime.Millisecond)
	f.src.Close()
	f, g = newFlow(t, b.hosts[0], b.hosts[1], 4, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 5, 10, 10, 5000)
	b.exchange(30*vtime.Millisecond, vtime.Second, f, g)
}

// TestRestart has another program on a NIC whose host was not closed: its first messages are not taken for those that the
// program before it has sent.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f, g := newFlow(t, b.hosts[0], b.hosts[1], 2, 10, 10, 5000), newFlow(t, b.hosts[1], b.hosts[0], 4, 10, 10, 5000)
	b.exchange(vtime.Millisecond, 10*vtime.Millisecond, f, g)
	restarted := b.restart(t, profile(t, nil), 1, 0)
	f.src.Close()
	again := newFlow(t, b.hosts[0], restarted, 2, 10, 10, 5000)
	back := newFlow(t, restarted, b.hosts[0], 3, 10, 10, 5000)
	b.exchange(30*vtime.Millisecond, vtime.Second, again, back)
}

// TestCloseInTransfer closes a host at many times of a transfer, and opens other ports: their messages arrive.
func TestCloseInTransfer(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
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

// TestSession has packets of several sessions: what comes of an older one counts for nothing, whatever its sequence is, and a
// later one begins with its first packet, not with one behind that.
func TestSession(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p, got := newPeer(t, b), inbox(t, b, 2)
	id := p.number(b, 1)
	packet := func(session, sequence uint16, payload string) {
		p.message(2, gm.Header{Session: session, Sequence: sequence, SenderConn: 1, TargetConn: id}, payload)
	}
	packet(7, 0, "first")
	packet(6, 0, "older")
	packet(6, 1, "older still")
	packet(7, 1, "second")
	packet(8, 1, "too early")
	packet(8, 0, "third")
	packet(7, 2, "too late")
	b.RunUntil(vtime.Second)
	if n := b.hosts[1].Counts(); fmt.Sprint(*got) != "[first second third]" || n.Received != 3 || n.Duplicate != 3 {
		t.Errorf("%v have come: %+v", *got, n)
	}
}

// TestLatePacket has packets come of a program whose host has been restarted since: the one that begins its session, and others.
// None is delivered, or ends the session of the program that is there now. Neither do they where the receiver has been
// restarted.
func TestLatePacket(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p, got := newPeer(t, b), inbox(t, b, 2)
	packet := func(program, id, session, sequence uint16, payload string) {
		p.message(2, gm.Header{Session: session, Sequence: sequence, SenderConn: program, TargetConn: id}, payload)
		b.RunUntil(b.Now() + vtime.Millisecond)
	}
	before := p.number(b, 1)
	packet(1, before, 1, 0, "before")
	after := p.number(b, 2)
	packet(2, after, 1, 0, "after")
	p.kinds()
	packet(1, before, 1, 0, "before")
	packet(1, before, 2, 0, "before again")
	packet(1, 0, 3, 0, "before all")
	packet(1, after, 3, 0, "nobody's")
	packet(2, after, 1, 1, "after 2")
	if kinds := p.kinds(); fmt.Sprint(*got) != "[before after after 2]" || kinds[len(kinds)-1] != gm.ACK {
		t.Errorf("%q have come, answered by %v", *got, kinds)
	}
	if id := p.number(b, 2); id != after {
		t.Errorf("the program that is there now is told %d, and then %d", after, id)
	}

	restarted := b.restart(t, profile(t, nil), 1, 0)
	b.hosts[1] = restarted
	got = inbox(t, b, 2)
	packet(2, after, 1, 0, "after")
	packet(2, after, 2, 0, "after")
	packet(2, 0, 1, 0, "after")
	packet(2, p.number(b, 2), 2, 0, "afresh")
	if fmt.Sprint(*got) != "[afresh]" {
		t.Errorf("%q have come to the node that has been restarted", *got)
	}
}

// TestLateAnswers has answers come that belong to a program or a session before, or that come twice: no message counts as
// delivered by them, and none is sent again.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p := newPeer(t, b)
	src, err := b.hosts[1].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	var results []error
	if err := src.Send(b.hosts[1].Register(make([]byte, 8)), 0, 8, gm.Low, 0, 2, func(err error) { results = append(results, err) }); err != nil {
		t.Fatal(err)
	}
	step := func() gm.Header {
		b.RunUntil(b.Now() + 100*vtime.Microsecond)
		return p.got[len(p.got)-1]
	}
	asks := step()
	if asks.TargetConn != 0 || asks.SenderConn == 0 || len(p.got) != 1 {
		t.Fatalf("the node does not ask for a number by one packet: %+v", p.got)
	}
	answer := gm.Header{Kind: gm.NACKOpen, TargetConn: asks.SenderConn, SenderConn: 5, Session: asks.Session}
	p.send(answer, "")
	data := step()
	if data.TargetConn != 5 || data.Session == asks.Session {
		t.Fatalf("with its number the node sends %+v", data)
	}
	late := func(change func(*gm.Header)) {
		h := gm.Header{Kind: gm.ACK, TargetConn: data.SenderConn, SenderConn: 5, Session: data.Session, Sequence: 1}
		change(&h)
		p.send(h, "")
	}
	p.kinds()
	p.send(answer, "")
	late(func(h *gm.Header) { h.Session = asks.Session })
	late(func(h *gm.Header) { h.TargetConn++ })
	late(func(h *gm.Header) { h.SenderConn++ })
	late(func(h *gm.Header) { h.Sequence++ })
	late(func(h *gm.Header) { h.Kind = gm.NACKOpen })
	late(func(h *gm.Header) { h.Kind, h.SenderConn, h.Session = gm.NACKOpen, 6, asks.Session })
	b.RunUntil(b.Now() + 500*vtime.Microsecond)
	if n := b.hosts[1].Counts(); len(results) > 0 || len(p.got) > 0 || n.Unknown != 7 {
		t.Errorf("the message is reported as %v, %+v come again: %+v", results, p.got, n)
	}
	late(func(*gm.Header) {})
	b.RunUntil(vtime.Second)
	if fmt.Sprint(results) != "[<nil>]" {
		t.Errorf("the message is reported as %v", results)
	}
}

// TestRefusedTwice sends a packet twice whose port is closed, and open when it comes again: it stays refused, since the sender
// sends all that was behind it in another session.
func TestRefusedTwice(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	p, third := newPeer(t, b), inbox(t, b, 3)
	id := p.number(b, 1)
	packet := func(port uint8, session, sequence uint16, payload string) {
		p.message(port, gm.Header{Session: session, Sequence: sequence, SenderConn: 1, TargetConn: id}, payload)
	}
	packet(127, 6, 0, "nobody")
	packet(2, 7, 0, "closed")
	b.RunUntil(3 * vtime.Millisecond)
	second := inbox(t, b, 2)
	packet(2, 7, 0, "closed")
	packet(3, 7, 1, "behind")
	packet(3, 8, 0, "behind")
	b.RunUntil(vtime.Second)
	if n := b.hosts[1].Counts(); len(*second) > 0 || fmt.Sprint(*third) != "[behind]" || n.NoBuffer != 3 {
		t.Errorf("%v, %v: %+v", *second, *third, n)
	}
}

// TestRejected sends messages of sizes that a port does not accept, among others; and packets of a message that is longer than its
// first packet says: the sender is told that they are refused, and no buffer is lost.
func TestRejected(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, nil), gm.Image{})
	f := newFlow(t, b.hosts[0], b.hosts[1], 4, 20, 10)
	send, results := outbox(t, b)
	dst, err := b.hosts[1].Open(3, func(m *gm.Message) { t.Errorf("%d B have been delivered", len(m.Data)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dst.SetAcceptableSizes(gm.Low, 1<<3), dst.Provide(b.hosts[1].Register(make([]byte, 1<<13)), 0, 13, gm.Low)); err != nil {
		t.Fatal(err)
	}
	b.do(vtime.Millisecond, func() {
		f.start()
		for _, size := range []int{1, 4, 9, 5000} {
			send(3, size)
		}
	})
	b.RunUntil(vtime.Second)
	f.finished()
	if want := fmt.Sprintf("[3 1 %[1]v 3 4 %[1]v 3 9 %[1]v 3 5000 %[1]v]", gm.ErrRejected); fmt.Sprint(*results) != want {
		t.Errorf("the messages are reported as %v", *results)
	}

	b = star(t, 2, profile(t, nil), gm.Image{})
	p, got := newPeer(t, b), inbox(t, b, 2)
	id := p.number(b, 1)
	h := gm.Header{Kind: gm.Data, First: true, Class: 3, TargetPort: 2 << 1, SenderConn: 1, TargetConn: id, Session: 1}
	p.kinds()
	for i := range 9 { // as many as there are buffers, and one
		p.send(h, "12345")
		h.First, h.Sequence = false, 1
		p.send(h, "too long")
		h.First, h.Sequence = true, 0
		h.Session++
		b.RunUntil(b.Now() + vtime.Millisecond)
		if kinds := p.kinds(); kinds[len(kinds)-1] != gm.NACKReject {
			t.Fatalf("message %d is answered by %v", i, kinds)
		}
	}
	p.message(2, gm.Header{SenderConn: 1, TargetConn: id, Session: h.Session}, "12345")
	b.RunUntil(vtime.Second)
	if fmt.Sprint(*got) != "[12345]" {
		t.Errorf("%q have come", *got)
	}
}

// TestNoBuffer sends messages for which there is never a receive buffer: the sender is told so in the end, and then nothing
// happens any more.
func TestNoBuffer(t *testing.T) {
	t.Parallel()
	b := star(t, 2, profile(t, func(p *gm.Profile) { p.GM.Patience = vtime.Second }), gm.Image{})
	send, results := outbox(t, b)
	if _, err := b.hosts[1].Open(2, nil); err != nil {
		t.Fatal(err)
	}
	send(2, 1)
	send(2, 10000)
	b.RunUntil(5 * vtime.Second)
	if want := fmt.Sprintf("[2 1 %[1]v 2 10000 %[1]v]", gm.ErrNoBuffer); fmt.Sprint(*results) != want {
		t.Fatalf("the messages are reported as %v", *results)
	}
	before := b.Events()
	if err := b.Run(); err != nil || b.Events() != before {
		t.Errorf("%d more events, %v", b.Events()-before, err)
	}
}

// TestRouteTaken takes the route of messages away that wait to be sent: nothing leaves without a route. With another route
// they arrive, and without one they fail, and so does one that is sent then.
func TestRouteTaken(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"for a while": true, "for ever": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := star(t, 2, profile(t, func(p *gm.Profile) { p.GM.Tries = 5 }), gm.Image{})
			f := newFlow(t, b.hosts[0], b.hosts[1], 2, 40, 10, 8192)
			b.do(vtime.Millisecond, f.start)
			b.do(vtime.Millisecond+300*vtime.Microsecond, func() {
				if err := b.hosts[0].SetRoute(1); err != nil {
					t.Error(err)
				}
			})
			if back {
				b.do(5*vtime.Millisecond, func() {
					if err := b.hosts[0].SetRoute(1, []byte{fabric.RouteByte(1)}); err != nil {
						t.Error(err)
					}
				})
			}
			b.RunUntil(vtime.Second)
			if n := b.f.Counts(); n.NoRoute > 0 {
				t.Errorf("%d packets have left without a route", n.NoRoute)
			}
			if back {
				f.finished()
			} else if f.done != 40 || f.failed+len(f.got) != 40 || f.failed == 0 || f.why != gm.ErrNoRoute {
				t.Errorf("%d of 40 messages have come, %d have failed with %v", len(f.got), f.failed, f.why)
			}
			if err := b.Run(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStopped puts another program on a NIC in the middle of transfers, many times: the program before does nothing any more, and
// messages that are sent then arrive.
func TestStopped(t *testing.T) {
	t.Parallel()
	for us := vtime.Time(1000); us < 1400; us += 23 {
		b := star(t, 3, profile(t, nil), gm.Image{ITB: true})
		f, g := newFlow(t, b.hosts[1], b.hosts[0], 2, 40, 10, 5000), newFlow(t, b.hosts[2], b.hosts[1], 3, 40, 10, 5000)
		b.do(vtime.Millisecond, func() { f.start(); g.start() })
		b.RunUntil(us * vtime.Microsecond)
		before := b.hosts[1].Counts()
		restarted, err := gm.NewHost(b.f, profile(t, nil), gm.Image{ITB: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []int{0, 2} {
			if err := restarted.SetRoute(to, []byte{fabric.RouteByte(to - 1)}); err != nil {
				t.Fatal(err)
			}
		}
		done, got := f.done, len(g.got)
		g.src.Close()
		x, y := newFlow(t, b.hosts[0], restarted, 4, 10, 10, 5000), newFlow(t, restarted, b.hosts[2], 5, 10, 10, 5000)
		b.RunUntil(b.Now() + 300*vtime.Microsecond)
		x.start()
		y.start()
		b.RunUntil(vtime.Second)
		x.finished()
		y.finished()
		if now := b.hosts[1].Counts(); now != before || f.done != done || len(g.got) != got {
			t.Errorf("the program before has gone on: %+v, then %+v; its host has heard of %d and %d messages, then of %d and %d", before, now, done, got, f.done, len(g.got))
		}
	}
}

// TestTraces runs the same twice, with one processor and with all: the traces are equal.
func TestTraces(t *testing.T) {
	run := func(procs int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		b := star(t, 3, faulty(t, machine.Certain/100), gm.Image{ITB: true, Transit: transit.Options{Pool: 1, Drop: true}})
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
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
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
	send, results := outbox(t, b)
	var came int
	to, err := b.hosts[1].Open(2, func(*gm.Message) { came++ })
	if err != nil {
		t.Fatal(err)
	}
	in := b.hosts[1].Register(make([]byte, 128))
	b.do(vtime.Millisecond, func() { send(2, 100) })
	b.do(10*vtime.Millisecond, func() {
		if err := to.Provide(in, 0, 7, gm.Low); err != nil {
			t.Error(err)
		}
	})
	b.RunUntil(vtime.Second)
	if came != 1 || fmt.Sprint(*results) != "[2 100 <nil>]" {
		t.Errorf("%d messages have come; the sender is told %v", came, *results)
	}
}
