package runner

import (
	"os"
	"runtime"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// Handlers of this package; benchmarks use those below.
const (
	onOrder   core.HandlerIndex = 253 + iota // the arguments are an order
	onDone                                   // a rank has carried the order out
	onDismiss                                // there will be no more
)

// Rank is one rank of a benchmark: rank 0 leads, the others follow its orders.
type Rank struct {
	*Plan
	Job *core.Job
	Do  func(order []uint32) error // carries out an order, on every rank; nil if there are none

	ep        *core.Endpoint
	order     [core.MaxArgs]uint32
	words     int
	ordered   bool // an order has come
	dismissed bool
	done      int // ranks that have carried orders out
}

// Pin pins a rank that is a process to its CPU. Call it before Attach.
func (r *Rank) Pin() error {
	if r.Mode != spawner.Processes || len(r.CPUs) == 0 {
		return nil
	}
	runtime.GOMAXPROCS(1) // idle threads of the Go scheduler would spin on the one CPU
	return bench.Pin(os.Getpid(), r.CPUs[int(r.Job.Rank())%len(r.CPUs)])
}

// Handlers returns the handlers to attach with: the benchmark's and those of this package.
func (r *Rank) Handlers(own ...core.HandlerEntry) []core.HandlerEntry {
	return append(own,
		core.HandlerEntry{Index: onOrder, Func: func(_ *core.Token, args []uint32, _ []byte) {
			r.words, r.ordered = copy(r.order[:], args), true
		}},
		core.HandlerEntry{Index: onDone, Func: func(*core.Token, []uint32, []byte) { r.done++ }},
		core.HandlerEntry{Index: onDismiss, Func: func(*core.Token, []uint32, []byte) { r.dismissed = true }},
	)
}

// Run is a rank's life once it is attached: rank 0 runs lead, while the others carry out
// what it orders.
func (r *Rank) Run(ep *core.Endpoint, lead func() error) error {
	r.ep = ep
	if r.Job.Rank() != 0 {
		return r.follow()
	}
	if err := lead(); err != nil {
		return err
	}
	return r.tell(onDismiss)
}

func (r *Rank) follow() error {
	for {
		if err := r.ep.WaitUntil(func() bool { return r.ordered || r.dismissed }); err != nil {
			return err
		}
		if !r.ordered {
			return nil
		}
		r.ordered = false
		if err := r.Do(r.order[:r.words]); err != nil {
			return err
		}
		if err := r.ep.RequestShort(0, onDone); err != nil {
			return err
		}
	}
}

// tell sends a message to all other ranks.
func (r *Rank) tell(h core.HandlerIndex, args ...uint32) error {
	for dst := 1; dst < r.Job.Size(); dst++ {
		if err := r.ep.RequestShort(core.Rank(dst), h, args...); err != nil {
			return err
		}
	}
	return nil
}

// Together has every rank carry out an order, this one too, and returns when all have.
// Only lead may call it.
func (r *Rank) Together(order ...uint32) error {
	want := r.done + r.Job.Size() - 1
	if err := r.tell(onOrder, order...); err != nil {
		return err
	}
	if err := r.Do(order); err != nil {
		return err
	}
	return r.ep.WaitUntil(func() bool { return r.done >= want })
}
