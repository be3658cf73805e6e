package extended

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/element"
)

// Atomic is a Domain of elements of type T, with its operations by name. An operation that the
// domain was not made for is an error: Add needs Add, FetchAdd needs FAdd.
//
//	ctr, err := extended.NewAtomic[uint64](c, world, extended.FAdd|extended.Get)
//	ticket, err := ctr.FetchAdd(c, 0, 64, 1)
//
// A method works on the element at offset off, a multiple of the element's size, of the segment of
// team rank rank. It blocks until its operation is done, and may poll. The last argument says what
// else is ordered, a Release for example; none stands for Acquire and Release (see Order). Not
// allowed in a handler.
type Atomic[T Number] struct{ Domain }

// NewAtomic is NewDomain for elements of type T. Collective over the team.
func NewAtomic[T Number](c *Context, team *Team, ops Op) (*Atomic[T], error) {
	a := new(Atomic[T])
	if err := a.init(c, team, TypeOf[T](), ops); err != nil {
		return nil, err
	}
	return a, nil
}

// Do does any one of the domain's operations; see Domain.Do.
func (a *Atomic[T]) Do(c *Context, rank int, off uint64, op Op, x, y T, orders ...Order) (T, error) {
	order := orderOf(orders)
	if p := a.element(rank, off, op); p != nil && order.valid() && op.single() {
		old := element.Update(p, core.AtomicOp(op), order&Acquire != 0, x, y)
		if !op.Fetching() {
			old = 0
		}
		return old, nil
	}
	old, err := a.Domain.Do(c, rank, off, op, element.ToBits(x), element.ToBits(y), orders...)
	return element.FromBits[T](old), err
}

// DoNB initiates Do and returns its event. The result of a fetching op goes to dst, else
// ignored; see Domain.DoNB.
func (a *Atomic[T]) DoNB(c *Context, dst *T, rank int, off uint64, op Op, x, y T, orders ...Order) (Event, error) {
	order := orderOf(orders)
	if a.inPlace(dst, rank, off, op, order, x, y) {
		return 0, nil
	}
	return a.nonblocking(c, explicit, wordOf(dst), rank, off, op, element.ToBits(x), element.ToBits(y), order)
}

// DoNBI initiates Do as an implicit operation; see Domain.DoNBI.
func (a *Atomic[T]) DoNBI(c *Context, dst *T, rank int, off uint64, op Op, x, y T, orders ...Order) error {
	order := orderOf(orders)
	if a.inPlace(dst, rank, off, op, order, x, y) {
		return nil
	}
	_, err := a.nonblocking(c, implicit, wordOf(dst), rank, off, op, element.ToBits(x), element.ToBits(y), order)
	return err
}

// inPlace does op in place, if that is the way and nothing is wrong.
func (a *Atomic[T]) inPlace(dst *T, rank int, off uint64, op Op, order Order, x, y T) bool {
	p := a.element(rank, off, op)
	if p == nil || !order.valid() || !op.single() || op.Fetching() && dst == nil {
		return false
	}
	if old := element.Update(p, core.AtomicOp(op), order&Acquire != 0, x, y); op.Fetching() {
		*dst = old
	}
	return true
}

// Get returns the element.
func (a *Atomic[T]) Get(c *Context, rank int, off uint64, orders ...Order) (T, error) {
	if p := a.element(rank, off, Get); p != nil && ordered(orders) {
		return element.Load[T](p), nil
	}
	return a.Do(c, rank, off, Get, 0, 0, orders...)
}

// Set makes the element v.
func (a *Atomic[T]) Set(c *Context, rank int, off uint64, v T, orders ...Order) error {
	if p := a.element(rank, off, Set); p != nil && ordered(orders) {
		element.Set(p, orderOf(orders)&Acquire != 0, v)
		return nil
	}
	_, err := a.Do(c, rank, off, Set, v, 0, orders...)
	return err
}

// Swap makes the element v and returns what it was.
func (a *Atomic[T]) Swap(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	if p := a.element(rank, off, Swap); p != nil && ordered(orders) {
		return element.Swap(p, v), nil
	}
	return a.Do(c, rank, off, Swap, v, 0, orders...)
}

