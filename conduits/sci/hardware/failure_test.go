package hardware_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// attempt is one sequence: store, then check.
func attempt(n, to *hardware.Node, memory []byte, a *hardware.Account) hardware.Outcome {
	n.Store(to, memory, bytes.Repeat([]byte{1}, len(memory)), 0, a, nil)
	return n.Check(a)
}

// TestErrors repeats sequences as the published protocol wants it until all have arrived, and
// sees that each kind of error comes up, and no other.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		constant string
		want     hardware.Outcome
	}{{"error.busy", hardware.Busy}, {"error.lost", hardware.Unknown}} {
		profile := load(t, "d339", c.constant, "100000", "ppm")
		memory := make([]byte, 300)
		seen := map[hardware.Outcome]int{}
		run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
			n, to := m.Node(0), m.Node(1)
			var a hardware.Account
			for range 100 {
				clear(memory)
				for {
					for n.Start(&a) != hardware.Delivered {
						seen[hardware.Aborted]++ // Start had to wait
					}
					o := attempt(n, to, memory, &a)
					seen[o]++
					if o == hardware.Delivered {
						break
					}
				}
				p.Charge(10 * vtime.Microsecond)
				p.Sync()
				if bytes.IndexByte(memory, 0) >= 0 {
					t.Errorf("%s: a clean check, but bytes are missing", c.constant)
				}
			}
		})
		if seen[hardware.Delivered] != 100 || seen[c.want] == 0 || seen[hardware.Dead] != 0 || seen[hardware.Busy]+seen[hardware.Unknown] != seen[c.want] {
			t.Errorf("%s: outcomes %v", c.constant, seen)
		}
		if waited := seen[hardware.Aborted] > 0; waited != (c.want == hardware.Unknown) {
			t.Errorf("%s: Start had to wait: %v", c.constant, waited)
		}
	}
}

func TestCutLink(t *testing.T) {
	profile := load(t, "d339")
	for way := range 2 { // the request's link, or the answer's
		memory := make([]byte, 8)
		var events []hardware.Event
		run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
			m.Watch(func(e hardware.Event) { events = append(events, e) })
			n, to := m.Node(0), m.Node(1)
			request, answer := m.Route(0, 1)
			link := [...]int{request[0], answer[0]}[way]
			var a hardware.Account
			m.SetLink(link, false)
			before := p.Now()
			if o := attempt(n, to, memory, &a); o != hardware.Dead {
				t.Errorf("link cut: %v", o)
			}
			if took := p.Now() - before; took < profile.Error.Timeout {
				t.Errorf("known after %v, before the time-out", took)
			}
			if o := n.Start(&a); o != hardware.Dead {
				t.Errorf("Start on a cut link: %v", o)
			}
			dst := make([]byte, 8)
			if o := n.Load(to, dst, memory, 0); o != hardware.Dead {
				t.Errorf("load: %v", o)
			}
			if o := n.Interrupt(to, nil, 0, 0); o != hardware.Dead {
				t.Errorf("interrupt: %v", o)
			}
			if n.Reaches(to) {
				t.Error("the probe says that the link works")
			}
			m.SetLink(link, true)
			if o := n.Start(&a); o != hardware.Delivered {
				t.Errorf("Start on a mended link: %v", o)
			}
			if o := attempt(n, to, memory, &a); o != hardware.Delivered {
				t.Errorf("link mended: %v", o)
			}
			if len(events) != 0 {
				t.Errorf("events before hosts can know: %v", events)
			}
			p.Charge(2 * profile.Error.Detect)
			p.Sync()
			want := []hardware.Event{{Kind: hardware.LinkCut, Link: link}, {Kind: hardware.LinkMended, Link: link}}
			if !slices.Equal(events, want) {
				t.Errorf("events %v, want %v", events, want)
			}
		})
	}
}

// scissors is an event that cuts a link.
type scissors struct{ m *hardware.Machine }

func (s scissors) Fire(link, _ uint64) { s.m.SetLink(int(link), false) }

