package extended

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Atomic operations on memory that the caller has checked: aligned, and of elements of T.
// The functions below are compiled once per T; their conditions on its size and kind are
// constants there.

// window is a segment as atomics see it.
type window struct {
	base  unsafe.Pointer
	words uint64 // elements in it
}

func windowOf(mem []byte, size int) window {
	return window{unsafe.Pointer(unsafe.SliceData(mem)), uint64(len(mem) / size)}
}

// at returns the place at off of the window.
func (w *window) at(off uint64) unsafe.Pointer { return unsafe.Add(w.base, off) }

// element returns the element of 1<<shift bytes that op may be done on in place; nil if that is not
// the way, or if something is wrong with the element, which check then says. Rotated, an offset that is
// not aligned is beyond everything. It is inlined into every method, as ordered is; the two together
// would be too large for that.
func (d *Domain) element(rank int, off uint64, op Op, shift int) unsafe.Pointer {
	if uint(rank) < uint(len(d.direct)) && d.ops&op != 0 && !d.team.freed {
		if w := &d.direct[rank]; bits.RotateLeft64(off, -shift) < w.words {
			return w.at(off)
		}
	}
	return nil
}

// element is Domain.element with a shift that is known when it is compiled.
func (a *Atomic[T]) element(rank int, off uint64, op Op) unsafe.Pointer {
	shift := 3
	if unsafe.Sizeof(*new(T)) == 4 {
		shift = 2
	}
	return a.Domain.element(rank, off, op, shift)
}

// isFloat reports whether T is a floating-point type.
func isFloat[T Number]() bool {
	var zero T
	return (zero+1)/2 != 0
}

// toBits returns the bits of v, above them zeros.
func toBits[T Number](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	}
	return *(*uint64)(unsafe.Pointer(&v))
}

// fromBits is the inverse of toBits.
func fromBits[T Number](b uint64) T {
	if unsafe.Sizeof(*new(T)) == 4 {
		low := uint32(b)
		return *(*T)(unsafe.Pointer(&low))
	}
	return *(*T)(unsafe.Pointer(&b))
}

func load[T Number](p unsafe.Pointer) T {
	if unsafe.Sizeof(*new(T)) == 4 {
		return fromBits[T](uint64(atomic.LoadUint32((*uint32)(p))))
	}
	return fromBits[T](atomic.LoadUint64((*uint64)(p)))
}

func swap[T Number](p unsafe.Pointer, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return fromBits[T](uint64(atomic.SwapUint32((*uint32)(p), uint32(toBits(v)))))
	}
	return fromBits[T](atomic.SwapUint64((*uint64)(p), toBits(v)))
}

// store makes the element v as a release: a later load of another place may be done before
// other ranks see v. On amd64 it is a plain store, where swap waits until v is seen.
func store[T Number](p unsafe.Pointer, v T) {
	if unsafe.Sizeof(v) == 4 {
		shm.Store32((*uint32)(p), uint32(toBits(v)))
	} else {
		shm.Store64((*uint64)(p), toBits(v))
	}
}

// set makes the element v: without Acquire by a store, which costs less than an exchange.
func set[T Number](p unsafe.Pointer, order Order, v T) {
	if order&Acquire == 0 {
		store(p, v)
	} else {
		swap(p, v)
	}
}

// replace makes old, compared by its bits, v; it reports whether old was there.
func replace[T Number](p unsafe.Pointer, old, v T) bool {
	if unsafe.Sizeof(v) == 4 {
		return atomic.CompareAndSwapUint32((*uint32)(p), uint32(toBits(old)), uint32(toBits(v)))
	}
	return atomic.CompareAndSwapUint64((*uint64)(p), toBits(old), toBits(v))
}

// fetchAddInt adds an integer v and returns what was there before: one instruction. Callers tell
// integers from floating-point numbers themselves, so that it is inlined.
func fetchAddInt[T Number](p unsafe.Pointer, v T) T {
	if unsafe.Sizeof(v) == 4 {
		return T(atomic.AddInt32((*int32)(p), int32(v))) - v
	}
	return T(atomic.AddInt64((*int64)(p), int64(v))) - v
}

// fetchAddFloat is fetchAddInt for floating-point numbers.
func fetchAddFloat[T Number](p unsafe.Pointer, v T) T {
	for {
		if old := load[T](p); replace(p, old, old+v) {
			return old
		}
	}
}

// compareSwap makes old v, and returns what was there before.
func compareSwap[T Number](p unsafe.Pointer, old, v T) T {
	for {
		if replace(p, old, v) {
			return old
		}
		if x := load[T](p); toBits(x) != toBits(old) {
			return x
		}
	}
}

// update does an operation that T has and returns what was there before, of a Set anything.
// Only a Set does less if less is to be ordered: what reads and writes is sequentially
// consistent as it is, and a load acquires.
func update[T Number](p unsafe.Pointer, op Op, order Order, a, b T) T {
	plain := core.AtomicOp(op).Plain()
	if v, adds := core.Addend(plain, a); adds {
		if isFloat[T]() {
			return fetchAddFloat(p, v)
		}
		return fetchAddInt(p, v)
	}
	switch op {
	case Get:
		return load[T](p)
	case Set:
		set(p, order, a)
		return a
	case Swap:
		return swap(p, a)
	case CAS, FCAS:
		return compareSwap(p, a, b)
	}
	for {
		old := load[T](p)
		if replace(p, old, core.Combine(plain, old, a)) {
			return old
		}
	}
}

// updateBits is update for values as bits, of an element of type t.
func updateBits(t Type, p unsafe.Pointer, op Op, order Order, a, b uint64) uint64 {
	switch t {
	case Int32:
		return toBits(update(p, op, order, fromBits[int32](a), fromBits[int32](b)))
	case Uint32:
		return toBits(update(p, op, order, fromBits[uint32](a), fromBits[uint32](b)))
	case Int64:
		return toBits(update(p, op, order, fromBits[int64](a), fromBits[int64](b)))
	case Uint64:
		return toBits(update(p, op, order, fromBits[uint64](a), fromBits[uint64](b)))
	case Float32:
		return toBits(update(p, op, order, fromBits[float32](a), fromBits[float32](b)))
	default:
		return toBits(update(p, op, order, fromBits[float64](a), fromBits[float64](b)))
	}
}

// wordOf returns the memory of a value to be fetched, nil for none.
func wordOf[T Number](p *T) []byte {
	if p == nil {
		return nil
	}
	return bytesOf(unsafe.Slice(p, 1))
}
