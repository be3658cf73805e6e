package hardware_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// load returns a machine with constants changed: name, value, unit, and so on.
func load(t testing.TB, name string, changes ...string) *hardware.Profile {
	t.Helper()
	f, err := hardware.Library().Load(name)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(changes) > 0; changes = changes[3:] {
		if f, err = f.With(changes[0], changes[1], changes[2]); err != nil {
			t.Fatal(err)
		}
	}
	p, err := hardware.NewProfile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// host is what runs on a node in a test; nil: nothing does.
type host func(p *vtime.Proc, m *hardware.Machine)

// run runs hosts on a machine of n nodes, of which the first ones get a host.
func run(t testing.TB, profile *hardware.Profile, n int, hosts ...host) *hardware.Machine {
	t.Helper()
	k := vtime.New(1)
	m, err := hardware.New(k, profile, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hosts {
		if h != nil {
			m.Node(i).Run(k.Spawn("host", func(p *vtime.Proc) { h(p, m) }))
		}
	}
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	return m
}

// await polls the way a program does until done.
func await(p *vtime.Proc, test vtime.Time, done func() bool) {
	for {
		seen := p.Arrivals
		p.Sync()
		if done() {
			p.Charge(test)
			return
		}
		p.Charge(test)
		if p.Arrivals == seen {
			p.Park(test)
		}
	}
}

// halves returns half of the round trip between two nodes: send stores at the other node, in round
// 1, 2 and so on, and come says whether what was stored at a node in a round is there.
func halves(t testing.TB, profile *hardware.Profile, send func(p *vtime.Proc, from, to *hardware.Node, round int), come func(node, round int) bool) vtime.Time {
	const rounds = 100
	var half vtime.Time
	player := func(me int) host {
		return func(p *vtime.Proc, m *hardware.Machine) {
			for round := 1; round <= rounds; round++ {
				if me == 0 {
					send(p, m.Node(0), m.Node(1), round)
				}
				await(p, profile.Host.Test, func() bool { return come(me, round) })
				if me == 1 {
					send(p, m.Node(1), m.Node(0), round)
				}
			}
			if me == 0 {
				half = p.Now() / (2 * rounds)
			}
		}
	}
	run(t, profile, 2, player(0), player(1))
	return half
}

// pingPong returns half the round trip of size bytes by PIO, from node 0 to node 1.
func pingPong(t testing.TB, profile *hardware.Profile, size int) vtime.Time {
	memory := [2][]byte{make([]byte, size), make([]byte, size)}
	data := make([]byte, size)
	return halves(t, profile, func(_ *vtime.Proc, from, to *hardware.Node, round int) {
		data[size-1] = byte(round)
		from.Store(to, memory[to.ID()], data, 0, nil, to.Proc())
	}, func(node, round int) bool { return memory[node][size-1] == byte(round) })
}

// message returns half the round trip of 80 bytes by PIO that are sent as Su's conduit sends them: from
// the Start of a sequence to its Check, and then a flag.
func message(t testing.TB, profile *hardware.Profile) vtime.Time {
	const size = 80
	memory := [2][]byte{make([]byte, size+1), make([]byte, size+1)}
	var accounts [2]hardware.Account
	return halves(t, profile, func(p *vtime.Proc, from, to *hardware.Node, round int) {
		a, there := &accounts[from.ID()], memory[to.ID()]
		p.Charge(profile.Host.Sequence)
		from.Start(a)
		from.Store(to, there, make([]byte, size), 0, a, nil)
		p.Charge(profile.Host.Sequence)
		from.Check(a)
		from.Store(to, there[size:], []byte{byte(round)}, size, nil, to.Proc())
	}, func(node, round int) bool { return memory[node][size] == byte(round) })
}

// reading returns how long node 0 takes to load size bytes of node 1.
func reading(t testing.TB, profile *hardware.Profile, size int, blocks bool) (d vtime.Time) {
	memory, dst := bytes.Repeat([]byte{7}, size), make([]byte, size)
	run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
		load := m.Node(0).Load
		if blocks {
			load = m.Node(0).LoadBlocks
		}
		if o := load(m.Node(1), dst, memory, 0); o != hardware.Delivered {
			t.Errorf("load: %v", o)
		}
		d = p.Now()
	})
	if !bytes.Equal(dst, memory) {
		t.Errorf("loaded %v", dst)
	}
	return d
}

