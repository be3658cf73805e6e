package am2_test

import (
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"os"
	"strconv"
	"testing"
	"time"
)

func TestDbg(t *testing.T) {
	f := func(k string, d float64) float64 {
		if v, err := strconv.ParseFloat(os.Getenv(k), 64); err == nil {
			return v
		}
		return d
	}
	rtt := time.Duration(f("RTT", 300) * 1e6)
	r := newRoute(f("RATE", 100)*1e6, rtt)
	r.loss, r.reorder = f("LOSS", 0), f("REO", 0)
	flows := int(f("FLOWS", 1))
	next := time.Duration(0)
	dbg = func(w *world) {
		if w.now >= next {
			next += time.Duration(f("EVERY", float64(rtt)/1e6) * 1e6)
			for i := range flows {
				t.Log(w.now, i, am2.PathState(w.nodes[i].b))
			}
		}
	}
	d := time.Duration(f("TIME", 20*float64(rtt)/1e6) * 1e6)
	got, w := r.transfer(t, flows, d/2, d/2)
	for i := range flows {
		s := w.nodes[i].b.Stats()
		t.Logf("flow %d: %.2f of rate; drops %d retrans %d of %d", i, float64(got[i])/(r.rate*(d/2).Seconds()), r.drops, s.Retransmissions, s.Sent)
	}
}
