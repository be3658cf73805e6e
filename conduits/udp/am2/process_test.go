package am2_test

import (
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// A process is replaced by another one at its address: what is for the old one comes back, a
// message at a time and once; the new one is talked to as if there had been no other.
func TestEnded(t *testing.T) {
	cfg := am2.Defaults()
	w := newWorld(t)
	x, y := w.add(cfg), w.add(cfg)
	back := map[uint32]int{}
	var replies, lost int
	ex := x.endpoint(0, 1, &handler{
		arrived:  func(*am2.Message) bool { replies++; return false },
		returned: func(m *am2.Message, r am2.Reason) { back[m.Args[0]]++; wantReason(t, r) },
		lost:     func(_ *am2.Message, r am2.Reason) { lost++; wantReason(t, r) },
	})
	const old, new = 1, 2
	for index, incarnation := range []uint32{old, new} {
		if err := ex.Map(uint32(index), am2.Name{Addr: y.addr, Incarnation: incarnation}, jobTag); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(incarnation uint32, delivered map[uint32]int) {
		var ey *am2.Endpoint
		ey, err := y.b.NewEndpoint(0, incarnation, jobTag, 1, &handler{arrived: func(m *am2.Message) bool {
			delivered[m.Args[0]]++
			op := am2.Op{NArgs: 1}
			if r := ey.ReserveReply(&op); r != am2.Reserved {
				t.Fatal(r)
			}
			ey.CommitReply(&op)
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	next := uint32(0)
	send := func(index uint32, n, length int) {
		for range n {
			op := am2.Op{Index: index, Kind: am2.Medium, NArgs: 1, Len: length}
			if r := ex.Reserve(&op); r != am2.Reserved {
				t.Fatal(r)
			}
			op.Args[0] = next
			next++
			ex.Commit(&op)
		}
		x.wake(w.now)
	}
	settled := func() bool { return x.b.Unacknowledged() == 0 && x.b.Backlog() == 0 }

	first, second := map[uint32]int{}, map[uint32]int{}
	begin(old, first)
	send(0, 20, 100)
	w.until(time.Minute, func() bool { return replies == 20 })
	y.deaf = true
	send(0, 30, 100)
	send(0, 1, 20000)
	tried := w.now
	w.until(time.Minute, func() bool { return w.now > tried+100*time.Millisecond })
	if len(back) != 0 {
		t.Fatalf("%d messages came back too early", len(back))
	}

	// The same address, another process.
	b, err := am2.NewBundle(cfg, y)
	if err != nil {
		t.Fatal(err)
	}
	y.b, y.deaf, y.batch = b, false, nil
	begin(new, second)
	send(1, 40, 100)
	x.b.Ended(w.now, y.addr, old, am2.Refused)
	w.until(time.Minute, func() bool { return replies == 60 && settled() })
	send(1, 5, 20000)
	w.until(time.Minute, func() bool { return replies == 65 && settled() })

	if len(first) != 20 || len(back) != 31 || len(second) != 45 || lost != 1 {
		t.Errorf("%d delivered to the first, %d came back, %d delivered to the second, %d lost; want 20, 31, 45, 1", len(first), len(back), len(second), lost)
	}
	for id := range next {
		if n := first[id] + back[id] + second[id]; n != 1 {
			t.Errorf("message %d: %d times", id, n)
		}
	}
	if n := x.b.Stats().Malformed + b.Stats().Malformed; n != 0 {
		t.Errorf("%d malformed", n)
	}
}

func wantReason(t *testing.T, r am2.Reason) {
	if r != am2.Refused {
		t.Errorf("came back: %v", r)
	}
}
