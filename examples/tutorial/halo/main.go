// Halo is the sixth step of the tutorial (docs/tutorial.md): a halo exchange. A rod of cells is
// divided among the ranks, and each step every cell becomes the mean of its neighbours. What the
// first and the last cell of a rank need of the neighbouring ranks arrives in two halo cells.
//
//	aqrun -n 4 halo
package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

const (
	cells = 8 // of each rank, with a halo cell before and one behind
	steps = 2000
)

func main() { aqueduct.Run(halo) }

// rod is one rank's part of the rod: two copies, of which a step reads one and writes the other.
type rod struct {
	c     *extended.Context
	world *extended.Team
	parts [2]pgas.Ptr[float64]
	own   [2][]float64
}

func newRod(job *core.Job) (*rod, error) {
	ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
	if err != nil {
		return nil, err
	}
	r := &rod{c: &ep.Context, world: ep.World()}
	heap, err := pgas.NewHeap(r.world)
	if err != nil {
		return nil, err
	}
	for i := range r.parts {
		if r.parts[i], err = pgas.Alloc[float64](r.c, heap, cells+2); err != nil {
			return nil, err
		}
		r.own[i], _ = r.parts[i].LocalSlice(ep, cells+2) // one's own segment is always reached
		clear(r.own[i])
		if r.world.Rank() == 0 {
			r.own[i][0] = 100 // the left end of the rod is hot, and stays so
		}
	}
	return r, r.world.Barrier(r.c)
}

// exchange puts the outer cells of copy k into the halo cells of the neighbours.
func (r *rod) exchange(k int) error {
	me := r.world.Rank()
	if me > 0 {
		left := r.parts[k].On(r.world.Jobrank(me - 1))
		if err := left.Add(cells+1).PutNBI(r.c, r.own[k][1]); err != nil {
			return err
		}
	}
	if me < r.world.Size()-1 {
		right := r.parts[k].On(r.world.Jobrank(me + 1))
		if err := right.PutNBI(r.c, r.own[k][cells]); err != nil {
			return err
		}
	}
	if err := r.c.WaitNBI(extended.Puts); err != nil {
		return err
	}
	return r.world.Barrier(r.c) // now the neighbours' cells have come too
}

func halo(job *core.Job) error {
	r, err := newRod(job)
	if err != nil {
		return err
	}
	for step := range steps {
		old, cur := r.own[step%2], r.own[(step+1)%2]
		if err := r.exchange(step % 2); err != nil {
			return err
		}
		for i := 1; i <= cells; i++ {
			cur[i] = (old[i-1] + old[i+1]) / 2
		}
	}
	var heat float64
	for _, v := range r.own[steps%2][1 : cells+1] {
		heat += v
	}
	mean, err := pgas.ReduceValue(r.c, r.world, 0, heat/float64(cells*job.Size()), pgas.Add[float64]())
	if err != nil || r.world.Rank() != 0 {
		return err
	}
	_, err = fmt.Printf("%d cells have %.1f degrees on average\n", cells*job.Size(), mean)
	return err
}
