package element

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestUpdate compares atomic operations with the oracle of kernels, and those that kernels have not with what they
// are in words.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for typ, name := range typeNames {
		size := typ.Size()
		word := func() uint64 {
			b := make([]byte, 8)
			randomElements(typ, r, b)
			return Get(b[:size])
		}
		with := func(op core.AtomicOp, x, a uint64) uint64 {
			xb, ab := make([]byte, size), make([]byte, size)
			Put(xb, x)
			Put(ab, a)
			return oracle(typ, op, xb, ab)
		}
		one := map[core.ElementType]uint64{Float32: uint64(0x3f800000), Float64: 0x3ff << 52}[typ]
		float := one != 0
		if !float {
			one = 1
		}
		minus := func(a uint64) uint64 { // by its sign, or as two's complement
			if float {
				return a ^ 1<<(8*size-1)
			}
			return -a & (1<<(8*size-1)<<1 - 1)
		}
		for range 200 {
			x, a, b := word(), word(), word()
			if r.IntN(2) == 0 {
				a = x // which CAS looks for
			}
			results := map[core.AtomicOp]uint64{
				Add: with(Add, x, a), Mult: with(Mult, x, a), Min: with(Min, x, a), Max: with(Max, x, a),
				core.AtomicSub: with(Add, x, minus(a)), core.AtomicInc: with(Add, x, one), core.AtomicDec: with(Add, x, minus(one)),
				core.AtomicSet: a, core.AtomicCAS: x,
			}
			if x == a {
				results[core.AtomicCAS] = b
			}
			if !float {
				results[And], results[Or], results[Xor] = x&a, x|a, x^a
			}
			for plain, want := range results {
				for _, op := range []core.AtomicOp{plain, plain << core.FetchShift} {
					testUpdate(t, name, typ, op, r.IntN(2) == 0, x, a, b, want)
				}
			}
			testUpdate(t, name, typ, core.AtomicGet, true, x, a, b, x)
		}
	}
}

// testUpdate does an operation on an element between others, which stay as they are.
func testUpdate(t *testing.T, name string, typ core.ElementType, op core.AtomicOp, acquire bool, x, a, b, want uint64) {
	t.Helper()
	var words [3]uint64
	all := Bytes(words[:])
	size := typ.Size()
	for i := range len(all) / size {
		Put(all[i*size:][:size], x)
	}
	got := UpdateBits(typ, unsafe.Pointer(&words[1]), op, acquire, a, b)
	if got != x && op != core.AtomicSet {
		t.Fatalf("%s: operation %#x on %#x returns %#x", name, uint32(op), x, got)
	}
	for i := range len(all) / size {
		want := want
		if i*size != 8 {
			want = x
		}
		if now := Get(all[i*size:][:size]); now != want {
			t.Fatalf("%s: operation %#x on %#x by %#x, %#x makes element %d %#x, want %#x", name, uint32(op), x, a, b, i, now, want)
		}
	}
}
