package core

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/aqueduct-go/aqueduct/core/record"
)

// MaxEvents is the most that Config.Events may be: what a rank hands over goes in one piece through its launcher.
const MaxEvents = 1 << 17

// eventRing keeps the latest events of a rank. Any goroutine may call its methods.
type eventRing struct {
	sample uint64

	mu    sync.Mutex
	ring  []record.Event
	next  int    // where the next one goes
	total uint64 // that there were
	names []string
	index map[string]int
	sent  map[uint64]uint64 // how many messages there were, by flowKey
	heard map[uint64]uint64
	spans uint64             // that there were
	open  map[*Span]struct{} // those that have not ended
}

// Span is something that takes time and does not lie in one call, such as a collective call that others overlap.
type Span struct {
	w     *watch
	event record.Event
}

// begin begins a span.
func (w *watch) begin(v record.Event) *Span {
	v.Start = w.now()
	s := &Span{w, v}
	e := w.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans++
	s.event.Flow = e.spans
	e.open[s] = struct{}{}
	return s
}

// End ends the span, once; of nil nothing. Any goroutine may call it, a handler too.
func (s *Span) End() {
	if s == nil {
		return
	}
	e := s.w.events
	e.mu.Lock()
	delete(e.open, s)
	e.mu.Unlock()
	s.event.Dur = s.w.now() - s.event.Start
	e.add(s.event)
}

func newEventRing(n, sample int) *eventRing {
	return &eventRing{
		sample: uint64(sample), ring: make([]record.Event, 0, n), index: make(map[string]int),
		sent: make(map[uint64]uint64), heard: make(map[uint64]uint64), open: make(map[*Span]struct{}),
	}
}

// name returns the number of a name.
func (e *eventRing) name(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, ok := e.index[name]
	if !ok {
		i = len(e.names)
		e.names = append(e.names, name)
		e.index[name] = i
	}
	return i
}

// add keeps an event.
func (e *eventRing) add(v record.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total++
	if len(e.ring) < cap(e.ring) {
		e.ring = append(e.ring, v)
		return
	}
	e.ring[e.next] = v
	e.next = (e.next + 1) % len(e.ring)
}

// take returns what is kept. A span that has not ended lasts until now.
func (e *eventRing) take(origin, skew int64, now Time) *record.Events {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := append(append([]record.Event(nil), e.ring[e.next:]...), e.ring[:e.next]...)
	dropped := e.total - uint64(len(list))
	for s := range e.open {
		v := s.event
		v.Dur = now - v.Start
		list = append(list, v)
	}
	slices.SortFunc(list[len(list)-len(e.open):], func(a, b record.Event) int { return cmp.Compare(a.Flow, b.Flow) })
	return &record.Events{
		Names: append([]string(nil), e.names...), List: list, Dropped: dropped, Sample: e.sample, Origin: origin, Error: skew,
	}
}

// A flow is a message, told by the ranks at its ends, its handler and category, and its number among the messages between
// those two that have the same. Both ends count alike, so the number need not travel. Where the network changes the order of
// messages that look the same, it is as if it had not.
const (
	flowRankBits   = 16 // a job has 65,536 ranks at most
	flowHeaderBits = 11
	flowNumberBits = 64 - 2*flowRankBits - flowHeaderBits
)

// flowKey returns what the messages of one count have in common.
func flowKey(src, dst Rank, h Header) uint64 {
	return (uint64(uint16(src))<<flowRankBits|uint64(uint16(dst)))<<flowHeaderBits | uint64(h>>5)
}

// count returns the next flow of a key; ok is false for one that is left out.
func (e *eventRing) count(counts map[uint64]uint64, key uint64) (flow uint64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := counts[key]
	counts[key] = n + 1
	return key<<flowNumberBits | n&(1<<flowNumberBits-1), n%e.sample == 0
}

// tracer is the conduit of a job whose events are kept. It stands on the job's.
type tracer struct {
	Conduit
	w *watch
}

// Commit implements Conduit.
func (c *tracer) Commit(op *Op) {
	w, e := c.w, c.w.events
	flow, ok := e.count(e.sent, flowKey(w.ep.job.rank, op.Dst, op.Hdr))
	if !ok {
		c.Conduit.Commit(op)
		return
	}
	v := record.Event{
		Kind: record.SendEvent, Lane: w.lane(op.context), Peer: int(op.Dst), Category: categoryOf(op.Hdr), Bytes: uint64(op.Len),
		Name: e.name(w.handlerName(op.Hdr.Handler())), Flow: flow, Start: w.now(),
	}
	c.Conduit.Commit(op)
	v.Dur = w.now() - v.Start
	e.add(v)
}

// lane returns the number of the context that sends. What sends for all, and replies, does so where the poller is.
func (w *watch) lane(c *Context) int {
	if c == nil || c == w.ep.carrier {
		c = w.ep.poller
	}
	return c.watched.lane
}

// traced returns a handler that keeps what it handles.
func (w *watch) traced(entry *HandlerEntry) Handler {
	f, e := entry.Func, w.events
	name := e.name(w.nameOf(entry))
	return func(t *Token, args []uint32, data []byte) {
		flow, ok := e.count(e.heard, flowKey(t.src, w.ep.job.rank, t.hdr))
		v := record.Event{
			Kind: record.HandlerEvent, Lane: w.ep.poller.watched.lane, Peer: int(t.src), Category: categoryOf(t.hdr),
			Bytes: uint64(len(data)), Name: name, Flow: flow, Start: w.now(),
		}
		f(t, args, data)
		if ok {
			v.Dur = w.now() - v.Start
			e.add(v)
		}
	}
}

// alignRounds is how often ranks of several hosts compare their clocks: the quickest exchange counts.
const alignRounds = 8

// align finds out when the watch's times began, by the clock of rank 0's host. Collective.
//
// In each round all ranks exchange something. Nobody has the result before all have given their parts, so what the clock
// of one rank said when it began is earlier than what the clock of any other said when it had the result. That
// bounds the difference between two clocks on either side, whatever the way of messages is.
func (w *watch) align(boot Bootstrap) error {
	j := w.ep.job
	if j.proc != nil {
		return nil
	}
	w.origin = w.base
	hosts := 0
	for r := range Rank(j.size) {
		hosts = max(hosts, boot.Host(r)+1)
	}
	if hosts == 1 {
		return nil
	}
	var own [2 * alignRounds]int64
	for i := range alignRounds {
		own[2*i] = nanotime()
		if _, err := boot.Exchange(nil); err != nil {
			return err
		}
		own[2*i+1] = nanotime()
	}
	text, _ := binary.Append(nil, binary.LittleEndian, own[:])
	all, err := boot.Exchange(text)
	if err != nil {
		return err
	}
	var first [2 * alignRounds]int64
	if _, err := binary.Decode(all[0], binary.LittleEndian, first[:]); err != nil {
		return fmt.Errorf("core: rank %d: rank 0 does not record events; all ranks must agree: %w", j.rank, err)
	}
	if boot.Host(j.rank) == boot.Host(0) {
		return nil
	}
	offset, skew := between(own[:], first[:])
	w.origin, w.skew = w.origin-offset, skew
	return nil
}

// between returns by how much one clock is ahead of another, given what each said before and after each of
// the same exchanges, and by how much that may be off.
func between(own, other []int64) (offset, skew int64) {
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for i := 0; i < len(own); i += 2 {
		least, most = max(least, own[i]-other[i+1]), min(most, own[i+1]-other[i])
	}
	return least + (most-least)/2, (most - least + 1) / 2
}
