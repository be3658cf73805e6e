package loopback

import (
	"encoding/binary"
	"sync"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// engine carries out a rank's one-sided operations. Live, the rank's next poll does, so that
// whoever relies on one before its completion is found out. Modelled, it happens at the
// target when the request has arrived, and completes a latency after that; the poll only
// reports it. The target has no part in it either way.
type engine struct {
	c *conduit

	mu    sync.Mutex // operations may begin beside a poll
	idle  *task
	under int          // under way
	due   inbox[*task] // for the next poll
}

// kind is what a task does.
type kind uint8

const (
	put kind = iota
	get
	update
)

// task is a one-sided operation under way; it is the target of its events.
type task struct {
	kind kind
	dst  *node
	off  uint64
	mem  []byte // a put's source, a get's destination, or where an atomic's result goes
	lc   *core.Completion
	done *core.Completion

	op    core.AtomicOp
	a, b  uint64
	typ   core.ElementType
	bytes int // of the request, besides its header

	e    *engine
	word [core.MaxInline]byte // a short source, or what was fetched
	next *task
}

// begin takes on an operation, if there is room.
func (e *engine) begin(want task) core.Result {
	t := e.take()
	if t == nil {
		return core.NoRoom
	}
	*t = want
	t.e = e
	if t.kind == put && len(t.mem) <= len(t.word) {
		t.mem = t.word[:copy(t.word[:], t.mem)]
	}
	if l := e.c.model; l != nil {
		l.kernel.At(l.transmit(l.proc.Now(), headerBytes+t.bytes), t, uint64(arrives), 0)
	} else {
		e.push(t)
	}
	return core.Initiated
}

// take returns a free task, nil if as many as may be are under way.
func (e *engine) take() *task {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.under == e.c.operations {
		return nil
	}
	e.under++
	t := e.idle
	if t == nil {
		return new(task)
	}
	e.idle = t.next
	return t
}

// give takes a task back.
func (e *engine) give(t *task) {
	*t = task{}
	e.mu.Lock()
	defer e.mu.Unlock()
	t.next, e.idle = e.idle, t
	e.under--
}

// push leaves a task to the next poll.
func (e *engine) push(t *task) {
	e.due.push(t)
	e.c.self.notify()
}

// poll carries out, live, and completes what is due, and returns how many that were.
func (e *engine) poll(budget int) int {
	n := 0
	for ; n < budget; n++ {
		t, ok := e.due.pop()
		if !ok {
			break
		}
		if e.c.model == nil {
			t.carryOut()
		}
		if t.kind == update {
			copy(t.mem, t.word[:])
		}
		done := t.done
		e.give(t)
		done.Complete()
	}
	return n
}

// The events of a task in the model.
type event uint64

const (
	arrives event = iota // its request, at the target
	ends                 // its answer is back
)

// Fire implements vtime.Target.
func (t *task) Fire(what, _ uint64) {
	e := t.e
	switch {
	case t.dst.closed || e.c.self.closed: // the program has not waited for it
	case event(what) == arrives:
		t.carryOut()
		l := t.dst.link
		back := l.kernel.Now() + vtime.FromDuration(l.latency)
		if t.kind == get {
			back = l.transmit(l.kernel.Now(), headerBytes+len(t.mem))
		}
		l.kernel.At(back, t, uint64(ends), 0)
	default:
		e.push(t)
	}
}

// carryOut does what the task is for.
func (t *task) carryOut() {
	switch memory := t.dst.memory[t.off:]; t.kind {
	case put:
		copy(memory, t.mem)
		if t.lc != nil {
			t.lc.Complete()
			t.e.c.self.notify()
		}
	case get:
		copy(t.mem, memory)
	case update:
		t.dst.words.Lock()
		t.update(memory)
		t.dst.words.Unlock()
	}
}

// update does an atomic operation on the element at the beginning of memory, and keeps what
// was there.
func (t *task) update(memory []byte) {
	if t.typ.Size() == 4 {
		x := binary.NativeEndian.Uint32(memory)
		y := result(t.op, x, uint32(t.a), uint32(t.b))
		if t.typ == core.ElementInt32 {
			y = uint32(result(t.op, int32(x), int32(t.a), int32(t.b)))
		}
		binary.NativeEndian.PutUint32(t.word[:], x)
		binary.NativeEndian.PutUint32(memory, y)
		return
	}
	x := binary.NativeEndian.Uint64(memory)
	y := result(t.op, x, t.a, t.b)
	if t.typ == core.ElementInt64 {
		y = uint64(result(t.op, int64(x), int64(t.a), int64(t.b)))
	}
	binary.NativeEndian.PutUint64(t.word[:], x)
	binary.NativeEndian.PutUint64(memory, y)
}

// result returns what an operation, fetching or not, makes of an integer x.
func result[T int32 | uint32 | int64 | uint64](op core.AtomicOp, x, a, b T) T {
	switch op = op.Plain(); op {
	case core.AtomicSet:
		return a
	case core.AtomicCAS:
		if x == a {
			return b
		}
		return x
	}
	return core.Combine(op, x, a)
}
