package hardware_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// pattern says where host i of n sends its store number k.
type pattern func(i, n, k int) int

func distance(d int) pattern { return func(i, n, _ int) int { return (i + d) % n } }

// anywhere sends to any other host.
func anywhere(i, n, k int) int {
	random := rand.New(rand.NewPCG(uint64(i), uint64(k)))
	return (i + 1 + random.IntN(n-1)) % n
}

// rotate sends to all other hosts in turn, beginning with the next one.
func rotate(i, n, k int) int { return (i + 1 + k%(n-1)) % n }

// mirror sends to the host that is as far from the end as the sender from the beginning.
func mirror(i, n, _ int) int { return n - 1 - i }

// crowd sends to one host.
func crowd(i, _, _ int) int {
	if i == 0 {
		return 1
	}
	return 0
}

const block = 64

// flood lets every host store count blocks, check them, and wait until they have arrived. It
// returns when all have.
func flood(t testing.TB, profile *hardware.Profile, n, count int, to pattern) (m *hardware.Machine, took vtime.Time) {
	t.Helper()
	memory, data := make([]byte, block), make([]byte, block)
	hosts := make([]host, n)
	for i := range hosts {
		hosts[i] = func(p *vtime.Proc, m *hardware.Machine) {
			var a hardware.Account
			for k := range count {
				m.Node(i).Store(m.Node(to(i, n, k)), memory, data, 0, &a, p)
			}
			if o := m.Node(i).Check(&a); o != hardware.Delivered {
				t.Errorf("check: %v", o)
			}
			for m.Node(i).Counts().Bytes < int64(count*block) {
				p.Park(0)
			}
			took = max(took, p.Now())
		}
	}
	return run(t, profile, n, hosts...), took
}

// bottleneck returns what of the machine was busy longest.
func bottleneck(m *hardware.Machine) (name string, busy vtime.Time) {
	see := func(d vtime.Time, format string, args ...any) {
		if d > busy {
			name, busy = fmt.Sprintf(format, args...), d
		}
	}
	for i := range m.Links() {
		see(m.LinkBusy(i), "link %s", m.LinkName(i))
	}
	for i := range m.Nodes() {
		c := m.Node(i).Counts()
		see(c.Bus, "bus of node %d", i)
		see(c.Sending, "sending half of node %d", i)
		see(c.Receives, "receiving half of node %d", i)
	}
	return name, busy
}

