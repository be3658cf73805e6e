package cost

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Schedules appends the schedule of a rank to b, which is empty. It is called several times
// for one rank and does the same every time.
type Schedules func(rank int, b *coll.Builder) error

// Collective returns the schedules of all members of a call by an algorithm; c.Self does not
// count. Members do not reach each other's memory: no model has a price for that.
func Collective(c coll.Call, choice coll.Choice) Schedules {
	c.Reach = false
	return func(rank int, b *coll.Builder) error {
		c.Self = rank
		return b.Build(&c, choice)
	}
}

// Simulation is a call that is to be run on a model.
type Simulation struct {
	Ranks     int
	Schedules Schedules
	Model     Model
	Start     []vtime.Time // by rank, when it begins; nil: all at 0
	End       []vtime.Time // by rank, set to when it ends; nil: not wanted
	InOrder   bool         // keep the order of time even if the model is Independent
}

// Result is what a run came to.
type Result struct {
	End      vtime.Time // when the last rank ended
	Messages uint64
	Bytes    uint64 // of all messages
	Steps    uint64 // of all ranks; every message is two of them
	Memory   int    // bytes that the run took at its end, without the model's
}

// MaxRanks is the largest number of ranks of a simulation.
const MaxRanks = 1 << 31

// Run carries out all steps of all ranks. The same simulation, with a new model, gives the
// same result. It fails if schedules do not fit together: with a deadlock, named rank by
// rank, with messages that nobody awaits, or with ranks that there are not.
func (s *Simulation) Run() (Result, error) {
	if s.Ranks < 1 || s.Ranks > MaxRanks {
		return Result{}, fmt.Errorf("cost: %d ranks; want 1 to %d", s.Ranks, MaxRanks)
	}
	if s.Start != nil && len(s.Start) != s.Ranks || s.End != nil && len(s.End) != s.Ranks {
		return Result{}, fmt.Errorf("cost: Start has %d times and End %d, want %d or none", len(s.Start), len(s.End), s.Ranks)
	}
	r := &run{Simulation: s, ranks: make([]rank, s.Ranks)}
	if _, ok := s.Model.(Independent); ok && !s.InOrder {
		r.order = newQueue(s.Ranks)
	} else {
		r.order = newCalendar(s.Ranks)
	}
	for i := range r.ranks {
		if s.Start != nil {
			if s.Start[i] < 0 {
				return Result{}, fmt.Errorf("cost: rank %d starts at %v, before 0", i, s.Start[i])
			}
			r.ranks[i].now = s.Start[i]
		}
		r.order.put(r.ranks[i].now, uint32(i))
	}
	for r.err == nil {
		i, ok := r.order.take()
		if !ok {
			break
		}
		r.advance(i)
	}
	return r.finish()
}

// run is a simulation under way.
type run struct {
	*Simulation
	Result
	order      order
	ranks      []rank
	unexpected arrivals
	builder    coll.Builder
	chunk      []step // what is left of the latest piece of memory for windows
	err        error
}

// rank is how far a rank is. Of its schedule it has a window of steps, and makes the schedule
// again when it needs the next ones.
type rank struct {
	now     vtime.Time
	window  []step
	done    uint32     // steps of the window
	passed  uint32     // steps before the window
	awaits  uint32     // while waiting: from whom
	number  uint32     // and which of its messages
	arrival vtime.Time // of the message awaited, if here
	state   state
}

type state uint8

const (
	here    state = 1 << iota // the message awaited has been sent
	waiting                   // for a message that has not
	last                      // the window is the schedule's last
	ended
)

// step is a step as the simulation needs it.
type step struct {
	size   uint64 // bytes, shifted by two for the kind
	peer   uint32 // Send, Await
	number uint32
}

func (s *step) kind() coll.Kind { return coll.Kind(s.size & 3) }
func (s *step) bytes() int      { return int(s.size >> 2) }

// A window has at least leastWindow steps, and a share of longer schedules, so that no schedule
// is made more often than a few times; a schedule's memory is as much less.
const (
	leastWindow = 16
	mostWindows = 8
	chunkSteps  = 1 << 16
)

// advance carries out steps of rank i until it has to wait for another one.
func (r *run) advance(i uint32) {
	x := &r.ranks[i]
	for {
		if int(x.done) == len(x.window) && !r.refill(i) {
			return
		}
		s := &x.window[x.done]
		due := x.now
		if s.kind() == coll.Await {
			if !r.has(x, i, s) {
				return
			}
			due = max(due, x.arrival)
		}
		if !r.order.first(due, i) {
			r.order.put(due, i)
			return
		}
		if !r.do(i, s) {
			r.err = fmt.Errorf("cost: rank %d: the model went back in time at %v", i, due)
			return
		}
		x.done++
		r.Steps++
	}
}

// has reports whether the message that step s awaits has been sent; else the rank waits.
func (r *run) has(x *rank, i uint32, s *step) bool {
	if x.state&here != 0 {
		return true
	}
	var ok bool
	if x.arrival, ok = r.unexpected.take(message{i, s.peer, s.number}); ok {
		x.state |= here
		return true
	}
	x.awaits, x.number = s.peer, s.number
	x.state |= waiting
	return false
}

