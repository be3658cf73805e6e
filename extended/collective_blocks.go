package extended

import "github.com/aqueduct-go/aqueduct/extended/coll"

// Collective calls that move blocks of equal lengths.

// Broadcast copies src of member root to dst of all members. dst has the same length on all
// members, src at the root; elsewhere src is ignored. At the root they may be the same.
func (t *Team) Broadcast(c *Context, root int, dst, src []byte) error {
	return c.finish(t.BroadcastNB(c, root, dst, src))
}

// BroadcastNB is Broadcast with an event.
func (t *Team) BroadcastNB(c *Context, root int, dst, src []byte) (Event, error) {
	if t.Rank() == root && len(src) != len(dst) {
		return 0, c.ep.misuse("Broadcast", "the root's source has %d bytes, its destination %d", len(src), len(dst))
	}
	return t.begin(c, coll.Call{Op: coll.Broadcast, Root: root, Bytes: len(dst)}, dst, src, nil, 0)
}

// Scatter cuts src of member root into blocks and copies block i to dst of member i. dst
// has the same length on all members; src, ignored elsewhere, has as many blocks of it as
// there are members. At the root dst may be its own block of src.
func (t *Team) Scatter(c *Context, root int, dst, src []byte) error {
	return c.finish(t.ScatterNB(c, root, dst, src))
}

// ScatterNB is Scatter with an event.
func (t *Team) ScatterNB(c *Context, root int, dst, src []byte) (Event, error) {
	if t.Rank() == root {
		if err := t.blocks(c, coll.Scatter, "source", src, dst); err != nil {
			return 0, err
		}
	}
	return t.begin(c, coll.Call{Op: coll.Scatter, Root: root, Bytes: len(dst)}, dst, src, nil, 0)
}

// Gather copies the source of every member, of equal lengths, to dst of member root, in
// order of rank; elsewhere dst is ignored. At the root src may be its own block of dst.
func (t *Team) Gather(c *Context, root int, dst, src []byte) error {
	return c.finish(t.GatherNB(c, root, dst, src))
}

// GatherNB is Gather with an event.
func (t *Team) GatherNB(c *Context, root int, dst, src []byte) (Event, error) {
	if t.Rank() == root {
		if err := t.blocks(c, coll.Gather, "destination", dst, src); err != nil {
			return 0, err
		}
	}
	return t.begin(c, coll.Call{Op: coll.Gather, Root: root, Bytes: len(src)}, dst, src, nil, 0)
}

// AllGather copies the source of every member, of equal lengths, to dst of every member, in
// order of rank. src may be the member's own block of dst.
func (t *Team) AllGather(c *Context, dst, src []byte) error {
	return c.finish(t.AllGatherNB(c, dst, src))
}

// AllGatherNB is AllGather with an event.
func (t *Team) AllGatherNB(c *Context, dst, src []byte) (Event, error) {
	if err := t.blocks(c, coll.AllGather, "destination", dst, src); err != nil {
		return 0, err
	}
	return t.begin(c, coll.Call{Op: coll.AllGather, Bytes: len(src)}, dst, src, nil, 0)
}

// AllToAll copies block i of the source of member j to block j of the destination of member
// i, for all i and j. All have the same length on all members. dst and src must not overlap.
func (t *Team) AllToAll(c *Context, dst, src []byte) error {
	return c.finish(t.AllToAllNB(c, dst, src))
}

// AllToAllNB is AllToAll with an event.
func (t *Team) AllToAllNB(c *Context, dst, src []byte) (Event, error) {
	if err := t.rooted(c, coll.AllToAll, 0); err != nil {
		return 0, err
	}
	n := t.Size()
	switch {
	case len(dst) != len(src) || len(src)%n != 0:
		return 0, c.ep.misuse("AllToAll", "the destination has %d bytes, the source %d; want %d blocks in both", len(dst), len(src), n)
	case overlap(dst, src):
		return 0, c.ep.misuse("AllToAll", "destination and source overlap")
	}
	return t.begin(c, coll.Call{Op: coll.AllToAll, Bytes: len(src) / n}, dst, src, nil, 0)
}

// blocks checks that all has a block of the size of one for every member.
func (t *Team) blocks(c *Context, op coll.Op, what string, all, one []byte) error {
	if err := t.rooted(c, op, 0); err != nil {
		return err
	}
	if n := t.Size(); len(all) != n*len(one) {
		return c.ep.misuse(op.String(), "the %s has %d bytes, want %d blocks of %d", what, len(all), n, len(one))
	}
	return nil
}
