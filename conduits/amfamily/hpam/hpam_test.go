package hpam_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const ms = vtime.Millisecond

// TestPool has everything that can be under way to a node be in its receive buffers at once.
func TestPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		nodes    int
		pool     string
		fullest  int
		overflow bool
	}{{4, "24", 24, false}, {4, "100", 24, false}, {4, "23", 23, true}, {5, "24", 24, true}, {5, "32", 32, false}, {5, "100", 32, false}} {
		l, err := hpam.FullLoad(profile(t, "hpam.pool", c.pool, "count"), c.nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(4 * c.nodes * (c.nodes - 1)); l.Fullest != c.fullest || l.Overflowed > 0 != c.overflow || l.Resent > 0 != c.overflow || l.Requests != want {
			t.Errorf("%d nodes, %s buffers: %+v, want %d requests", c.nodes, c.pool, *l, want)
		}
	}
}

// TestFullLoad has four nodes keep each other busy: what the pool holds is never more than 24.
func TestFullLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 4, 7)
	w.run(50, w.exchange(50))
	for i, s := range w.Workstations {
		if c := s.Card(); c.Overflowed > 0 || c.Fullest > 24 {
			t.Errorf("card %d: %d at once, %d overflowed", i, c.Fullest, c.Overflowed)
		}
	}
	if c := w.total(); c.Resent+c.Duplicates+c.Foreign+c.Malformed > 0 {
		t.Errorf("%+v", c)
	}
}

// TestBuffers is about the fifth request to a partner: there is no buffer for it before a reply has come.
func TestBuffers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 2, 7)
	w.run(5, func(p *hpam.Process) error {
		if p.ID() == 1 {
			until(p, 5*ms)
			return w.exchange(5)(p)
		}
		for id := range 5 {
			if room := p.Room(1); room != (id < 4) {
				t.Errorf("request %d: room %v", id, room)
			}
			if err := w.request(p, 1, id); err != nil {
				return err
			}
		}
		if now := p.Proc().Now(); now < 5*ms {
			t.Errorf("the fifth request was sent after %v, before there could be a reply", now)
		}
		return nil
	})
}

// TestLost loses the first request, or the first reply: it is sent again, and no handler runs twice.
func TestLost(t *testing.T) {
	t.Parallel()
	for from, duplicates := range []uint64{0: 0, 1: 1} {
		w := newWorld(t, profile(t), 2, 7)
		w.Ring.Lose = func(f, _ int, _ []byte) bool { return f == from && w.Ring.Lost == 0 }
		w.run(1, oneWay(w, 1))
		if c := w.total(); c.Resent != 1+duplicates || c.Duplicates != duplicates || w.Ring.Lost != 1 {
			t.Errorf("what node %d sent first was lost: %+v", from, c)
		}
	}
}

// oneWay is exchange where only node 0 sends, and then node 1: so that one frame is under way at a time.
func oneWay(w *world, n int) func(*hpam.Process) error {
	return func(p *hpam.Process) error {
		if p.ID() == 1 {
			if err := amfamily.Wait(p, "a request", func() bool { return p.Counts().Requests == uint64(n) }); err != nil {
				return err
			}
			if err := amfamily.Wait(p, "node 0", func() bool { return w.settled[letter{p.Key(), 0, 1, n - 1}] > 0 }); err != nil {
				return err
			}
		}
		return w.exchange(n)(p)
	}
}

// TestLate has a node look at the network when the request has come twice, and at the time of the timer, when the second
// one comes after the reply was sent: then that is sent again as well, and the requester drops it.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		looks vtime.Time
		twice uint64
	}{{15 * ms, 1}, {10*ms - 6*vtime.Microsecond, 2}} {
		w := newWorld(t, profile(t), 2, 7)
		w.run(1, func(p *hpam.Process) error {
			if p.ID() == 1 {
				until(p, c.looks)
			}
			return oneWay(w, 1)(p)
		})
		if n := w.total(); n.Resent != c.twice || n.Duplicates != c.twice {
			t.Errorf("a look at %v: %+v, want %d sent again and dropped", c.looks, n, c.twice)
		}
	}
}

