package extended

import "fmt"

// Order says what an atomic operation orders besides the accesses to its element: other
// accesses of the goroutines that initiate and synchronise it. Orders combine by |, and so do
// several arguments of a call. A call without an argument has Acquire and Release; in
// GASNet-EX, where these are flags, it would be Relaxed.
//
// The meaning is that of GASNet-EX ("GASNet-EX API Description", gex_AD_Op*), made to fit
// C11's. Accesses are loads and stores of the goroutine, and what is done to memory by
// transfers, atomics and collectives: for Release those that the goroutine has synchronised
// before, for Acquire those that it initiates afterwards. Nothing orders an operation with one
// that is under way. So a put that who acquires shall find must be synchronised before the
// release.
//
// If a Set or another update with Release is seen by an operation with Acquire, then what was
// before the release is seen after the acquire. That holds whichever way the domain's
// operations take:
//
//   - In place (Domain.InPlace), updates that read the element are locked instructions, and
//     those of all orders are sequentially consistent. A Get is a load that acquires. A Set
//     with Acquire is an exchange, so that Sets and Gets with both orders are sequentially
//     consistent too; one without is a store, which costs less, and which a later Get of
//     another element may overtake.
//   - By messages, and by the network (Domain.Offloaded), the operation begins after all that
//     was before its initiation, and its completion comes before all that is after, as that of
//     every operation. No order costs more than another.
//
// So Relaxed promises the least, and on no path is less done for it than for Release.
type Order uint8

const (
	// Relaxed orders nothing else; together with another it changes nothing.
	Relaxed Order = 0
	// Acquire: no access of the goroutine that synchronises the operation, after that, is
	// done before (GEX_FLAG_AD_ACQ). Calls that block synchronise before they return.
	Acquire Order = 1 << 0
	// Release: no access of the goroutine that initiates the operation, before that, is done
	// afterwards (GEX_FLAG_AD_REL).
	Release Order = 1 << 1
)

// orderOf returns the order that the arguments of a call make together.
func orderOf(orders []Order) Order {
	if len(orders) == 0 {
		return Acquire | Release
	}
	o := Relaxed
	for _, x := range orders {
		o |= x
	}
	return o
}

// valid reports whether o is one of the above, or both.
func (o Order) valid() bool { return o <= Acquire|Release }

// ordered reports whether the arguments of a call make an order.
func ordered(orders []Order) bool { return len(orders) == 0 || orderOf(orders).valid() }

// String names the value.
func (o Order) String() string {
	switch o {
	case Relaxed:
		return "Relaxed"
	case Acquire:
		return "Acquire"
	case Release:
		return "Release"
	case Acquire | Release:
		return "Acquire|Release"
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}
