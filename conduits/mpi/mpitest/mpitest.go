// Package mpitest has message passing between the ranks of one process, to test the conduit
// over it: live between goroutines, and in virtual time with a latency, a rate and a cost of
// matching. It follows the rules of MPI, and on demand uses all the freedom that they give:
// completions come late, in any order and a few at a time.
package mpitest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Options say how a network behaves. The zero value is a live one that does what it is told
// at once.
type Options struct {
	Eager  int  // bytes; 0: 4096
	Unruly bool // live: completions come late, out of order and in parts
	Exact  bool // mpi.TransportLimits.Exact
	Async  bool // mpi.TransportLimits.Async
	Reach  bool // live: ranks reach each other's segments as memory

	Model   bool       // virtual time instead of real time
	Latency vtime.Time // model: from the end of sending to arrival
	Rate    float64    // model: bytes per second of a rank's link, more than zero
	Search  vtime.Time // model: for each entry of a matching queue that is looked at

	// Unexpected, when not nil, is raised to the most messages that were in any rank's
	// unexpected queue at once. The engine's own limit does not depend on their number.
	Unexpected *atomic.Int64
	// Messages, when not nil, counts the sends of all ranks.
	Messages *atomic.Int64
}

// Network returns the network, a profile of that name.
func Network(name string, o Options) mpi.Network {
	if o.Eager == 0 {
		o.Eager = 4096
	}
	return mpi.Network{
		Name: name, Summary: "ranks of one process, for tests", Live: !o.Model, Modelled: o.Model, Reaches: o.Reach,
		Check: func(boot core.Bootstrap) error {
			if _, ok := boot.(core.ProcessSharer); boot != nil && !ok {
				return fmt.Errorf("it joins ranks of one process only")
			}
			return nil
		},
		Open: func(s *mpi.Spec) (mpi.Transport, error) { return open(s, &o) },
	}
}

// transport is one rank's end.
type transport struct {
	*Options
	engine *matching.Engine
	nodes  []*node // by rank
	self   *node
	boot   core.Bootstrap
	proc   *vtime.Proc // nil live
	free   vtime.Time  // model: when the link has sent what it was given
	rnd    *rand.Rand
	ended  []mpi.Completion // not handed over yet
	memory *shm.Region      // the segment, with Options.Reach
}

// node is what the ranks share about one of them.
type node struct {
	mu    sync.Mutex
	proc  *vtime.Proc
	inbox list
	spare list                         // idle flights to this rank
	left  fifo.Queue[matching.Message] // model: its messages that have left

	segment []byte // with Options.Reach
}

// flight is a message on its way, with a copy of its payload.
type flight struct {
	m    matching.Message
	buf  []byte // kept for reuse
	from *node
	to   *node
	next *flight
}

type list struct{ first, last *flight }

func (l *list) push(f *flight) {
	if f.next = nil; l.last == nil {
		l.first = f
	} else {
		l.last.next = f
	}
	l.last = f
}

func (l *list) pop() *flight {
	f := l.first
	if f != nil {
		if l.first = f.next; l.first == nil {
			l.last = nil
		}
	}
	return f
}

func open(s *mpi.Spec, o *Options) (mpi.Transport, error) {
	shared := s.Boot.(core.ProcessSharer)
	me := s.Boot.Rank()
	key := func(r int) string { return fmt.Sprintf("mpitest node %d", r) }
	t := &transport{
		Options: o, boot: s.Boot, proc: s.Proc, self: &node{proc: s.Proc},
		engine: matching.New(int32(me), o.Eager),
		rnd:    rand.New(rand.NewPCG(uint64(me), 1)),
	}
	shared.Share(key(int(me)), func() any { return t.self })
	if err := s.Boot.Barrier(); err != nil {
		return nil, err
	}
	for r := range s.Boot.Size() {
		t.nodes = append(t.nodes, shared.Share(key(r), func() any { return new(node) }).(*node))
	}
	return t, nil
}

// Segment implements mpi.Segmenter.
func (t *transport) Segment(size int) (s mpi.Segment, err error) {
	if !t.Reach {
		return s, nil
	}
	t.self.segment = []byte{}
	if size > 0 {
		if t.memory, err = shm.NewRegion(size, shm.Local); err != nil {
			return s, err
		}
		t.self.segment = t.memory.Bytes()
	}
	return mpi.Segment{Memory: t.self.segment, Reach: func(r core.Rank) []byte { return t.nodes[r].segment }}, t.boot.Barrier()
}