// TestCutUnderWay cuts one link of a long way at different times: what is on it already, or
// past it, arrives.
func TestCutUnderWay(t *testing.T) {
	const from, to, nodes = 0, 6, 9
	p := load(t, "d339", "topology.shape", "ring", "word")
	depart := block/8*p.PIO.Word + bus(p) + p.Adapter.Send + p.Adapter.Forward
	accepted := depart + way(p, make([]int, to-from), 0, block) + p.Adapter.Accept + p.Adapter.Receive
	for link := range nodes {
		there := depart + vtime.Time(link-from)*p.Link.Hop // the head of the request, or of the answer
		if link >= to {
			there = accepted + vtime.Time(link-to)*p.Link.Hop
		}
		for _, c := range []struct {
			cut  vtime.Time
			want hardware.Outcome
		}{{there - 1, hardware.Dead}, {there + 1, hardware.Delivered}} {
			memory := make([]byte, block)
			run(t, p, nodes, func(proc *vtime.Proc, m *hardware.Machine) {
				proc.Kernel().At(c.cut, scissors{m}, uint64(link), 0)
				var a hardware.Account
				if o := attempt(m.Node(from), m.Node(to), memory, &a); o != c.want {
					t.Errorf("link %d cut at %v: %v, want %v", link, c.cut, o, c.want)
				}
				proc.Charge(vtime.Millisecond)
				proc.Sync()
			})
			if arrived, want := memory[0] == 1, link >= to || c.want == hardware.Delivered; arrived != want {
				t.Errorf("link %d cut at %v: the bytes have arrived: %v, want %v", link, c.cut, arrived, want)
			}
		}
	}
}

func TestLostNode(t *testing.T) {
	profile := load(t, "d339")
	memory := make([]byte, 8)
	var events []hardware.Event
	m := run(t, profile, 3, func(p *vtime.Proc, m *hardware.Machine) {
		m.Watch(func(e hardware.Event) { events = append(events, e) })
		n := m.Node(0)
		var a, b hardware.Account
		m.Lose(1)
		m.Lose(1)
		if o := attempt(n, m.Node(1), memory, &a); o != hardware.Dead {
			t.Errorf("to a lost node: %v", o)
		}
		if memory[0] != 0 {
			t.Error("a lost node's memory changed")
		}
		// In the ring of three the way to 2 leads through the adapter of 1.
		if o := attempt(n, m.Node(2), make([]byte, 8), &b); o != hardware.Delivered {
			t.Errorf("past a lost node: %v", o)
		}
		p.Charge(2 * profile.Error.Detect)
		p.Sync()
	})
	if !m.Node(1).Lost() || !slices.Equal(events, []hardware.Event{{Kind: hardware.NodeLost, Node: 1}}) {
		t.Errorf("events %v", events)
	}
}

// TestLostRefuses has a lost host that would refuse bursts: it does not even that.
func TestLostRefuses(t *testing.T) {
	run(t, load(t, "d339", "error.busy", "400000", "ppm"), 2, func(_ *vtime.Proc, m *hardware.Machine) {
		m.Lose(1)
		for range 20 {
			var a hardware.Account
			if o := attempt(m.Node(0), m.Node(1), make([]byte, block), &a); o != hardware.Dead {
				t.Errorf("to a lost node: %v", o)
			}
		}
	})
}

// TestLostInFlight loses the receiver after the bytes have been accepted.
func TestLostInFlight(t *testing.T) {
	memory := make([]byte, 8)
	run(t, load(t, "d339"), 2, func(p *vtime.Proc, m *hardware.Machine) {
		var a hardware.Account
		if o := attempt(m.Node(0), m.Node(1), memory, &a); o != hardware.Delivered {
			t.Errorf("check: %v", o)
		}
		m.Lose(1)
		p.Charge(vtime.Millisecond)
		p.Sync()
	})
	if memory[0] != 0 {
		t.Error("bytes arrived at a lost node")
	}
}

