package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/extended/vis"
)

// transfer is a vector, indexed or strided operation. The pieces of its shape go to memory or into messages.
type transfer struct {
	c    *Context
	call string
	get  bool
	rank core.Rank // of the remote side
	near []byte    // the local buffer
	lc   LocalCompletion

	op      *operation  // where the remote segment is not reached directly
	open    bool        // message is being filled; the context may send nothing else
	message vis.Packing // a Medium
}

func (c *Context) putting(call string, dst core.Rank, src []byte, lc LocalCompletion) transfer {
	return transfer{c: c, call: call, rank: dst, near: src, lc: lc}
}

func (c *Context) getting(call string, dst []byte, src core.Rank) transfer {
	return transfer{c: c, call: call, rank: src, near: dst, get: true}
}

// run does the transfer in a form.
func (t *transfer) run(f form, s vis.Shape) (Event, error) {
	if done, err := t.direct(&s); done {
		return 0, err
	}
	k, dst := putCategory, []byte(nil)
	if t.get {
		k, dst = getCategory, t.near
	}
	op, err := t.c.start(t.call, f, k, t.rank, dst)
	if err != nil {
		return 0, err
	}
	t.op = op
	return t.c.end(op, f, t.move(&s))
}

// blocking does the whole transfer.
func (t *transfer) blocking(s vis.Shape) error {
	_, err := t.run(blocking, s)
	return err
}

// nb initiates the transfer and returns its event.
func (t *transfer) nb(s vis.Shape) (Event, error) { return t.run(explicit, s) }

// nbi initiates the transfer as an implicit operation.
func (t *transfer) nbi(s vis.Shape) error {
	_, err := t.run(implicit, s)
	return err
}

// direct checks the transfer, and does it if it is empty or reaches the segment.
func (t *transfer) direct(s *vis.Shape) (done bool, err error) {
	ep := t.c.ep
	if err := t.c.Check(t.call); err != nil {
		return true, err
	}
	if !t.lc.valid() {
		return true, ep.misuse(t.call, "%v is none of LCNow, LCDefer and LCLeaf", t.lc)
	}
	some, err := s.Check(vis.Sides{Rank: int(t.rank), Far: uint64(ep.SegmentSize(t.rank)), Near: uint64(len(t.near)), Get: t.get})
	switch {
	case err != nil:
		return true, ep.misuse(t.call, "%v", err)
	case !some:
		return true, nil
	}
	far := ep.reach.of(t.rank)
	switch {
	case far == nil:
		return false, nil
	case t.get:
		t.noteInPlace(record.GetInPlace, s)
		s.Get(t.near, far)
	default:
		t.noteInPlace(record.PutInPlace, s)
		s.Put(far, t.near)
	}
	return true, nil
}

// noteInPlace notes a transfer in place where the job is watched.
func (t *transfer) noteInPlace(k record.Category, s *vis.Shape) {
	core := t.c.ep.core
	if !core.Watched() {
		return
	}
	n := 0
	w := s.Runs()
	for r, ok := w.Next(); ok; r, ok = w.Next() {
		if r.Count > 0 {
			n += r.Count * r.At(0).N
		}
	}
	core.NoteInPlace(k, t.rank, n)
}

// move moves all pieces by messages: small ones many in one.
func (t *transfer) move(s *vis.Shape) error {
	w := s.Runs()
	for r, ok := w.Next(); ok; r, ok = w.Next() {
		for i := range r.Count {
			if err := t.movePiece(r.At(i)); err != nil {
				return err
			}
		}
	}
	return t.send()
}

func (t *transfer) movePiece(p vis.Piece) error {
	switch {
	case p.N > t.c.ep.packed()/2:
		return t.alone(p)
	case t.pack(p):
		return nil
	}
	err := t.begin()
	if err == nil {
		t.pack(p)
	}
	return err
}

// packed returns the size that messages are filled to. A piece of half of it goes alone.
func (ep *Endpoint) packed() int { return min(ep.piece.put, ep.piece.get) }

// pack packs a piece of a put, or the request for one of a get; false if there is no room.
func (t *transfer) pack(p vis.Piece) bool {
	if t.get {
		return t.message.Ask(p)
	}
	return t.message.Put(p, t.near)
}

// begin begins another message.
func (t *transfer) begin() error {
	if err := t.send(); err != nil {
		return err
	}
	size := t.c.ep.packed()
	buf, err := t.c.Prepare(t.rank, core.Offer{Kind: core.Medium, Least: size, Most: size, NArgs: 1})
	t.open, t.message = err == nil, vis.NewPacking(buf)
	return err
}

// send sends the message that is open, if one is.
func (t *transfer) send() error {
	if !t.open {
		return nil
	}
	n, h := t.message.Len(), handlerScatter
	if t.get {
		h = handlerGather
	}
	t.open, t.message = false, vis.Packing{}
	t.op.pending.Add(1)
	return t.c.Commit(h, n, t.op.number)
}

// alone moves a large piece as a put or get of its own.
func (t *transfer) alone(p vis.Piece) error {
	if err := t.send(); err != nil {
		return err
	}
	c, near := t.c, t.near[p.Near:][:p.N]
	if !t.get {
		return c.sendPut(t.op, t.rank, p.Far, near, t.lc)
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
	if err := c.sendGet(op, near, t.rank, p.Far); err != nil {
		return err
	}
	c.ep.finish(op, 1)
	return nil
}
