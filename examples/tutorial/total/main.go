// Total is the fourth step of the tutorial (docs/tutorial.md): collective operations. The ranks
// integrate 4/(1+x²) from 0 to 1 together, which gives π.
//
//	aqrun -n 4 total
package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

const strips = 1000000

func main() { aqueduct.Run(total) }

func total(job *core.Job) error {
	ep, err := extended.Attach(job, core.AttachSpec{})
	if err != nil {
		return err
	}
	c, world := &ep.Context, ep.World()
	var part float64
	for i := world.Rank(); i < strips; i += world.Size() {
		x := (float64(i) + 0.5) / strips
		part += 4 / (1 + x*x) / strips
	}
	pi, err := pgas.AllReduceValue(c, world, part, pgas.Add[float64]())
	if err != nil {
		return err
	}
	most, err := pgas.ReduceValue(c, world, 0, part, pgas.Max[float64]())
	if err != nil || world.Rank() != 0 {
		return err
	}
	_, err = fmt.Printf("pi is %.8f, and no rank has more than %.0f%% of it\n", pi, 100*most/pi)
	return err
}
