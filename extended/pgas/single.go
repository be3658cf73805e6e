package pgas

import "github.com/aqueduct-go/aqueduct/extended"

// Collective calls of one element of every member. They allocate nothing.

// BroadcastValue returns the root's v to every member.
func BroadcastValue[T any](c *extended.Context, t *extended.Team, root int, v T) (T, error) {
	if err := sendable[T](c, "BroadcastValue"); err != nil {
		return v, err
	}
	return staged(v, func(mem []byte) error { return t.Broadcast(c, root, mem, mem) })
}

// ReduceValue returns to member root what the v of all members make together, and the zero
// value to the others.
func ReduceValue[T any](c *extended.Context, t *extended.Team, root int, v T, op Op[T]) (T, error) {
	sum, err := combined(v, op, func(mem []byte) error { return t.Reduce(c, root, mem, mem, op.r) })
	if t.Rank() != root {
		var zero T
		sum = zero
	}
	return sum, err
}

// AllReduceValue returns to every member what the v of all members make together.
func AllReduceValue[T any](c *extended.Context, t *extended.Team, v T, op Op[T]) (T, error) {
	return combined(v, op, func(mem []byte) error { return t.AllReduce(c, mem, mem, op.r) })
}

// ScanValue returns to member i what the v of members 0 to i make together, for all i.
func ScanValue[T any](c *extended.Context, t *extended.Team, v T, op Op[T]) (T, error) {
	return combined(v, op, func(mem []byte) error { return t.Scan(c, mem, mem, op.r) })
}

// ExScanValue is ScanValue without the member's own v. Member 0, before which there is none,
// gets the zero value: what sums begin with, so that sums of lengths are offsets.
func ExScanValue[T any](c *extended.Context, t *extended.Team, v T, op Op[T]) (T, error) {
	sum, err := combined(v, op, func(mem []byte) error { return t.ExScan(c, mem, mem, op.r) })
	if t.Rank() == 0 {
		var zero T
		sum = zero
	}
	return sum, err
}

// combined is staged for an operator, which may be none.
func combined[T any](v T, op Op[T], call func(mem []byte) error) (T, error) {
	if op.err != nil {
		return v, op.err
	}
	return staged(v, call)
}

// staged has a call work on memory with the element v, and returns what that holds then.
func staged[T any](v T, call func(mem []byte) error) (T, error) {
	b, mem := stagingOf(v)
	if err := call(mem); err != nil {
		return v, err // a call that was given up may still write there
	}
	v = elementsOf[T](mem)[0]
	stages.Put(b)
	return v, nil
}