// storing returns how long node 0 takes to store size bytes at node 1 and check them.
func storing(t testing.TB, profile *hardware.Profile, size int) (d vtime.Time) {
	memory := make([]byte, size)
	run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
		var a hardware.Account
		m.Node(0).Store(m.Node(1), memory, bytes.Repeat([]byte{1}, size), 0, &a, nil)
		if o := m.Node(0).Check(&a); o != hardware.Delivered {
			t.Errorf("check: %v", o)
		}
		d = p.Now()
	})
	return d
}

// moving returns how long the DMA engine of node 0 takes for size bytes, from Post to done.
func moving(t testing.TB, profile *hardware.Profile, size int, read bool) (d vtime.Time) {
	src, dst := make([]byte, size), make([]byte, size)
	for i := range src {
		src[i] = byte(i * 7)
	}
	run(t, profile, 2, func(p *vtime.Proc, m *hardware.Machine) {
		done := false
		list := []hardware.Transfer{{Peer: m.Node(1), Dst: dst, Src: src, Read: read}}
		err := m.Node(0).NewQueue().Post(list, func(o hardware.Outcome) {
			if o != hardware.Delivered {
				t.Errorf("DMA: %v", o)
			}
			done = true
			p.Arrive()
		})
		if err != nil {
			t.Error(err)
			return
		}
		for !done {
			p.Park(0)
		}
		d = p.Now()
		p.Charge(vtime.Millisecond) // what has been answered arrives before the end
		p.Sync()
	})
	if !bytes.Equal(src, dst) {
		t.Error("DMA: the bytes differ")
	}
	return d
}

func rate(size int, d vtime.Time) float64 { return float64(size) / d.Duration().Seconds() / 1e6 }

func us(d vtime.Time) float64 { return float64(d) / float64(vtime.Microsecond) }

// TestFits holds the model to what its constants are fitted to.
func TestFits(t *testing.T) {
	profile := load(t, "d339")
	pio := message(t, profile)
	results := map[string]float64{
		"d339-2003 raw-pio-80":      us(pio),
		"d339-2003 read-over-write": float64(reading(t, profile, 80, false)) / float64(pio),
		"ntb pio-8":                 us(pingPong(t, load(t, "ntb"), 8)),
	}
	for _, name := range []string{"d339-2003", "ntb"} {
		for _, fit := range load(t, name).File.Fits {
			if !strings.Contains(fit.Where, name) {
				continue // of the base
			}
			got, ok := results[name+" "+fit.Name]
			if strings.HasPrefix(fit.Name, "am-") {
				continue // the conduits': bench/paper
			}
			if !ok {
				t.Errorf("%s: nothing measures %s", name, fit.Name)
			}
			t.Logf("%s: %s: model %.4g %s, published %g", name, fit.Name, got, fit.Unit, fit.Number())
			if !(math.Abs(got/fit.Number()-1) <= 0.01) {
				t.Errorf("%s: %s is %.4g %s in the model, but constants are fitted to %g", name, fit.Name, got, fit.Unit, fit.Number())
			}
		}
	}
}

