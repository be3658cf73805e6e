package routing

import (
	"fmt"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// Ways finds the routes of a topology one at a time, as they are asked for. A Table has all of them at once, whose number is the square of
// that of hosts. A route does not depend on which others have been asked for, so no choice is balanced.
type Ways struct {
	f      *finder
	source *rand.PCG // of f.chance
	costs  [][]int64 // to the hosts of each switch; nil: nobody has asked for a way there
}

// NewWays returns the routes of a topology, which must not change any more. The spread is First or Random.
func NewWays(t *fabric.Topology, o Options) (*Ways, error) {
	if o.Spread == Balanced {
		return nil, fmt.Errorf("routing: routes that are found one at a time cannot be balanced; a table can")
	}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("routing: %w", err)
	}
	tree, err := NewTree(t, o.Root)
	if err != nil {
		return nil, err
	}
	w := &Ways{source: new(rand.PCG), costs: make([][]int64, len(t.Switches))}
	w.f = newFinder(&Table{Options: o, t: t, tree: tree, cabling: t.Cabling()})
	w.f.chance = rand.New(w.source)
	return w, nil
}

// Route returns the way between two different hosts, or nil if there is none.
func (w *Ways) Route(from, to int) Route {
	f := w.f
	last := Channel(f.t, f.cabling, fabric.HostEnd(to))
	if last < 0 || from == to {
		return nil
	}
	_, at := Ends(f.t, last)
	if at.Host {
		if at.Index != from {
			return nil
		}
		return Route{{last ^ 1}} // a cable between the two
	}
	if w.costs[at.Index] == nil {
		f.cost = make([]int64, 2*len(f.t.Switches))
		f.search(at.Index)
		w.costs[at.Index] = f.cost
	}
	f.cost = w.costs[at.Index]
	w.source.Seed(f.Seed, uint64(from)<<32|uint64(to))
	return f.walk(from, to)
}

// Bytes returns the route bytes of a leg.
func (w *Ways) Bytes(leg Leg) []byte { return w.f.Bytes(leg) }

// Transit returns the in-transit hosts of a route.
func (w *Ways) Transit(r Route) []int { return w.f.Transit(r) }
