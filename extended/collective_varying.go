package extended

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// Collective calls that move blocks of different lengths.

// Blocks tells where each member's block lies in a buffer. Lengths and offsets have an entry
// for every member. They are the program's, which may change them when the call has returned,
// also one that returns an event.
type Blocks struct {
	Lens []int
	Offs []int // nil: one after the other
	Unit int   // the bytes that both count; 0 stands for 1
}

// spans returns the blocks as spans of a buffer of n bytes, or says what is wrong.
func (b Blocks) spans(t *Team, c *Context, call, what string, buf coll.Buf, n int) ([]coll.Span, error) {
	if len(b.Lens) != t.Size() || b.Offs != nil && len(b.Offs) != t.Size() {
		return nil, c.ep.misuse(call, "%d lengths and %d offsets of blocks of the %s for %d members", len(b.Lens), len(b.Offs), what, t.Size())
	}
	if b.Unit < 0 {
		return nil, c.ep.misuse(call, "blocks of the %s in units of %d bytes", what, b.Unit)
	}
	spans := make([]coll.Span, t.Size())
	unit := max(1, b.Unit)
	at, room := 0, n/unit
	for i, size := range b.Lens {
		if b.Offs != nil {
			at = b.Offs[i]
		}
		if size < 0 || at < 0 || size > room || at > room-size {
			return nil, c.ep.misuse(call, "block %d, %d units of %d bytes at unit %d, lies outside the %s of %d units", i, size, unit, at, what, room)
		}
		spans[i] = coll.Span{Buf: buf, Off: at * unit, Len: size * unit}
		at += size
	}
	return spans, nil
}

// ScatterV copies block i of src of member root to dst of member i, which is as long as the
// block. src and blocks are ignored elsewhere.
func (t *Team) ScatterV(c *Context, root int, dst, src []byte, blocks Blocks) error {
	return c.finish(t.ScatterVNB(c, root, dst, src, blocks))
}

// ScatterVNB is ScatterV with an event.
func (t *Team) ScatterVNB(c *Context, root int, dst, src []byte, blocks Blocks) (Event, error) {
	if err := t.rooted(c, coll.ScatterV, root); err != nil {
		return 0, err
	}
	var send []coll.Span
	recv := make([]coll.Span, t.Size())
	recv[root] = coll.Span{Buf: coll.Dst, Len: len(dst)}
	if t.Rank() == root {
		var err error
		if send, err = blocks.spans(t, c, "ScatterV", "source", coll.Src, len(src)); err != nil {
			return 0, err
		}
	}
	return t.exchange(c, coll.ScatterV, root, dst, src, recv, send)
}

// GatherV copies the source of member i to block i, which is as long, of dst of member root.
// dst and blocks are ignored elsewhere.
func (t *Team) GatherV(c *Context, root int, dst []byte, blocks Blocks, src []byte) error {
	return c.finish(t.GatherVNB(c, root, dst, blocks, src))
}

// GatherVNB is GatherV with an event.
func (t *Team) GatherVNB(c *Context, root int, dst []byte, blocks Blocks, src []byte) (Event, error) {
	if err := t.rooted(c, coll.GatherV, root); err != nil {
		return 0, err
	}
	var recv []coll.Span
	send := make([]coll.Span, t.Size())
	send[root] = coll.Span{Buf: coll.Src, Len: len(src)}
	if t.Rank() == root {
		var err error
		if recv, err = blocks.spans(t, c, "GatherV", "destination", coll.Dst, len(dst)); err != nil {
			return 0, err
		}
	}
	return t.exchange(c, coll.GatherV, root, dst, src, recv, send)
}

// AllGatherV copies the source of member i to block i, which is as long, of dst of every
// member. The lengths of the blocks are the same on all members.
func (t *Team) AllGatherV(c *Context, dst []byte, blocks Blocks, src []byte) error {
	return c.finish(t.AllGatherVNB(c, dst, blocks, src))
}

// AllGatherVNB is AllGatherV with an event.
func (t *Team) AllGatherVNB(c *Context, dst []byte, blocks Blocks, src []byte) (Event, error) {
	if err := t.rooted(c, coll.AllGatherV, 0); err != nil {
		return 0, err
	}
	recv, err := blocks.spans(t, c, "AllGatherV", "destination", coll.Dst, len(dst))
	if err != nil {
		return 0, err
	}
	send := make([]coll.Span, t.Size())
	for i := range send {
		send[i] = coll.Span{Buf: coll.Src, Len: len(src)}
	}
	return t.exchange(c, coll.AllGatherV, 0, dst, src, recv, send)
}

// AllToAllV copies block i of the source of member j to block j of the destination of member
// i, which is as long, for all i and j. dst and src must not overlap.
func (t *Team) AllToAllV(c *Context, dst []byte, into Blocks, src []byte, from Blocks) error {
	return c.finish(t.AllToAllVNB(c, dst, into, src, from))
}

// AllToAllVNB is AllToAllV with an event.
func (t *Team) AllToAllVNB(c *Context, dst []byte, into Blocks, src []byte, from Blocks) (Event, error) {
	if err := t.rooted(c, coll.AllToAllV, 0); err != nil {
		return 0, err
	}
	if overlap(dst, src) {
		return 0, c.ep.misuse("AllToAllV", "destination and source overlap")
	}
	recv, err := into.spans(t, c, "AllToAllV", "destination", coll.Dst, len(dst))
	if err != nil {
		return 0, err
	}
	send, err := from.spans(t, c, "AllToAllV", "source", coll.Src, len(src))
	if err != nil {
		return 0, err
	}
	return t.exchange(c, coll.AllToAllV, 0, dst, src, recv, send)
}

// exchange begins a call in which every member sends others what they expect, at once.
func (t *Team) exchange(c *Context, op coll.Op, root int, dst, src []byte, recv, send []coll.Span) (Event, error) {
	if recv != nil && send != nil && recv[t.self].Len != send[t.self].Len {
		return 0, c.ep.misuse(op.String(), "the member's own block has %d bytes in the source and %d in the destination", send[t.self].Len, recv[t.self].Len)
	}
	return t.start(c, t.engine.Exchange(op, recv, send), dst, src, nil, engine.Signature{uint32(op), uint32(root), anyBytes})
}

// overlap reports whether two buffers have bytes in common.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	pa, pb := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return pa < pb+uintptr(len(b)) && pb < pa+uintptr(len(a))
}