// Limits implements mpi.Transport.
func (t *transport) Limits() mpi.TransportLimits {
	return mpi.TransportLimits{Eager: t.Eager, Exact: t.Exact, Async: t.Async, Costs: mpi.Costs{
		Poll: 20 * vtime.Nanosecond, Build: 50 * vtime.Nanosecond, Deliver: 50 * vtime.Nanosecond, CopyKB: 100 * vtime.Nanosecond,
	}}
}

// Progress implements mpi.Transport.
func (t *transport) Progress(posts []mpi.Post, done []mpi.Completion) (int, error) {
	for i := range posts {
		p := &posts[i]
		if p.Receive {
			if err := t.engine.Receive(int32(p.Peer), p.Tag, p.Buf, p.ID); err != nil {
				return 0, err
			}
			continue
		}
		if t.Messages != nil {
			t.Messages.Add(1)
		}
		t.engine.Send(int32(p.Peer), p.Tag, p.Buf, p.ID)
	}
	for moved := true; moved; {
		t.transmit()
		var err error
		if moved, err = t.receive(); err != nil {
			return 0, err
		}
	}
	t.proc.Charge(t.Search * vtime.Time(t.engine.Searched()))
	for d, ok := t.engine.Completed(); ok; d, ok = t.engine.Completed() {
		t.ended = append(t.ended, mpi.Completion{ID: d.ID, Len: d.Len, Source: core.Rank(d.Source), Tag: d.Tag})
	}
	return t.hand(done), nil
}

// hand writes completions to done.
func (t *transport) hand(done []mpi.Completion) int {
	if !t.Unruly {
		n := copy(done, t.ended)
		t.ended = t.ended[:copy(t.ended, t.ended[n:])]
		return n
	}
	n := t.rnd.IntN(min(len(done), len(t.ended)) + 1)
	for i := range n {
		last := len(t.ended) - 1
		k := t.rnd.IntN(last + 1)
		done[i], t.ended[k] = t.ended[k], t.ended[last]
		t.ended = t.ended[:last]
	}
	return n
}

// transmit takes what the engine has to say to the inboxes of others, under the model by
// events.
func (t *transport) transmit() {
	for m, ok := t.engine.Next(); ok; m, ok = t.engine.Next() {
		to := t.nodes[m.To]
		to.mu.Lock()
		f := to.spare.pop()
		if f == nil {
			f = new(flight)
		}
		f.m, f.from, f.to = m, t.self, to
		f.buf = append(f.buf[:0], m.Payload...)
		f.m.Payload = f.buf
		if t.proc == nil {
			to.inbox.push(f)
		}
		to.mu.Unlock()
		if t.proc == nil {
			t.engine.Sent(m)
		} else {
			t.fly(f)
		}
	}
}

// envelope is what a message counts on a modelled link besides its payload.
const envelope = 32

// What an event of a flight stands for.
const (
	leaves = iota
	arrives
)

// fly schedules when the message has left, and when it arrives.
func (t *transport) fly(f *flight) {
	took := vtime.Time(float64(envelope+len(f.buf)) / t.Rate * float64(vtime.Second))
	t.free = max(t.free, t.proc.Now()) + took
	t.proc.Kernel().At(t.free, f, leaves, 0)
	t.proc.Kernel().At(t.free+t.Latency, f, arrives, 0)
}

// Fire implements vtime.Target.
func (f *flight) Fire(what, _ uint64) {
	if what == leaves {
		f.from.left.Push(f.m)
		f.from.proc.Arrive()
		return
	}
	f.to.inbox.push(f)
	f.to.proc.Arrive()
}

// receive gives the engine what has come; it reports false if there was nothing.
func (t *transport) receive() (moved bool, err error) {
	for m, ok := t.self.left.Pop(); ok; m, ok = t.self.left.Pop() {
		t.engine.Sent(m)
		moved = true
	}
	for err == nil {
		t.self.mu.Lock()
		f := t.self.inbox.pop()
		t.self.mu.Unlock()
		if f == nil {
			break
		}
		err = t.engine.Handle(f.m)
		t.self.mu.Lock()
		t.self.spare.push(f)
		t.self.mu.Unlock()
		moved = true
	}
	return moved, err
}

// Close implements mpi.Transport.
func (t *transport) Close() error {
	if t.Unexpected != nil {
		_, most := t.engine.Unexpected()
		for {
			before := t.Unexpected.Load()
			if int64(most) <= before || t.Unexpected.CompareAndSwap(before, int64(most)) {
				break
			}
		}
	}
	return nil // the segment stays: others may still store to it
}