// TestStreams looks at the rates that come out of the mechanisms, against the ranges that are
// plausible for the machines (no figure is published).
func TestStreams(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		machine            string
		pio, dma           [2]float64 // MB/s
		crossover          [2]int     // bytes
		readsOverWriteRate float64    // at most
	}{
		{"d339", [2]float64{100, 230}, [2]float64{200, 330}, [2]int{1 << 10, 64 << 10}, 0.2},
		{"scale", [2]float64{100, 230}, [2]float64{200, 330}, [2]int{1 << 10, 64 << 10}, 0.2},
		{"ntb", [2]float64{2000, 9000}, [2]float64{10000, 15750}, [2]int{1 << 10, 64 << 10}, 0.2},
	} {
		profile := load(t, c.machine)
		pio, dma := rate(size, storing(t, profile, size)), rate(size, moving(t, profile, size, false))
		reads := rate(4096, reading(t, profile, 4096, true))
		crossover := 64
		for crossover < size && storing(t, profile, crossover) < moving(t, profile, crossover, false) {
			crossover *= 2
		}
		t.Logf("%s: 80 bytes by PIO in %.2f us, checked after %.2f us, loaded in %.1f us; PIO %.0f MB/s, DMA %.0f MB/s, DMA reads %.0f MB/s, block loads %.1f MB/s, DMA pays from %d B",
			c.machine, us(pingPong(t, profile, 80)), us(storing(t, profile, 80)), us(reading(t, profile, 80, false)), pio, dma, rate(size, moving(t, profile, size, true)), reads, crossover)
		if pio < c.pio[0] || pio > c.pio[1] || dma < c.dma[0] || dma > c.dma[1] {
			t.Errorf("%s: PIO %.0f MB/s and DMA %.0f MB/s; want %v and %v", c.machine, pio, dma, c.pio, c.dma)
		}
		if crossover != int(profile.DMA.Suggested) {
			t.Errorf("%s: DMA pays from %d B, but dma.suggested is %d B", c.machine, crossover, profile.DMA.Suggested)
		}
		if crossover < c.crossover[0] || crossover > c.crossover[1] {
			t.Errorf("%s: DMA pays from %d B; want %v", c.machine, crossover, c.crossover)
		}
		if reads > c.readsOverWriteRate*pio {
			t.Errorf("%s: loads of %.0f MB/s against stores of %.0f MB/s", c.machine, reads, pio)
		}
	}
}

// TestSensitivity changes one constant at a time and looks where the results go.
func TestSensitivity(t *testing.T) {
	measures := map[string]func(testing.TB, *hardware.Profile) vtime.Time{
		"pio":    func(t testing.TB, p *hardware.Profile) vtime.Time { return pingPong(t, p, 80) },
		"check":  func(t testing.TB, p *hardware.Profile) vtime.Time { return storing(t, p, 80) },
		"stream": func(t testing.TB, p *hardware.Profile) vtime.Time { return storing(t, p, 64<<10) },
		"load":   func(t testing.TB, p *hardware.Profile) vtime.Time { return reading(t, p, 80, false) },
		"dma":    func(t testing.TB, p *hardware.Profile) vtime.Time { return moving(t, p, 64<<10, false) },
	}
	names := []string{"pio", "check", "stream", "load", "dma"}
	base := map[string]vtime.Time{}
	for _, m := range names {
		base[m] = measures[m](t, load(t, "d339"))
	}
	const up, down, same = '+', '-', '='
	for _, c := range []struct{ constant, value, unit, effects string }{
		//                                     pio check stream load dma
		{"bus.clock", "133", "MHz", "-----"},
		{"bus.width", "4", "count", "+++++"},
		{"bus.write", "40", "count", "+++++"},
		{"bus.read", "80", "count", "===++"},
		{"memory.visible", "5", "us", "+===="},
		{"memory.read", "5", "us", "===++"},
		{"pio.word", "100", "ns", "+++=="},
		{"pio.outstanding", "2", "count", "==+=="},
		{"pio.flush", "100", "us", "=++=="},
		{"pio.status", "5", "us", "=++=="},
		{"pio.return", "5", "us", "===+="},
		{"packet.header", "32", "B", "+++++"},
		{"adapter.send", "2", "us", "+++++"},
		{"adapter.forward", "2", "us", "+++++"},
		{"adapter.receive", "2", "us", "+++++"},
		{"adapter.accept", "2", "us", "+++++"},
		{"adapter.answer", "2", "us", "=++++"},
		{"link.rate", "10", "MB/s", "+++++"},
		{"link.hop", "1", "us", "+++++"},
		{"link.turn", "1", "us", "====="}, // two neighbours share a ring
		{"dma.post", "50", "us", "====+"},
		{"dma.entry", "50", "us", "====+"},
		{"dma.start", "50", "us", "====+"},
		{"dma.fetch", "50", "us", "====+"},
		{"dma.complete", "50", "us", "====+"},
		{"dma.outstanding", "1", "count", "====+"},
		{"dma.burst", "128", "B", "====+"},
		{"error.timeout", "1", "ms", "====="},
		{"host.build", "1", "ms", "====="},
	} {
		for i, m := range names {
			got := measures[m](t, load(t, "d339", c.constant, c.value, c.unit))
			direction := same
			if got > base[m] {
				direction = up
			} else if got < base[m] {
				direction = down
			}
			if want := rune(c.effects[i]); want != direction {
				t.Errorf("%s = %s %s: %s goes %c from %v to %v, want %c", c.constant, c.value, c.unit, m, direction, base[m], got, want)
			}
		}
	}
}

