package gm_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestMapped has hosts with GM map a ring of switches by probe packets, which take the way of all packets through their
// NICs, and use the routes that the mapper distributes, with in-transit buffers. Then a link fails: the mapper finds other
// routes, and messages arrive all the same, once and in order.
func TestMapped(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 2}.Ring(5)
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, topo, profile(t, func(p *gm.Profile) { p.GM.Tries = 10_000 }), gm.Image{ITB: true, Transit: transit.Options{Pool: 8}})
	settings := routing.Settings{
		Timeout: 2 * vtime.Millisecond, Interval: 300 * vtime.Millisecond, Patience: 20 * vtime.Second, // probes meet long packets
		Options: routing.Options{Scheme: routing.InTransit, Root: -1},
	}
	agents := make([]*routing.Agent, len(b.hosts))
	for i, h := range b.hosts {
		changed := func() {
			for _, e := range agents[i].Entries() {
				to, ok := topo.Host(e.To)
				if !ok {
					t.Fatalf("a route to %s", e.To)
				}
				if to != i {
					if err := h.SetRoute(to, e.Legs...); err != nil {
						t.Error(err)
					}
				}
			}
		}
		if agents[i], err = routing.NewAgent(&b.Loop, topo.Hosts[i], settings, h.SendMapping, changed); err != nil {
			t.Fatal(err)
		}
		h.OnMapping(func(p fabric.Packet) { _ = agents[i].Receive(p.Head) })
		agents[i].Start()
	}
	b.RunUntil(5 * vtime.Second)
	var flows []*flow
	for i, from := range b.hosts {
		to := b.hosts[(i+len(b.hosts)/2+1)%len(b.hosts)]
		f := newFlow(t, from, to, 1+i, 100, 4096, 10, 8192)
		flows = append(flows, f)
		b.do(b.Now(), f.start)
	}
	var link fabric.End // the one that most bytes have passed
	b.do(b.Now()+3*vtime.Millisecond, func() {
		var busiest int64
		for _, c := range b.f.Traffic() {
			if !c.From.Host && !c.To.Host && c.Bytes > busiest {
				busiest, link = c.Bytes, c.From
			}
		}
		b.f.FailLink(link)
	})
	b.RunUntil(b.Now() + 10*vtime.Second)
	var transits, timeOuts uint64
	for i, f := range flows {
		f.finished()
		transits += b.hosts[i].Counts().InTransit
		timeOuts += b.hosts[i].Counts().TimeOuts
	}
	if transits == 0 || timeOuts == 0 || b.f.Counts().Failed == 0 {
		t.Errorf("%d packets have been in transit, %d time-outs; the fabric: %+v", transits, timeOuts, b.f.Counts())
	}
}
