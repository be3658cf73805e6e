package sisci

import (
	"runtime"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	profile "github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// machine returns a kernel and the paper's machine with n hosts, changed by change if that is
// not nil.
func machine(t testing.TB, n int, change func(*hardware.Profile)) (*vtime.Kernel, *hardware.Machine) {
	t.Helper()
	p, err := hardware.Load("d339")
	ok(t, err)
	if change != nil {
		change(p)
	}
	k := vtime.New(1)
	m, err := hardware.New(k, p, n)
	ok(t, err)
	return k, m
}

// modelled runs test on a proc that has n nodes of the paper's machine to itself.
func modelled(t testing.TB, n int, l Layout, test func(*network)) {
	t.Helper()
	k, m := machine(t, n, nil)
	k.Spawn("test", func(p *vtime.Proc) {
		shared := NewNetwork(m)
		nw := &network{open: func(i int) (*Device, error) {
			return Open(Config{Node: NodeID(i), Place: &Place{Network: shared, Index: i, Proc: p, Limits: l}})
		}}
		for i := range n {
			d, err := nw.open(i)
			ok(t, err)
			defer func() { ok(t, d.Terminate()) }()
			nw.devs = append(nw.devs, d)
		}
		test(nw)
	})
	ok(t, k.Run())
}

// pair is two hosts of a machine, each with a proc of its own that runs a part of a test.
type pair struct {
	t       testing.TB
	k       *vtime.Kernel
	machine *hardware.Machine
	shared  *Network
	places  [2]Place
	devs    [2]*Device
}

func newPair(t testing.TB, change func(*hardware.Profile)) *pair {
	t.Helper()
	w := &pair{t: t}
	w.k, w.machine = machine(t, 2, change)
	w.shared = NewNetwork(w.machine)
	return w
}

// run runs the parts, each on its host, after both devices have been opened.
func (w *pair) run(parts ...func(p *vtime.Proc, d *Device)) {
	w.t.Helper()
	for i, part := range parts {
		w.k.Spawn([]string{"a", "b"}[i], func(p *vtime.Proc) {
			place := &w.places[i]
			place.Network, place.Index, place.Proc = w.shared, i, p
			if place.Limits == (Layout{}) {
				place.Limits = small
			}
			d, err := Open(Config{Node: NodeID(i), Place: place})
			ok(w.t, err)
			w.devs[i] = d
			p.Charge(1) // all open at time 0
			p.Sync()
			part(p, d)
		})
	}
	if err := w.k.Run(); err != nil {
		w.t.Fatal(err)
	}
}

// until polls, every 20 ns, until cond.
func until(p *vtime.Proc, cond func() bool) {
	for {
		p.Sync()
		seen := p.Arrivals
		if cond() {
			return
		}
		if p.Arrivals == seen {
			p.Park(20 * vtime.Nanosecond)
		}
	}
}

// A store leaves the memory at its other end alone until it has arrived, and wakes its owner
// only if it is a flag; a checked sequence says that it has arrived.
func TestModelledStores(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		q := must(m.CreateSequence())
		first, second := m.Window(100, 80), m.Window(300, 16)
		for i := range first {
			first[i] = byte(i)
		}
		copy(second, "another window...")
		if st := q.Start(); st != OK {
			t.Fatal(st)
		}
		q.Push(300, 16)
		q.Push(100, 80)
		clear(first) // the bytes were taken by Push
		m.Close(100)
		m.Close(300)
		posted := p.Now()
		if st := q.Check(); st != OK {
			t.Fatal(st)
		}
		if waited := p.Now() - posted; waited < vtime.Microsecond/2 || waited > 3*vtime.Microsecond {
			t.Errorf("the check takes %v", waited)
		}
		m.Store8(0, 1)
	}, func(p *vtime.Proc, d *Device) {
		_, mem := export(t, d, 7, page, nil)
		until(p, func() bool { return mem[0] == 1 })
		if mem[100] != 0 || mem[179] != 79 || mem[180] != 0 || string(mem[300:316]) != "another window.." {
			t.Errorf("memory is %v, %q", mem[100:180], mem[300:316])
		}
	})
}

// Windows with the same offset do not share memory, and the newest is meant.
func TestModelledWindows(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		older, newer := m.Window(64, 8), m.Window(64, 8)
		copy(older, "olderold")
		copy(newer, "newernew")
		m.Push(64, 8)
		m.Close(64)
		m.Store8(0, 1)
		m.Push(64, 8)
		m.Close(64)
		m.Close(64) // none is left
		m.Store8(0, 2)
	}, func(p *vtime.Proc, d *Device) {
		_, mem := export(t, d, 7, page, nil)
		until(p, func() bool { return mem[0] == 1 })
		if got := string(mem[64:72]); got != "newernew" {
			t.Errorf("first %q", got)
		}
		until(p, func() bool { return mem[0] == 2 })
		if got := string(mem[64:72]); got != "olderold" {
			t.Errorf("then %q", got)
		}
	})
}

