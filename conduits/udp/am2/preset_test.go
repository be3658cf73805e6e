package am2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

func TestHPAMLossy(t *testing.T) {
	for _, loss := range []float64{0, 0.01, 0.1, 0.5} {
		for seed := range uint64(*seeds) {
			t.Run(fmt.Sprintf("%v/%d", loss, seed), func(t *testing.T) {
				w := newWorld(t)
				x := newExchange(w, seed, 4, 1, am2.HPAM()) // HPAM's four workstations
				w.fate = lossy(x.r, loss, loss, loss)
				x.post(100, 1000, 1000)
				x.finish(limit)
			})
		}
	}
}

// TestHPAMBuffers is about the fifth request to a partner: it has no buffer before a reply
// has come.
func TestHPAMBuffers(t *testing.T) {
	p := newPair(t, am2.HPAM())
	p.y.asleep = true
	for i := range uint32(5) {
		if room := p.post(letter{id: i, nargs: 1}); room != (i < 4) {
			t.Fatalf("request %d: room %v", i, room)
		}
	}
	p.w.until(time.Second, func() bool { return p.w.now > time.Second/2 })
	if p.post(letter{id: 5, nargs: 1}) {
		t.Fatal("a fifth request, though no reply has come")
	}
	p.y.asleep = false
	p.w.until(time.Second, func() bool { return len(p.arrived) == 4 && p.w.quiet() })
	if !p.post(letter{id: 5, nargs: 1}) {
		t.Fatal("no room after the replies")
	}
}

// TestHPAMReplyLost loses the reply: the request comes again, is replied to again, and is not
// delivered again. Nothing but requests and replies is on the wire.
func TestHPAMReplyLost(t *testing.T) {
	p := newPair(t, am2.HPAM())
	lost := false
	p.w.fate = func(from, _ *node, _ []byte) []time.Duration {
		if from == p.y && !lost {
			lost = true
			return nil
		}
		return []time.Duration{propagation}
	}
	p.post(letter{id: 1, nargs: 2})
	p.w.until(time.Second, func() bool { return p.w.quiet() && len(p.arrived) == 1 })
	x, y := p.x.b.Stats(), p.y.b.Stats()
	if x.Sent != 2 || x.Retransmissions != 1 || y.Sent != 2 || y.Retransmissions != 1 || y.Duplicates != 1 || x.Acks+y.Acks > 0 {
		t.Errorf("requester %+v, replier %+v", x, y)
	}
}

// TestHPAMReplyLate delays the reply beyond the request's timer: the second one is dropped.
func TestHPAMReplyLate(t *testing.T) {
	p := newPair(t, am2.HPAM())
	p.w.fate = func(from, _ *node, _ []byte) []time.Duration {
		if from == p.y {
			return []time.Duration{70 * time.Millisecond}
		}
		return []time.Duration{propagation}
	}
	replies := 0
	p.hx.arrived = func(*am2.Message) bool { replies++; return false }
	op := am2.Op{NArgs: 1}
	p.hy.arrived = func(m *am2.Message) bool {
		p.arrived = append(p.arrived, m.Header)
		return reply(&op)(m)
	}
	p.post(letter{id: 1, nargs: 2})
	end := 200 * time.Millisecond
	p.w.until(time.Second, func() bool { return p.w.now >= end || p.w.queue.Len() == 0 })
	if x := p.x.b.Stats(); len(p.arrived) != 1 || replies != 1 || x.Retransmissions == 0 || x.Duplicates == 0 {
		t.Errorf("%d delivered, %d replies, %+v", len(p.arrived), replies, x)
	}
}

// TestHPAMForeignKey is about a message with another program's key.
func TestHPAMForeignKey(t *testing.T) {
	p := newPair(t, am2.HPAM())
	p.ey.SetTag(99)
	p.post(letter{id: 1, nargs: 2})
	p.w.until(time.Second, func() bool { return len(p.returned) == 1 && p.w.quiet() })
	if p.returned[0].reason != am2.TagMismatch || len(p.arrived) > 0 {
		t.Errorf("returned %v, delivered %v", p.returned, p.arrived)
	}
	p.ey.SetTag(jobTag)
	for i := range uint32(4) { // all four buffers are free again
		if !p.post(letter{id: i + 2, nargs: 1}) {
			t.Fatalf("no room for request %d", i)
		}
	}
	p.w.until(time.Second, func() bool { return len(p.arrived) == 4 && p.w.quiet() })
}

// TestHPAMBusy is about a partner that computes: it is not unreachable.
func TestHPAMBusy(t *testing.T) {
	p := newPair(t, am2.HPAM())
	p.y.asleep = true
	p.post(letter{id: 1, nargs: 2})
	p.w.until(2*time.Minute, func() bool { return p.w.now > time.Minute })
	p.y.asleep = false
	p.w.until(time.Second, func() bool { return len(p.arrived) == 1 && p.w.quiet() })
	if len(p.returned)+len(p.lost) > 0 {
		t.Errorf("returned %v, lost %v", p.returned, p.lost)
	}
}

// TestMixed is about a bundle of either protocol: they do not understand each other.
func TestMixed(t *testing.T) {
	w := newWorld(t)
	x, y := w.add(am2.HPAM()), w.add(am2.Defaults())
	back := 0
	hx := &handler{returned: func(_ *am2.Message, r am2.Reason) {
		if back++; r != am2.Unreachable {
			t.Errorf("returned: %v", r)
		}
	}}
	e := x.endpoint(0, 1, hx)
	y.endpoint(0, 1, &handler{arrived: func(*am2.Message) bool { t.Error("delivered"); return false }})
	if err := e.Map(0, y.name(0), jobTag); err != nil {
		t.Fatal(err)
	}
	op := am2.Op{}
	if r := e.Reserve(&op); r != am2.Reserved {
		t.Fatal(r)
	}
	e.Commit(&op)
	w.until(12*time.Second, func() bool { return back == 1 })
	if y.b.Stats().Malformed == 0 {
		t.Error("not counted as malformed")
	}
}
