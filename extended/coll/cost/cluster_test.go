package cost_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/coll/cost"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// twoLatencies is a machine of hosts of four ranks where nothing but latency takes time.
var twoLatencies = cost.Cluster{PerHost: 4, Near: cost.LogGP{Latency: 1}, Far: cost.LogGP{Latency: 1000}}

// TestCluster wants messages to cost what their path says: in two levels one round between two hosts, and as many as
// there are rounds with far partners otherwise.
func TestCluster(t *testing.T) {
	for _, x := range []struct {
		call   coll.Call
		choice string
		want   vtime.Time
	}{
		{coll.Call{Op: coll.Barrier}, "barrier=two-level", 1 + 1000 + 1},
		{coll.Call{Op: coll.Barrier}, "barrier=dissemination:2", 1000 + 1 + 1000}, // from the last of a host to the first of the next, and across
		{coll.Call{Op: coll.AllReduce, Bytes: 8, Elem: 8, Commutes: true}, "allreduce=doubling", 1 + 1 + 1000},
		{coll.Call{Op: coll.Broadcast, Bytes: 8, Root: 5}, "broadcast=flat", 1000},
	} {
		points, err := cost.Growth(x.call, choice(t, x.choice), twoLatencies, []int{8})
		if err != nil {
			t.Fatal(err)
		}
		if got := points[0].End; got != x.want {
			t.Errorf("%s takes %v, want %v", x.choice, got, x.want)
		}
	}
}

func TestParseCluster(t *testing.T) {
	p, err := cost.ParseProfile("cluster:8/loggp:L=100ns,o=50ns/loggp:L=1us,G=0.8ns")
	if err != nil {
		t.Fatal(err)
	}
	again, err := cost.ParseProfile(p.String())
	if err != nil || again != p {
		t.Errorf("%v, read again %v, %v", p, again, err)
	}
	for text, want := range map[string]string{
		"cluster:8":                             "want cluster:RANKS/NEAR/FAR",
		"cluster:0/loggp:L=1us/loggp:L=1us":     "no number of ranks of a host",
		"cluster:2/loggp:L=1us/cluster:2":       "no model",
		"cluster:2/loggp:L=1us/loggp:Q=1us":     "no parameter",
		"cluster:2/loggp:/loggp:/loggp:L=100ns": "want cluster:RANKS/NEAR/FAR",
	} {
		if _, err := cost.ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
