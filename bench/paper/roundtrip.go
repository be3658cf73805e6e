package paper

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Handlers of the experiments.
const (
	onPing  core.HandlerIndex = core.ClientHandlers + iota // a request that is answered alike
	onPong                                                 // the answer
	onWord                                                 // GUPS: a word to be changed
	onWrote                                                // its answer
)

// roundTrips is the paper's measurement of active messages: each send is timed and waits for
// a reply of equal size (Su et al., experiments). Half of the mean counts: a Short of 5 µs cannot be a
// whole round trip, since one way of its bytes takes 3.16.
type roundTrips struct {
	kind    core.Kind
	sizes   []int // payload bytes; of a Short those of its arguments, in fours
	ranks   int   // of the job: 0 and its neighbour exchange, the others wait for the end
	repeats int
	config  core.Config
}

// pairRanks is the size of the jobs whose numbers are compared with the paper's, over SCI and
// over MPI alike: its measurements are ping-pongs, and it does not say that others took part.
const pairRanks = 2

// warmUp is how many exchanges of every size go before those that count: connections, memory for
// DMA and credits settle.
const warmUp = 3

// halves returns half of the mean round trip for each size.
func (r *roundTrips) halves(s *Setting) ([]vtime.Time, error) {
	times := make([]vtime.Time, len(r.sizes))
	w := new(window)
	err := s.job(r.ranks, r.config, w, func(job *core.Job) error {
		p := &pinger{roundTrips: r}
		ep, err := job.Attach(core.AttachSpec{Handlers: p.handlers()})
		if err != nil {
			return err
		}
		p.ep = ep
		if err := ep.Barrier(); err != nil { // those who wait for the end have connected for that
			return err
		}
		if job.Rank() != 0 {
			return nil // returning serves the others until all have
		}
		for _, size := range r.sizes {
			if _, err := p.half(size, warmUp); err != nil {
				return err
			}
		}
		w.begin(job)
		defer w.end(job)
		for i, size := range r.sizes {
			if times[i], err = p.half(size, r.repeats); err != nil {
				return err
			}
		}
		return nil
	})
	return times, err
}

// points returns half of the mean round trip by size, in microseconds.
func (r *roundTrips) points(s *Setting) ([]plot.Point, error) {
	times, err := r.halves(s)
	if err != nil {
		return nil, err
	}
	points := make([]plot.Point, len(times))
	for i, t := range times {
		points[i] = plot.Point{X: float64(r.sizes[i]), Y: micros(t)}
	}
	return points, nil
}

// pinger is a rank's part.
type pinger struct {
	*roundTrips
	ep      *core.Endpoint
	answers int
}

func (p *pinger) handlers() []core.HandlerEntry {
	return []core.HandlerEntry{
		{Index: onPing, Name: "ping", Func: p.answer},
		{Index: onPong, Name: "pong", Func: func(*core.Token, []uint32, []byte) { p.answers++ }},
	}
}

// answer replies with what came. A Long's payload lies in the segment already.
func (p *pinger) answer(t *core.Token, args []uint32, data []byte) {
	var err error
	switch p.kind {
	case core.Short:
		err = t.ReplyShort(onPong, args...)
	case core.Medium:
		err = t.ReplyMedium(onPong, data)
	default:
		err = t.ReplyLong(onPong, data, t.Offset())
	}
	if err != nil {
		t.Endpoint().Fail(err)
	}
}

// half returns half of the mean of n round trips with a payload of size bytes.
func (p *pinger) half(size, n int) (vtime.Time, error) {
	data := make([]byte, size)
	start := p.ep.Job().Now()
	for range n {
		want := p.answers + 1
		err := p.send(data)
		if err == nil {
			err = p.ep.WaitUntil(func() bool { return p.answers >= want })
		}
		if err != nil {
			return 0, fmt.Errorf("%v of %d bytes: %w", p.kind, size, err)
		}
	}
	return (p.ep.Job().Now() - start) / vtime.Time(2*n), nil
}

func (p *pinger) send(data []byte) error {
	return sendRequest(&p.ep.Context, p.kind, core.Rank(neighbour(p.ranks)), onPing, data)
}

// sendRequest sends a request with data, which a Short has as arguments, four bytes in each.
func sendRequest(c *core.Context, kind core.Kind, to core.Rank, h core.HandlerIndex, data []byte) error {
	switch kind {
	case core.Short:
		return c.RequestShort(to, h, make([]uint32, len(data)/4)...)
	case core.Medium:
		return c.RequestMedium(to, h, data)
	}
	return c.RequestLong(to, h, data, 0)
}
