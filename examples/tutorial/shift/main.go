// Shift is the third step of the tutorial (docs/tutorial.md): one-sided communication. Every rank
// writes its number into the memory of its right neighbour, and reads that of its left neighbour.
//
//	aqrun -n 4 shift
package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

func main() { aqueduct.Run(shift) }

func shift(job *core.Job) error {
	ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
	if err != nil {
		return err
	}
	c, world := &ep.Context, ep.World()
	heap, err := pgas.NewHeap(world)
	if err != nil {
		return err
	}
	inbox, err := pgas.Alloc[int64](c, heap, 1) // one number on every rank
	if err != nil {
		return err
	}
	me, n := int(job.Rank()), job.Size()
	right, left := core.Rank((me+1)%n), core.Rank((me+n-1)%n)
	if err := inbox.On(right).Put(c, int64(me)); err != nil {
		return err
	}
	if err := world.Barrier(c); err != nil { // now every number has come
		return err
	}
	mine, err := inbox.Get(c)
	if err != nil {
		return err
	}
	its, err := inbox.On(left).Get(c)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("rank %d holds %d, and its left neighbour holds %d\n", me, mine, its)
	return err
}
