package loopback

import (
	"sync"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// message is one active message under way. Its sender takes it from its pool, its receiver
// puts it back when it has been handled.
type message struct {
	src  core.Rank
	hdr  core.Header
	n    int // payload bytes
	off  uint64
	args [core.MaxArgs]uint32
	data []byte           // staged payload, kept for reuse
	from []byte           // payload taken from the caller instead
	lc   *core.Completion // to be told when from has been read
	home *pool
	// underway is, of a request, what its sender counts it in.
	underway *count
	id       uint32   // in home
	next     *message // of those that are idle
}

// pool holds messages, numbered so that an Op can name one: a rank's or, under the model,
// those of all ranks, so that there are as many as are under way at once.
type pool struct {
	mu   sync.Mutex
	all  []*message
	idle *message
}

func (p *pool) get() *message {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.idle
	if m == nil {
		m = &message{home: p, id: uint32(len(p.all))}
		p.all = append(p.all, m)
	}
	p.idle, m.next = m.next, nil
	return m
}

func (p *pool) byID(id uint64) *message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[id]
}

func (p *pool) put(m *message) {
	m.from, m.lc = nil, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	m.next, p.idle = p.idle, m
}

// inbox is what has come for a rank, first in first out: messages, or operations of its own that the
// next poll ends. Any goroutine may push.
type inbox[T any] struct {
	mu   sync.Mutex
	came fifo.Queue[T]
	n    atomic.Int64 // in it, so that an empty poll takes no lock
}

func (b *inbox[T]) push(v T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.came.Push(v)
	b.n.Add(1)
}

// pop removes the first; it reports false if there is none. One goroutine at a time may call it.
func (b *inbox[T]) pop() (v T, ok bool) {
	if b.n.Load() == 0 {
		return v, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n.Add(-1)
	return b.came.Pop()
}

// count is a number on a cache line of its own.
type count struct {
	n atomic.Int64
	_ [56]byte
}
