package extended

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/core"
)

// packing is a Medium that is being filled with small pieces. While it is open the context
// may send nothing else.
type packing struct {
	buf       []byte // nil: none is open
	used      int
	answer    int    // payload bytes of the answer to a request to gather
	far, near uint64 // where the last piece ended
}

// packed returns the size that messages are filled to. A piece of half of it goes alone.
func (ep *Endpoint) packed() int { return min(ep.piece.put, ep.piece.get) }

// open begins another message.
func (t *transfer) open() error {
	if err := t.send(); err != nil {
		return err
	}
	size := t.c.ep.packed()
	buf, err := t.c.Prepare(t.rank, core.Offer{Kind: core.Medium, Least: size, Most: size, NArgs: 1})
	t.message = packing{buf: buf}
	return err
}

// send sends the message that is open, if one is.
func (t *transfer) send() error {
	m := &t.message
	if m.buf == nil {
		return nil
	}
	m.buf = nil
	h := handlerScatter
	if t.get {
		h = handlerGather
	}
	t.op.pending.Add(1)
	return t.c.Commit(h, m.used, t.op.number)
}

// scatter packs a piece of a put.
func (t *transfer) scatter(p piece) error {
	m := &t.message
	if len(m.buf)-m.used < pieceHeader+p.n {
		if err := t.open(); err != nil {
			return err
		}
	}
	m.used += putPieceHeader(m.buf[m.used:], p.far-m.far, p.n)
	m.used += copy(m.buf[m.used:], t.near[p.near:][:p.n])
	m.far = p.far + uint64(p.n)
	return nil
}

// gather packs the request for a piece of a get.
func (t *transfer) gather(p piece) error {
	m := &t.message
	if len(m.buf)-m.used < gatherHeader || t.c.ep.packed()-m.answer < pieceHeader+p.n {
		if err := t.open(); err != nil {
			return err
		}
	}
	m.used += binary.PutVarint(m.buf[m.used:], int64(p.far-m.far))
	k := putPieceHeader(m.buf[m.used:], p.near-m.near, p.n)
	m.used, m.answer = m.used+k, m.answer+k+p.n
	m.far, m.near = p.far+uint64(p.n), p.near+uint64(p.n)
	return nil
}

// onScatter handles a Medium [number]: its pieces go to this rank's segment.
func (ep *Endpoint) onScatter(t *core.Token, args []uint32, data []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	if err := scatter(ep.Segment(), data); err != nil {
		ep.malformed(t, "%v", err)
		return
	}
	ep.reply(t, handlerDone, args[0])
}

// onGather handles a Medium [number]: the pieces that it names are wanted.
func (ep *Endpoint) onGather(t *core.Token, args []uint32, request []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	size, err := gather(nil, ep.Segment(), request)
	if err == nil && size == 0 {
		err = errCutShort
	}
	var answer []byte
	if err == nil {
		answer, err = t.Prepare(core.Offer{Kind: core.Medium, Least: size, Most: size, NArgs: 1})
	}
	if err == nil {
		_, err = gather(answer, ep.Segment(), request)
	}
	if err == nil {
		err = t.Commit(handlerGathered, size, args[0])
	}
	if err != nil {
		ep.malformed(t, "%v", err)
	}
}

// onGathered handles a Medium [number]: pieces of a get have come.
func (ep *Endpoint) onGathered(t *core.Token, args []uint32, data []byte) {
	if len(args) != 1 {
		ep.malformed(t, "%d arguments", len(args))
		return
	}
	op := ep.answered(t, args[0])
	if op == nil {
		return
	}
	if err := scatter(op.dst, data); err != nil {
		ep.malformed(t, "%v", err)
		return
	}
	ep.finish(op, 1)
}
