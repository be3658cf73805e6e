package pgas

import (
	"fmt"
	"reflect"

	"github.com/aqueduct-go/aqueduct/extended"
)

// Integer is what the bitwise operators work on.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Number is what the arithmetic operators work on.
type Number interface {
	Integer | ~float32 | ~float64
}

// Op is an operator of reductions on elements of type T. All members of a team give the same.
type Op[T any] struct {
	r   extended.Reduction
	err error // why there is no such operator
}

// Func makes an operator: combine sets dst[i] = dst[i] ⊕ src[i] for all elements of the two
// slices, which are equally long. It must be associative and commutative. It runs where
// handlers run and must not call the library. Making an operator allocates; keep it.
func Func[T any](combine func(dst, src []T)) Op[T] {
	if err := checkElement[T](); err != nil {
		return Op[T]{err: fmt.Errorf("pgas: Func: %w", err)}
	}
	return Op[T]{r: extended.Reduction{
		Func: func(dst, src []byte) { combine(elementsOf[T](dst), elementsOf[T](src)) },
		Size: int(size[T]()),
	}}
}

// Ordered is Func for an operator that does not commute: elements are combined in the order
// of the members.
func Ordered[T any](combine func(dst, src []T)) Op[T] {
	op := Func(combine)
	op.r.Ordered = true
	return op
}

// standard makes an operator that the Extended API has for most types of numbers; for the
// others combine is it.
func standard[T any](op extended.Op, combine func(dst, src []T)) Op[T] {
	t := reflect.TypeFor[T]()
	var typ extended.Type
	switch kind := t.Kind(); {
	case kind == reflect.Float64:
		typ = extended.Float64
	case kind == reflect.Float32:
		typ = extended.Float32
	case t.Size() < 4:
		return Func(combine)
	case t.Size() == 8 && kind <= reflect.Int64: // signed kinds come first
		typ = extended.Int64
	case t.Size() == 8:
		typ = extended.Uint64
	case kind <= reflect.Int64:
		typ = extended.Int32
	default:
		typ = extended.Uint32
	}
	return Op[T]{r: extended.Reduction{Type: typ, Op: op}}
}

// Add is the operator +.
func Add[T Number]() Op[T] {
	return standard(extended.Add, func(dst, src []T) {
		for i := range dst {
			dst[i] += src[i]
		}
	})
}

// Mult is the operator ×.
func Mult[T Number]() Op[T] {
	return standard(extended.Mult, func(dst, src []T) {
		for i := range dst {
			dst[i] *= src[i]
		}
	})
}

// Min is the lesser of two; NaN if one is.
func Min[T Number]() Op[T] {
	return standard(extended.Min, func(dst, src []T) {
		for i := range dst {
			dst[i] = min(dst[i], src[i])
		}
	})
}

// Max is the greater of two; NaN if one is.
func Max[T Number]() Op[T] {
	return standard(extended.Max, func(dst, src []T) {
		for i := range dst {
			dst[i] = max(dst[i], src[i])
		}
	})
}

// And is the bitwise and.
func And[T Integer]() Op[T] {
	return standard(extended.And, func(dst, src []T) {
		for i := range dst {
			dst[i] &= src[i]
		}
	})
}

// Or is the bitwise or.
func Or[T Integer]() Op[T] {
	return standard(extended.Or, func(dst, src []T) {
		for i := range dst {
			dst[i] |= src[i]
		}
	})
}

// Xor is the bitwise exclusive or.
func Xor[T Integer]() Op[T] {
	return standard(extended.Xor, func(dst, src []T) {
		for i := range dst {
			dst[i] ^= src[i]
		}
	})
}
