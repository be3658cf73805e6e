package pgas

import "github.com/aqueduct-go/aqueduct/extended"

// The typed forms of calls that move blocks of different lengths. Lengths and offsets of
// extended.Blocks count elements of T here; its Unit is ignored. A block may have no elements.

// ScatterV copies block i of src of member root to dst of member i, which is as long as the
// block. src and blocks are ignored elsewhere.
func ScatterV[T any](c *extended.Context, t *extended.Team, root int, dst, src []T, blocks extended.Blocks) error {
	return until{c}.done(ScatterVNB(c, t, root, dst, src, blocks))
}

// ScatterVNB is ScatterV with an event.
func ScatterVNB[T any](c *extended.Context, t *extended.Team, root int, dst, src []T, blocks extended.Blocks) (extended.Event, error) {
	if err := sendable[T](c, "ScatterV"); err != nil {
		return 0, err
	}
	return t.ScatterVNB(c, root, bytesOf(dst), bytesOf(src), inElements[T](blocks))
}

// GatherV copies the source of member i to block i, which is as long, of dst of member root.
// dst and blocks are ignored elsewhere.
func GatherV[T any](c *extended.Context, t *extended.Team, root int, dst []T, blocks extended.Blocks, src []T) error {
	return until{c}.done(GatherVNB(c, t, root, dst, blocks, src))
}

// GatherVNB is GatherV with an event.
func GatherVNB[T any](c *extended.Context, t *extended.Team, root int, dst []T, blocks extended.Blocks, src []T) (extended.Event, error) {
	if err := sendable[T](c, "GatherV"); err != nil {
		return 0, err
	}
	return t.GatherVNB(c, root, bytesOf(dst), inElements[T](blocks), bytesOf(src))
}

// AllGatherV copies the source of member i to block i, which is as long, of dst of every
// member. The lengths of the blocks are the same on all members.
func AllGatherV[T any](c *extended.Context, t *extended.Team, dst []T, blocks extended.Blocks, src []T) error {
	return until{c}.done(AllGatherVNB(c, t, dst, blocks, src))
}

// AllGatherVNB is AllGatherV with an event.
func AllGatherVNB[T any](c *extended.Context, t *extended.Team, dst []T, blocks extended.Blocks, src []T) (extended.Event, error) {
	if err := sendable[T](c, "AllGatherV"); err != nil {
		return 0, err
	}
	return t.AllGatherVNB(c, bytesOf(dst), inElements[T](blocks), bytesOf(src))
}

// AllToAllV copies block i of the source of member j to block j of the destination of member
// i, which is as long, for all i and j. dst and src must not overlap.
func AllToAllV[T any](c *extended.Context, t *extended.Team, dst []T, into extended.Blocks, src []T, from extended.Blocks) error {
	return until{c}.done(AllToAllVNB(c, t, dst, into, src, from))
}

// AllToAllVNB is AllToAllV with an event.
func AllToAllVNB[T any](c *extended.Context, t *extended.Team, dst []T, into extended.Blocks, src []T, from extended.Blocks) (extended.Event, error) {
	if err := sendable[T](c, "AllToAllV"); err != nil {
		return 0, err
	}
	return t.AllToAllVNB(c, bytesOf(dst), inElements[T](into), bytesOf(src), inElements[T](from))
}

// inElements returns blocks whose lengths and offsets count elements of T.
func inElements[T any](b extended.Blocks) extended.Blocks {
	b.Unit = int(size[T]())
	return b
}
