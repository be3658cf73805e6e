package extended

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// reduceTypes are all types by name.
var reduceTypes = []Type{Int32, Uint32, Int64, Uint64, Float32, Float64}

// elementAt returns bytes [i*size, (i+1)*size) as an element, exactly.
func elementAt(t Type, b []byte, i int) *big.Float {
	b = bytes.Clone(b[i*t.Size():][:t.Size()])
	x := getElement(b)
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
func wrap(t Type, x *big.Float) uint64 {
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
func oracle(t Type, op Op, xb, ab []byte) uint64 {
	x, a := elementAt(t, xb, 0), elementAt(t, ab, 0)
	f := new(big.Float).SetPrec(200)
	switch op {
	case And:
		return getElement(xb) & getElement(ab)
	case Or:
		return getElement(xb) | getElement(ab)
	case Xor:
		return getElement(xb) ^ getElement(ab)
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
func randomElements(t Type, r *rand.Rand, b []byte) {
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
		putElement(b[i:][:t.Size()], x)
	}
}

func TestKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range reduceTypes {
		for op := And; op <= CAS; op <<= 1 {
			f, err := combiner(typ, op)
			if defined := op&reduceOps&typ.Ops() != 0; defined != (err == nil) {
				t.Errorf("%v of %v: error %v", op, typ, err)
			}
			if err != nil {
				continue
			}
			t.Run(fmt.Sprint(typ, op), func(t *testing.T) {
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
func testKernel(t *testing.T, r *rand.Rand, typ Type, op Op, f kernel, n, atDst, atSrc int) {
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
		putElement(want[atDst+i*size:][:size], oracle(typ, op, dst[i*size:][:size], src[i*size:][:size]))
	}
	f(dst, src)
	if !bytes.Equal(all, want) || !bytes.Equal(src, before) {
		t.Fatalf("%d elements at %d and %d: % x, want % x, or the source changed", n, atDst, atSrc, all, want)
	}
}

func TestCombinerRefuses(t *testing.T) {
	for _, x := range []struct {
		t  Type
		op Op
	}{{0, Add}, {Int32 | Int64, Add}, {1 << 6, Add}, {Int32, 0}, {Int32, Add | Mult}, {Int32, FAdd}, {Int32, Get}, {Float64, And}, {Float32, Xor}, {Uint64, 1 << 31}} {
		if _, err := combiner(x.t, x.op); err == nil {
			t.Errorf("%v of %v was accepted", x.op, x.t)
		}
	}
}

// TestMinMaxNaN holds the rule that makes Min and Max of floats independent of the order.
func TestMinMaxNaN(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	for _, x := range []struct{ a, b, min, max float64 }{
		{1, nan, nan, nan}, {nan, 1, nan, nan}, {nan, math.Inf(-1), nan, nan},
		{zero, 0, zero, 0}, {0, zero, zero, 0}, {math.Inf(1), 3, 3, math.Inf(1)},
	} {
		for op, want := range map[Op]float64{Min: x.min, Max: x.max} {
			f, err := combiner(Float64, op)
			if err != nil {
				t.Fatal(err)
			}
			d, s := []float64{x.a}, []float64{x.b}
			f(bytesOf(d), bytesOf(s))
			atomically := x.a
			update(unsafe.Pointer(&atomically), op, Acquire|Release, x.b, 0)
			for _, got := range []float64{d[0], atomically} {
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && !math.IsNaN(want) {
					t.Errorf("%v of %v and %v is %v, want %v", op, x.a, x.b, got, want)
				}
			}
		}
	}
}

func TestKernelAllocations(t *testing.T) {
	dst, src := make([]byte, 8001), make([]byte, 8001)
	for _, typ := range reduceTypes {
		if n := testing.AllocsPerRun(20, func() {
			f, _ := combiner(typ, Min)
			f(dst[:8000], src[:8000])
			f(dst[1:], src[:8000])
		}); n > 0 {
			t.Errorf("%v: %v allocations", typ, n)
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
			t  Type
			op Op
		}{{Float64, Add}, {Int64, Add}, {Float32, Add}, {Int32, Add}, {Float64, Mult}, {Float64, Min}, {Int64, Max}, {Int64, Xor}} {
			f, err := combiner(x.t, x.op)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v%v/%dKiB", x.op, x.t, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					f(dst[:size], src)
				}
			})
		}
		f, _ := combiner(Float64, Add)
		b.Run(fmt.Sprintf("AddFloat64Unaligned/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				f(dst[3:size+3], src)
			}
		})
	}
}
