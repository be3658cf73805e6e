package grim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestHeadOfLine has two endpoints of a host share a NIC, of which one sends to an endpoint that stalls. With any-to-any sequencing
// nothing of the other's is held up, or sent again; with sequencing per NI all of it is.
func TestHeadOfLine(t *testing.T) {
	t.Parallel()
	for _, perNI := range []bool{false, true} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Receive, p.GRIM.Queue = 64, 4096 })
		got := map[grim.EndpointID]int{}
		c, all, id := star(t, p, grim.Image{PerNI: perNI}, 2, 2, grim.EndpointOptions{}, func(e *grim.Endpoint, _ *grim.Message) { got[e.ID()]++ })
		stalled, free := all[1][0], all[1][1]
		stalled.Attend(false)
		const n = 20
		for i := range n {
			send(t, all[0][0], stalled, id, uint32(i), nil)
		}
		c.RunUntil(c.Now() + 100*vtime.Microsecond)
		for i := range n {
			send(t, all[0][1], free, id, uint32(i), nil)
		}
		c.RunUntil(c.Now() + vtime.Millisecond)
		if want := map[bool]int{false: n, true: 0}[perNI]; got[free.ID()] != want {
			t.Errorf("per NI %v: %d messages to the endpoint that has room have come, want %d", perNI, got[free.ID()], want)
		}
		stalled.Attend(true)
		c.RunUntil(c.Now() + vtime.Millisecond)
		if got[stalled.ID()] != n || got[free.ID()] != n {
			t.Errorf("per NI %v: %v in the end, want %d each", perNI, got, n)
		}
	}
}

// TestControlQueue has two NIs send each other long messages when short ones from others have come, which want ACKs. Without a queue
// for control messages the NIs wait for each other for ever.
func TestControlQueue(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.PIO = 1, 64<<10 })
		handled := 0
		c, all, id := star(t, p, grim.Image{NoControlQueue: off}, 4, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
		const rounds = 20
		for i := range rounds {
			for k := range 2 {
				send(t, all[k][0], all[1-k][0], id, uint32(i), make([]byte, 3000))
				send(t, all[2+k][0], all[k][0], id, uint32(i), nil)
				send(t, all[2+k][0], all[1-k][0], id, uint32(i), nil)
			}
		}
		c.RunUntil(c.Now() + 100*vtime.Millisecond)
		waits := c.Fabric.Waits()
		if done := handled == 6*rounds; done == off || (len(waits) > 0) != off {
			t.Errorf("without the queue %v: %d of %d messages handled, %d packets wait", off, handled, 6*rounds, len(waits))
		}
		if !off && c.Hosts[0].Counts().Queued+c.Hosts[1].Counts().Queued == 0 {
			t.Error("no control message was queued: nothing has been shown")
		}
	}
}

// TestHybridDeadlock has hosts of an irregular network send messages with payloads at random. The processor that waits until the DMA of
// a header is through takes nothing in meanwhile: that closes a circle. One DMA for each message has none.
func TestHybridDeadlock(t *testing.T) {
	t.Parallel()
	topo, err := (fabric.Shape{Hosts: 4}).Random(6, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []grim.Organisation{grim.Append, grim.Hybrid} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Buffers, p.GRIM.PIO = 1, 1, 64<<10 })
		c, err := grim.NewCluster(p, grim.Image{Queue: o}, topo, 1)
		if err != nil {
			t.Fatal(err)
		}
		handled, n := 0, 0
		all, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"test": func(*grim.Endpoint, *grim.Message) { handled++ }})
		if err != nil {
			t.Fatal(err)
		}
		id, _ := all[0][0].Lookup("test")
		chance := rand.New(rand.NewPCG(1, 0))
		for i := range 30 {
			for from := range all {
				send(t, all[from][0], all[chance.IntN(len(all))][0], id, uint32(i), make([]byte, chance.IntN(300)))
				n++
			}
		}
		c.RunUntil(c.Now() + 5*vtime.Millisecond)
		before := handled
		c.RunUntil(c.Now() + 5*vtime.Millisecond)
		if hybrid := o == grim.Hybrid; (handled == n) == hybrid || handled != before || (len(c.Fabric.Waits()) > 0) != hybrid {
			t.Errorf("%v: %d of %d messages handled, %d before, %d packets wait", o, handled, n, before, len(c.Fabric.Waits()))
		}
	}
}

