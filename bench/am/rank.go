package am

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/core"
)

// idle is how soon a waiting rank goes to sleep.
const idle = 100 * time.Microsecond

// Operations per sample at weight 1.
const (
	pingPongs   = 20_000
	floods      = 400_000
	polls       = 400_000
	streamBytes = 64 << 20
)

const (
	onPing   core.HandlerIndex = 128 + iota // reply as you were sent
	onPong                                  // count an answer
	onSink                                  // count one of a stream, answer the last
	onExpect                                // so many are to come
	onStop                                  // the measuring is over
)

// RankMain returns unless this process was started as a rank of a benchmark's job. Then it
// does its part and exits.
func RankMain() {
	text, ok := os.LookupEnv(envJob)
	if !ok {
		return
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintf(os.Stderr, "aqbench: environment variable %s: %v\n", envJob, err)
		os.Exit(1)
	}
	aqueduct.Run(func(job *core.Job) error { return runRank(j, job) }, aqueduct.Config(j.config()))
	os.Exit(0)
}

// rank is the state of one rank.
type rank struct {
	job
	ep      *core.Endpoint
	answers int // that came back here
	sunk    int // of the stream
	expect  int // its length
	stopped bool
	payload []byte // what is sent
	private []byte // where a stream is copied to
}

func runRank(j job, cj *core.Job) error {
	r := &rank{job: j, payload: make([]byte, 4<<20), private: make([]byte, 4<<20)}
	if me := int(cj.Rank()); me < len(j.CPUs) && j.Op == "" {
		if err := bench.Pin(os.Getpid(), j.CPUs[me]); err != nil {
			return err
		}
		runtime.GOMAXPROCS(1) // idle threads of the Go scheduler would spin on the one CPU
	}
	var err error
	r.ep, err = cj.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onPing, Func: r.onPing},
		{Index: onPong, Func: func(*core.Token, []uint32, []byte) { r.answers++ }},
		{Index: onSink, Func: r.onSink},
		{Index: onExpect, Func: func(t *core.Token, args []uint32, _ []byte) {
			r.sunk, r.expect = 0, int(args[0])
			t.ReplyShort(onPong)
		}},
		{Index: onStop, Func: func(*core.Token, []uint32, []byte) { r.stopped = true }},
	}})
	switch {
	case err != nil || j.Op == Start:
		return err
	case cj.Rank() != 0:
		return r.ep.WaitUntil(func() bool { return r.stopped })
	case j.Op == Poll:
		err = r.measurePolls()
	default:
		err = r.measurePair()
	}
	for dst := 1; dst < cj.Size() && err == nil; dst++ {
		err = r.ep.RequestShort(core.Rank(dst), onStop)
	}
	return err
}

func (r *rank) onPing(t *core.Token, _ []uint32, data []byte) {
	switch t.Kind() {
	case core.Short:
		t.ReplyShort(onPong)
	case core.Medium:
		t.ReplyMedium(onPong, data)
	case core.Long:
		t.ReplyLong(onPong, data, 0)
	}
}

func (r *rank) onSink(t *core.Token, _ []uint32, data []byte) {
	copy(r.private, data)
	if r.sunk++; r.sunk == r.expect {
		t.ReplyShort(onPong)
	}
}

