package sim

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// onWord is the handler of stack.
const onWord core.HandlerIndex = 200

// stack returns the operation that has the ranks of a job over a model send short AMs around a
// ring.
func stack(model string) func(ranks, n int) (speed, error) {
	return func(ranks, n int) (speed, error) {
		rounds := max(1, n/ranks)
		_, started, err := circulate(model, ranks, 0)
		if err != nil {
			return speed{}, err
		}
		took, events, err := circulate(model, ranks, rounds)
		messages := float64(rounds * ranks)
		return speed{float64(took.Nanoseconds()) / messages, float64(events-started) / messages}, err
	}
}

// attach runs a job over modelled SCI whose ranks attach and enter a barrier. All that it takes counts, the
// making of the ranks included, until the last one has left the barrier.
func attach(ranks, _ int) (speed, error) {
	var events uint64
	var took time.Duration
	start := cpuTime()
	err := run("sci/scale", ranks, &events, func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{Segment: "0"})
		if err != nil {
			return err
		}
		err = ep.Barrier()
		took = cpuTime() - start
		return err
	})
	return speed{float64(took.Nanoseconds()) / float64(ranks), float64(events) / float64(ranks)}, err
}

// run runs a job over a model, and sets how many events that were.
func run(model string, ranks int, events *uint64, body func(*core.Job) error) error {
	cfg := core.Config{Threads: core.Single, Report: func(r core.ModelReport) { *events = r.Events }}
	cfg.Conduit, cfg.Profile = aqueduct.CutModel(model)
	return core.RunModel(ranks, cfg, body)
}

// circulate runs a job whose ranks send so many AMs each. The CPU time is from when rank 0, and by
// that every rank, is attached; the events are those of the whole job.
func circulate(model string, ranks, rounds int) (took time.Duration, events uint64, err error) {
	err = run(model, ranks, &events, func(job *core.Job) error {
		came := 0
		ep, err := job.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onWord, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		right := core.Rank((int(job.Rank()) + 1) % job.Size())
		start := cpuTime()
		for r := 1; r <= rounds; r++ {
			if err := ep.RequestShort(right, onWord, uint32(r)); err != nil {
				return err
			}
			if err := ep.WaitUntil(func() bool { return came >= r }); err != nil {
				return err
			}
		}
		if job.Rank() == 0 {
			took = cpuTime() - start
		}
		if came != rounds {
			return fmt.Errorf("%d messages came of %d", came, rounds)
		}
		return nil
	})
	return took, events, err
}