func TestDMARefusals(t *testing.T) {
	profile := load(t, "d339")
	run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
		q := m.Node(0).NewQueue()
		bytes := func(n int) []byte { return make([]byte, n) }
		most := int(profile.DMA.Most)
		for _, c := range []struct {
			transfer hardware.Transfer
			want     string
		}{
			{hardware.Transfer{Dst: bytes(8), Src: bytes(16)}, "16 bytes into 8"},
			{hardware.Transfer{Dst: bytes(12), Src: bytes(12)}, "multiples of 8"},
			{hardware.Transfer{Dst: bytes(8), Src: bytes(8), Off: 4}, "multiples of 8"},
			{hardware.Transfer{Dst: bytes(most + 8), Src: bytes(most + 8)}, "at most"},
		} {
			c.transfer.Peer = m.Node(1)
			err := q.Post([]hardware.Transfer{c.transfer}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d bytes at %d: %v, want %q", len(c.transfer.Src), c.transfer.Off, err, c.want)
			}
		}
		if p.Now() != 0 {
			t.Errorf("refusals took %v", p.Now())
		}
		ok := []hardware.Transfer{{Peer: m.Node(1), Dst: bytes(8), Src: bytes(8)}}
		if err := q.Post(ok, func(hardware.Outcome) {}); err != nil {
			t.Error(err)
		}
		if err := q.Post(ok, nil); err == nil || !strings.Contains(err.Error(), "at work") {
			t.Errorf("posted twice: %v", err)
		}
	})
}

// finish posts transfers and waits for the outcome; meanwhile runs after Post.
func finish(t *testing.T, p *vtime.Proc, q *hardware.Queue, list []hardware.Transfer, meanwhile func()) (o hardware.Outcome) {
	done := false
	if err := q.Post(list, func(result hardware.Outcome) { o, done = result, true; p.Arrive() }); err != nil {
		t.Error(err)
		return
	}
	if meanwhile != nil {
		meanwhile()
	}
	for !done {
		p.Park(0)
	}
	return o
}

func TestDMAOutcomes(t *testing.T) {
	const size = 64 << 10
	run(t, load(t, "d339"), 2, func(p *vtime.Proc, m *hardware.Machine) {
		q := m.Node(0).NewQueue()
		memory := make([]byte, size)
		list := []hardware.Transfer{{Peer: m.Node(1), Dst: memory, Src: bytes.Repeat([]byte{1}, size)}, {Peer: m.Node(1), Dst: make([]byte, 8), Src: make([]byte, 8)}}
		if o := finish(t, p, q, nil, nil); o != hardware.Delivered {
			t.Errorf("nothing to do: %v", o)
		}
		abort := func() {
			p.Charge(100 * vtime.Microsecond)
			q.Abort()
		}
		if o := finish(t, p, q, list, abort); o != hardware.Aborted {
			t.Errorf("aborted: %v", o)
		}
		if memory[0] != 1 || memory[size-1] != 0 {
			t.Errorf("aborted: first byte %d, last byte %d", memory[0], memory[size-1])
		}
		if o := finish(t, p, q, list, nil); o != hardware.Delivered {
			t.Errorf("posted again: %v", o)
		}
		for _, read := range []bool{false, true} {
			list[0].Read = read
			cut := func() {
				p.Charge(100 * vtime.Microsecond)
				p.Sync()
				m.SetLink(0, false)
			}
			if o := finish(t, p, q, list, cut); o != hardware.Dead {
				t.Errorf("cut: %v", o)
			}
			m.SetLink(0, true)
		}
	})
}

