package gm_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// bed is hosts with GM on a fabric.
type bed struct {
	*vtime.Simulation
	f     *fabric.Fabric
	hosts []*gm.Host
}

func profile(t testing.TB, change func(*gm.Profile)) *gm.Profile {
	t.Helper()
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	return p
}

func newBed(t testing.TB, topo *fabric.Topology, p *gm.Profile, image gm.Image) *bed {
	t.Helper()
	b := &bed{Simulation: vtime.NewSimulation(1)}
	var err error
	if b.f, err = fabric.New(&b.Loop, topo, &p.Fabric); err != nil {
		t.Fatal(err)
	}
	for i := range topo.Hosts {
		h, err := gm.NewHost(b.f, p, image, i)
		if err != nil {
			t.Fatal(err)
		}
		b.hosts = append(b.hosts, h)
	}
	return b
}

// star is one switch with n hosts at SAN ports.
func star(n int) *fabric.Topology {
	t := &fabric.Topology{}
	kinds := make([]fabric.Kind, n)
	s := t.AddSwitch("s0", kinds...)
	for i := range n {
		h := t.AddHost(string(rune('a' + i)))
		t.Connect(fabric.HostEnd(h), fabric.SwitchEnd(s, i), 300)
	}
	return t
}

func starRoutes(t testing.TB, b *bed) {
	for i, h := range b.hosts {
		for j := range b.hosts {
			if i != j {
				if err := h.SetRoute(j, []byte{fabric.RouteByte(j - i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestPingPong(t *testing.T) {
	b := newBed(t, star(2), profile(t, nil), gm.Image{})
	starRoutes(t, b)
	for _, size := range []int{1, 8, 128, 129, 1024, 4096, 8192} {
		t.Log(size, pingPong(t, b, size, 20))
	}
	t.Log(b.hosts[0].Counts(), b.hosts[0].NIC().SRAM.Report())
}

func pingPong(t testing.TB, b *bed, size, n int) vtime.Time {
	const port = 2
	var ports [2]*gm.Port
	var mem [2]*gm.Memory
	left := 2 * n
	var start, end vtime.Time
	for i := range 2 {
		h := b.hosts[i]
		mem[i] = h.Register(make([]byte, 1<<17))
		var err error
		send := func() {
			if err := ports[i].Send(mem[i], 0, size, gm.Low, 1-i, port, nil); err != nil {
				t.Error(err)
			}
		}
		ports[i], err = h.Open(port, func(m *gm.Message) {
			if err := ports[i].Provide(mem[i], 1<<16, gm.Class(size), gm.Low); err != nil {
				t.Error(err)
			}
			if left--; left > 0 {
				send()
			} else {
				end = b.Now()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := ports[i].Provide(mem[i], 1<<16, gm.Class(size), gm.Low); err != nil {
			t.Error(err)
		}
	}
	b.RunUntil(b.Now() + vtime.Millisecond)
	start = b.Now()
	if err := ports[0].Send(mem[0], 0, size, gm.Low, 1, port, nil); err != nil {
		t.Fatal(err)
	}
	b.RunUntil(b.Now() + vtime.Second)
	if left != 0 {
		t.Fatalf("%d messages missing", left)
	}
	for i := range ports {
		ports[i].Close()
	}
	return (end - start) / vtime.Time(2*n)
}