// do has the model carry out a step; false if it took negative time.
func (r *run) do(i uint32, s *step) bool {
	x := &r.ranks[i]
	before := x.now
	switch s.kind() {
	case coll.Send:
		free, arrival := r.Model.Send(int(i), int(s.peer), s.bytes(), before)
		if arrival < before {
			return false
		}
		x.now = free
		r.Messages++
		r.Bytes += uint64(s.bytes())
		r.deliver(message{s.peer, i, s.number}, arrival)
	case coll.Await:
		x.now = r.Model.Receive(int(i), int(s.peer), s.bytes(), before, x.arrival)
		x.state &^= here
		before = max(before, x.arrival)
	case coll.Copy:
		x.now = r.Model.Copy(int(i), s.bytes(), before)
	case coll.Combine:
		x.now = r.Model.Combine(int(i), s.bytes(), before)
	}
	return x.now >= before
}

// deliver gives a message to the rank that waits for it, or keeps it.
func (r *run) deliver(m message, arrival vtime.Time) {
	x := &r.ranks[m.dst]
	if x.state&waiting == 0 || x.awaits != m.src || x.number != m.number {
		r.unexpected.put(m, arrival)
		return
	}
	x.state = x.state&^waiting | here
	x.arrival = arrival
	r.order.put(max(x.now, arrival), m.dst)
}

// refill gives rank i its next steps; false if there are none, or in the case of an error.
func (r *run) refill(i uint32) bool {
	x := &r.ranks[i]
	if x.state&last != 0 {
		x.state |= ended
		r.Result.End = max(r.Result.End, x.now)
		return false
	}
	r.builder.Reset()
	if r.err = r.Schedules(int(i), &r.builder); r.err != nil {
		return false
	}
	s := r.builder.Schedule()
	if len(s.Steps) > math.MaxUint32 {
		r.err = fmt.Errorf("cost: rank %d has %d steps, more than %d", i, len(s.Steps), uint32(math.MaxUint32))
		return false
	}
	if x.window == nil {
		n := len(s.Steps)
		x.window = r.steps(min(n, max(leastWindow, (n+mostWindows-1)/mostWindows)))
	}
	x.passed += x.done
	x.done = 0
	steps := s.Steps[min(int(x.passed), len(s.Steps)):]
	if x.window = x.window[:min(len(x.window), len(steps))]; len(x.window) == len(steps) {
		x.state |= last
	}
	for j := range x.window {
		if x.window[j], r.err = r.compact(s, &steps[j]); r.err != nil {
			r.err = fmt.Errorf("cost: rank %d, step %d: %w", i, int(x.passed)+j, r.err)
			return false
		}
	}
	if len(steps) == 0 {
		return r.refill(i)
	}
	return true
}

// steps returns memory for n steps.
func (r *run) steps(n int) []step {
	if n > len(r.chunk) {
		size := max(n, chunkSteps)
		r.chunk = make([]step, size)
		r.Memory += 16 * size
	}
	window := r.chunk[:n:n]
	r.chunk = r.chunk[n:]
	return window
}

// compact returns what the simulation needs of a step.
func (r *run) compact(s *coll.Schedule, of *coll.Step) (step, error) {
	peer, number, span := of.Peer, of.Number, of.From
	switch of.Kind {
	case coll.Await:
		if uint(of.Msg) >= uint(len(s.Recvs)) {
			return step{}, fmt.Errorf("no message %d to await", of.Msg)
		}
		m := &s.Recvs[of.Msg]
		peer, number, span = m.Peer, m.Number, m.To
	case coll.Copy, coll.Combine:
		if span.Buf == coll.Shm {
			return step{}, errors.New("memory of other ranks has no price")
		}
		peer, number = 0, 0
	}
	if uint(peer) >= uint(r.Ranks) {
		return step{}, fmt.Errorf("no rank %d", peer)
	}
	return step{uint64(span.Len)<<2 | uint64(of.Kind), uint32(peer), uint32(number)}, nil
}

// finish returns the result, and what went wrong.
func (r *run) finish() (Result, error) {
	if r.err == nil {
		r.err = r.deadlock()
	}
	if r.err == nil && r.unexpected.used > 0 {
		r.err = fmt.Errorf("cost: %d messages were sent that nobody awaits", r.unexpected.used)
	}
	if r.err != nil {
		return Result{}, r.err
	}
	for i := range r.Simulation.End {
		r.Simulation.End[i] = r.ranks[i].now
	}
	r.Memory += 64*len(r.ranks) + r.order.bytes() + r.unexpected.bytes()
	return r.Result, nil
}

// deadlock names ranks that have not ended.
func (r *run) deadlock() error {
	const most = 8
	var stuck []string
	for i := range r.ranks {
		x := &r.ranks[i]
		if x.state&ended != 0 {
			continue
		}
		if len(stuck) == most {
			stuck = append(stuck, "and more")
			break
		}
		stuck = append(stuck, fmt.Sprintf("rank %d waits for message %d of rank %d", i, x.number, x.awaits))
	}
	if stuck == nil {
		return nil
	}
	return fmt.Errorf("cost: deadlock: %s", strings.Join(stuck, ", "))
}
