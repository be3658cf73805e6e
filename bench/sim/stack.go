package sim

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// onWord is the handler of stack.
const onWord core.HandlerIndex = 200

// stack has the ranks of a job over modelled loopback send short AMs around a ring, about n
// in all. The time is from when rank 0, and by that every rank, is attached.
func stack(ranks, n int) (ns float64, err error) {
	rounds := max(1, n/ranks)
	err = aqueduct.Launch(func(job *core.Job) error {
		came := 0
		ep, err := job.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onWord, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		right := core.Rank((int(job.Rank()) + 1) % job.Size())
		start := time.Now()
		for r := 1; r <= rounds; r++ {
			if err := ep.RequestShort(right, onWord, uint32(r)); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return came >= r }); err != nil {
				return err
			}
		}
		if job.Rank() == 0 {
			ns = float64(time.Since(start).Nanoseconds()) / float64(rounds*ranks)
		}
		if came != rounds {
			return fmt.Errorf("%d messages came of %d", came, rounds)
		}
		return nil
	}, aqueduct.Model("loopback", ranks), aqueduct.Single())
	return ns, err
}