// TestModelledWindowsClose closes a window that begins where a newer one ends, which stays open.
func TestModelledWindowsClose(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		p.Charge(vtime.Millisecond)
		m := must(must(d.Connect(1, 7, 0, nil)).Map(0, page, 0))
		later, earlier := m.Window(64, 8), m.Window(56, 8)
		copy(later, "later...")
		m.Push(64, 8)
		m.Close(64)
		copy(earlier, "earlier.")
		copy(m.Window(128, 8), "another.") // not in the memory of an open window
		m.Push(56, 8)
	}, func(p *vtime.Proc, d *Device) {
		_, mem := export(t, d, 7, page, nil)
		p.Charge(2 * vtime.Millisecond)
		p.Sync()
		if got := string(mem[56:72]); got != "earlier.later..." {
			t.Errorf("%q", got)
		}
	})
}

// A remote load stalls for a round trip per block; the posted store of as much does not.
func TestModelledLoad(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		b := make([]byte, 128)
		start := p.Now()
		ok(t, m.MemCpy(nil, b, 0, BlockRead))
		loaded := p.Now() - start
		if b[5] != 5 || b[127] != 127 {
			t.Errorf("loaded %v", b)
		}
		start = p.Now()
		ok(t, m.MemCpy(nil, b, 0, 0))
		if stored := p.Now() - start; loaded < 4*stored {
			t.Errorf("128 bytes are loaded in %v and stored in %v", loaded, stored)
		}
	}, func(p *vtime.Proc, d *Device) {
		s := must(d.CreateSegment(7, page, 0, nil))
		ok(t, s.Prepare(0))
		mem := must(s.Map(0, page, 0)).Bytes()
		for i := range mem {
			mem[i] = byte(i)
		}
		ok(t, s.SetAvailable())
	})
}

// The engine works beside the processor: a queue stays posted until it is done, and Wait waits
// in virtual time.
func TestModelledDMA(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		r := must(d.Connect(1, 7, long, nil))
		mine := must(d.CreateSegment(0, 2*page, Private, nil))
		ok(t, mine.Prepare(0))
		src := must(mine.Map(0, 2*page, 0)).Bytes()
		for i := range src {
			src[i] = byte(i * 7)
		}
		q := must(d.CreateDMAQueue(2))
		ok(t, q.Enqueue(mine, 8, r, 16, page, 0))
		var told DMAState
		var at vtime.Time
		ok(t, q.Post(func(s DMAState) { told, at = s, w.k.Now() }))
		posted := p.Now()
		if st := q.State(); st != DMAPosted {
			t.Errorf("posted, it is %v", st)
		}
		is(t, q.Remove(), ErrIllegalOperation)
		is(t, q.Reset(), ErrIllegalOperation)
		is(t, second(q.Wait(time.Microsecond)), ErrTimeout)
		is(t, r.Disconnect(), ErrBusy)
		if st, err := q.Wait(Forever); err != nil || st != DMADone || told != DMADone || at <= posted || p.Now() < at {
			t.Errorf("%v, %v; told %v at %v, and it is %v", st, err, told, at, p.Now())
		}
		ok(t, q.Reset())

		back := make([]byte, page)
		ok(t, q.Enqueue(mine, page, r, 16, page, DMARead))
		ok(t, q.Post(nil))
		must(q.Wait(Forever))
		if copy(back, src[page:]); back[0] != 8*7 || back[1] != 9*7 {
			t.Errorf("read back %v", back[:8])
		}
		ok(t, q.Reset())

		ok(t, q.Enqueue(mine, 0, r, 0, 2*page, 0))
		ok(t, q.Post(nil))
		ok(t, q.Abort())
		if st, err := q.Wait(Forever); err != nil || st != DMAAborted {
			t.Errorf("aborted, it is %v: %v", st, err)
		}
		ok(t, q.Reset())
		is(t, second(d.CreateDMAQueue(1<<20)), ErrIllegalParameter)
	}, func(p *vtime.Proc, d *Device) { export(t, d, 7, 2*page, nil) })
}

