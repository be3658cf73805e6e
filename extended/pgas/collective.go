package pgas

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/extended"
)

// The typed forms of a team's collective calls; see extended.Team for their rules. Every call
// that extended.Team has for moving and combining data is a function of the same name here,
// with the context and the team as first arguments; lengths and offsets count elements. The
// name with NB returns an event, 0 if the call is complete. Until that is synchronised dst is
// undefined and src must not change. The name with Value has one element instead of slices.

// until is a context that waits.
type until struct{ *extended.Context }

// done waits for a call that was begun.
func (u until) done(ev extended.Event, err error) error {
	if err != nil || ev == 0 {
		return err
	}
	return u.Wait(ev)
}

// Broadcast copies src of member root to dst of all members. src is ignored elsewhere.
func Broadcast[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	return until{c}.done(BroadcastNB(c, t, root, dst, src))
}

// BroadcastNB is Broadcast with an event.
func BroadcastNB[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) (extended.Event, error) {
	if err := sendable[T](c, "Broadcast"); err != nil {
		return 0, err
	}
	return t.BroadcastNB(c, root, bytesOf(dst), bytesOf(src))
}

// Scatter cuts src of member root into blocks as long as dst and copies block i to dst of
// member i. src is ignored elsewhere.
func Scatter[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	return until{c}.done(ScatterNB(c, t, root, dst, src))
}

// ScatterNB is Scatter with an event.
func ScatterNB[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) (extended.Event, error) {
	if err := sendable[T](c, "Scatter"); err != nil {
		return 0, err
	}
	return t.ScatterNB(c, root, bytesOf(dst), bytesOf(src))
}

// Gather copies the source of every member, of equal lengths, to dst of member root, in
// order of rank. dst is ignored elsewhere.
func Gather[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) error {
	return until{c}.done(GatherNB(c, t, root, dst, src))
}

// GatherNB is Gather with an event.
func GatherNB[T any](c *extended.Context, t *extended.Team, root int, dst, src []T) (extended.Event, error) {
	if err := sendable[T](c, "Gather"); err != nil {
		return 0, err
	}
	return t.GatherNB(c, root, bytesOf(dst), bytesOf(src))
}

// AllGather copies the source of every member, of equal lengths, to dst of every member, in
// order of rank.
func AllGather[T any](c *extended.Context, t *extended.Team, dst, src []T) error {
	return until{c}.done(AllGatherNB(c, t, dst, src))
}

// AllGatherNB is AllGather with an event.
func AllGatherNB[T any](c *extended.Context, t *extended.Team, dst, src []T) (extended.Event, error) {
	if err := sendable[T](c, "AllGather"); err != nil {
		return 0, err
	}
	return t.AllGatherNB(c, bytesOf(dst), bytesOf(src))
}

// AllToAll copies block i of the source of member j to block j of the destination of member
// i, for all i and j. dst and src must not overlap.
func AllToAll[T any](c *extended.Context, t *extended.Team, dst, src []T) error {
	return until{c}.done(AllToAllNB(c, t, dst, src))
}

// AllToAllNB is AllToAll with an event.
func AllToAllNB[T any](c *extended.Context, t *extended.Team, dst, src []T) (extended.Event, error) {
	if err := sendable[T](c, "AllToAll"); err != nil {
		return 0, err
	}
	if n := t.Size(); n > 0 && len(src)%n != 0 { // whole elements, not only whole bytes
		return 0, c.Endpoint().Core().Misuse("AllToAll", "%d elements are no %d equal blocks", len(src), n)
	}
	return t.AllToAllNB(c, bytesOf(dst), bytesOf(src))
}

// sendable checks the type of elements that are not in a segment.
func sendable[T any](c *extended.Context, call string) error {
	if err := checkElement[T](); err != nil {
		return fmt.Errorf("pgas: rank %d: %s: %w", c.Endpoint().Rank(), call, err)
	}
	return nil
}
