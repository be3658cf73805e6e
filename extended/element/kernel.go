// Package element is what operations make of elements in memory: of vectors of them, for reductions, and of one at a
// time, atomically. It knows the types and operations of package core, and neither ranks nor messages. What is not
// checked here says so: callers have checked it.
package element

import (
	"math/bits"

	"github.com/aqueduct-go/aqueduct/core"
)

// A Kernel does dst[i] = dst[i] op src[i] for whole elements of one type. The slices are
// equally long; they may be the same but not overlap otherwise, and lie at any alignment.
type Kernel = func(dst, src []byte)

// kernels has one for every operation of reductions, by the numbers of the type's and of
// the operation's bit.
var kernels = [...][8]Kernel{
	kernelsOf[int32](), kernelsOf[uint32](), kernelsOf[int64](), kernelsOf[uint64](),
	kernelsOf[float32](), kernelsOf[float64](),
}

// KernelOf returns the kernel of an operation, AtomicAnd to AtomicMax without AtomicSub, on a type that has it.
func KernelOf(t core.ElementType, op core.AtomicOp) Kernel {
	return kernels[bits.TrailingZeros32(uint32(t))][bits.TrailingZeros32(uint32(op))]
}

func kernelsOf[T core.Number]() (k [8]Kernel) {
	for _, op := range []core.AtomicOp{core.AtomicAnd, core.AtomicOr, core.AtomicXor, core.AtomicAdd, core.AtomicMult, core.AtomicMin, core.AtomicMax} {
		k[bits.TrailingZeros32(uint32(op))] = func(dst, src []byte) {
			if d, s, ok := elements[T](dst, src); ok {
				combine(op, d, s)
			} else {
				combineUnaligned[T](op, dst, src)
			}
		}
	}
	return k
}

// combine does op on equally many elements. Each loop takes about a cycle per element on
// amd64, which is what the stores allow: to unroll them gains nothing.
func combine[T core.Number](op core.AtomicOp, dst, src []T) {
	src = src[:len(dst)] // spares the loops their checks
	switch op {
	case core.AtomicAnd:
		for i := range dst {
			dst[i] = FromBits[T](ToBits(dst[i]) & ToBits(src[i]))
		}
	case core.AtomicOr:
		for i := range dst {
			dst[i] = FromBits[T](ToBits(dst[i]) | ToBits(src[i]))
		}
	case core.AtomicXor:
		for i := range dst {
			dst[i] = FromBits[T](ToBits(dst[i]) ^ ToBits(src[i]))
		}
	case core.AtomicAdd:
		for i := range dst {
			dst[i] += src[i]
		}
	case core.AtomicMult:
		for i := range dst {
			dst[i] *= src[i]
		}
	case core.AtomicMin:
		for i := range dst {
			dst[i] = min(dst[i], src[i])
		}
	case core.AtomicMax:
		for i := range dst {
			dst[i] = max(dst[i], src[i])
		}
	}
}
