package pgas

import "github.com/aqueduct-go/aqueduct/extended"

// The typed forms of calls that combine elements.

// Reduce combines the sources of all members, which have equal lengths, into dst of member
// root. dst is ignored elsewhere; at the root the two may be the same.
func Reduce[T any](c *extended.Context, t *extended.Team, root int, dst, src []T, op Op[T]) error {
	return until{c}.done(ReduceNB(c, t, root, dst, src, op))
}

// ReduceNB is Reduce with an event.
func ReduceNB[T any](c *extended.Context, t *extended.Team, root int, dst, src []T, op Op[T]) (extended.Event, error) {
	if op.err != nil {
		return 0, op.err
	}
	return t.ReduceNB(c, root, bytesOf(dst), bytesOf(src), op.r)
}

// AllReduce combines the sources of all members, which have equal lengths, into dst of every
// member. dst and src may be the same, on all members or on none.
func AllReduce[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	return until{c}.done(AllReduceNB(c, t, dst, src, op))
}

// AllReduceNB is AllReduce with an event.
func AllReduceNB[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) (extended.Event, error) {
	if op.err != nil {
		return 0, op.err
	}
	return t.AllReduceNB(c, bytesOf(dst), bytesOf(src), op.r)
}

// Scan combines the sources of members 0 to i, which have equal lengths, into dst of member
// i, for all i. dst and src may be the same, on all members or on none.
func Scan[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	return until{c}.done(ScanNB(c, t, dst, src, op))
}

// ScanNB is Scan with an event.
func ScanNB[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) (extended.Event, error) {
	if op.err != nil {
		return 0, op.err
	}
	return t.ScanNB(c, bytesOf(dst), bytesOf(src), op.r)
}

// ExScan is Scan without the member's own source; dst of member 0 is left alone.
func ExScan[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) error {
	return until{c}.done(ExScanNB(c, t, dst, src, op))
}

// ExScanNB is ExScan with an event.
func ExScanNB[T any](c *extended.Context, t *extended.Team, dst, src []T, op Op[T]) (extended.Event, error) {
	if op.err != nil {
		return 0, op.err
	}
	return t.ExScanNB(c, bytesOf(dst), bytesOf(src), op.r)
}