// The machine's limits are kept.
func TestModelledLimits(t *testing.T) {
	w := newPair(t, func(p *hardware.Profile) {
		p.Limit.Segment, p.Limit.Map, p.Limit.Maps, p.DMA.Most = 4<<12, 1<<12, 3, 1<<12
	})
	w.places[0].Limits = Layout{Memory: 64 << 12, Segments: 4, Connections: 4}
	w.run(func(p *vtime.Proc, d *Device) {
		if most := must(d.Query(QueryMaxSegment)); most != 4<<12 {
			t.Errorf("largest segment %d", most)
		}
		is(t, second(d.CreateSegment(1, 4<<12+1, 0, nil)), ErrNoSpace)
		s := must(d.CreateSegment(1, 4<<12, 0, nil))
		ok(t, s.Prepare(0))
		ok(t, s.SetAvailable())
		r := must(d.Connect(0, 1, 0, nil))
		m := must(r.Map(0, 3<<12, 0))
		is(t, second(r.Map(0, 1, 0)), ErrHWNoSpace)
		ok(t, m.Unmap())
		must(r.Map(0, 1, 0))
		q := must(d.CreateDMAQueue(1))
		if most := must(d.Query(QueryDMAMTU)); most != 1<<12 {
			t.Errorf("DMA MTU %d", most)
		}
		is(t, q.Enqueue(s, 0, r, 0, 1<<12+8, 0), ErrSizeAlignment)
		ok(t, q.Enqueue(s, 0, r, 0, 1<<12, 0))
	})
}

// Connect waits in virtual time, for a segment that comes or until its time is up.
func TestModelledConnect(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		start := p.Now()
		is(t, second(d.Connect(1, 8, 5*time.Millisecond, nil)), ErrTimeout)
		if took := p.Now() - start; took < 5*vtime.Millisecond || took > 6*vtime.Millisecond {
			t.Errorf("timed out after %v", took)
		}
		must(d.Connect(1, 7, Forever, nil))
		if p.Now() < 20*vtime.Millisecond || p.Now() > 21*vtime.Millisecond {
			t.Errorf("connected at %v", p.Now())
		}
	}, func(p *vtime.Proc, d *Device) {
		p.Charge(20 * vtime.Millisecond)
		export(t, d, 7, page, nil)
	})
}

// While a node connects, disconnects or retracts a segment, the other one does not know what its driver is going to do
// for it.
func TestModelledCallsAreForeseen(t *testing.T) {
	newPair(t, nil).run(func(p *vtime.Proc, d *Device) {
		at := func(ms vtime.Time) {
			p.Charge(ms*vtime.Millisecond - p.Now())
			p.Sync()
		}
		mine, _ := export(t, d, 8, page, nil)
		at(1) // until the other node has exported its segment
		r := must(d.Connect(1, 7, Forever, nil))
		at(2)
		ok(t, r.Disconnect())
		at(3)
		ok(t, mine.SetUnavailable(Notify))
		ok(t, mine.SetAvailable())
		at(4)
		ok(t, mine.SetUnavailable(ForceDisconnect))
	}, func(p *vtime.Proc, d *Device) {
		export(t, d, 7, page, nil)
		must(d.Connect(0, 8, Forever, nil))
		cost := &d.host.profile().Call
		for ms, takes := range []vtime.Time{cost.Connect, cost.Disconnect, cost.Disconnect, cost.Disconnect} {
			begins := vtime.Time(ms+1) * vtime.Millisecond
			for _, c := range []struct {
				at        vtime.Time
				unchanged bool
			}{{begins - 1, true}, {begins + takes/2, false}, {begins + 2*takes, true}} {
				p.Charge(c.at - p.Now())
				p.Sync()
				if got := d.host.adapter.Unchanged(); got != c.unchanged {
					t.Errorf("at %v the node knows that nothing changes: %v, want %v", p.Now(), got, c.unchanged)
				}
			}
		}
	})
}

// Every call of the driver takes the time that the machine has for it, which is some.
func TestModelledCalls(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		p.Charge(vtime.Millisecond) // until the other node has exported its segment
		p.Sync()
		cost := &d.host.profile().Call
		start := p.Now()
		takes := func(call string, want vtime.Time) {
			t.Helper()
			if took := p.Now() - start; took != want || took == 0 {
				t.Errorf("%s takes %v, want %v", call, took, want)
			}
			start = p.Now()
		}
		s := must(d.CreateSegment(8, page, 0, nil))
		takes("create", cost.Create)
		ok(t, s.Prepare(0))
		takes("prepare", cost.Prepare)
		r := must(d.Connect(1, 7, Forever, nil))
		takes("connect", cost.Connect)
		m := must(r.Map(0, page, 0))
		takes("map", cost.Map)
		ok(t, m.Unmap())
		takes("unmap", cost.Disconnect)
		ok(t, r.Disconnect())
		takes("disconnect", cost.Disconnect)
		ok(t, s.Remove())
		takes("remove", cost.Disconnect)
	}, func(p *vtime.Proc, d *Device) {
		export(t, d, 7, page, nil)
		p.Charge(vtime.Second)
		p.Sync()
	})
}

