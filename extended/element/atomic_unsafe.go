package element

import (
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Atomic operations on memory that the caller has checked: aligned, and of elements of T.
// The functions below are compiled once per T; their conditions on its size and kind are
// constants there.

// IsFloat reports whether T is a floating-point type.
func IsFloat[T core.Number]() bool {
	var zero T
	return (zero+1)/2 != 0
}

// ToBits returns the bits of v, above them zeros.
func ToBits[T core.Number](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	}
	return *(*uint64)(unsafe.Pointer(&v))
}

// FromBits is the inverse of ToBits.
func FromBits[T core.Number](b uint64) T {
	if unsafe.Sizeof(*new(T)) == 4 {
		low := uint32(b)
		return *(*T)(unsafe.Pointer(&low))
	}
	return *(*T)(unsafe.Pointer(&b))
}

// Load returns the element. It acquires.
func Load[T core.Number](p unsafe.Pointer) T {
	if unsafe.Sizeof(*new(T)) == 4 {
		return FromBits[T](uint64(atomic.LoadUint32((*uint32)(p))))
	}
	return FromBits[T](atomic.LoadUint64((*uint64)(p)))
}

// Swap makes the element v and returns what it was.
func Swap[T core.Number](p unsafe.Pointer, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return FromBits[T](uint64(atomic.SwapUint32((*uint32)(p), uint32(ToBits(v)))))
	}
	return FromBits[T](atomic.SwapUint64((*uint64)(p), ToBits(v)))
}

// store makes the element v as a release: a later load of another place may be done before
// other ranks see v. On amd64 it is a plain store, where Swap waits until v is seen.
func store[T core.Number](p unsafe.Pointer, v T) {
	if unsafe.Sizeof(v) == 4 {
		shm.Store32((*uint32)(p), uint32(ToBits(v)))
	} else {
		shm.Store64((*uint64)(p), ToBits(v))
	}
}

// Set makes the element v. Unless it shall acquire, that is a store, which costs less than an exchange.
func Set[T core.Number](p unsafe.Pointer, acquire bool, v T) {
	if acquire {
		Swap(p, v)
	} else {
		store(p, v)
	}
}

// replace makes old, compared by its bits, v; it reports whether old was there.
func replace[T core.Number](p unsafe.Pointer, old, v T) bool {
	if unsafe.Sizeof(v) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(p), uint32(ToBits(old)), uint32(ToBits(v)))
	}
	return atomic.CompareAndSwapUint64((*uint64)(p), ToBits(old), ToBits(v))
}

// FetchAddInt adds an integer v and returns what was there before: one instruction. Callers tell
// integers from floating-point numbers themselves, so that it is inlined.
func FetchAddInt[T core.Number](p unsafe.Pointer, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return T(atomic.AddInt32((*int32)(p), int32(v))) - v
	}
	return T(atomic.AddInt64((*int64)(p), int64(v))) - v
}

// FetchAddFloat is FetchAddInt for floating-point numbers.
func FetchAddFloat[T core.Number](p unsafe.Pointer, v T) T {
	for {
		if old := Load[T](p); replace(p, old, old+v) {
			return old
		}
	}
}

// CompareSwap makes old, compared by its bits, v, and returns what was there before.
func CompareSwap[T core.Number](p unsafe.Pointer, old, v T) T {
	for {
		if replace(p, old, v) {
			return old
		}
		if x := Load[T](p); ToBits(x) != ToBits(old) {
			return x
		}
	}
}

// Update does an operation that T has and returns what was there before, of core.AtomicSet anything.
// Only core.AtomicSet does less if it need not acquire: what reads and writes is sequentially
// consistent as it is, and a load acquires.
func Update[T core.Number](p unsafe.Pointer, op core.AtomicOp, acquire bool, a, b T) T {
	plain := op.Plain()
	if v, adds := core.Addend(plain, a); adds {
		if IsFloat[T]() {
			return FetchAddFloat(p, v)
		}
		return FetchAddInt(p, v)
	}
	switch op {
	case core.AtomicGet:
		return Load[T](p)
	case core.AtomicSet:
		Set(p, acquire, a)
		return a
	case core.AtomicSet << core.FetchShift:
		return Swap(p, a)
	case core.AtomicCAS, core.AtomicCAS << core.FetchShift:
		return CompareSwap(p, a, b)
	}
	for {
		old := Load[T](p)
		if replace(p, old, core.Combine(plain, old, a)) {
			return old
		}
	}
}

// UpdateBits is update for values as bits, of an element of type t.
func UpdateBits(t core.ElementType, p unsafe.Pointer, op core.AtomicOp, acquire bool, a, b uint64) uint64 {
	switch t {
	case core.ElementInt32:
		return ToBits(Update(p, op, acquire, FromBits[int32](a), FromBits[int32](b)))
	case core.ElementUint32:
		return ToBits(Update(p, op, acquire, FromBits[uint32](a), FromBits[uint32](b)))
	case core.ElementInt64:
		return ToBits(Update(p, op, acquire, FromBits[int64](a), FromBits[int64](b)))
	case core.ElementUint64:
		return ToBits(Update(p, op, acquire, FromBits[uint64](a), FromBits[uint64](b)))
	case core.ElementFloat32:
		return ToBits(Update(p, op, acquire, FromBits[float32](a), FromBits[float32](b)))
	default:
		return ToBits(Update(p, op, acquire, FromBits[float64](a), FromBits[float64](b)))
	}
}
