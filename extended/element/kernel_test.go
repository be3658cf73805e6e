package element

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

const (
	Int32, Uint32, Int64     = core.ElementInt32, core.ElementUint32, core.ElementInt64
	Uint64, Float32, Float64 = core.ElementUint64, core.ElementFloat32, core.ElementFloat64
	And, Or, Xor, Add        = core.AtomicAnd, core.AtomicOr, core.AtomicXor, core.AtomicAdd
	Mult, Min, Max           = core.AtomicMult, core.AtomicMin, core.AtomicMax
)

var (
	typeNames = map[core.ElementType]string{Int32: "Int32", Uint32: "Uint32", Int64: "Int64", Uint64: "Uint64", Float32: "Float32", Float64: "Float64"}
	opNames   = map[core.AtomicOp]string{And: "And", Or: "Or", Xor: "Xor", Add: "Add", Mult: "Mult", Min: "Min", Max: "Max"}
)

// elementAt returns bytes [i*size, (i+1)*size) as an element, exactly.
func elementAt(t core.ElementType, b []byte, i int) *big.Float {
	b = bytes.Clone(b[i*t.Size():][:t.Size()])
	x := Get(b)
	f := new(big.Float).SetPrec(200)
	switch t {
	case Int32:
		return f.SetInt64(int64(int32(x)))
	case Uint32, Uint64:
		return f.SetUint64(x)
	case Int64:
		return f.SetInt64(int64(x))
	case Float32:
		return f.SetFloat64(float64(math.Float32frombits(uint32(x))))
	}
	return f.SetFloat64(math.Float64frombits(x))
}

// wrap returns the bits of the element that x becomes: rounded, or modulo the range.
func wrap(t core.ElementType, x *big.Float) uint64 {
	switch t {
	case Float32:
		f, _ := x.Float32()
		return uint64(math.Float32bits(f))
	case Float64:
		f, _ := x.Float64()
		return math.Float64bits(f)
	}
	i, _ := x.Int(nil)
	i.And(i, new(big.Int).SetUint64(1<<(8*t.Size()-1)|(1<<(8*t.Size()-1)-1)))
	return i.Uint64()
}

// oracle does x op a by big numbers and on bits.
func oracle(t core.ElementType, op core.AtomicOp, xb, ab []byte) uint64 {
	x, a := elementAt(t, xb, 0), elementAt(t, ab, 0)
	f := new(big.Float).SetPrec(200)
	switch op {
	case And:
		return Get(xb) & Get(ab)
	case Or:
		return Get(xb) | Get(ab)
	case Xor:
		return Get(xb) ^ Get(ab)
	case Add:
		return wrap(t, f.Add(x, a))
	case Mult:
		return wrap(t, f.Mul(x, a))
	}
	if (x.Cmp(a) < 0) == (op == Min) {
		return wrap(t, x)
	}
	return wrap(t, a)
}

// randomElements fills b with elements, floats of moderate size and finite.
func randomElements(t core.ElementType, r *rand.Rand, b []byte) {
	for i := 0; i+t.Size() <= len(b); i += t.Size() {
		x := r.Uint64()
		switch {
		case t == Float32:
			x = uint64(math.Float32bits(float32(r.NormFloat64() * 1e3)))
		case t == Float64:
			x = math.Float64bits(r.NormFloat64() * 1e3)
		case x%3 == 0:
			x %= 16
		}
		Put(b[i:][:t.Size()], x)
	}
}

func TestKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for typ, name := range typeNames {
		for op, opName := range opNames {
			if (typ == Float32 || typ == Float64) && op <= Xor {
				continue // which they have not
			}
			f := KernelOf(typ, op)
			t.Run(name+opName, func(t *testing.T) {
				for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 127, 128, 129, 300} {
					for _, shift := range [][2]int{{0, 0}, {1, 0}, {0, 3}, {4, 4}, {5, 2}} {
						testKernel(t, r, typ, op, f, n, shift[0], shift[1])
					}
				}
			})
		}
	}
}

// testKernel compares one call with the oracle, with dst and src shifted from alignment.
func testKernel(t *testing.T, r *rand.Rand, typ core.ElementType, op core.AtomicOp, f Kernel, n, atDst, atSrc int) {
	size := typ.Size()
	all, src := make([]byte, n*size+16), make([]byte, n*size+8)[atSrc:][:n*size]
	dst := all[atDst:][:n*size]
	for i := range all {
		all[i] = 0xa5
	}
	randomElements(typ, r, dst)
	randomElements(typ, r, src)
	want, before := bytes.Clone(all), bytes.Clone(src)
	for i := range n {
		Put(want[atDst+i*size:][:size], oracle(typ, op, dst[i*size:][:size], src[i*size:][:size]))
	}
	f(dst, src)
	if !bytes.Equal(all, want) || !bytes.Equal(src, before) {
		t.Fatalf("%d elements at %d and %d: % x, want % x, or the source changed", n, atDst, atSrc, all, want)
	}
}

// TestMinMaxNaN holds the rule that makes Min and Max of floats independent of the order.
func TestMinMaxNaN(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for _, x := range []struct{ a, b, min, max float64 }{
		{1, nan, nan, nan}, {nan, 1, nan, nan}, {nan, math.Inf(-1), nan, nan},
		{zero, 0, zero, 0}, {0, zero, zero, 0}, {math.Inf(1), 3, 3, math.Inf(1)},
	} {
		for op, want := range map[core.AtomicOp]float64{Min: x.min, Max: x.max} {
			f := KernelOf(Float64, op)
			d, s := []float64{x.a}, []float64{x.b}
			f(Bytes(d), Bytes(s))
			atomically := x.a
			Update(unsafe.Pointer(&atomically), op, true, x.b, 0)
			for _, got := range []float64{d[0], atomically} {
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && !math.IsNaN(want) {
					t.Errorf("%v of %v and %v is %v, want %v", opNames[op], x.a, x.b, got, want)
				}
			}
		}
	}
}

func TestKernelAllocations(t *testing.T) {
	dst, src := make([]byte, 8001), make([]byte, 8001)
	for typ, name := range typeNames {
		if n := testing.AllocsPerRun(20, func() {
			f := KernelOf(typ, Min)
			f(dst[:8000], src[:8000])
			f(dst[1:], src[:8000])
		}); n > 0 {
			t.Errorf("%v: %v allocations", name, n)
		}
	}
}

// BenchmarkKernel gives the bytes of dst per second, beside copy of as many.
func BenchmarkKernel(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		dst, src := make([]byte, size+8), make([]byte, size)
		b.Run(fmt.Sprintf("copy/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				copy(dst[:size], src)
			}
		})
		for _, x := range []struct {
			t  core.ElementType
			op core.AtomicOp
		}{{Float64, Add}, {Int64, Add}, {Float32, Add}, {Int32, Add}, {Float64, Mult}, {Float64, Min}, {Int64, Max}, {Int64, Xor}} {
			f := KernelOf(x.t, x.op)
			b.Run(fmt.Sprintf("%v%v/%dKiB", opNames[x.op], typeNames[x.t], size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					f(dst[:size], src)
				}
			})
		}
		f := KernelOf(Float64, Add)
		b.Run(fmt.Sprintf("AddFloat64Unaligned/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				f(dst[3:size+3], src)
			}
		})
	}
}
