package am

import (
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// burst is how many Shorts are sent before the clock is looked at again, which takes as long as a send over shared memory.
const burst = 8

// bulk is the larger of the two payloads, in bytes, whose difference gives the time of a byte, where a Long can have it; the
// other is an eighth.
const bulk = 64 << 10

// rounds is the usual number of bursts of a sample.
const rounds = 500

// logGP measures the parameters of LogGP (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: Incorporating Long Messages into the
// LogP Model", SPAA 1995) in the way of D. Culler, L. T. Liu, R. Martin and C. Yoshikawa, "Assessing Fast Network Interfaces", IEEE
// Micro 16 (1), 1996: see overheads. The time of an operation is that of a round trip.
func (r *rank) logGP() error {
	s := &bench.Series{Family: "LogGP", Title: "LogGP parameters, by round trips, bursts and streams", Quantity: bench.Duration, Params: r.Params(LogGP)}
	large := min(bulk, r.ep.MaxPayload(1, core.Long, false))
	small := large / 8
	n, err := r.Iters(r.Count(rounds), func(n int) error { return r.bounce(core.Short, 0, n) })
	if err != nil {
		return err
	}
	point := bench.Result{Ranks: 2, Iters: n}
	for range r.Samples {
		trip, err := r.Meter(n, func(n int) error { return r.bounce(core.Short, 0, n) })()
		if err != nil {
			return err
		}
		send, receive, err := r.overheads(max(1, n/burst))
		if err != nil {
			return err
		}
		gap, err := r.Meter(4*n, func(n int) error { return r.pour(core.Short, 0, n) })()
		if err != nil {
			return err
		}
		var long [2]float64
		for i, size := range []int{small, large} {
			work := func(n int) error { return r.lend(size, n) }
			if long[i], err = r.Meter(2*window, work)(); err != nil {
				return err
			}
		}
		point.Samples = append(point.Samples, bench.Sample{Ns: trip, Placement: bench.Unknown, Metrics: map[string]float64{
			"o-send-ns": send, "o-receive-ns": receive, "L-ns": max(0, trip/2-send-receive), "g-ns": gap,
			"G-ns/B": max(0, long[1]-long[0]) / float64(large-small),
		}})
	}
	point.Placement = bench.Unknown
	s.Results = append(s.Results, point)
	return runner.Emit(s)
}

// overheads returns what the processor does to send a Short and to take one, in nanoseconds. It sends a burst, works by
// itself for twice as long as the answers to such a burst have taken at least, and then takes the answers, all of which have come: neither time has
// any waiting in it.
func (r *rank) overheads(n int) (send, receive float64, err error) {
	var sending, taking, apart core.Time
	for i := -n; i < n; i++ { // before 0 it warms up, and finds out how long the answers take
		want := r.answers + burst
		start := r.Job.Now()
		for range burst {
			if err := r.send(core.Short, onPing, 0, 0); err != nil {
				return 0, 0, err
			}
		}
		sent := r.Job.Now()
		if i >= 0 {
			r.work(2 * apart)
		}
		worked := r.Job.Now()
		if err := r.ep.WaitUntil(func() bool { return r.answers >= want }); err != nil {
			return 0, 0, err
		}
		end := r.Job.Now()
		if i < 0 {
			if took := end - sent; apart == 0 || took < apart {
				apart = took // the least: the machine may have disturbed others
			}
			continue
		}
		sending, taking = sending+sent-start, taking+end-worked
	}
	per := 1000 * float64(n*burst) // the clock counts picoseconds
	return float64(sending) / per, float64(taking) / per, nil
}

// work lets a time pass without a look at the network.
func (r *rank) work(d core.Time) {
	if r.Modelled() {
		r.Job.Compute(d.Duration())
		return
	}
	for end := r.Job.Now() + d; r.Job.Now() < end; {
	}
}

// memoryUnit is the unit of the memory of a rank just after it has attached, its share of pages that several processes have.
const memoryUnit = "B/rank"

// started tells the launcher that the ranks are attached.
func (r *rank) started() error {
	sample := bench.Sample{Metrics: map[string]float64{}, Placement: bench.Unknown}
	if r.Mode == spawner.Processes {
		if bytes, ok := memory(); ok {
			sample.Metrics[memoryUnit] = bytes
		}
	}
	return runner.Emit(&bench.Series{Results: []bench.Result{{Outcome: bench.Outcome{Samples: []bench.Sample{sample}}}}})
}