// TestOrganisations counts the null messages that a queue has room for.
func TestOrganisations(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Queue, p.GRIM.Slot, p.GRIM.Headers = 8192, 1024, 3600 })
	for o, want := range map[grim.Organisation]int{grim.Append: 8192 / 32, grim.Slotted: 8, grim.Hybrid: 100} {
		c, err := grim.NewStar(p, grim.Image{Queue: o}, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Hosts[0].Open(0, grim.EndpointOptions{NoOverflow: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; ; n++ {
			if err = e.Send(8, 16, [4]uint32{}, nil); err != nil {
				break
			}
		}
		if n != want || !errors.Is(err, grim.ErrFull) {
			t.Errorf("%v: room for %d null messages, want %d: %v", o, n, want, err)
		}
		if most := map[grim.Organisation]int{grim.Append: 8160, grim.Slotted: 988, grim.Hybrid: 4592}[o]; e.MostPayload() != most {
			t.Errorf("%v: payloads up to %d B, want %d", o, e.MostPayload(), most)
		}
	}
	for _, change := range []func(*grim.Profile){func(p *grim.Profile) { p.GRIM.Slot = 9000 }, func(p *grim.Profile) { p.GRIM.Headers = 9000 }} {
		q := *p
		change(&q)
		_, slotted := grim.NewStar(&q, grim.Image{Queue: grim.Slotted}, 2, 1)
		_, hybrid := grim.NewStar(&q, grim.Image{Queue: grim.Hybrid}, 2, 1)
		if err := errors.Join(slotted, hybrid); err == nil || !strings.Contains(err.Error(), "grim.queue") {
			t.Errorf("a queue without room for a message: %v", err)
		}
	}
}

// TestSRAM has arrays that do not fit refused, with what would help, unless the SRAM is unlimited. Sequencing per NI needs less.
func TestSRAM(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Queue = 32, 1024 })
	topo, err := (fabric.Shape{Hosts: 28}).Line(16)
	if err != nil {
		t.Fatal(err)
	}
	sim := vtime.NewSimulation(1)
	f, err := fabric.New(&sim.Loop, topo, &p.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grim.NewHost(f, p, grim.Image{}, 0); err == nil || !strings.Contains(err.Error(), "sequencing needs 2752512 B") {
		t.Errorf("arrays of 32 x 448 x 32 elements: %v", err)
	}
	for _, image := range []grim.Image{{PerNI: true}, {UnlimitedSRAM: true}} {
		if _, err := grim.NewHost(f, p, image, 0); err != nil {
			t.Errorf("%+v: %v", image, err)
		}
	}
	q := *p
	q.GRIM.Channels = 200
	if _, err := grim.NewHost(f, &q, grim.Image{UnlimitedSRAM: true}, 0); err == nil || !strings.Contains(err.Error(), "65536") {
		t.Errorf("448 hosts of 200 channels: %v", err)
	}
}

// TestPIO has the processor work longer for a large payload that it writes itself than for one that the NIC fetches, and for a small
// one the other way round.
func TestPIO(t *testing.T) {
	t.Parallel()
	works := func(pio, size int) vtime.Time {
		p := profile(t, func(p *grim.Profile) { p.GRIM.PIO, p.GRIM.Channels = lanai.Bytes(pio), 1 })
		c, a, b, id := pair(t, p, grim.Image{}, func(*grim.Endpoint, *grim.Message) {})
		send(t, a, b, id, 0, make([]byte, size))
		return a.Free() - c.Now()
	}
	if large, fetched := works(64<<10, 8192), works(0, 8192); large < 2*fetched {
		t.Errorf("8 KB: %v by PIO, %v by DMA", large, fetched)
	}
	if small, fetched := works(64<<10, 16), works(0, 16); small >= fetched {
		t.Errorf("16 B: %v by PIO, %v by DMA", small, fetched)
	}
}

// TestFairness has two endpoints of a NIC send as much as they can: they take turns.
func TestFairness(t *testing.T) {
	t.Parallel()
	got := map[grim.EndpointID]int{}
	c, all, id := star(t, profile(t, nil), grim.Image{}, 2, 2, grim.EndpointOptions{}, func(_ *grim.Endpoint, m *grim.Message) { got[m.Source]++ })
	for i := range 200 {
		for _, from := range all[0] {
			send(t, from, all[1][0], id, uint32(i), nil)
		}
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	if a, b := got[all[0][0].ID()], got[all[0][1].ID()]; a < 20 || a > b+3 || b > a+3 {
		t.Errorf("%d messages of one, %d of the other", a, b)
	}
}

// TestLimit has a burst beyond the limit wait for messages that come back, and not for ACKs.
func TestLimit(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	c, all, id := star(t, p, grim.Image{}, 2, 1, grim.EndpointOptions{NoOverflow: true, Limit: 3}, func(*grim.Endpoint, *grim.Message) {})
	from, to := all[1][0], all[0][0]
	sent := 0
	burst := func() {
		for from.Send(to.ID(), id, [4]uint32{}, nil) == nil {
			sent++
		}
	}
	burst()
	c.RunUntil(c.Now() + vtime.Millisecond)
	burst()
	if sent != 3 || c.Hosts[1].Counts().Sent < 3 {
		t.Errorf("%d messages injected before an answer, want 3", sent)
	}
	send(t, to, from, id, 0, nil)
	c.RunUntil(c.Now() + vtime.Millisecond)
	if burst(); sent != 4 {
		t.Errorf("%d messages injected after an answer, want 4", sent)
	}
}

// TestRegistry has endpoints with different handlers, registered in different orders, come to equal numbers, and an unknown one asked
// for and not found.
func TestRegistry(t *testing.T) {
	t.Parallel()
	p := profile(t, nil)
	c, err := grim.NewStar(p, grim.Image{}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	var ends []*grim.Endpoint
	called := map[string]int{}
	synchronized := 0
	for i, names := range [][]string{{"put", "get"}, {"get", "sum"}, {"sum", "put", "bar"}} {
		e, err := c.Hosts[i].Open(i, grim.EndpointOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e)
		e.SetServer(grim.EndpointID(2*p.GRIM.Channels + 2))
		for _, name := range names {
			if err := e.Register(name, func(e *grim.Endpoint, _ *grim.Message) { called[fmt.Sprint(name, " at ", e.ID())]++ }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range ends {
		if err := e.Synchronize(func(err error) {
			if err != nil {
				t.Error(err)
			}
			synchronized++
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.RunUntil(vtime.Millisecond)
	if synchronized != 3 {
		t.Fatalf("%d of 3 endpoints have the server's list", synchronized)
	}
	ids := map[string]grim.HandlerID{}
	for _, name := range []string{"put", "get", "sum", "bar"} {
		for _, e := range ends {
			if err := e.Find(name, func(id grim.HandlerID, err error) {
				if err != nil || ids[name] != 0 && ids[name] != id {
					t.Errorf("%q is %d at endpoint %d, and %d elsewhere: %v", name, id, e.ID(), ids[name], err)
				}
				ids[name] = id
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.RunUntil(2 * vtime.Millisecond)
	// The server's own names come first, in the order of the alphabet; then what others have told it.
	if len(ids) != 4 || ids["bar"] != 16 || ids["put"] != 17 || ids["sum"] != 18 || ids["get"] != 19 {
		t.Errorf("the names' numbers are %v", ids)
	}
	var failed error
	if err := ends[0].Find("fly", func(_ grim.HandlerID, err error) { failed = err }); err != nil {
		t.Fatal(err)
	}
	send(t, ends[0], ends[1], ids["bar"], 0, nil) // which endpoint 1 has not
	send(t, ends[0], ends[1], 999, 0, nil)
	send(t, ends[0], ends[1], ids["sum"], 0, nil)
	c.RunUntil(3 * vtime.Millisecond)
	if !errors.Is(failed, grim.ErrNoHandler) || !strings.Contains(failed.Error(), "fly") {
		t.Errorf("an unknown handler: %v", failed)
	}
	if n := ends[1].Counts().NoHandler; n != 2 || len(called) != 1 || called[fmt.Sprint("sum at ", ends[1].ID())] != 1 {
		t.Errorf("%d messages without handler, want 2; called %v", n, called)
	}
	// What no library sends.
	for _, names := range [][]byte{{1}, {0, 0}, {0, 5, 'a'}, {1, 0, 'a'}} {
		send(t, ends[0], ends[2], 0, 0, names)
	}
	send(t, ends[0], ends[1], 1, 77, nil)
	send(t, ends[0], ends[1], 0, 77, nil) // it is not the server
	c.RunUntil(4 * vtime.Millisecond)
	if a, b := ends[2].Counts().BadRequest, ends[1].Counts().BadRequest; a != 4 || b != 2 {
		t.Errorf("%d and %d bad requests, want 4 and 2", a, b)
	}
	for want, err := range map[string]error{
		"has a handler": ends[0].Register("put", func(*grim.Endpoint, *grim.Message) {}), "is nil": ends[0].Register("x", nil),
		"1 to 255": ends[0].Register(strings.Repeat("x", 256), func(*grim.Endpoint, *grim.Message) {}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// storm has two endpoints send each other requests, each of which is answered; an endpoint whose answer finds no room takes nothing in
// until it has. It returns how many answers have come.
func storm(t *testing.T, o grim.EndpointOptions, n int) (answers int, most int) {
	t.Helper()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Receive, p.GRIM.Queue = 128, 128 })
	var reply, request grim.HandlerID
	type owed struct{ to grim.EndpointID }
	debts := map[*grim.Endpoint][]owed{}
	c, all, id := star(t, p, grim.Image{}, 2, 1, o, func(e *grim.Endpoint, m *grim.Message) {
		if m.Args[0] == 1 {
			answers++
			return
		}
		if err := e.Send(m.Source, reply, [4]uint32{1}, nil); err != nil {
			debts[e] = append(debts[e], owed{m.Source})
			e.Attend(false) // it waits in its handler
		}
	})
	reply, request = id, id
	for i, es := range all {
		e, peer, left := es[0], all[1-i][0], n
		pay := func() {
			for len(debts[e]) > 0 {
				if e.Send(debts[e][0].to, reply, [4]uint32{1}, nil) != nil {
					return
				}
				debts[e] = debts[e][1:]
			}
			for left > 0 {
				if e.Send(peer.ID(), request, [4]uint32{0}, nil) != nil {
					return
				}
				left--
			}
			e.Attend(true)
		}
		e.OnRoom(pay)
		c.RunUntil(c.Now())
		e.Attend(false) // it sends first
		pay()
	}
	c.RunUntil(c.Now() + 20*vtime.Millisecond)
	for _, es := range all {
		most = max(most, es[0].Counts().MostOverflow)
	}
	return answers, most
}

// TestOverflow: two applications that answer each other in their handlers wait for each other for ever, unless there is an overflow
// queue.
func TestOverflow(t *testing.T) {
	t.Parallel()
	const n = 50
	if answers, most := storm(t, grim.EndpointOptions{}, n); answers != 2*n || most == 0 {
		t.Errorf("with an overflow queue: %d of %d answers, %d messages in the queue at most", answers, 2*n, most)
	}
	if answers, _ := storm(t, grim.EndpointOptions{NoOverflow: true}, n); answers == 2*n {
		t.Errorf("without: all answers came")
	}
}

// TestForeign has packets that GRIM does not send come to a NIC: they are counted, nothing is delivered, and what follows is.
func TestForeign(t *testing.T) {
	t.Parallel()
	handled := 0
	c, all, id := star(t, profile(t, nil), grim.Image{}, 3, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
	good := grim.Header{Type: grim.AM, Source: all[2][0].ID(), Destination: all[0][0].ID(), Handler: id}
	message := func(change func(*grim.Header)) []byte {
		h := good
		change(&h)
		return h.Append(nil)
	}
	for _, b := range [][]byte{
		{0x00, 0x08, 0, 1, 2, 3},                                // of GM
		{0x81, 0x06, 0x36, 0, 0},                                // a route byte left
		{0x06, 0x36},                                            // no type
		message(func(h *grim.Header) { h.Length = 4 }),          // the payload is missing
		message(func(h *grim.Header) { h.Destination = 8 }),     // for host 1
		message(func(h *grim.Header) { h.Source = 999 }),        // from nowhere
		message(func(h *grim.Header) { h.Channel = 99 }),        // likewise
		message(func(h *grim.Header) { h.Sequence = 77 }),       // out of order
		message(func(h *grim.Header) { h.Destination = 7 }),     // to a channel without an endpoint
		(&grim.Control{Token: 200, Type: grim.ACK}).Append(nil), // of a message that there is not
	} {
		c.Fabric.Port(2).Inject(fabric.Packet{Head: append([]byte{fabric.RouteByte(-2)}, b...)})
		c.RunUntil(c.Now() + 100*vtime.Microsecond)
	}
	n := c.Hosts[0].Counts()
	if n.Foreign != 1 || n.Stray != 2 || n.Malformed != 4 || n.Gap != 1 || n.NoEndpoint != 1 || n.Unknown != 1 || handled != 0 {
		t.Errorf("%+v, %d handled", n, handled)
	}
	send(t, all[1][0], all[0][0], id, 0, pattern(100))
	c.RunUntil(c.Now() + 100*vtime.Microsecond)
	if handled != 1 {
		t.Error("the message behind them has not come")
	}
}

// TestForgedACK has ACKs come that name a message under way and are from another endpoint, or of another sequence number: the message is not
// taken for acknowledged.
func TestForgedACK(t *testing.T) {
	t.Parallel()
	handled := 0
	p := profile(t, func(p *grim.Profile) { p.GRIM.Receive = 64 })
	c, all, id := star(t, p, grim.Image{}, 3, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
	var sequence, token uint8
	c.Hosts[0].Observe(func(s grim.Step, q, n uint8) {
		if s == grim.SendsAgain {
			sequence, token = q, n
		}
	})
	all[1][0].Attend(false)
	const n = 3 // the third finds no room
	for i := range n {
		send(t, all[0][0], all[1][0], id, uint32(i), nil)
	}
	c.RunUntil(c.Now() + 200*vtime.Microsecond)
	for i := range 20 {
		forged := grim.Control{Type: grim.ACK, Token: token, Sequence: sequence, Source: all[2][0].ID()}
		if i%2 == 0 {
			forged.Source, forged.Sequence = all[1][0].ID(), sequence+1
		}
		c.Fabric.Port(2).Inject(fabric.Packet{Head: append([]byte{fabric.RouteByte(-2)}, forged.Append(nil)...)})
		c.RunUntil(c.Now() + 33*vtime.Microsecond)
	}
	all[1][0].Attend(true)
	c.RunUntil(c.Now() + vtime.Millisecond)
	if unknown := c.Hosts[0].Counts().Unknown; handled != n || unknown != 20 {
		t.Errorf("%d of %d messages handled, %d unknown ACKs counted, want 20", handled, n, unknown)
	}
}

// TestIdleScan has the scan go on while the NIC has nothing to do: what a message takes depends on when it is sent, by up to a scan of
// all channels.
func TestIdleScan(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Queue = 32, 1024 })
	least, most := vtime.Second, vtime.Time(0)
	for i := range vtime.Time(8) {
		var c *grim.Cluster
		var came vtime.Time
		c, a, b, id := pair(t, p, grim.Image{}, func(*grim.Endpoint, *grim.Message) { came = c.Now() })
		at := 100*vtime.Microsecond + i*3*vtime.Microsecond
		c.RunUntil(at)
		send(t, a, b, id, 0, nil)
		c.RunUntil(at + vtime.Millisecond)
		least, most = min(least, came-at), max(most, came-at)
	}
	scan := p.CPU.Instruction.Time(p.Steps.Scan + 32*p.Steps.Channel)
	if spread := most - least; spread < scan/2 || spread > scan*11/10 {
		t.Errorf("a message takes %v to %v, a scan %v", least, most, scan)
	}
}