// A driver that provides segments is asked for those that do not exist, once.
func TestModelledProvide(t *testing.T) {
	w := newPair(t, nil)
	asked := 0
	w.places[1].Provide = func(id SegmentID, from NodeID) {
		asked++
		if id == 70 && from == 0 {
			_, mem := export(t, w.devs[1], id, page, nil)
			mem[8] = 42
		}
	}
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 70)
		attach(t, d, 1, 70)
		is(t, second(d.Connect(1, 71, 0, nil)), ErrNoSuchSegment)
		b := make([]byte, 1)
		ok(t, m.MemCpy(nil, b, 8, BlockRead))
		if b[0] != 42 || asked != 2 {
			t.Errorf("found %d; asked %d times", b[0], asked)
		}
	}, func(*vtime.Proc, *Device) {})
}

// A cut link fails sequences, DMA and new connections, and is told; mended, all goes on. A lost
// node is told once and for ever.
func TestModelledFailures(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		r, m := attach(t, d, 1, 7)
		q := must(m.CreateSequence())
		send := func() Status {
			if st := q.Start(); st != OK {
				return st
			}
			copy(m.Window(8, 8), "contents")
			q.Push(8, 8)
			m.Close(8)
			return q.Check()
		}
		event := func(want EventReason) {
			t.Helper()
			if ev, err := r.WaitEvent(Forever); err != nil || ev.Reason != want {
				t.Errorf("event %v, %v; want %v", ev.Reason, err, want)
			}
		}
		if st := send(); st != OK {
			t.Errorf("at first %v", st)
		}
		request, _ := w.machine.Route(0, 1)
		p.Sync()
		w.machine.SetLink(request[0], false)
		if st := send(); st != NotRetriable {
			t.Errorf("over a cut link %v", st)
		}
		event(EventNotOperational)
		if st := send(); st != NotRetriable {
			t.Errorf("over a link that is known to be cut %v", st)
		}
		is(t, second(d.Connect(1, 7, 0, nil)), ErrNoRemoteLinkAccess)
		is(t, d.Probe(1), ErrNoRemoteLinkAccess)
		w.machine.SetLink(request[0], true)
		event(EventOperational)
		if st := send(); st != OK {
			t.Errorf("over the mended link %v", st)
		}
		w.machine.Lose(1)
		event(EventLost)
		if st := send(); st != NotRetriable {
			t.Errorf("to a lost node %v", st)
		}
		is(t, second(d.Connect(1, 7, long, nil)), ErrNoRemoteLinkAccess)
		is(t, second(r.WaitEvent(Forever)), ErrIllegalOperation)
	}, func(p *vtime.Proc, d *Device) { export(t, d, 7, page, nil) })
}

// Connect waits for a node that does not answer until its driver knows why, the node answers,
// or the time is up.
func TestModelledNoAnswer(t *testing.T) {
	w := newPair(t, nil)
	detect := w.machine.Profile().Error.Detect
	links := func(work bool) {
		for i := range w.machine.Links() {
			w.machine.SetLink(i, work)
		}
	}
	at := func(p *vtime.Proc, when vtime.Time) {
		p.Charge(when - p.Now())
		p.Sync()
	}
	const cut, brief, lose = vtime.Second, 2 * vtime.Second, 3 * vtime.Second
	w.run(func(p *vtime.Proc, d *Device) {
		until := func(what string, least, most vtime.Time) {
			t.Helper()
			if now := p.Now(); now < least || now > most {
				t.Errorf("%s at %v, want it from %v to %v", what, now, least, most)
			}
		}
		at(p, cut)
		links(false)
		is(t, second(d.Connect(1, 7, 0, nil)), ErrNodeNotResponding)
		is(t, second(d.Connect(1, 7, time.Millisecond, nil)), ErrTimeout)
		_, err := d.ConnectInterrupt(1, 0, time.Millisecond)
		is(t, err, ErrTimeout)
		is(t, second(d.Connect(1, 7, Forever, nil)), ErrNoRemoteLinkAccess)
		until("a cut link was known", cut+detect, cut+detect+vtime.Millisecond)
		is(t, second(d.Connect(1, 7, 0, nil)), ErrNoRemoteLinkAccess)
		links(true)

		at(p, brief)
		links(false)
		must(d.Connect(1, 7, Forever, nil))
		until("the answer came", brief+detect/2, brief+2*detect)

		at(p, lose)
		w.machine.Lose(1)
		is(t, second(d.Connect(1, 7, Forever, nil)), ErrNoRemoteLinkAccess)
		until("the loss was known", lose+detect, lose+detect+vtime.Millisecond)
	}, func(p *vtime.Proc, d *Device) {
		export(t, d, 7, page, nil)
		at(p, brief+detect/2)
		links(true)
	})
}