// TestDMAChannels posts as many queues as it has channels and one more.
func TestDMAChannels(t *testing.T) {
	const size = 1 << 20
	profile := load(t, "ntb", "dma.fetch", "1", "ms")
	queues := profile.DMA.Channels + 1
	var ends []vtime.Time
	run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
		list := []hardware.Transfer{{Peer: m.Node(1), Dst: make([]byte, size), Src: make([]byte, size)}}
		for range queues {
			err := m.Node(0).NewQueue().Post(list, func(hardware.Outcome) {
				ends = append(ends, p.Kernel().Now())
				p.Arrive()
			})
			if err != nil {
				t.Error(err)
			}
		}
		for len(ends) < queues {
			p.Park(0)
		}
	})
	// Every queue spends a millisecond on its descriptor, and only that of a channel's second
	// queue comes after another's.
	if first, last := ends[queues-2], ends[queues-1]; first >= 2*vtime.Millisecond || last <= 2*vtime.Millisecond {
		t.Errorf("queues end at %v: want all but one within 2 ms", ends)
	}
}

// TestFetchAdd has nodes draw numbers from one word.
func TestFetchAdd(t *testing.T) {
	const each, nodes = 20, 5
	var word uint32
	var drawn []uint32
	hosts := make([]host, nodes)
	for i := range hosts {
		hosts[i] = func(p *vtime.Proc, m *hardware.Machine) {
			for range each {
				n, o := m.Node(i).FetchAdd(m.Node(0), &word, 1)
				if o != hardware.Delivered {
					t.Errorf("fetch-and-add: %v", o)
				}
				drawn = append(drawn, n)
			}
		}
	}
	run(t, load(t, "d339"), nodes, hosts...)
	slices.Sort(drawn)
	if len(slices.Compact(drawn)) != each*nodes || word != each*nodes {
		t.Errorf("%d numbers, and the word is %d", len(drawn), word)
	}
}

// bell notes interrupts.
type bell struct {
	p    *vtime.Proc
	rung []uint64
	at   vtime.Time
}

func (b *bell) Fire(x, y uint64) {
	b.rung, b.at = append(b.rung, x, y), b.p.Kernel().Now()
	b.p.Arrive()
}

func TestInterrupt(t *testing.T) {
	profile := load(t, "d339", "error.lost", "500000", "ppm") // which interrupts do not mind
	var b bell
	run(t, profile, 2,
		func(_ *vtime.Proc, m *hardware.Machine) {
			if o := m.Node(0).Interrupt(m.Node(1), &b, 3, 4); o != hardware.Delivered {
				t.Errorf("interrupt: %v", o)
			}
		},
		func(p *vtime.Proc, m *hardware.Machine) {
			for b.p = p; len(b.rung) == 0; {
				p.Park(0)
			}
		})
	least := profile.Interrupt.Trigger + profile.Interrupt.Latency
	if !slices.Equal(b.rung, []uint64{3, 4}) || b.at <= least || b.at > least+2*vtime.Microsecond {
		t.Errorf("rung with %v at %v", b.rung, b.at)
	}
}

// TestOwnMemory stores to the node itself.
func TestOwnMemory(t *testing.T) {
	memory := make([]byte, 200)
	m := run(t, load(t, "d339"), 2, func(p *vtime.Proc, m *hardware.Machine) {
		var a hardware.Account
		n := m.Node(0)
		if o := attempt(n, n, memory, &a); o != hardware.Delivered {
			t.Errorf("check: %v", o)
		}
		p.Charge(vtime.Millisecond)
		p.Sync()
		dst := make([]byte, 200)
		if o := n.LoadBlocks(n, dst, memory, 0); o != hardware.Delivered || !bytes.Equal(dst, memory) {
			t.Errorf("load: %v", o)
		}
		list := []hardware.Transfer{{Peer: n, Dst: dst, Src: make([]byte, 200)}}
		if o := finish(t, p, n.NewQueue(), list, nil); o != hardware.Delivered {
			t.Errorf("DMA: %v", o)
		}
	})
	if bytes.IndexByte(memory, 0) >= 0 {
		t.Error("bytes are missing")
	}
	for i := range m.Links() {
		if m.LinkBusy(i) != 0 {
			t.Errorf("the link %s carried something", m.LinkName(i))
		}
	}
}