// TestStale has an old request come after a newer one in the same buffer: it is dropped.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 2, 7)
	w.at(ms, func() {
		for _, seq := range []uint32{2, 1} {
			w.Workstations[1].Inject(0, hpam.Encode(7, seq, 1, 0, deliver, [4]uint32{seq, 1, 7}, nil))
		}
	})
	err := amfamily.Run(w.k, w.all, func(p *hpam.Process) error {
		until(p, 2*ms*vtime.Time(1-p.ID()))
		return amfamily.Wait(p, "both", func() bool { return p.ID() == 0 || p.Counts().Requests+p.Counts().Duplicates == 2 })
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []letter{{7, 0, 1, 2}}; !slices.Equal(w.order, want) || w.all[1].Counts().Duplicates != 1 {
		t.Errorf("delivered %v, %+v", w.order, w.all[1].Counts())
	}
}

// TestUnreachable has a partner that never answers named.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t, "hpam.tries", "3", "count"), 2, 7)
	w.Ring.Lose = func(_, to int, _ []byte) bool { return to == 1 }
	err := amfamily.Run(w.k, w.all, func(p *hpam.Process) error {
		if p.ID() == 1 {
			return nil
		}
		return w.exchange(1)(p)
	})
	if err == nil || !strings.Contains(err.Error(), "node 0: no reply from node 1 to a request that was sent 3 times") {
		t.Errorf("%v", err)
	}
}

// TestLossy loses frames by chance, and has equal runs equal to the last event.
func TestLossy(t *testing.T) {
	t.Parallel()
	for _, lose := range []string{"10000", "200000"} {
		var sums []uint64
		for range 2 {
			w := newWorld(t, profile(t, "ring.lose", lose, "ppm", "hpam.timeout", "2", "ms", "hpam.tries", "100", "count"), 4, 7)
			digest := new(vtime.Digest)
			w.k.Trace(digest)
			w.run(40, w.exchange(40))
			sums = append(sums, digest.Sum())
			if c := w.total(); c.Resent == 0 || w.Ring.Lost == 0 {
				t.Errorf("%s ppm: %d frames lost, %+v", lose, w.Ring.Lost, c)
			}
		}
		if sums[0] != sums[1] {
			t.Errorf("%s ppm: equal runs differ", lose)
		}
	}
}

// TestForeignKey has a program's request come while another program's process is active: it goes to the output queue of
// that one, when the daemon stops it to the input queue of its owner, and is read there before what has come since.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	const one, two = 1, 2
	w := newWorld(t, profile(t, "hpam.timeout", "100", "ms"), 2, one, two)
	station := w.Workstations[1]
	active, owner := w.all[1], w.all[3]
	w.Workstations[0].Activate(w.all[2])
	err := amfamily.Run(w.k, w.all, func(p *hpam.Process) error {
		switch {
		case p == w.all[2]:
			if err := w.request(p, 1, 0); err != nil {
				return err
			}
			until(p, 5*ms)
			if out, _ := active.Queued(); out != 1 || active.Counts().Foreign != 1 || owner.Counts().Requests != 0 {
				t.Errorf("%d in the output queue, %+v", out, active.Counts())
			}
			station.Activate(owner)
			until(p, p.Proc().Now()+vtime.Microsecond)
			if out, in := active.Queued(); out != 0 || station.Moved != 1 || station.Switches != 1 {
				t.Errorf("after the switch %d in the output queue; %d moved, %d in", out, station.Moved, in)
			} else if _, in := owner.Queued(); in != 1 {
				t.Errorf("%d in the owner's input queue", in)
			}
			station.Inject(0, hpam.Encode(two, 1, 1, 1, deliver, [4]uint32{9, 1, two}, nil)) // has come since, in the network
			return amfamily.Wait(p, "the reply", func() bool { return p.Counts().Replies == 1 })
		case p == owner:
			return amfamily.Wait(p, "both requests", func() bool { return p.Counts().Requests == 2 })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []letter{{two, 0, 1, 0}, {two, 0, 1, 9}}; station.Homeless != 0 || !slices.Equal(w.order, want) {
		t.Errorf("%d homeless, delivered %v, want %v", station.Homeless, w.order, want)
	}
}

// TestDaemon has three programs share the workstations, whose daemons give each a quantum, not at the same times.
func TestDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t, "hpam.timeout", "5", "ms", "hpam.tries", "1000", "count"), 3, 1, 2, 3)
	for i, s := range w.Workstations {
		s.Rotate(3*ms + vtime.Time(i)*777*vtime.Microsecond)
	}
	w.run(30, w.exchange(30))
	var switches, moved, homeless, swapped uint64
	for _, s := range w.Workstations {
		switches, moved, homeless, swapped = switches+s.Switches, moved+s.Moved, homeless+s.Homeless, swapped+s.Swapped
	}
	if c := w.total(); switches == 0 || moved == 0 || swapped == 0 || c.Foreign < moved || c.Foreign-moved != homeless {
		t.Errorf("%d switches, %d moved, %d homeless, %d bytes swapped, %+v", switches, moved, homeless, swapped, c)
	}
}

