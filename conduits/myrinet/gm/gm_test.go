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

func TestFit(t *testing.T) {
	var plain, itb [2]*gm.Testbed
	for i := range plain {
		var err error
		if plain[i], err = gm.NewTestbed(profile(t, nil), gm.Image{}, 1); err != nil {
			t.Fatal(err)
		}
		if itb[i], err = gm.NewTestbed(profile(t, nil), gm.Image{ITB: true}, 1); err != nil {
			t.Fatal(err)
		}
	}
	bySend, err := gm.NewTestbed(profile(t, nil), gm.Image{ITB: true, BySend: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	bySend.InTransit()
	plain[1].Looped()
	itb[1].InTransit()
	get := func(b *gm.Testbed, size int) vtime.Time {
		d, err := b.HalfRoundTrip(size, 10)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	sum := vtime.Time(0)
	n := 0
	for size := 1; size <= 4096; size *= 2 {
		itb[0].UpDown()
		a, b := get(plain[0], size), get(itb[0], size)
		itb[0].Looped()
		c, d := get(itb[0], size), get(itb[1], size)
		e := get(bySend, size)
		sum += b - a
		n++
		t.Log(size, a, b-a, float64(b-a)/float64(a), c, 2*(d-c), float64(2*(d-c))/float64(c), 2*(e-c))
	}
	t.Log(sum / vtime.Time(n))
	t.Log(itb[1].Hosts[2].Counts())
}
