package extended

import (
	"fmt"
	"math/bits"
)

// A kernel does dst[i] = dst[i] op src[i] for whole elements of one type. The slices are
// equally long; they may be the same but not overlap otherwise, and lie at any alignment.
type kernel = func(dst, src []byte)

// kernels has one for every operation of reductions, by the numbers of the type's and of
// the operation's bit.
var kernels = [types][8]kernel{
	kernelsOf[int32](), kernelsOf[uint32](), kernelsOf[int64](), kernelsOf[uint64](),
	kernelsOf[float32](), kernelsOf[float64](),
}

// combiner returns the kernel of a reduction.
func combiner(t Type, op Op) (func(dst, src []byte), error) {
	switch {
	case !t.valid():
		return nil, fmt.Errorf("%v is no type of elements", t)
	case !op.single() || op&reduceOps == 0:
		return nil, fmt.Errorf("%v does not reduce; use one of %v", op, reduceOps)
	case op&t.Ops() == 0:
		return nil, fmt.Errorf("%v is not defined for %v", op, t)
	}
	return kernels[bits.TrailingZeros32(uint32(t))][bits.TrailingZeros32(uint32(op))], nil
}

func kernelsOf[T Number]() (k [8]kernel) {
	for _, op := range []Op{And, Or, Xor, Add, Mult, Min, Max} {
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
func combine[T Number](op Op, dst, src []T) {
	src = src[:len(dst)] // spares the loops their checks
	switch op {
	case And:
		for i := range dst {
			dst[i] = fromBits[T](toBits(dst[i]) & toBits(src[i]))
		}
	case Or:
		for i := range dst {
			dst[i] = fromBits[T](toBits(dst[i]) | toBits(src[i]))
		}
	case Xor:
		for i := range dst {
			dst[i] = fromBits[T](toBits(dst[i]) ^ toBits(src[i]))
		}
	case Add:
		for i := range dst {
			dst[i] += src[i]
		}
	case Mult:
		for i := range dst {
			dst[i] *= src[i]
		}
	case Min:
		for i := range dst {
			dst[i] = min(dst[i], src[i])
		}
	case Max:
		for i := range dst {
			dst[i] = max(dst[i], src[i])
		}
	}
}