func TestOutstanding(t *testing.T) {
	const size = 64
	storm := func(profile *hardware.Profile, stores int) int64 {
		m := run(t, profile, 2, func(_ *vtime.Proc, m *hardware.Machine) {
			for range stores {
				m.Node(0).Store(m.Node(1), make([]byte, size), make([]byte, size), 0, nil, nil)
			}
		})
		return m.Node(0).Counts().Stalls
	}
	profile := load(t, "d339", "pio.outstanding", "4", "count") // with 16 the first answer is there in time
	if n := storm(profile, profile.PIO.Outstanding); n != 0 {
		t.Errorf("%d stores stalled %d times", profile.PIO.Outstanding, n)
	}
	if n := storm(profile, profile.PIO.Outstanding+1); n != 1 {
		t.Errorf("%d stores stalled %d times", profile.PIO.Outstanding+1, n)
	}
}

// TestNeverEarly looks at the memory while bytes travel.
func TestNeverEarly(t *testing.T) {
	profile := load(t, "d339")
	memory := make([]byte, 1)
	run(t, profile, 2,
		func(p *vtime.Proc, m *hardware.Machine) {
			m.Node(0).Store(m.Node(1), memory, []byte{1}, 0, nil, m.Node(1).Proc())
			if memory[0] != 0 {
				t.Error("the byte is there at once")
			}
		},
		func(p *vtime.Proc, m *hardware.Machine) {
			p.Charge(vtime.Microsecond)
			p.Sync()
			if memory[0] != 0 {
				t.Error("the byte is there before its latency")
			}
			for memory[0] == 0 {
				p.Park(0)
			}
		})
}

// shares lets nodes 0 and 1 store size bytes at node 2 at the same time, and returns how long
// node 0 takes alone, as a fraction of what each takes then.
func shares(t *testing.T, profile *hardware.Profile, nodes, size int) (of [2]float64) {
	var took [2]vtime.Time
	sender := func(me int) host {
		return func(p *vtime.Proc, m *hardware.Machine) {
			var a hardware.Account
			m.Node(me).Store(m.Node(2), make([]byte, size), make([]byte, size), 0, &a, nil)
			m.Node(me).Check(&a)
			took[me] = p.Now()
		}
	}
	run(t, profile, nodes, sender(0))
	alone := took[0]
	run(t, profile, nodes, sender(0), sender(1))
	for i, d := range took {
		of[i] = float64(alone) / float64(d)
	}
	return of
}

