package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// Dependencies says which channels a packet may wait for while it holds another one.
type Dependencies struct {
	t     *fabric.Topology
	after [][]int // of each channel, those that are asked for while it is held
}

// NewDependencies returns those of no route.
func NewDependencies(t *fabric.Topology) *Dependencies {
	return &Dependencies{t: t, after: make([][]int, 2*len(t.Links))}
}

// Add adds a route. If finite is true, in-transit hosts have buffers of a finite number, so that a packet holds the way
// to such a host while it waits for the way from there.
func (d *Dependencies) Add(r Route, finite bool) {
	for i, leg := range r {
		for j := 1; j < len(leg); j++ {
			d.add(leg[j-1], leg[j])
		}
		if finite && i > 0 {
			before := r[i-1]
			d.add(before[len(before)-1], leg[0])
		}
	}
}

func (d *Dependencies) add(held, wanted int) {
	if !slices.Contains(d.after[held], wanted) {
		d.after[held] = append(d.after[held], wanted)
	}
}

// Check returns an error that names channels which packets on the routes of a table may hold and wait for in a
// circle, or nil if there are none. With finite, buffers of in-transit hosts are counted as what packets wait for.
func Check(t *Table, finite bool) error {
	d := NewDependencies(t.t)
	t.Each(func(_, _ int, r Route) { d.Add(r, finite) })
	cycle := d.Cycle()
	if cycle == nil {
		return nil
	}
	names := make([]string, len(cycle))
	for i, c := range cycle {
		from, to := Ends(t.t, c)
		names[i] = t.t.EndName(from) + ">" + t.t.EndName(to)
	}
	return &CycleError{Channels: cycle, text: fmt.Sprintf("routing: packets on %v routes can wait for each other in a circle: %s, each for the next and the last for the first",
		t.Scheme, strings.Join(names, ", "))}
}

// CycleError is what Check finds.
type CycleError struct {
	Channels []int // each is held while the next is waited for, and the last while the first is
	text     string
}

// Error says which channels they are.
func (e *CycleError) Error() string { return e.text }

// Cycle returns channels that depend on each other in a circle, or nil.
func (d *Dependencies) Cycle() []int {
	const (
		unseen = iota
		open
		closed
	)
	state := make([]uint8, len(d.after))
	next := make([]int, len(d.after))
	var path []int
	for start := range d.after {
		if state[start] != unseen {
			continue
		}
		path = append(path[:0], start)
		state[start] = open
		for len(path) > 0 {
			c := path[len(path)-1]
			if next[c] == len(d.after[c]) {
				state[c] = closed
				path = path[:len(path)-1]
				continue
			}
			n := d.after[c][next[c]]
			next[c]++
			switch state[n] {
			case open:
				return slices.Clone(path[slices.Index(path, n):])
			case unseen:
				state[n] = open
				path = append(path, n)
			}
		}
	}
	return nil
}
