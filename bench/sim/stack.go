package sim

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// onWord is the handler of stack.
const onWord core.HandlerIndex = 200

// toNext has each rank send to its right neighbour, and toEach in each round to the next of the other ranks.
func toNext(int, int) int         { return 1 }
func toEach(round, ranks int) int { return 1 + round%(ranks-1) }

// stack returns the operation that has the ranks of a job over a model send short AMs: in every round one, so many ranks further.
func stack(model string, further func(round, ranks int) int) func(ranks, n int) (speed, error) {
	return func(ranks, n int) (speed, error) {
		rounds := max(1, n/ranks)
		_, started, err := circulate(model, ranks, 0, further)
		if err != nil {
			return speed{}, err
		}
		took, events, err := circulate(model, ranks, rounds, further)
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

// circulate runs a job whose ranks send so many AMs each, and wait for as many. The CPU time is from when rank 0, and by
// that every rank, is attached; the events are those of the whole job.
func circulate(model string, ranks, rounds int, further func(round, ranks int) int) (took time.Duration, events uint64, err error) {
	err = run(model, ranks, &events, func(job *core.Job) error {
		came := 0
		ep, err := job.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onWord, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		start := cpuTime()
		for r := 1; r <= rounds; r++ {
			to := core.Rank((int(job.Rank()) + further(r-1, job.Size())) % job.Size())
			if err := ep.RequestShort(to, onWord, uint32(r)); err != nil {
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
