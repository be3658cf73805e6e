package tune

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Element is the size of an element of reductions: sizes are multiples of it.
const Element = 8

// sum is the operator of reductions.
var sum = extended.Reduction{Type: extended.Uint64, Op: extended.Add}

// RankMain returns unless this process was started as a rank of this benchmark.
func RankMain() { runner.RankMain(verb, runRank) }

// rank is the state of one rank.
type rank struct {
	runner.Rank
	ep       *extended.Endpoint
	team     *extended.Team // of all ranks
	dst, src []byte
	forced   coll.Choice
}

func runRank(p *runner.Plan, job *core.Job) error {
	r := &rank{Rank: runner.Rank{Plan: p, Job: job}, dst: runner.Buffer(runner.MaxSize), src: runner.Buffer(runner.MaxSize)}
	r.Do = r.calls
	if err := r.Pin(); err != nil {
		return err
	}
	var err error
	if r.ep, err = extended.Attach(job, core.AttachSpec{Handlers: r.Handlers()}); err != nil {
		return err
	}
	r.team = r.ep.World()
	return r.Run(r.ep.Core(), r.measure)
}

// order is what calls carries out: n operations of a size by a choice.
func order(op coll.Op, size int, choice coll.Choice, n int) []uint32 {
	algorithm := slices.Index(coll.Algorithms(op), choice.Algorithm)
	return []uint32{uint32(op), uint32(size), uint32(algorithm), uint32(choice.K), uint32(n)}
}

func (r *rank) calls(order []uint32) error {
	op, size := coll.Op(order[0]), int(order[1])
	choice := coll.Choice{Algorithm: coll.Algorithms(op)[order[2]], K: int(order[3])}
	if choice != r.forced {
		r.forced = choice
		if err := r.ep.Force(&r.ep.Context, coll.Forced{op: choice}); err != nil {
			return err
		}
	}
	for range order[4] {
		if err := r.call(op, size); err != nil {
			return fmt.Errorf("%v of %d bytes by %v: %w", op, size, choice, err)
		}
	}
	return nil
}

// call performs one operation. After one that some ranks leave before others have begun it
// comes a barrier: else those would be several calls ahead, and this a pipeline.
func (r *rank) call(op coll.Op, size int) error {
	c, t := &r.ep.Context, r.team
	one, all := size, t.Size()*size
	var err error
	switch op {
	case coll.Barrier:
		ev, err := t.BarrierNB(c)
		if err != nil || ev == 0 {
			return err
		}
		return c.Wait(ev)
	case coll.AllReduce:
		return t.AllReduce(c, r.dst[:one], r.src[:one], sum)
	case coll.AllGather:
		return t.AllGather(c, r.dst[:all], r.src[:one])
	case coll.AllToAll:
		return t.AllToAll(c, r.dst[:all], r.src[:all])
	case coll.Broadcast:
		err = t.Broadcast(c, 0, r.dst[:one], r.src[:one])
	case coll.Reduce:
		err = t.Reduce(c, 0, r.dst[:one], r.src[:one], sum)
	case coll.Scatter:
		err = t.Scatter(c, 0, r.dst[:one], r.src[:all])
	case coll.Gather:
		err = t.Gather(c, 0, r.dst[:all], r.src[:one])
	case coll.Scan:
		err = t.Scan(c, r.dst[:one], r.src[:one], sum)
	case coll.ExScan:
		err = t.ExScan(c, r.dst[:one], r.src[:one], sum)
	default:
		return fmt.Errorf("tune: %v has no algorithms to choose from", op)
	}
	if err != nil {
		return err
	}
	return t.Barrier(c)
}

// sizes returns the sizes of the plan that an operation is measured at: those whose blocks
// for all ranks fit into the buffers.
func (r *rank) sizes(op coll.Op) []int {
	blocks := 1
	switch op {
	case coll.Barrier:
		return []int{0}
	case coll.Scatter, coll.Gather, coll.AllGather, coll.AllToAll:
		blocks = r.team.Size()
	}
	var fit []int
	for _, size := range r.Sizes {
		if blocks*size <= runner.MaxSize {
			fit = append(fit, size)
		}
	}
	return fit
}
