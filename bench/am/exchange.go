package am

import (
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
)

// messageUnit is an exchange's time divided by its messages.
const messageUnit = "ns/message"

// measureExchange times exchanges: rank 0 sends a Short to every other rank, and each,
// when it has it, one to rank 0. With several ranks per CPU this tells what it costs that
// a waiting rank gives way to the one it waits for.
func (r *rank) measureExchange() error {
	work := func(n int) error { return r.Together(uint32(n)) }
	iters, err := r.Calibrate(work)
	if err != nil {
		return err
	}
	n := r.ep.Size()
	s := &bench.Series{
		Family: "AM", Title: "exchange of short AMs, one to all and all to one", Params: r.Params(Exchange),
		Quantity: bench.Duration, Axis: bench.Ranks,
	}
	if err := r.Point(s, bench.Result{Ranks: n, Iters: iters}, against.For(r.Plan).Exchange(n, iters), work); err != nil {
		return err
	}
	for _, sample := range s.Results[0].Samples {
		sample.Metrics[messageUnit] = sample.Ns / float64(2*(n-1))
	}
	return runner.Emit(s)
}

// exchanges carries out an order: so many exchanges.
func (r *rank) exchanges(order []uint32) error {
	for range order[0] {
		var err error
		if r.ep.Rank() == 0 {
			err = r.exchangeAll()
		} else if err = r.arrival(1); err == nil {
			err = r.ep.RequestShort(0, onArrive)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exchangeAll is rank 0's part of an exchange.
func (r *rank) exchangeAll() error {
	others := r.ep.Size() - 1
	for dst := 1; dst <= others; dst++ {
		if err := r.ep.RequestShort(core.Rank(dst), onArrive); err != nil {
			return err
		}
	}
	return r.arrival(others)
}

// arrival waits until n more messages of exchanges have come, and takes them.
func (r *rank) arrival(n int) error {
	if err := r.ep.WaitUntil(func() bool { return r.arrived >= n }); err != nil {
		return err
	}
	r.arrived -= n
	return nil
}