// TestSaturation has all hosts store as fast as they can: the resource that has most to do
// works nearly all the time, so that no other decides how much the machine carries.
func TestSaturation(t *testing.T) {
	ring := load(t, "d339", "topology.shape", "ring", "word")
	ports := load(t, "d339", "topology.shape", "switch", "word", "topology.width", "8", "count")
	torus, scale, ntb := load(t, "d339"), load(t, "scale"), load(t, "ntb")
	for _, c := range []struct {
		name     string
		profile  *hardware.Profile
		nodes    int
		count    int
		pattern  string
		to       pattern
		atLeast  float64 // share of the time in which the busiest resource works
		resource string  // what that is
	}{
		{"ring", ring, 16, 120, "distance 1", distance(1), 0.95, "bus"},
		{"ring", ring, 16, 120, "distance 2", distance(2), 0.95, "link"},
		{"ring", ring, 16, 120, "distance 8", distance(8), 0.95, "link"},
		{"ring", ring, 16, 120, "distance 15", distance(15), 0.95, "link"},
		{"ring", ring, 16, 120, "any", anywhere, 0.95, "link"},
		{"ring", ring, 16, 120, "in turn", rotate, 0.95, "link"},
		{"ring", ring, 16, 120, "mirror", mirror, 0.95, "link"},
		{"ring", ring, 16, 100, "one", crowd, 0.95, "bus"},
		{"torus", torus, 64, 120, "distance 1", distance(1), 0.95, "bus"},
		{"torus", torus, 64, 120, "distance 32", distance(32), 0.95, "bus"},
		{"torus", torus, 64, 120, "distance 63", distance(63), 0.8, "link"},
		{"torus", torus, 64, 120, "any", anywhere, 0.95, "bus"},
		{"torus", torus, 64, 120, "mirror", mirror, 0.85, "bus"},
		{"torus", torus, 64, 100, "one", crowd, 0.95, "bus"},
		{"rings of 8 at ports", ports, 16, 120, "distance 1", distance(1), 0.95, "bus"},
		{"rings of 8 at ports", ports, 16, 120, "distance 8", distance(8), 0.95, "link"},
		{"rings of 8 at ports", ports, 64, 120, "any", anywhere, 0.95, "link"},
		{"scale", scale, 64, 120, "distance 1", distance(1), 0.95, "bus"},
		{"scale", scale, 64, 120, "any", anywhere, 0.95, "bus"},
		{"scale", scale, 64, 100, "one", crowd, 0.95, "bus"},
		{"ntb", ntb, 16, 1200, "distance 1", distance(1), 0.8, "bus"},
		{"ntb", ntb, 16, 1200, "any", anywhere, 0.8, "bus"},
		{"ntb", ntb, 16, 300, "one", crowd, 0.95, "bus"},
	} {
		m, took := flood(t, c.profile, c.nodes, c.count, c.to)
		name, busy := bottleneck(m)
		share := float64(busy) / float64(took)
		t.Logf("%s of %d, %s: %.1f us, %s works %.1f %%", c.name, c.nodes, c.pattern, us(took), name, 100*share)
		if share < c.atLeast || share > 1 || name[:len(c.resource)] != c.resource {
			t.Errorf("%s of %d, %s: %s works %.2f of the time, want at least %.2f, and a %s", c.name, c.nodes, c.pattern, name, share, c.atLeast, c.resource)
		}
	}
}

// barrier returns how long a dissemination barrier of n hosts takes.
func barrier(t testing.TB, profile *hardware.Profile, n int) (took vtime.Time) {
	rounds := bits.Len(uint(n - 1))
	flags := make([][][1]byte, n)
	hosts := make([]host, n)
	for i := range hosts {
		flags[i] = make([][1]byte, rounds)
		hosts[i] = func(p *vtime.Proc, m *hardware.Machine) {
			for r := range rounds {
				to := (i + 1<<r) % n
				m.Node(i).Store(m.Node(to), flags[to][r][:], []byte{1}, 0, nil, m.Node(to).Proc())
				await(p, profile.Host.Test, func() bool { return flags[i][r][0] == 1 })
			}
			took = max(took, p.Now())
		}
	}
	run(t, profile, n, hosts...)
	return took
}

// TestBarrier compares barriers with as many ping-pongs between neighbours as they have
// rounds. What they take longer for is the distance, and waiting for links.
func TestBarrier(t *testing.T) {
	for _, c := range []struct {
		machine string
		most    float64
	}{{"d339", 1.9}, {"scale", 1.4}} {
		profile := load(t, c.machine)
		round := pingPong(t, profile, 1)
		for n := 2; n <= 512; n *= 2 {
			took := barrier(t, profile, n)
			times := float64(took) / float64(round) / float64(bits.Len(uint(n-1)))
			t.Logf("%s: barrier of %d: %.2f us, %.2f times its rounds", c.machine, n, us(took), times)
			if times < 0.99 || times > c.most {
				t.Errorf("%s: a barrier of %d hosts takes %.2f times as long as its rounds between neighbours; want at most %.2f", c.machine, n, times, c.most)
			}
		}
	}
}

// trip is the way of a request, or of an answer, in the naive network.
type trip struct {
	store  int
	answer bool
	links  []int
	at     vtime.Time // when the head is at the first of them
	length vtime.Time
}