// TestImpatient has timers far too short, so that buffers are often still to be sent when their reply has come, and when the
// daemon switches processes.
func TestImpatient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t, "hpam.timeout", "60", "us", "hpam.tries", "1000000", "count", "hpam.switch", "1", "us"), 4, 1, 2)
	for i, s := range w.Workstations {
		s.Rotate(ms/2 + vtime.Time(i)*77*vtime.Microsecond)
	}
	w.run(20, w.exchange(20))
	if c := w.total(); c.Resent < 100 || c.Duplicates < 100 {
		t.Errorf("%+v", c)
	}
}

// TestInputQueueFull has more messages come for a process that is not active than partners can send: those that are too
// many are dropped and counted, and so is what no process has the key of.
func TestInputQueueFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 2, 1, 2)
	station := w.Workstations[1]
	w.at(ms, func() {
		for i := range 10 { // 4 requests and 4 replies
			station.Inject(0, hpam.Encode(2, uint32(i), 2, 0, settle, [4]uint32{}, nil))
		}
		station.Inject(0, hpam.Encode(3, 1, 1, 0, deliver, [4]uint32{}, nil))
	})
	w.at(2*ms, func() { station.Activate(w.all[3]) })
	err := amfamily.Run(w.k, w.all, func(p *hpam.Process) error {
		return amfamily.Wait(p, "the switch", func() bool { return p.Proc().Now() > 3*ms || !p.Active() })
	})
	if _, dead := err.(*vtime.DeadlockError); err != nil && !dead {
		t.Fatal(err)
	}
	if station.Moved != 8 || station.Homeless != 3 {
		t.Errorf("%d moved, %d homeless", station.Moved, station.Homeless)
	}
}

// TestMalformed has frames come that are no messages of the program: each is counted, and frees its receive buffer.
func TestMalformed(t *testing.T) {
	t.Parallel()
	good := hpam.Encode(7, 1, 1, 0, deliver, [4]uint32{0, 0, 7}, []byte("data"))
	changed := func(at int, to byte) []byte { b := bytes.Clone(good); b[at] = to; return b }
	bad := [][]byte{
		nil, good[:31], good[:33], append(bytes.Clone(good), 0), // lengths
		changed(8, 0), changed(8, 3), changed(9, 4), changed(10, 1), changed(11, 2), changed(15, 1), changed(7, 0),
	}
	w := newWorld(t, profile(t, "hpam.pool", "1", "count"), 2, 7)
	for i, b := range bad {
		w.at(vtime.Time(i+1)*ms, func() { w.Workstations[1].Inject(0, b) })
	}
	w.at(vtime.Time(len(bad)+1)*ms, func() { w.Workstations[1].Inject(1, good) }) // from itself
	w.run(1, func(p *hpam.Process) error {
		until(p, vtime.Time(len(bad)+2)*ms*vtime.Time(1-p.ID()))
		if p.ID() == 1 {
			if err := amfamily.Wait(p, "frames", func() bool { return p.Counts().Malformed == uint64(len(bad)+1) }); err != nil {
				return err
			}
		}
		return w.exchange(1)(p)
	})
	if o := w.Workstations[1].Card().Overflowed; o > 0 {
		t.Errorf("%d receive buffers were not freed", o)
	}
}

