package spawner

import (
	"bytes"
	"io"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// window is how many bytes of each channel of output, of standard input, and of what ranks say, may be on their way through a trunk. So a reader that is stuck holds up ranks, but nothing else that goes through the trunk.
const window = 1 << 20

// credit is how much more may be sent.
type credit struct {
	mu     sync.Mutex
	more   *sync.Cond
	left   int
	closed bool
}

func newCredit() *credit {
	c := &credit{left: window}
	c.more = sync.NewCond(&c.mu)
	return c
}

// take waits until n bytes may be sent, and reports whether they may: not when it was closed.
func (c *credit) take(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left < n && !c.closed {
		c.more.Wait()
	}
	c.left -= n
	return !c.closed
}

// give permits n bytes more. It reports whether that many were taken.
func (c *credit) give(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > window-c.left {
		return false
	}
	c.left += n
	c.more.Broadcast()
	return true
}

// close ends all waits.
func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.more.Broadcast()
}

// outflow sends what ranks write to one channel upwards, in the pieces that a sink would be given.
type outflow struct {
	trunk   *trunk
	channel uint8
	credit  *credit
}

// write implements destination. It blocks while the Job does not take what it has been sent.
func (o *outflow) write(s *stream, data []byte) {
	if o.credit.take(len(data)) {
		o.trunk.sendRank(wordOutput, s.rank, func(b []byte) []byte { return append(append(b, o.channel), data...) })
	}
}

// finish implements destination.
func (o *outflow) finish(s *stream) {
	o.trunk.sendRank(wordOutputEnd, s.rank, func(b []byte) []byte { return append(b, o.channel) })
}

// piece is a part of the output of a rank; nil is its end.
type piece struct {
	s    *stream
	data []byte
}

// inflow passes on what an agent sends of one channel, on a goroutine of its own.
type inflow struct {
	mu     sync.Mutex
	more   *sync.Cond
	queue  []piece
	size   int // bytes in queue
	closed bool
}

func newInflow() *inflow {
	f := new(inflow)
	f.more = sync.NewCond(&f.mu)
	return f
}

// put queues a piece, of which it takes a copy. It reports whether there was credit for it. Of an end there is but one
// in a stream, which the caller sees to.
func (f *inflow) put(s *stream, data []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size+len(data) > window {
		return false
	}
	f.size += len(data)
	f.queue = append(f.queue, piece{s, bytes.Clone(data)})
	f.more.Signal()
	return true
}

// close has the goroutine end when the queue is empty.
func (f *inflow) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.more.Signal()
}

// pass passes pieces on until the flow is closed. taken hears how many bytes each had, when it is written.
func (f *inflow) pass(taken func(n int)) {
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.closed {
			f.more.Wait()
		}
		if len(f.queue) == 0 {
			f.mu.Unlock()
			return
		}
		p := f.queue[0]
		f.queue = f.queue[1:]
		f.mu.Unlock()
		if p.data == nil {
			p.s.finish()
			continue
		}
		p.s.save(p.data)
		p.s.to.write(p.s, p.data)
		f.mu.Lock()
		f.size -= len(p.data)
		f.mu.Unlock()
		taken(len(p.data))
	}
}

// inputPiece is how much of standard input goes in one frame.
const inputPiece = 32 << 10

// sendInput sends standard input through a trunk, as far as there is credit, until its end or that of the trunk.
func sendInput(in io.Reader, t *trunk, c *credit) {
	for buf := make([]byte, inputPiece); ; {
		n, err := in.Read(buf)
		if n > 0 && !c.take(n) {
			return
		}
		if n > 0 {
			t.send(wordInput, func(b []byte) []byte { return append(b, buf[:n]...) })
		}
		if err != nil {
			t.send(wordInput, nil)
			return
		}
	}
}

// inbox is the standard input that a Job sends. Its reader is a rank's.
type inbox struct {
	trunk *trunk
	mu    sync.Mutex
	more  *sync.Cond
	data  []byte
	ended bool
}

func newInbox(t *trunk) *inbox {
	in := &inbox{trunk: t}
	in.more = sync.NewCond(&in.mu)
	return in
}

// put adds data; nothing is the end. It reports whether the Job had credit for it.
func (in *inbox) put(data []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.data)+len(data) > window {
		return false
	}
	in.data = append(in.data, data...)
	in.ended = in.ended || len(data) == 0
	in.more.Signal()
	return true
}

// close ends the input.
func (in *inbox) close() { in.put(nil) }

// Read implements io.Reader.
func (in *inbox) Read(b []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.data) == 0 && !in.ended {
		in.more.Wait()
	}
	n := copy(b, in.data)
	in.data = in.data[n:]
	if n == 0 {
		return 0, io.EOF
	}
	in.trunk.send(wordInputTaken, func(f []byte) []byte { return wire.AppendUint32(f, uint32(n)) })
	return n, nil
}
