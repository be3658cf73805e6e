package core

// Atomic describes an atomic operation on an element of a segment. It is owned as a Transfer
// is.
type Atomic struct {
	Rank    Rank        // whose segment
	Off     uint64      // where in it, a multiple of the type's size
	Type    ElementType // of the element
	Op      AtomicOp    // one operation
	A, B    uint64      // its operands: their bits, in the low bytes
	Fetched []byte      // of a fetching operation: where what was there before goes; else nil
	Done    *Completion // to be told of the completion
}

// Atomics is an optional power of a conduit: atomic operations on elements of a peer's
// segment. Putter has the rules.
type Atomics interface {
	// AtomicOps returns the operations on elements of type t that Atomic carries out in the
	// segments of all ranks of the group, the caller's own among them. Those of all ranks
	// that it names for a type are atomic with respect to each other, not to messages or to
	// the processor: so it never declines one of them. A conduit that can do an operation
	// from or to some ranks only does not name it.
	AtomicOps(t ElementType) AtomicOp
	// Atomic initiates an operation. It answers as Put does.
	Atomic(a *Atomic) Result
}

// ElementType is the type of elements of atomic operations, one bit each: GEX_DT_*.
type ElementType uint32

// The types of elements.
const (
	ElementInt32 ElementType = 1 << iota
	ElementUint32
	ElementInt64
	ElementUint64
	ElementFloat32
	ElementFloat64
)

// Size returns the bytes of an element, which are its alignment too; 0 if t is no type.
func (t ElementType) Size() int {
	switch t {
	case ElementInt32, ElementUint32, ElementFloat32:
		return 4
	case ElementInt64, ElementUint64, ElementFloat64:
		return 8
	}
	return 0
}

// AtomicOp is an atomic operation, or a set of them by |: GEX_OP_*. x is the element, a and b
// are the operands. A fetching operation is the plain one's bit shifted by FetchShift.
type AtomicOp uint32

// The operations.
const (
	AtomicAnd  AtomicOp = 1 << iota // x & a; integers only
	AtomicOr                        // x | a; integers only
	AtomicXor                       // x ^ a; integers only
	AtomicAdd                       // x + a
	AtomicSub                       // x - a
	AtomicMult                      // x * a
	AtomicMin                       // the lesser of x and a
	AtomicMax                       // the greater of x and a
	AtomicInc                       // x + 1
	AtomicDec                       // x - 1
	AtomicSet                       // a; fetching: swap
	AtomicCAS                       // b if x has the bits of a, else x; never fails spuriously

	// AtomicGet is x itself; it is always fetching.
	AtomicGet = AtomicCAS << (FetchShift + 1)
)

// FetchShift is by how many bits the fetching form of an operation is shifted.
const FetchShift = 16

// Fetching reports whether op returns what was there before.
func (op AtomicOp) Fetching() bool { return op>>FetchShift != 0 }

// Plain returns one operation's form that does not fetch: of AtomicGet, none.
func (op AtomicOp) Plain() AtomicOp { return (op | op>>FetchShift) & (AtomicCAS<<1 - 1) }

// Number is what elements may be in Go. An int or a uint is the type of its size.
type Number interface {
	~int | ~uint | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Addend returns what a plain operation adds to an element, given its operand: AtomicAdd, AtomicSub, AtomicInc or
// AtomicDec. It reports false for any other. It is for networks and processors that fetch and add.
func Addend[T Number](op AtomicOp, a T) (v T, adds bool) {
	switch op {
	case AtomicAdd:
		return a, true
	case AtomicSub:
		return -a, true
	case AtomicInc:
		return 1, true
	case AtomicDec:
		return -T(1), true
	}
	return 0, false
}

// Combine returns what a plain operation, AtomicAnd to AtomicDec, makes of an element x, given its operand. Any other
// leaves x as it is. Integers wrap round. AtomicAnd, AtomicOr and AtomicXor are for integers only.
func Combine[T Number](op AtomicOp, x, a T) T {
	switch op {
	case AtomicAnd:
		return T(uint64(x) & uint64(a))
	case AtomicOr:
		return T(uint64(x) | uint64(a))
	case AtomicXor:
		return T(uint64(x) ^ uint64(a))
	case AtomicMult:
		return x * a
	case AtomicMin:
		return min(x, a)
	case AtomicMax:
		return max(x, a)
	}
	if v, adds := Addend(op, a); adds {
		return x + v
	}
	return x
}