// measurePair measures everything that takes two ranks.
func (r *rank) measurePair() error {
	ctx := context.Background()
	place, handoff, err := r.pairFloors(ctx)
	if err != nil {
		return err
	}
	for _, op := range r.Ops {
		var err error
		switch op {
		case PingPong:
			refs := append(place.as("x-floor", true), handoff.as("x-handoff", false)...)
			err = r.pingPongs(ctx, refs)
		case Flood:
			err = r.flood(ctx, place.as("", true))
		case Stream:
			err = r.streams(ctx, place.as("", true))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(place.close(), handoff.close())
}

// reference is a floor that may be missing.
type reference struct {
	f     *floor.Floor
	iters int
}

func (x reference) as(unit string, places bool) []bench.Reference {
	if x.f == nil {
		return nil
	}
	return []bench.Reference{{Unit: unit, Meter: x.f.Meter(x.iters), Places: places}}
}

func (x reference) close() error {
	if x.f == nil {
		return nil
	}
	return x.f.Close()
}

// start starts a floor on the ranks' CPUs. Without a compiler or pinned CPUs there is
// none, and the series have no ratio.
func (r *rank) start(ctx context.Context, k floor.Kind, iters int, args ...int) (reference, error) {
	if len(r.CPUs) < 2 {
		return reference{}, nil
	}
	f, err := floor.Start(ctx, k, r.CPUs[:2], args...)
	if errors.Is(err, floor.ErrNoCompiler) {
		return reference{}, nil
	}
	return reference{f, iters}, err
}

func (r *rank) pairFloors(ctx context.Context) (place, handoff reference, err error) {
	if place, err = r.start(ctx, floor.PingPong, 20_000); err == nil {
		handoff, err = r.start(ctx, floor.Handoff, 20_000)
	}
	return place, handoff, err
}

// count scales a usual number of operations.
func (r *rank) count(usual int) int { return max(1, int(float64(usual)*r.Weight)) }

// interleave measures n operations at a time. When the machine does not hold still for a
// single sample, the times are reported without ratios.
func (r *rank) interleave(ctx context.Context, refs []bench.Reference, n int, work func(n int) error) (bench.Outcome, error) {
	meter := func() (float64, error) {
		// Wakes the peer and warms up: after 100 ms of sleep the first 10 ms take longer by
		// half, as do those of the floors, which therefore warm up too.
		if err := work(n); err != nil {
			return 0, err
		}
		start := time.Now()
		err := work(n)
		return float64(time.Since(start).Nanoseconds()) / float64(n), err
	}
	out, err := bench.Interleave(ctx, r.Samples, refs, meter)
	if !errors.Is(err, bench.ErrDisturbed) {
		return out, err
	}
	alone, err := bench.Interleave(ctx, r.Samples, nil, meter)
	alone.Uneven = out.Uneven
	return alone, err
}

func (r *rank) pingPongs(ctx context.Context, refs []bench.Reference) error {
	for _, k := range []core.Kind{core.Short, core.Medium, core.Long} {
		s := &bench.Series{
			Family: "AM", Title: k.String() + " AM round trip", Quantity: bench.RoundTrip,
			Params: r.params(PingPong, bench.Param{Key: "category", Value: k.String()}),
		}
		for _, size := range r.sizes(k) {
			n := r.count(pingPongs) / (1 + size>>14)
			n = max(n, 10)
			out, err := r.interleave(ctx, refs, n, func(n int) error { return r.bounce(k, size, n) })
			if err != nil {
				return err
			}
			s.Results = append(s.Results, bench.Result{Size: size, Ranks: 2, Iters: n, Outcome: out})
			refs = refs[:min(1, len(refs))] // the handoff floor is for the smallest message
		}
		if err := emit(s); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the payload sizes to measure of a category.
func (r *rank) sizes(k core.Kind) []int {
	if k == core.Short {
		return []int{0}
	}
	var sizes []int
	for _, n := range r.Sizes {
		if n <= r.ep.MaxPayload(1, k, false) && n <= len(r.payload) {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// bounce makes n round trips.
func (r *rank) bounce(k core.Kind, size, n int) error {
	for range n {
		want := r.answers + 1
		if err := r.send(k, onPing, size, 0); err != nil {
			return err
		}
		if err := r.ep.WaitUntil(func() bool { return r.answers >= want }); err != nil {
			return err
		}
	}
	return nil
}

// send sends one message; a Long goes to one of several places in turn.
func (r *rank) send(k core.Kind, h core.HandlerIndex, size, place int) error {
	m := core.Message{Kind: k, Handler: h, Data: r.payload[:size]}
	switch k {
	case core.Short:
		return r.ep.RequestShort(1, h)
	case core.Long:
		m.Off = offset(place, size)
	}
	return r.ep.Request(1, m)
}

// offset returns where a Long of a stream goes: to places of their own cache lines in turn,
// 1 MB of them or 4, so that one can be filled while another is read, as in the floor's rings.
func offset(place, size int) uint64 {
	stride := (size + 127) &^ 127
	return uint64(place % max(4, 1<<20/stride) * stride)
}

// pour sends n messages one way and waits until the last has been handled.
func (r *rank) pour(k core.Kind, size, n int) error {
	want := r.answers + 1
	if err := r.ep.RequestShort(1, onExpect, uint32(n)); err != nil {
		return err
	}
	if err := r.ep.WaitUntil(func() bool { return r.answers >= want }); err != nil {
		return err
	}
	for i := range n {
		if err := r.send(k, onSink, size, i); err != nil {
			return err
		}
	}
	return r.ep.WaitUntil(func() bool { return r.answers >= want+1 })
}

func (r *rank) flood(ctx context.Context, refs []bench.Reference) error {
	ring, err := r.start(ctx, floor.Ring, r.count(floods))
	if err != nil {
		return err
	}
	n := r.count(floods)
	out, err := r.interleave(ctx, append(refs, ring.as("x-floor", false)...), n, func(n int) error { return r.pour(core.Short, 0, n) })
	if err != nil {
		return err
	}
	s := &bench.Series{
		Family: "AM", Title: "flood of short AMs", Quantity: bench.Stream,
		Params:  r.params(Flood, bench.Param{Key: "category", Value: "short"}),
		Results: []bench.Result{{Ranks: 2, Iters: n, Outcome: out}},
	}
	return errors.Join(emit(s), ring.close())
}

func (r *rank) streams(ctx context.Context, refs []bench.Reference) error {
	for _, k := range []core.Kind{core.Medium, core.Long} {
		s := &bench.Series{
			Family: "AM", Title: "stream of " + k.String() + " AMs, copied out", Quantity: bench.Stream,
			Params: r.params(Stream, bench.Param{Key: "category", Value: k.String()}),
		}
		for _, size := range r.sizes(k) {
			n := max(16, min(r.count(floods), r.count(streamBytes)/size))
			copies, err := r.start(ctx, floor.Copy, n, size)
			if err != nil {
				return err
			}
			out, err := r.interleave(ctx, append(refs[:len(refs):len(refs)], copies.as("x-floor", false)...), n,
				func(n int) error { return r.pour(k, size, n) })
			if err := errors.Join(err, copies.close()); err != nil {
				return err
			}
			s.Results = append(s.Results, bench.Result{Size: size, Ranks: 2, Iters: n, Outcome: out})
		}
		if err := emit(s); err != nil {
			return err
		}
	}
	return nil
}

// measurePolls times polls that find nothing.
func (r *rank) measurePolls() error {
	n := r.count(polls)
	out, err := bench.Interleave(context.Background(), r.Samples, nil, func() (float64, error) {
		start := time.Now()
		for range n {
			if err := r.ep.Poll(); err != nil {
				return 0, err
			}
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n), nil
	})
	if err != nil {
		return err
	}
	return emit(&bench.Series{
		Family: "AM", Title: "empty poll", Params: r.params(Poll), Quantity: bench.Duration, Axis: bench.Ranks,
		Results: []bench.Result{{Ranks: r.ep.Size(), Iters: n, Outcome: out}},
	})
}