// A driver finds out as late as otherwise about a node that it deals with for the first time.
func TestModelledMeetsLostNode(t *testing.T) {
	w := newPair(t, nil)
	w.run(func(p *vtime.Proc, d *Device) {
		detect := w.machine.Profile().Error.Detect
		w.machine.Lose(1)
		lost := p.Now()
		_, err := d.Connect(1, 7, Forever, nil)
		is(t, err, ErrNoRemoteLinkAccess)
		if took := p.Now() - lost; took < detect || took > 2*detect {
			t.Errorf("the loss was known after %v, want %v", took, detect)
		}
	}, func(p *vtime.Proc, d *Device) { export(t, d, 7, page, nil) })
}

// Errors of links fail sequences with every answer that there is; what is repeated until a
// sequence says OK has arrived.
func TestModelledErrors(t *testing.T) {
	w := newPair(t, func(p *hardware.Profile) {
		p.Error.Busy, p.Error.Lost = machine10, machine10
		p.Error.Timeout, p.Error.Assess = 20*vtime.Microsecond, 100*vtime.Microsecond
	})
	const rounds = 300
	answers := map[Status]int{}
	w.run(func(p *vtime.Proc, d *Device) {
		_, m := attach(t, d, 1, 7)
		q := must(m.CreateSequence())
		for i := range rounds {
			off := 8 * (i + 1)
			m.Window(off, 8)[0] = byte(i + 1)
			for st := NotRetriable; st != OK; {
				if st != Retriable {
					st = q.Start()
					answers[st]++
					if st != OK {
						continue
					}
				}
				q.Push(off, 8)
				st = q.Check()
				answers[st]++
			}
			m.Close(off)
		}
		m.Store8(0, 1)
	}, func(p *vtime.Proc, d *Device) {
		_, mem := export(t, d, 7, page, nil)
		p.Charge(vtime.Second)
		p.Sync()
		for i := range rounds {
			if mem[8*(i+1)] != byte(i+1) {
				t.Fatalf("store %d has not arrived", i)
			}
		}
	})
	if answers[Retriable] == 0 || answers[Pending] == 0 || answers[OK] < 2*rounds {
		t.Errorf("answers %v", answers)
	}
}

// machine10 is a chance of one in ten.
const machine10 = profile.Certain / 10

// An interrupt takes its time, ends a wait, and is gone when its number is.
func TestModelledInterrupt(t *testing.T) {
	w := newPair(t, nil)
	var sent vtime.Time
	w.run(func(p *vtime.Proc, d *Device) {
		r := must(d.ConnectInterrupt(1, 0, Forever))
		p.Charge(vtime.Millisecond)
		sent = p.Now()
		ok(t, r.Trigger())
		p.Charge(10 * vtime.Millisecond)
		p.Sync()
		is(t, r.Trigger(), ErrNotConnected)
	}, func(p *vtime.Proc, d *Device) {
		i := must(d.CreateInterrupt(0, true))
		is(t, i.Wait(time.Microsecond), ErrTimeout)
		ok(t, i.Wait(Forever))
		if late := p.Now() - sent; late < 10*vtime.Microsecond || late > 30*vtime.Microsecond {
			t.Errorf("the interrupt comes after %v", late)
		}
		ok(t, i.Remove())
	})
}

// A node's memory and tables are made as they are used: what a device of a large network has
// at first does not depend on its limits.
func TestModelledFootprint(t *testing.T) {
	const n = 2000
	k, m := machine(t, n, nil)
	shared := NewNetwork(m)
	k.Spawn("test", func(p *vtime.Proc) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			must(Open(Config{Node: NodeID(i), Place: &Place{
				Network: shared, Index: i, Proc: p,
				Limits: Layout{Memory: 1 << 30, Segments: 1 << 16, Connections: 1 << 18},
			}}))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if each := (after.HeapAlloc - before.HeapAlloc) / n; each > 4<<10 {
			t.Errorf("an idle node takes %d bytes", each)
		}
		runtime.KeepAlive(shared)
	})
	ok(t, k.Run())
}