// TestShared has two senders at one bottleneck: a link of a ring that both go over, or the bus
// of the receiver, for which not only the arrivals but the checks have to wait.
func TestShared(t *testing.T) {
	ring := load(t, "d339", "topology.shape", "ring", "word", "link.rate", "50", "MB/s")
	bus := load(t, "d339", "topology.shape", "switch", "word", "topology.width", "1", "count")
	for name, of := range map[string][2]float64{
		"link": shares(t, ring, 4, 64<<10),
		"bus":  shares(t, bus, 3, 256<<10),
	} {
		for i, share := range of {
			if share < 0.45 || share > 0.55 {
				t.Errorf("%s: sender %d has %.2f of it, want half", name, i, share)
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		shape string
		width string
		nodes int
	}{{"torus", "0", 1}, {"torus", "0", 2}, {"torus", "0", 7}, {"torus", "0", 8}, {"torus", "0", 16}, {"torus", "5", 23}, {"ring", "0", 6}, {"switch", "1", 5}, {"switch", "3", 8}} {
		m, err := hardware.New(vtime.New(1), load(t, "d339", "topology.shape", c.shape, "word", "topology.width", c.width, "count"), c.nodes)
		if err != nil {
			t.Fatal(err)
		}
		for from := range c.nodes {
			for to := range c.nodes {
				checkRoute(t, m, from, to)
			}
		}
	}
}

// checkRoute follows a request and its answer by the links' names alone: together they go once
// around every ring that they use, and each ring's links follow each other.
func checkRoute(t *testing.T, m *hardware.Machine, from, to int) {
	t.Helper()
	request, answer := m.Route(from, to)
	if from == to {
		if len(request)+len(answer) != 0 {
			t.Errorf("%d to itself uses links", from)
		}
		return
	}
	if len(request) == 0 || len(answer) == 0 {
		t.Errorf("%d to %d: request %v, answer %v", from, to, request, answer)
		return
	}
	all := slices.Concat(request, answer)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("%d to %d: a link twice: request %v, answer %v", from, to, request, answer)
	}
	if first := m.LinkName(request[0]); !leaves(first, from) {
		t.Errorf("%d to %d: the request starts %s", from, to, first)
	}
	if first := m.LinkName(answer[0]); !leaves(first, to) {
		t.Errorf("%d to %d: the answer starts %s", from, to, first)
	}
}

func leaves(link string, node int) bool {
	rest, ok := strings.CutPrefix(link, "from node ")
	number := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' })
	return ok && number[0] == strconv.Itoa(node)
}

// TestTorusLength compares the length of every request with a count along each dimension.
func TestTorusLength(t *testing.T) {
	const width, height = 4, 3
	m, err := hardware.New(vtime.New(1), load(t, "d339"), width*height)
	if err != nil {
		t.Fatal(err)
	}
	for from := range width * height {
		for to := range width * height {
			dx, dy := (to%width-from%width+width)%width, (to/width-from/width+height)%height
			back := 0
			if dx > 0 {
				back += width - dx
			}
			if dy > 0 {
				back += height - dy
			}
			if request, answer := m.Route(from, to); len(request) != dx+dy || len(answer) != back {
				t.Errorf("%d to %d: %d and %d links, want %d and %d", from, to, len(request), len(answer), dx+dy, back)
			}
		}
	}
}

// TestTraffic sends random stores between all pairs and compares the memory with what an
// in-order network gives: of every pair, the last store to a byte wins, and each byte that is
// sent arrives once.
func TestTraffic(t *testing.T) {
	for _, name := range []string{"d339", "scale", "ntb"} {
		first := traffic(t, load(t, name), name)
		if again := traffic(t, load(t, name), name); again != first {
			t.Errorf("%s: a second run differs: %+v, then %+v", name, first, again)
		}
	}
}

type digest struct {
	end    vtime.Time
	counts [9]hardware.Counts
}

func traffic(t *testing.T, profile *hardware.Profile, name string) (d digest) {
	const nodes, stores, room = 9, 60, 512
	var memory, want [nodes][nodes][]byte // by receiver and sender
	var sent [nodes]int64
	hosts := make([]host, nodes)
	for me := range nodes {
		for from := range nodes {
			memory[me][from], want[me][from] = make([]byte, room), make([]byte, room)
		}
	}
	for me := range nodes {
		random := rand.New(rand.NewPCG(7, uint64(me)))
		hosts[me] = func(p *vtime.Proc, m *hardware.Machine) {
			var accounts [nodes]hardware.Account
			for i := range stores {
				to, off := random.IntN(nodes), random.IntN(room)
				data := bytes.Repeat([]byte{byte(i + 1)}, 1+random.IntN(room-off))
				m.Node(me).Store(m.Node(to), memory[to][me][off:], data, off, &accounts[to], nil)
				copy(want[to][me][off:], data)
				sent[me] += int64(len(data))
				if random.IntN(8) == 0 {
					m.Node(me).Check(&accounts[to])
				}
				p.Charge(vtime.Time(random.IntN(2000)) * vtime.Nanosecond)
			}
			p.Charge(vtime.Millisecond)
			p.Sync()
			d.end = max(d.end, p.Now())
		}
	}
	m := run(t, profile, nodes, hosts...)
	for me := range nodes {
		d.counts[me] = m.Node(me).Counts()
		if d.counts[me].Bytes != sent[me] {
			t.Errorf("%s: node %d sent %d bytes, but %d arrived", name, me, sent[me], d.counts[me].Bytes)
		}
		for from := range nodes {
			if !bytes.Equal(memory[me][from], want[me][from]) {
				t.Errorf("%s: what node %d stored at node %d is not what it sent last", name, from, me)
			}
		}
	}
	return d
}
