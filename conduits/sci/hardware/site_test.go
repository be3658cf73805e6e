package hardware_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestServedLate runs random traffic on machines whose sites serve packets as late as they may, by few events, and at the
// very time at which each one comes: all hosts see the same, to the picosecond, and all resources were used and
// waited for the same times. In every other run all hosts do the same at the same times, and only store, so that packets
// often come to a site at one time. (What an event asks for at its own time is in the order of events.)
func TestServedLate(t *testing.T) {
	for _, c := range []struct {
		profile *hardware.Profile
		nodes   int
	}{
		{load(t, "scale"), 9},
		{load(t, "scale"), 30},
		{load(t, "scale", "topology.width", "3", "count"), 10},
		{load(t, "scale", "adapter.buffers", "1", "count"), 6},
		{load(t, "scale", "pio.outstanding", "2", "count"), 6},
		{load(t, "scale", "link.hop", "0", "ns", "link.turn", "0", "ns"), 6},
		{load(t, "d339"), 2},
		{load(t, "d339"), 12},
		{load(t, "d339", "topology.shape", "ring", "word"), 7},
		{load(t, "ntb"), 5},
		{load(t, "scale", "error.busy", "100000", "ppm", "error.lost", "20000", "ppm"), 9},
		{load(t, "d339", "error.busy", "100000", "ppm", "error.lost", "20000", "ppm"), 6},
		{load(t, "scale", "error.timeout", "1", "us", "error.detect", "20", "us"), 8},
		{load(t, "d339", "error.timeout", "3", "us", "error.detect", "20", "us"), 8},
	} {
		var late, punctual uint64 // events
		for seed := range uint64(12) {
			run := func(punctual bool) (seen []string, events uint64) {
				return bustle(t, c.profile, c.nodes, seed, punctual)
			}
			seen, few := run(false)
			want, many := run(true)
			late, punctual = late+few, punctual+many
			if !slices.Equal(seen, want) {
				i := 0
				for i < min(len(seen), len(want)) && seen[i] == want[i] {
					i++
				}
				t.Fatalf("%s, %d hosts, seed %d: line %d is\n%v late\n%v punctually",
					c.profile.File.Name, c.nodes, seed, i, seen[i:min(i+3, len(seen))], want[i:min(i+3, len(want))])
			}
		}
		if late >= punctual {
			t.Errorf("%s, %d hosts: %d events served late, %d punctually", c.profile.File.Name, c.nodes, late, punctual)
		}
	}
}

// call is an event.
type call func()

func (f call) Fire(_, _ uint64) { f() }

// bustle returns what the hosts of a machine see that use all it has, and what its resources were used for.
func bustle(t *testing.T, profile *hardware.Profile, nodes int, seed uint64, punctual bool) (seen []string, events uint64) {
	const steps = 40
	k := vtime.New(seed)
	m, err := hardware.New(k, profile, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if punctual {
		m.Punctual()
	}
	lossy := profile.Error.Detect < vtime.Millisecond
	if lossy { // a link is cut for a while, and a host is lost for good, at odd times
		at := func(when vtime.Time, f func()) { k.At(when+1234567, call(f), 0, 0) }
		random := rand.New(rand.NewPCG(seed, 99))
		cut := random.IntN(m.Links())
		at(vtime.Time(random.IntN(50))*vtime.Microsecond, func() { m.SetLink(cut, false) })
		at(vtime.Time(60+random.IntN(100))*vtime.Microsecond, func() { m.SetLink(cut, true) })
		at(vtime.Time(50+random.IntN(150))*vtime.Microsecond, func() { m.Lose(nodes - 1) })
	}
	memory, words := make([][]byte, nodes), make([]uint32, nodes)
	logs := make([][]string, nodes)
	for i := range nodes {
		memory[i] = make([]byte, 4096)
		note := func(p *vtime.Proc, what string, args ...any) {
			logs[i] = append(logs[i], fmt.Sprintf("host %d at %d: ", i, int64(p.Now()))+fmt.Sprintf(what, args...))
		}
		m.Node(i).Run(k.Spawn("host", func(p *vtime.Proc) {
			random := rand.New(rand.NewPCG(seed, 0))
			if seed%2 == 0 {
				random = rand.New(rand.NewPCG(seed, uint64(i)))
			}
			n, queue, data := m.Node(i), m.Node(i).NewQueue(), make([]byte, 4096)
			var a hardware.Account
			for step := range steps {
				j := (i + random.IntN(nodes)) % nodes
				to, size, off := m.Node(j), 1+random.IntN(200), random.IntN(64)
				op := random.IntN(9)
				if seed%2 > 0 && op > 4 {
					op = 8
				}
				switch op {
				case 0, 1, 2: // a message: its bytes, checked, and two flags
					n.Store(to, memory[j][off:off+size], data[:size], off, &a, nil)
					note(p, "checked %v", n.Check(&a))
					n.Store(to, memory[j][300:301], data[:1], 300, nil, nil)
					n.Store(to, memory[j][301:302], []byte{byte(step)}, 301, nil, to.Proc())
				case 3: // flags alone
					for b := range 1 + random.IntN(20) {
						n.Store(to, memory[j][400+b:], data[:1+b%8], 400+b, nil, to.Proc())
					}
				case 4:
					n.Store(to, memory[j][off:off+size], data[:size], off, &a, to.Proc())
					for ok := false; !ok; _, ok = n.TryCheck(&a) {
						note(p, "not yet")
					}
				case 5:
					note(p, "loaded %v %v", n.Load(to, data[:16], memory[j][:16], 0), data[:16])
				case 6:
					if profile.Lock.FetchAdd {
						old, o := n.FetchAdd(to, &words[j], 1+uint32(i))
						note(p, "there was %d, %v", old, o)
					}
				case 7:
					if lossy && i == nodes-1 {
						break // nobody tells a lost host of its queue
					}
					done := false
					transfer := hardware.Transfer{Peer: to, Dst: memory[j][1024:2048], Src: memory[i][2048:3072], Off: 1024, Read: step%2 == 0}
					if transfer.Read {
						transfer.Dst, transfer.Src = memory[i][2048:3072], memory[j][1024:2048]
					}
					if err := queue.Post([]hardware.Transfer{transfer}, func(hardware.Outcome) { done = true; p.Arrive() }); err != nil {
						t.Error(err)
					}
					for !done {
						p.Park(0)
					}
					note(p, "DMA is done")
				case 8:
					p.Charge(vtime.Time(random.IntN(40)) * 100 * vtime.Nanosecond)
					p.Sync()
					note(p, "sees %v, stalled %d times", memory[i][300:302], n.Counts().Stalls)
				}
				p.Charge(vtime.Time(random.IntN(8)) * 50 * vtime.Nanosecond)
			}
			p.Charge(vtime.Millisecond)
			p.Sync()
			events = k.Events()
		}))
	}
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		seen = append(seen, log...)
	}
	for _, u := range k.Usage() {
		seen = append(seen, fmt.Sprint(u))
	}
	return seen, events
}
