package paper

import (
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A category is a way in which a program of GASNet moves bytes from one rank to another.
type category struct {
	name  string
	begin func(r *mover, data []byte) error // begins to move data
	end   func(r *mover) error              // waits until all that has begun has ended

	message bool      // the target counts, and answers; else it knows of nothing
	kind    core.Kind // of a message
}

// categories are all of them.
var categories = []*category{
	message("short", core.Short),
	message("medium", core.Medium),
	message("long", core.Long),
	{
		name:  "put",
		begin: func(r *mover, data []byte) error { return r.ep.PutNBI(target, 0, data, extended.LCDefer) },
		end:   func(r *mover) error { return r.ep.WaitNBI(extended.Puts) },
	},
	{
		name:  "get",
		begin: func(r *mover, data []byte) error { return r.ep.GetNBI(data, target, 0) },
		end:   func(r *mover) error { return r.ep.WaitNBI(extended.Gets) },
	},
}

// message returns the category of requests of a kind.
func message(name string, kind core.Kind) *category {
	return &category{
		name: name,
		begin: func(r *mover, data []byte) error {
			return sendRequest(r.ep.Context.Context, kind, target, onItem, data)
		},
		end:     func(r *mover) error { return r.ep.WaitUntil(func() bool { return r.answered }) },
		message: true, kind: kind,
	}
}

// target is the rank that rank 0 moves bytes to, or gets them from.
const target = 1

// Handlers of streams.
const (
	onExpect core.HandlerIndex = core.ClientHandlers + iota // so many messages come next
	onItem                                                  // one of them
	onAnswer                                                // of either: the target is ready, or all have come
)

// transfers measures a category at sizes, ascending, none of which is too large for it.
type transfers struct {
	*category
	sizes   []int
	repeats int // of transfers one at a time
	bytes   int // of a stream, but for the bounds below
}

// How many transfers make a stream.
const (
	leastItems = 8
	mostItems  = 200
)

// transferred is what that has come to.
type transferred struct {
	single []plot.Point // µs until a put or a get has ended, by size; none of messages
	rates  []plot.Point // MB/s of many in a row, by size
	busy   float64      // µs until a put or a get of busyBytes has ended whose target computes and does not poll
}

// The target computes for busyTime. The transfer begins busyLate later.
const (
	busyBytes = 8
	busyTime  = 2 * time.Millisecond
	busyLate  = 200 * time.Microsecond
)

// mover is a rank's part.
type mover struct {
	*transfers
	job      *core.Job
	ep       *extended.Endpoint
	expected int
	answered bool
}

// run runs a job of the two ranks.
func (st *transfers) run(s *Setting) (*transferred, error) {
	out, w := new(transferred), new(window)
	err := s.job(pairRanks, core.Config{}, w, func(job *core.Job) error {
		r := &mover{transfers: st, job: job}
		segment := max(st.sizes[len(st.sizes)-1], 4096)
		ep, err := extended.Attach(job, core.AttachSpec{Segment: fmt.Sprint(segment), Handlers: r.handlers()})
		if err != nil {
			return err
		}
		r.ep = ep
		if err := r.together(); err != nil {
			return err
		}
		if job.Rank() == target {
			return r.compute()
		}
		for _, size := range st.sizes {
			if _, err := r.stream(size, warmUp); err != nil {
				return err
			}
		}
		w.begin(job)
		defer w.end(job)
		return r.measure(out)
	})
	return out, err
}

func (r *mover) handlers() []core.HandlerEntry {
	return []core.HandlerEntry{
		{Index: onExpect, Name: "expect", Func: func(t *core.Token, args []uint32, _ []byte) {
			r.expected = int(args[0])
			r.answer(t)
		}},
		{Index: onItem, Name: "item", Func: func(t *core.Token, _ []uint32, _ []byte) {
			if r.expected--; r.expected == 0 {
				r.answer(t)
			}
		}},
		{Index: onAnswer, Name: "answer", Func: func(*core.Token, []uint32, []byte) { r.answered = true }},
	}
}

func (r *mover) answer(t *core.Token) {
	if err := t.ReplyShort(onAnswer); err != nil {
		t.Endpoint().Fail(err)
	}
}

func (r *mover) together() error { return r.ep.World().Barrier(&r.ep.Context) }

// compute is the target's part: it serves rank 0 until that meets it, and computes then.
func (r *mover) compute() error {
	if r.message {
		return nil // returning serves rank 0 until it returns
	}
	if err := r.together(); err != nil {
		return err
	}
	r.job.Compute(busyTime)
	return nil
}

// measure is rank 0's part.
func (r *mover) measure(out *transferred) error {
	for _, size := range r.sizes {
		if !r.message {
			var all vtime.Time
			for range r.repeats {
				t, err := r.stream(size, 1)
				if err != nil {
					return err
				}
				all += t
			}
			out.single = append(out.single, plot.Point{X: float64(size), Y: micros(all) / float64(r.repeats)})
		}
		n := min(max(leastItems, r.bytes/size), mostItems)
		t, err := r.stream(size, n)
		if err != nil {
			return err
		}
		out.rates = append(out.rates, plot.Point{X: float64(size), Y: float64(n*size) / micros(t)})
	}
	if r.message {
		return nil
	}
	if err := r.together(); err != nil {
		return err
	}
	r.job.Compute(busyLate)
	t, err := r.stream(busyBytes, 1)
	out.busy = micros(t)
	return err
}

// stream returns how long n transfers take, from the call of the first one until all have ended.
func (r *mover) stream(size, n int) (vtime.Time, error) {
	data := make([]byte, size)
	fail := func(err error) (vtime.Time, error) { return 0, fmt.Errorf("%s of %d bytes: %w", r.name, size, err) }
	if r.message {
		r.answered = false
		if err := r.ep.RequestShort(target, onExpect, uint32(n)); err != nil {
			return fail(err)
		}
		if err := r.end(r); err != nil {
			return fail(err)
		}
		r.answered = false
	}
	start := r.job.Now()
	for range n {
		if err := r.begin(r, data); err != nil {
			return fail(err)
		}
	}
	if err := r.end(r); err != nil {
		return fail(err)
	}
	return r.job.Now() - start, nil
}
