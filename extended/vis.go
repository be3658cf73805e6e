package extended

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/core"
)

// transfer is a vector, indexed or strided operation. Its shape makes pieces, which are
// merged where they are adjacent on both sides, and then go to memory or into messages.
type transfer struct {
	c    *Context
	call string
	get  bool
	rank core.Rank // of the remote side
	near []byte    // the local buffer
	lc   LocalCompletion

	far []byte     // the remote segment, where it is reached directly
	op  *operation // else

	merged  piece // so far
	message packing
}

// piece is n bytes at an offset of the remote segment and an offset of the local buffer.
type piece struct {
	far, near uint64
	n         int
}

func (c *Context) putting(call string, dst core.Rank, src []byte, lc LocalCompletion) transfer {
	return transfer{c: c, call: call, rank: dst, near: src, lc: lc}
}

func (c *Context) getting(call string, dst []byte, src core.Rank) transfer {
	return transfer{c: c, call: call, rank: src, near: dst, get: true}
}

// run does the transfer in a form.
func (t *transfer) run(f form, s *shape) (Event, error) {
	if done, err := t.direct(s); done {
		return 0, err
	}
	k, dst := putCategory, []byte(nil)
	if t.get {
		k, dst = getCategory, t.near
	}
	op, err := t.c.start(t.call, f, k, dst)
	if err != nil {
		return 0, err
	}
	t.op = op
	return t.c.end(op, f, t.move(s))
}

// blocking does the whole transfer.
func (t *transfer) blocking(s *shape) error {
	_, err := t.run(blocking, s)
	return err
}

// nb initiates the transfer and returns its event.
func (t *transfer) nb(s *shape) (Event, error) { return t.run(explicit, s) }

// nbi initiates the transfer as an implicit operation.
func (t *transfer) nbi(s *shape) error {
	_, err := t.run(implicit, s)
	return err
}

// direct checks the transfer, and does it if it is empty or reaches the segment.
func (t *transfer) direct(s *shape) (done bool, err error) {
	if err := t.c.Check(t.call); err != nil {
		return true, err
	}
	if some, err := s.check(t); !some || err != nil {
		return true, err
	}
	if t.far = t.c.ep.reach.of(t.rank); t.far == nil {
		return false, nil
	}
	return true, t.move(s)
}

// move moves all pieces.
func (t *transfer) move(s *shape) error {
	if err := s.walk(t); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.send()
}

// add moves a piece, sooner or later.
func (t *transfer) add(far, near uint64, n int) error {
	if r := &t.merged; far == r.far+uint64(r.n) && near == r.near+uint64(r.n) {
		r.n += n
		return nil
	}
	err := t.flush()
	t.merged = piece{far, near, n}
	return err
}

// flush moves what was merged.
func (t *transfer) flush() error {
	p := t.merged
	switch ep := t.c.ep; {
	case p.n == 0:
	case t.far != nil && t.get:
		copyPiece(t.near[p.near:][:p.n], t.far[p.far:])
	case t.far != nil:
		copyPiece(t.far[p.far:][:p.n], t.near[p.near:])
	case p.n > ep.packed()/2:
		return t.alone(p)
	case t.get:
		return t.gather(p)
	default:
		return t.scatter(p)
	}
	return nil
}

// copyPiece copies len(to) bytes. The sizes of single elements are moves.
func copyPiece(to, from []byte) {
	switch len(to) {
	case 8:
		binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
	case 4:
		binary.NativeEndian.PutUint32(to, binary.NativeEndian.Uint32(from))
	default:
		copy(to, from)
	}
}

// alone moves a large piece as a put or get of its own.
func (t *transfer) alone(p piece) error {
	if err := t.send(); err != nil {
		return err
	}
	c, near := t.c, t.near[p.near:][:p.n]
	if !t.get {
		return c.sendPut(t.op, t.rank, p.far, near, t.lc)
	}
	op, err := c.begin(t.call)
	if err != nil {
		return err
	}
	op.group = t.op // the one to be told: groups do not nest
	if t.op.group != nil {
		op.group = t.op.group
	}
	op.group.pending.Add(1)
	op.dst = near
	if err := c.sendGet(op, near, t.rank, p.far); err != nil {
		return err
	}
	c.ep.finish(op, 1)
	return nil
}
