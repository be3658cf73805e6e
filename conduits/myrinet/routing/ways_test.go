package routing_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
)

// TestWays finds routes one at a time, in a random order: those of a table where nothing is left to chance, and else ways as short, legal, and the
// same in whichever order they are asked for.
func TestWays(t *testing.T) {
	t.Parallel()
	cabled := &fabric.Topology{}
	cabled.AddHost("a")
	cabled.AddHost("b")
	cabled.Connect(fabric.HostEnd(0), fabric.HostEnd(1), 100)
	cabled.AddHost("c")
	cabled.AddSwitch("s", fabric.SAN)
	topologies := []*fabric.Topology{cabled}
	for _, name := range []string{"line:1", "mesh:3x2", "torus:4x4", "fat-tree:3x3", "random:9"} {
		topo, err := fabric.Shape{Hosts: 3}.Make(name, 5)
		if err != nil {
			t.Fatal(err)
		}
		topologies = append(topologies, topo)
	}
	for _, topo := range topologies {
		for _, scheme := range []routing.Scheme{routing.UpDown, routing.InTransit} {
			options := routing.Options{Scheme: scheme, Root: len(topo.Switches) / 2}
			table, err := routing.NewTable(topo, options)
			if err != nil {
				t.Fatal(err)
			}
			first, err := routing.NewWays(topo, options)
			if err != nil {
				t.Fatal(err)
			}
			options.Spread, options.Seed = routing.Random, 7
			random, _ := routing.NewWays(topo, options)
			again, _ := routing.NewWays(topo, options)
			n := len(topo.Hosts)
			differs := false
			for _, i := range rand.Perm(n * n) {
				from, to := i/n, i%n
				want := table.Route(from, to)
				if got := first.Route(from, to); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, %v: from %d to %d %v, the table has %v", topo.About, scheme, from, to, got, want)
				}
				got := random.Route(from, to)
				if (got == nil) != (want == nil) || len(got) != len(want) || got != nil && got.Switches() != want.Switches() {
					t.Fatalf("%s, %v: from %d to %d %v, the table has %v", topo.About, scheme, from, to, got, want)
				}
				for _, leg := range got {
					if !table.Tree().Legal(leg) {
						t.Fatalf("%s: from %d to %d %v is not legal", topo.About, from, to, got)
					}
				}
				differs = differs || !reflect.DeepEqual(got, want)
			}
			if n > 9 && strings.Contains(topo.About, "fat tree") && !differs {
				t.Errorf("%s: chance has chosen the first way everywhere", topo.About)
			}
			for from := range n {
				for to := range n {
					if a, b := random.Route(from, to), again.Route(from, to); !reflect.DeepEqual(a, b) {
						t.Fatalf("%s: from %d to %d %v and %v, by the order in which they were asked for", topo.About, from, to, a, b)
					}
				}
			}
		}
	}
	if _, err := routing.NewWays(cabled, routing.Options{Spread: routing.Balanced}); err == nil {
		t.Error("balanced ways one at a time")
	}
}
