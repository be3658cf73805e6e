package grim_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// ring returns a ring of 6 switches with 2 hosts each, in which some shortest ways are not legal.
func ring(t testing.TB) *fabric.Topology {
	t.Helper()
	topo, err := (fabric.Shape{Hosts: 2}).Ring(6)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// TestTransit has all hosts of a ring send to all over in-transit routes while their programs compute: all messages come,
// in-transit hosts cut some through, and have some wait while their link is busy. Without in-transit support nothing passes a host. Without
// a pool and without time-outs packets in transit fill the receive buffers, and NIs wait for each other for ever.
func TestTransit(t *testing.T) {
	t.Parallel()
	topo := ring(t)
	for _, image := range []grim.Image{{}, {ITB: true}, {ITB: true, Pool: 4}, {ITB: true, TimeOuts: true}, {ITB: true, TimeOuts: true, Pool: 1}} {
		stands := image.ITB && image.Pool == 0 && !image.TimeOuts
		p := profile(t, func(p *grim.Profile) { p.GRIM.Channels, p.GRIM.Queue, p.GRIM.Resend = 1, 8192, vtime.Millisecond })
		c, err := grim.NewCluster(p, image, topo, 1)
		if err != nil {
			t.Fatal(err)
		}
		handled := map[grim.EndpointID]int{}
		all, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"test": func(e *grim.Endpoint, m *grim.Message) {
			handled[e.ID()]++
		}})
		if err != nil {
			t.Fatal(err)
		}
		id, _ := all[0][0].Lookup("test")
		for i := range 10 {
			for from := range all {
				for to := range all {
					send(t, all[from][0], all[to][0], id, uint32(i), pattern(i*100))
				}
			}
		}
		for from := range all {
			all[from][0].Attend(false) // it computes
		}
		c.RunUntil(c.Now() + 100*vtime.Millisecond)
		waiting := 0
		for _, es := range all {
			waiting += es[0].Waiting()
		}
		if n := 10 * len(all) * len(all); (waiting == n) == stands || (len(c.Fabric.Waits()) > 0) != stands || len(handled) > 0 {
			t.Errorf("%+v: %d of %d messages have come, %d have been handled, %d packets wait", image, waiting, n, len(handled), len(c.Fabric.Waits()))
		}
		if stands {
			continue
		}
		for from := range all { // one after the other, when the links are free
			send(t, all[from][0], all[(from+5)%len(all)][0], id, 0, pattern(1000))
			c.RunUntil(c.Now() + vtime.Millisecond)
		}
		var sum grim.Counts
		for _, h := range c.Hosts {
			n := h.Counts()
			sum.InTransit, sum.CutThrough, sum.Pending, sum.Overflow = sum.InTransit+n.InTransit, sum.CutThrough+n.CutThrough, sum.Pending+n.Pending, sum.Overflow+n.Overflow
			if n.Stray+n.Foreign+n.Malformed > 0 || n.Gap > 0 && !image.TimeOuts {
				t.Errorf("%+v: %+v", image, n)
			}
		}
		if !image.ITB && sum.InTransit > 0 || image.ITB && (sum.CutThrough == 0 || sum.Pending == 0 && sum.Overflow == 0) || (sum.Overflow > 0) != image.TimeOuts {
			t.Errorf("%+v: %+v", image, sum.Counts)
		}
		for _, es := range all {
			es[0].Attend(true)
		}
		c.RunUntil(c.Now() + vtime.Second)
		for _, h := range c.Hosts {
			if err := h.Leaks(); err != nil {
				t.Errorf("%+v: %v", image, err)
			}
		}
	}
	table, err := routing.NewTable(topo, routing.Options{Scheme: routing.InTransit})
	if err != nil {
		t.Fatal(err)
	}
	c, err := grim.NewCluster(profile(t, nil), grim.Image{}, topo, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetRoutes(table); err == nil || !strings.Contains(err.Error(), "Image.ITB") {
		t.Errorf("routes of several legs without in-transit support: %v", err)
	}
}

// sentBy returns how many packets a host has sent so far.
func sentBy(c *grim.Cluster, host int) uint64 {
	for _, t := range c.Fabric.Traffic() {
		if t.From == fabric.HostEnd(host) {
			return t.Packets
		}
	}
	return 0
}

// TestTransitFaults damages a message before the in-transit host, cuts it short, and takes its onward route away: it ends where GRIM or
// the fabric finds that, is counted, and comes in the end by a time-out.
func TestTransitFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault fabric.Fault
		at    int // the host that counts it
		of    func(*grim.Counts) uint64
	}{
		"payload":     {fabric.Fault{Harm: fabric.Corrupted, Byte: 60, Mask: 1}, 2, func(n *grim.Counts) uint64 { return n.Corrupt }},
		"type":        {fabric.Fault{Harm: fabric.Corrupted, Byte: 2, Mask: 1}, 1, func(n *grim.Counts) uint64 { return n.Corrupt }},
		"length":      {fabric.Fault{Harm: fabric.Corrupted, Byte: 4, Mask: 2}, 2, func(n *grim.Counts) uint64 { return n.Corrupt }},
		"leg of 0":    {fabric.Fault{Harm: fabric.Corrupted, Byte: 4, Mask: 1}, 1, func(n *grim.Counts) uint64 { return n.Malformed }},
		"end":         {fabric.Fault{Harm: fabric.Cut, Byte: 100}, 2, func(n *grim.Counts) uint64 { return n.Truncated }},
		"end at once": {fabric.Fault{Harm: fabric.Cut, Byte: 5}, 1, func(n *grim.Counts) uint64 { return n.Malformed + n.Truncated }},
		"lost":        {fabric.Fault{Harm: fabric.Lost}, 0, func(n *grim.Counts) uint64 { return n.TimeOuts }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handled := 0
			cluster, all, id := star(t, profile(t, func(p *grim.Profile) { p.GRIM.Resend = vtime.Millisecond }), grim.Image{ITB: true, TimeOuts: true}, 3, 1,
				grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
			if err := cluster.Hosts[0].SetRoute(2, []byte{fabric.RouteByte(1)}, []byte{fabric.RouteByte(1)}); err != nil {
				t.Fatal(err)
			}
			cluster.Fabric.Plan(fabric.HostEnd(0), sentBy(cluster, 0), c.fault)
			send(t, all[0][0], all[2][0], id, 0, pattern(300))
			cluster.RunUntil(cluster.Now() + 500*vtime.Microsecond)
			if handled != 0 {
				t.Error("it has been handled")
			}
			cluster.RunUntil(cluster.Now() + 5*vtime.Millisecond)
			n := cluster.Hosts[c.at].Counts()
			if c.of(&n) != 1 || handled != 1 {
				t.Errorf("host %d: %+v, %d messages handled", c.at, n, handled)
			}
		})
	}
}