// TestLinks compares random stores with a network that is worked out by searching, again and
// again, for the packet that is at its next link first. No host both sends and receives, and
// none twice, so that all the waiting is for links.
func TestLinks(t *testing.T) {
	const hosts = 64
	for _, shape := range []string{"ring", "torus"} {
		for seed := range uint64(5) {
			profile := load(t, "d339", "topology.shape", shape, "word", "link.rate", "50", "MB/s")
			random := rand.New(rand.NewPCG(seed, 1))
			order := random.Perm(hosts)
			var start [hosts / 2]vtime.Time
			for i := range start {
				start[i] = vtime.Time(random.IntN(int(20 * vtime.Microsecond)))
			}
			m, seen, checked := exchange(t, profile, order, start[:])
			wantSeen, wantChecked := naive(m, order, start[:])
			for i := range start {
				if seen[i] != wantSeen[i] || checked[i] != wantChecked[i] {
					t.Errorf("%s, seed %d: store %d is seen at %v and checked at %v, want %v and %v", shape, seed, i, seen[i], checked[i], wantSeen[i], wantChecked[i])
				}
			}
		}
	}
}

// exchange has the first half of the hosts in order store a block each at one of the others.
func exchange(t *testing.T, profile *hardware.Profile, order []int, start []vtime.Time) (m *hardware.Machine, seen, checked []vtime.Time) {
	n := len(start)
	seen, checked = make([]vtime.Time, n), make([]vtime.Time, n)
	memory := make([]byte, block)
	hosts := make([]host, len(order))
	for i := range n {
		from, to := order[i], order[n+i]
		hosts[from] = func(p *vtime.Proc, m *hardware.Machine) {
			var a hardware.Account
			p.Charge(start[i])
			m.Node(from).Store(m.Node(to), memory, make([]byte, block), 0, &a, m.Node(to).Proc())
			m.Node(from).Check(&a)
			checked[i] = p.Now()
		}
		hosts[to] = func(p *vtime.Proc, _ *hardware.Machine) {
			p.Park(0)
			seen[i] = p.Now()
		}
	}
	return run(t, profile, len(order), hosts...), seen, checked
}

// naive works out when the same stores are seen and checked.
func naive(m *hardware.Machine, order []int, start []vtime.Time) (seen, checked []vtime.Time) {
	p, n := m.Profile(), len(start)
	seen, checked = make([]vtime.Time, n), make([]vtime.Time, n)
	var trips []trip
	for i := range n {
		request, _ := m.Route(order[i], order[n+i])
		at := start[i] + block/8*p.PIO.Word + bus(p) + p.Adapter.Send + p.Adapter.Forward
		trips = append(trips, trip{i, false, request, at, wire(p, block)})
	}
	free := make([]vtime.Time, m.Links())
	for len(trips) > 0 {
		first := 0
		for i := range trips {
			if trips[i].at < trips[first].at {
				first = i
			}
		}
		x := &trips[first]
		link := x.links[0]
		begin := max(x.at, free[link])
		free[link] = begin + x.length
		x.at, x.links = begin+p.Link.Hop, x.links[1:]
		if len(x.links) > 0 {
			if along(m, link) != along(m, x.links[0]) {
				x.at += p.Link.Turn
			}
			continue
		}
		tail := x.at + x.length
		if x.answer {
			checked[x.store] = tail + p.Adapter.Answer + p.PIO.Status
			trips = append(trips[:first], trips[first+1:]...)
			continue
		}
		accepted := tail + p.Adapter.Accept + p.Adapter.Receive
		seen[x.store] = accepted + bus(p) + p.Memory.Visible
		_, answer := m.Route(order[x.store], order[n+x.store])
		*x = trip{x.store, true, answer, accepted, wire(p, 0)}
	}
	return seen, checked
}

// along tells whether a torus's link belongs to a column.
func along(m *hardware.Machine, link int) bool { return link >= m.Links()/2 }
