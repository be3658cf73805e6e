package extended

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
)

// Type is the type of the elements of a reduction or of an atomic domain. Its values are
// the bits of GEX_DT_*; the zero Type is none.
type Type uint32

const (
	Int32   = Type(core.ElementInt32)   // GEX_DT_I32
	Uint32  = Type(core.ElementUint32)  // GEX_DT_U32
	Int64   = Type(core.ElementInt64)   // GEX_DT_I64
	Uint64  = Type(core.ElementUint64)  // GEX_DT_U64
	Float32 = Type(core.ElementFloat32) // GEX_DT_FLT
	Float64 = Type(core.ElementFloat64) // GEX_DT_DBL
)

const floats = Float32 | Float64

// types is the number of types.
const types = 6

var typeNames = [types]string{"Int32", "Uint32", "Int64", "Uint64", "Float32", "Float64"}

// Number is what elements may be in Go. An int or a uint is the type of its size.
type Number interface{ core.Number }

// valid reports whether t is one type.
func (t Type) valid() bool { return t&(1<<types-1) != 0 && t&(t-1) == 0 }

// Size returns the bytes of an element, which are its alignment too; 0 if t is no type.
func (t Type) Size() int { return core.ElementType(t).Size() }

// String names the type.
func (t Type) String() string {
	if t.valid() {
		return typeNames[bits.TrailingZeros32(uint32(t))]
	}
	return fmt.Sprintf("Type(%#x)", uint32(t))
}

// Ops returns the operations that atomic domains of the type may have: all, except those
// on bits for floating-point types.
func (t Type) Ops() Op {
	switch {
	case !t.valid():
		return 0
	case t&floats != 0:
		return allOps &^ (bitOps | bitOps.ToFetching())
	}
	return allOps
}

// Op is an operation of reductions and atomics, or a set of them by |, as GEX_OP_*: the
// fetching form of an operation is its bit shifted by 16. In the comments x is the element,
// a and b are the operands.
//
// Integers wrap round. Min and Max of floats are NaN if one side is, and take -0 as less
// than +0, so that their result does not depend on the order of elements (but which NaN it
// is may).
type Op uint32

const (
	And  = Op(core.AtomicAnd)  // x & a; integers only
	Or   = Op(core.AtomicOr)   // x | a; integers only
	Xor  = Op(core.AtomicXor)  // x ^ a; integers only
	Add  = Op(core.AtomicAdd)  // x + a
	Sub  = Op(core.AtomicSub)  // x - a
	Mult = Op(core.AtomicMult) // x * a
	Min  = Op(core.AtomicMin)  // the lesser of x and a
	Max  = Op(core.AtomicMax)  // the greater of x and a
	Inc  = Op(core.AtomicInc)  // x + 1
	Dec  = Op(core.AtomicDec)  // x - 1
	Set  = Op(core.AtomicSet)  // a
	CAS  = Op(core.AtomicCAS)  // b if x has the bits of a, else x; never fails spuriously
)

// The fetching operations of atomics: they do the same and return what was there before.
const (
	FAnd Op = And << fetchShift << iota
	FOr
	FXor
	FAdd
	FSub
	FMult
	FMin
	FMax
	FInc
	FDec
	Swap // fetching Set
	FCAS
	Get // x itself
)

const (
	fetchShift = core.FetchShift
	fetching   = Op(0xffff) << fetchShift
	plainOps   = 1<<12 - 1
	allOps     = Op(plainOps | plainOps<<fetchShift | Get)
	bitOps     = And | Or | Xor
	reduceOps  = Add | Mult | Min | Max | bitOps
)

var opNames = [...]string{"And", "Or", "Xor", "Add", "Sub", "Mult", "Min", "Max", "Inc", "Dec", "Set", "CAS"}

// Fetching reports whether op is a fetching operation.
func (op Op) Fetching() bool { return op&fetching != 0 }

// ToFetching returns the fetching form (GEX_OP_TO_FETCHING): of Set, Swap. What fetches
// already is left as it is.
func (op Op) ToFetching() Op { return op&fetching | op<<fetchShift }

// ToNonfetching returns the form that does not fetch (GEX_OP_TO_NONFETCHING): of Swap,
// Set; of Get, none. What does not fetch is left as it is.
func (op Op) ToNonfetching() Op { return Op(core.AtomicOp(op).Plain()) }

// single reports whether op is one operation.
func (op Op) single() bool { return op&allOps != 0 && op&(op-1) == 0 }

// String names the operation, or those of a set.
func (op Op) String() string {
	if op == 0 {
		return "no operation"
	}
	var names []string
	for left := op; left != 0; left &= left - 1 {
		names = append(names, (left & -left).name())
	}
	return strings.Join(names, "|")
}

// name names one operation.
func (op Op) name() string {
	i := bits.TrailingZeros32(uint32(op))
	switch {
	case op == Get:
		return "Get"
	case op == Swap:
		return "Swap"
	case op&plainOps != 0:
		return opNames[i]
	case op&allOps != 0:
		return "F" + opNames[i-fetchShift]
	}
	return fmt.Sprintf("Op(%#x)", uint32(op))
}
