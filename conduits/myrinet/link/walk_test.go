package link_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// tangle returns a network of any switches, hosts and cables: some go from a switch to itself, or between two hosts.
func tangle(rnd *rand.Rand) *fabric.Topology {
	t := new(fabric.Topology)
	var ends []fabric.End
	for s := range 1 + rnd.IntN(4) {
		ports := make([]fabric.Kind, 2+rnd.IntN(fabric.MaxPorts-1))
		t.AddSwitch(fmt.Sprintf("s%d", s), ports...)
		for p := range ports {
			ends = append(ends, fabric.SwitchEnd(s, p))
		}
	}
	for h := range 2 + rnd.IntN(6) {
		ends = append(ends, fabric.HostEnd(t.AddHost(fmt.Sprintf("h%d", h))))
	}
	rnd.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	for i := 0; i+1 < len(ends)-rnd.IntN(4); i += 2 {
		t.Connect(ends[i], ends[i+1], 100)
	}
	return t
}

// receiver is a host of a modelled fabric.
type receiver struct {
	host int
	got  *[]string
}

func (r *receiver) Head(a *fabric.Arrival)        { a.Accept(0) }
func (r *receiver) Received(*fabric.Arrival, int) {}
func (r *receiver) Tail(a *fabric.Arrival) {
	*r.got = append(*r.got, fmt.Sprintf("host %d: %x %v", r.host, a.Packet().Cut(a.Len()-1).Bytes(), a.Verdict()))
}
func (r *receiver) Sent(*fabric.Sending, int) {}
func (r *receiver) Gone(*fabric.Sending)      {}
func (r *receiver) Reset(*fabric.Port)        {}

// action is an event that calls a function.
type action func()

func (a action) Fire(_, _ uint64) { a() }

// TestWalk has packets with routes of all kinds come to where a modelled fabric has them come to, with the same bytes, or be counted as there.
func TestWalk(t *testing.T) {
	t.Parallel()
	constants, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	outcomes := make(map[link.Outcome]int)
	far := 0
	for range 40 {
		topology := tangle(rnd)
		s := vtime.NewSimulation(1)
		f, err := fabric.New(&s.Loop, topology, constants)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		var got []string
		for h := range topology.Hosts {
			f.Port(h).Attach(&receiver{h, &got})
		}
		var last fabric.Counts
		for range 80 {
			from := rnd.IntN(len(topology.Hosts))
			if !f.Port(from).Idle() {
				continue // it has no cable
			}
			p := packet(rnd, topology, from)
			got = got[:0]
			s.At(s.Now(), action(func() { f.Port(from).Inject(p) }), 0, 0)
			s.RunUntil(s.Now() + vtime.Millisecond)
			n := f.Counts()
			to, rest, what := link.Walk(topology, from, p)
			outcomes[what]++
			same := false
			switch what {
			case link.Arrives:
				same = len(got) == 1 && got[0] == fmt.Sprintf("host %d: %x good", to, rest.Bytes())
				if p.Len()-rest.Len() > 2 {
					far++
				}
			case link.NoRoute:
				same = len(got) == 0 && n.NoRoute == last.NoRoute+1
			case link.NoPort:
				same = len(got) == 0 && n.NoPort == last.NoPort+1
			}
			if !same {
				t.Fatalf("host %d sends %x: %v, host %d, %x; in a modelled fabric %v, %+v, before %+v", from, p.Bytes(), what, to, rest.Bytes(), got, n, last)
			}
			last = n
		}
	}
	if outcomes[link.Arrives] < 100 || outcomes[link.NoRoute] < 100 || outcomes[link.NoPort] < 100 || far < 20 {
		t.Errorf("outcomes are %v, and %d come through three switches or more: the test tests too little", outcomes, far)
	}
}

// packet returns one whose bytes lead from cable to cable mostly.
func packet(rnd *rand.Rand, t *fabric.Topology, host int) fabric.Packet {
	cabling := t.Cabling()
	var all []byte
	at := fabric.HostEnd(host)
	for range 8 {
		l := cabling.Link(at)
		if l < 0 {
			break
		}
		in := t.Links[l].Other(at)
		if in.Host || rnd.IntN(8) == 0 {
			break
		}
		out := rnd.IntN(len(t.Switches[in.Index].Ports))
		all = append(all, fabric.RouteByte(out-in.Port))
		at = fabric.SwitchEnd(in.Index, out)
	}
	for range rnd.IntN(6) {
		all = append(all, byte(rnd.Uint32()))
	}
	head := rnd.IntN(len(all) + 1)
	return fabric.Packet{Head: all[:head], Body: all[head:]}
}
