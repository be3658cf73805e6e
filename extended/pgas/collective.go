package pgas

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/extended"
)

// The typed forms of a team's collective calls; see extended.Team for their rules.

// Broadcast copies src of member root to dst of all members.
func Broadcast[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	if err := sendable[T](c, "Broadcast"); err != nil {
		return err
	}
	return t.Broadcast(c, root, bytesOf(dst), bytesOf(src))
}

// AllGather copies the source of every member, of equal lengths, to dst of every member, in
// order of rank.
func AllGather[T any](c *extended.Context, t *extended.Team, dst, src []T) error {
	if err := sendable[T](c, "AllGather"); err != nil {
		return err
	}
	return t.AllGather(c, bytesOf(dst), bytesOf(src))
}

// Scatter cuts src of member root into blocks as long as dst and copies block i to dst of
// member i.
func Scatter[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	if err := sendable[T](c, "Scatter"); err != nil {
		return err
	}
	return t.Scatter(c, root, bytesOf(dst), bytesOf(src))
}

// Gather copies the source of every member, of equal lengths, to dst of member root, in
// order of rank.
func Gather[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	if err := sendable[T](c, "Gather"); err != nil {
		return err
	}
	return t.Gather(c, root, bytesOf(dst), bytesOf(src))
}

// AllToAll copies block i of the source of member j to block j of the destination of member
// i, for all i and j. dst and src must not overlap.
func AllToAll[T any](c *extended.Context, t *extended.Team, dst, src []T) error {
	if err := sendable[T](c, "AllToAll"); err != nil {
		return err
	}
	if n := t.Size(); n > 0 && len(src)%n != 0 { // whole elements, not only whole bytes
		return fmt.Errorf("pgas: rank %d: AllToAll: %d elements are no %d equal blocks", c.Endpoint().Rank(), len(src), n)
	}
	return t.AllToAll(c, bytesOf(dst), bytesOf(src))
}

// Reduce combines the sources of all members, which have equal lengths, into dst of member
// root.
func Reduce[T any](c *extended.Context, t *extended.Team, root int, dst, src []T, op Op[T]) error {
	if op.err != nil {
		return op.err
	}
	return t.Reduce(c, root, bytesOf(dst), bytesOf(src), op.r)
}

// AllReduce combines the sources of all members, which have equal lengths, into dst of every
// member. dst and src may be the same, on all members or on none.
func AllReduce[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	if op.err != nil {
		return op.err
	}
	return t.AllReduce(c, bytesOf(dst), bytesOf(src), op.r)
}

// Scan combines the sources of members 0 to i, which have equal lengths, into dst of member
// i, for all i. dst and src may be the same, on all members or on none.
func Scan[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	if op.err != nil {
		return op.err
	}
	return t.Scan(c, bytesOf(dst), bytesOf(src), op.r)
}

// ExScan is Scan without the member's own source; dst of member 0 is left alone.
func ExScan[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	if op.err != nil {
		return op.err
	}
	return t.ExScan(c, bytesOf(dst), bytesOf(src), op.r)
}

// AllReduceNB is AllReduce with an event.
func AllReduceNB[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) (extended.Event, error) {
	if op.err != nil {
		return 0, op.err
	}
	return t.AllReduceNB(c, bytesOf(dst), bytesOf(src), op.r)
}

// AllReduceValue is AllReduce of one element.
func AllReduceValue[T any](c *extended.Context, t *extended.Team, v T, op Op[T]) (T, error) {
	if op.err != nil {
		return v, op.err
	}
	b, mem := stagingOf(v)
	err := t.AllReduce(c, mem, mem, op.r)
	if err == nil {
		v = elementsOf[T](mem)[0]
		stages.Put(b)
	}
	return v, err
}

// BroadcastValue returns the root's v to every member.
func BroadcastValue[T any](c *extended.Context, t *extended.Team, root int, v T) (T, error) {
	if err := sendable[T](c, "BroadcastValue"); err != nil {
		return v, err
	}
	b, mem := stagingOf(v)
	err := t.Broadcast(c, root, mem, mem)
	if err == nil {
		v = elementsOf[T](mem)[0]
		stages.Put(b)
	}
	return v, err
}

// sendable checks the type of elements that are not in a segment.
func sendable[T any](c *extended.Context, call string) error {
	if err := checkElement[T](); err != nil {
		return fmt.Errorf("pgas: rank %d: %s: %w", c.Endpoint().Rank(), call, err)
	}
	return nil
}