// CompareSwap makes the element v if it has the bits of old, and returns what it was
// (FCAS): it has swapped if that has the bits of old.
func (a *Atomic[T]) CompareSwap(c *Context, rank int, off uint64, old, v T, orders ...Order) (T, error) {
	if p := a.element(rank, off, FCAS); p != nil && ordered(orders) {
		return element.CompareSwap(p, old, v), nil
	}
	return a.Do(c, rank, off, FCAS, old, v, orders...)
}

// Add adds v to the element.
func (a *Atomic[T]) Add(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.sum(c, rank, off, Add, v, v, orders)
	return err
}

// FetchAdd adds v to the element and returns what it was.
func (a *Atomic[T]) FetchAdd(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.sum(c, rank, off, FAdd, v, v, orders)
}

// sum does op, which adds x, in place if that is the way; v is its operand.
func (a *Atomic[T]) sum(c *Context, rank int, off uint64, op Op, v, x T, orders []Order) (T, error) {
	if p := a.element(rank, off, op); p != nil && ordered(orders) {
		if element.IsFloat[T]() {
			return element.FetchAddFloat(p, x), nil
		}
		return element.FetchAddInt(p, x), nil
	}
	return a.Do(c, rank, off, op, v, 0, orders...)
}

// Sub takes v from the element.
func (a *Atomic[T]) Sub(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.sum(c, rank, off, Sub, v, -v, orders)
	return err
}

// FetchSub takes v from the element and returns what it was.
func (a *Atomic[T]) FetchSub(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.sum(c, rank, off, FSub, v, -v, orders)
}

// Inc adds 1 to the element.
func (a *Atomic[T]) Inc(c *Context, rank int, off uint64, orders ...Order) error {
	_, err := a.sum(c, rank, off, Inc, 0, 1, orders)
	return err
}

// FetchInc adds 1 to the element and returns what it was.
func (a *Atomic[T]) FetchInc(c *Context, rank int, off uint64, orders ...Order) (T, error) {
	return a.sum(c, rank, off, FInc, 0, 1, orders)
}

// Dec takes 1 from the element.
func (a *Atomic[T]) Dec(c *Context, rank int, off uint64, orders ...Order) error {
	_, err := a.sum(c, rank, off, Dec, 0, -T(1), orders)
	return err
}

// FetchDec takes 1 from the element and returns what it was.
func (a *Atomic[T]) FetchDec(c *Context, rank int, off uint64, orders ...Order) (T, error) {
	return a.sum(c, rank, off, FDec, 0, -T(1), orders)
}

// Min makes the element the lesser of it and v.
func (a *Atomic[T]) Min(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.Do(c, rank, off, Min, v, 0, orders...)
	return err
}

// FetchMin makes the element the lesser of it and v and returns what it was.
func (a *Atomic[T]) FetchMin(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.Do(c, rank, off, FMin, v, 0, orders...)
}

// Max makes the element the greater of it and v.
func (a *Atomic[T]) Max(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.Do(c, rank, off, Max, v, 0, orders...)
	return err
}

// FetchMax makes the element the greater of it and v and returns what it was.
func (a *Atomic[T]) FetchMax(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.Do(c, rank, off, FMax, v, 0, orders...)
}

// And makes the element its bitwise and with v. T is an integer type, as for Or and Xor.
func (a *Atomic[T]) And(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.Do(c, rank, off, And, v, 0, orders...)
	return err
}

// FetchAnd makes the element its bitwise and with v and returns what it was.
func (a *Atomic[T]) FetchAnd(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.Do(c, rank, off, FAnd, v, 0, orders...)
}

// Or makes the element its bitwise or with v.
func (a *Atomic[T]) Or(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.Do(c, rank, off, Or, v, 0, orders...)
	return err
}

// FetchOr makes the element its bitwise or with v and returns what it was.
func (a *Atomic[T]) FetchOr(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.Do(c, rank, off, FOr, v, 0, orders...)
}

// Xor makes the element its bitwise exclusive or with v.
func (a *Atomic[T]) Xor(c *Context, rank int, off uint64, v T, orders ...Order) error {
	_, err := a.Do(c, rank, off, Xor, v, 0, orders...)
	return err
}

// FetchXor makes the element its bitwise exclusive or with v and returns what it was.
func (a *Atomic[T]) FetchXor(c *Context, rank int, off uint64, v T, orders ...Order) (T, error) {
	return a.Do(c, rank, off, FXor, v, 0, orders...)
}
