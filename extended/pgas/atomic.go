package pgas

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// Atomic does remote atomics on elements that global pointers name: extended.Atomic, whose
// rules hold, with pointers for team ranks and offsets. An operation that the domain was not
// made for is an error, and so is a pointer to a rank that is not in the team.
//
//	ctr, err := pgas.NewAtomic[uint64](c, ep.World(), extended.FInc)
//	ticket, err := ctr.FetchInc(c, p.On(0))
//
// The operations are atomic among those of one domain only, not with Ptr.Get and Ptr.Put.
// Each blocks until it is done and may poll. What else is ordered, the last argument says, as
// in lock.Set(c, p, 0, extended.Release); none stands for Acquire and Release (see
// extended.Order). Not allowed in a handler.
type Atomic[T extended.Number] struct {
	domain *extended.Atomic[T]
	team   *extended.Team
}

// NewAtomic makes a domain for the operations ops, a set such as extended.Get|extended.FAdd.
// Collective over the team, a barrier; see extended.NewDomain.
func NewAtomic[T extended.Number](c *extended.Context, team *extended.Team, ops extended.Op) (*Atomic[T], error) {
	d, err := extended.NewAtomic[T](c, team, ops)
	if err != nil {
		return nil, err
	}
	return &Atomic[T]{d, team}, nil
}

// Free ends the domain. Collective, a barrier; see extended.Domain.Free.
func (a *Atomic[T]) Free(c *extended.Context) error { return a.domain.Free(c) }

// Domain returns the domain below. A handler may call it.
func (a *Atomic[T]) Domain() *extended.Domain { return &a.domain.Domain }

// member returns the team rank of a rank of the job, or an outsider's number, which the domain
// refuses. In the world of a whole job, and in many teams, the two ranks are equal.
func (a *Atomic[T]) member(r core.Rank) int {
	if a.team.Jobrank(int(r)) == r && r >= 0 {
		return int(r)
	}
	if i := a.team.RankOf(r); i >= 0 {
		return i
	}
	return extended.Outsider(r)
}

// Do does any one of the domain's operations; see extended.Domain.Do.
func (a *Atomic[T]) Do(c *extended.Context, p Ptr[T], op extended.Op, x, y T, orders ...extended.Order) (T, error) {
	return a.domain.Do(c, a.member(p.Rank()), p.off, op, x, y, orders...)
}

// DoNB initiates Do and returns its event. The result of a fetching op goes to dst, else
// ignored; see extended.Domain.DoNB.
func (a *Atomic[T]) DoNB(c *extended.Context, dst *T, p Ptr[T], op extended.Op, x, y T, orders ...extended.Order) (extended.Event, error) {
	return a.domain.DoNB(c, dst, a.member(p.Rank()), p.off, op, x, y, orders...)
}

// DoNBI initiates Do as an implicit operation; see extended.Domain.DoNBI.
func (a *Atomic[T]) DoNBI(c *extended.Context, dst *T, p Ptr[T], op extended.Op, x, y T, orders ...extended.Order) error {
	return a.domain.DoNBI(c, dst, a.member(p.Rank()), p.off, op, x, y, orders...)
}

// Get returns the element.
func (a *Atomic[T]) Get(c *extended.Context, p Ptr[T], orders ...extended.Order) (T, error) {
	return a.domain.Get(c, a.member(p.Rank()), p.off, orders...)
}

// Set makes the element v.
func (a *Atomic[T]) Set(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Set(c, a.member(p.Rank()), p.off, v, orders...)
}

// Swap makes the element v and returns what it was.
func (a *Atomic[T]) Swap(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.Swap(c, a.member(p.Rank()), p.off, v, orders...)
}

// CompareSwap makes the element v if it has the bits of old, and returns what it was (FCAS):
// it has swapped if that has the bits of old.
func (a *Atomic[T]) CompareSwap(c *extended.Context, p Ptr[T], old, v T, orders ...extended.Order) (T, error) {
	return a.domain.CompareSwap(c, a.member(p.Rank()), p.off, old, v, orders...)
}

// Add adds v to the element.
func (a *Atomic[T]) Add(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Add(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchAdd adds v to the element and returns what it was.
func (a *Atomic[T]) FetchAdd(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchAdd(c, a.member(p.Rank()), p.off, v, orders...)
}

// Sub takes v from the element.
func (a *Atomic[T]) Sub(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Sub(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchSub takes v from the element and returns what it was.
func (a *Atomic[T]) FetchSub(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchSub(c, a.member(p.Rank()), p.off, v, orders...)
}

// Inc adds 1 to the element.
func (a *Atomic[T]) Inc(c *extended.Context, p Ptr[T], orders ...extended.Order) error {
	return a.domain.Inc(c, a.member(p.Rank()), p.off, orders...)
}

// FetchInc adds 1 to the element and returns what it was.
func (a *Atomic[T]) FetchInc(c *extended.Context, p Ptr[T], orders ...extended.Order) (T, error) {
	return a.domain.FetchInc(c, a.member(p.Rank()), p.off, orders...)
}

// Dec takes 1 from the element.
func (a *Atomic[T]) Dec(c *extended.Context, p Ptr[T], orders ...extended.Order) error {
	return a.domain.Dec(c, a.member(p.Rank()), p.off, orders...)
}

// FetchDec takes 1 from the element and returns what it was.
func (a *Atomic[T]) FetchDec(c *extended.Context, p Ptr[T], orders ...extended.Order) (T, error) {
	return a.domain.FetchDec(c, a.member(p.Rank()), p.off, orders...)
}

// Min makes the element the lesser of it and v.
func (a *Atomic[T]) Min(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Min(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchMin makes the element the lesser of it and v and returns what it was.
func (a *Atomic[T]) FetchMin(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchMin(c, a.member(p.Rank()), p.off, v, orders...)
}

// Max makes the element the greater of it and v.
func (a *Atomic[T]) Max(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Max(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchMax makes the element the greater of it and v and returns what it was.
func (a *Atomic[T]) FetchMax(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchMax(c, a.member(p.Rank()), p.off, v, orders...)
}

// And makes the element its bitwise and with v. T is an integer type, as for Or and Xor.
func (a *Atomic[T]) And(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.And(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchAnd makes the element its bitwise and with v and returns what it was.
func (a *Atomic[T]) FetchAnd(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchAnd(c, a.member(p.Rank()), p.off, v, orders...)
}

// Or makes the element its bitwise or with v.
func (a *Atomic[T]) Or(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Or(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchOr makes the element its bitwise or with v and returns what it was.
func (a *Atomic[T]) FetchOr(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchOr(c, a.member(p.Rank()), p.off, v, orders...)
}

// Xor makes the element its bitwise exclusive or with v.
func (a *Atomic[T]) Xor(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) error {
	return a.domain.Xor(c, a.member(p.Rank()), p.off, v, orders...)
}

// FetchXor makes the element its bitwise exclusive or with v and returns what it was.
func (a *Atomic[T]) FetchXor(c *extended.Context, p Ptr[T], v T, orders ...extended.Order) (T, error) {
	return a.domain.FetchXor(c, a.member(p.Rank()), p.off, v, orders...)
}