// FuzzDecode has every message that is taken be what encode makes.
func FuzzDecode(f *testing.F) {
	f.Add(hpam.Encode(7, 1, 1, 0, deliver, [4]uint32{1, 2, 3, 4}, []byte("data")))
	f.Add(hpam.Encode(7, 1, 2, 3, 65535, [4]uint32{}, nil))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if again, ok := hpam.Decoded(b); ok && !bytes.Equal(again, b) {
			t.Errorf("%x decoded and encoded is %x", b, again)
		}
	})
}

// TestMisuse has calls that the rules forbid fail, and leave everything as it was.
func TestMisuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 2)
	var kept *amfamily.Message
	image := amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			if err := n.Request(0, 0, m.Args, nil); !errors.Is(err, amfamily.ErrHandler) {
				t.Errorf("a request by a handler: %v", err)
			}
			if _, err := n.Poll(); !errors.Is(err, amfamily.ErrPoll) {
				t.Errorf("a poll by a handler: %v", err)
			}
			for i, want := range []error{nil, amfamily.ErrHandler} {
				if err := n.Reply(m, 1, m.Args, nil); !errors.Is(err, want) {
					t.Errorf("reply %d: %v", i, err)
				}
			}
			kept = m
		},
		func(n amfamily.Node, m *amfamily.Message) {
			if err := n.Reply(m, 1, m.Args, nil); !errors.Is(err, amfamily.ErrHandler) {
				t.Errorf("a reply to a reply: %v", err)
			}
		},
	}
	all, err := w.Program(7, image)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Program(7, image); err == nil {
		t.Error("two programs have one key")
	}
	if _, err := hpam.NewCluster(&w.k.Loop, profile(t), 1); err == nil {
		t.Error("a ring of one workstation")
	}
	err = amfamily.Run(w.k, all, func(p *hpam.Process) error {
		if p.ID() == 1 {
			return nil
		}
		most := profile(t).Most()
		for _, c := range []struct{ to, handler, length int }{{0, 0, 0}, {2, 0, 0}, {-1, 0, 0}, {1, 2, 0}, {1, -1, 0}, {1, 0, most + 1}} {
			if err := p.Request(c.to, c.handler, [amfamily.Args]uint32{}, make([]byte, c.length)); err == nil {
				t.Errorf("%+v: sent", c)
			}
		}
		if err := p.Request(1, 0, [amfamily.Args]uint32{}, make([]byte, most)); err != nil {
			return err
		}
		if err := amfamily.Wait(p, "the reply", func() bool { return p.Counts().Replies == 1 }); err != nil {
			return err
		}
		if err := p.Reply(kept, 1, kept.Args, nil); !errors.Is(err, amfamily.ErrHandler) {
			t.Errorf("a reply outside a handler: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestProfile has values refused that have no meaning.
func TestProfile(t *testing.T) {
	t.Parallel()
	f, err := hpam.Library().Load("hp735")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"hpam.pool", "0", "count"}, {"hpam.buffers", "257", "count"}, {"hpam.payload", "4457", "B"}, {"hpam.payload", "15", "B"},
		{"hpam.tries", "0", "count"}, {"hpam.timeout", "0", "ms"}, {"ring.hop", "0", "ns"}, {"ring.frame", "68", "B"},
		{"bus.width", "0", "B"}, {"bus.burst", "0", "B"}, {"tcp.window", "100", "B"}, {"hpam.switch", "0", "us"}, {"ring.stations", "1", "count"},
	} {
		changed, err := f.With(c[0], c[1], c[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hpam.NewProfile(changed); err == nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
