package netdma_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/netdma"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

const received, sent = 0, 1

// pair is two NICs at a switch. The first sends packets of a byte each, one after the other; the second takes them, or does not.
type pair struct {
	*vtime.Simulation
	engines [2]*netdma.Engines
	cpus    [2]*lanai.CPU
	left    int // packets
	number  byte
	took    []byte
	keeps   bool // packets keep their buffers
}

func newPair(t *testing.T, buffers int) *pair {
	t.Helper()
	profile, err := lanai.Load("lanai4")
	if err != nil {
		t.Fatal(err)
	}
	constants, err := fabric.Load("myrinet")
	if err != nil {
		t.Fatal(err)
	}
	constants.Limit.Time = 0
	topo, err := (fabric.Shape{Hosts: 2}).Line(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{Simulation: vtime.NewSimulation(1)}
	f, err := fabric.New(&p.Loop, topo, constants)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.engines {
		nic := lanai.New(&p.Loop, profile, f.Port(i).Rate())
		if err := nic.CPU.Load([]lanai.Handler{{Name: "received", Run: p.receive}, {Name: "sent", Run: p.send}}); err != nil {
			t.Fatal(err)
		}
		if p.engines[i], err = netdma.New(nic, f.Port(i), buffers, received, sent); err != nil {
			t.Fatal(err)
		}
		p.cpus[i] = nic.CPU
	}
	return p
}

// send is the handler of the first NIC.
func (p *pair) send() {
	e := p.engines[0]
	if e.Ended(); p.left > 0 && e.Idle() {
		p.left--
		e.Send(fabric.Packet{Head: []byte{fabric.RouteByte(1), 0, 0, 0, p.number}})
		p.number++
	}
}

// receive is the handler of the second NIC: it programs the next reception, and takes the packet.
func (p *pair) receive() {
	e := p.engines[1]
	e.Arm()
	r, ok := e.Next()
	if !ok {
		return
	}
	p.took = append(p.took, r.Packet.Bytes()[3])
	if r.Verdict == fabric.Good && !p.keeps {
		e.Release()
	}
}

func (p *pair) run(packets int) {
	p.left += packets
	p.cpus[0].Raise(sent)
	p.RunUntil(p.Now() + vtime.Millisecond)
}

// TestOrder has packets come in order, one for each buffer that is free; the others wait in the network.
func TestOrder(t *testing.T) {
	p := newPair(t, 2)
	p.run(5)
	if !slices.Equal(p.took, []byte{0, 1, 2, 3, 4}) {
		t.Errorf("%v", p.took)
	}
	before := p.engines[1].Held()
	p.keeps, p.took = true, nil
	p.run(4)
	if !slices.Equal(p.took, []byte{5, 6}) || p.engines[1].Held() == before || p.engines[1].Armable() {
		t.Errorf("%v of 4 packets in 2 buffers, %d have waited", p.took, p.engines[1].Held()-before)
	}
	for range 2 {
		p.engines[1].Release()
		p.RunUntil(p.Now() + vtime.Millisecond)
	}
	if !slices.Equal(p.took, []byte{5, 6, 7, 8}) {
		t.Errorf("%v after two buffers have become free", p.took)
	}
}

// TestNextAgain has two packets come before the processor has looked at the first: it is told of both.
func TestNextAgain(t *testing.T) {
	p := newPair(t, 3)
	held := false
	slow := lanai.Handler{Name: "received", Run: func() {
		if !held {
			held = true
			p.engines[1].Arm() // the second comes while this one is in hand
			p.cpus[1].Spend(100_000, p.receive)
			return
		}
		p.receive()
	}}
	if err := p.cpus[1].Load([]lanai.Handler{slow, {Name: "sent", Run: func() {}}}); err != nil {
		t.Fatal(err)
	}
	p.run(2)
	p.RunUntil(p.Now() + 10*vtime.Millisecond)
	if !slices.Equal(p.took, []byte{0, 1}) {
		t.Errorf("%v", p.took)
	}
}

func TestRefused(t *testing.T) {
	p := newPair(t, 1)
	profile, err := lanai.Load("lanai4")
	if err != nil {
		t.Fatal(err)
	}
	nic := lanai.New(&p.Loop, profile, 1)
	if _, err := netdma.New(nic, nil, 0, received, sent); err == nil {
		t.Error("no buffers")
	}
}
