package extended

import (
	"fmt"
	"math/bits"
	"testing"
)

type celsius float32

func TestTypeOf(t *testing.T) {
	for _, x := range []struct {
		got, want Type
		size      int
		name      string
	}{
		{TypeOf[int32](), Int32, 4, "Int32"}, {TypeOf[uint32](), Uint32, 4, "Uint32"},
		{TypeOf[int64](), Int64, 8, "Int64"}, {TypeOf[uint64](), Uint64, 8, "Uint64"},
		{TypeOf[celsius](), Float32, 4, "Float32"}, {TypeOf[float64](), Float64, 8, "Float64"},
		{TypeOf[int](), map[int]Type{32: Int32, 64: Int64}[bits.UintSize], bits.UintSize / 8, fmt.Sprint("Int", bits.UintSize)},
		{TypeOf[uint](), map[int]Type{32: Uint32, 64: Uint64}[bits.UintSize], bits.UintSize / 8, fmt.Sprint("Uint", bits.UintSize)},
		{0, 0, 0, "Type(0x0)"}, {Int32 | Int64, Int32 | Int64, 0, "Type(0x5)"},
	} {
		if x.got != x.want || x.got.Size() != x.size || x.got.String() != x.name {
			t.Errorf("%v of %d bytes, want %v, %q of %d", x.got, x.got.Size(), x.want, x.name, x.size)
		}
	}
}

func TestOps(t *testing.T) {
	pairs := map[Op]Op{And: FAnd, Or: FOr, Xor: FXor, Add: FAdd, Sub: FSub, Mult: FMult, Min: FMin, Max: FMax, Inc: FInc, Dec: FDec, Set: Swap, CAS: FCAS}
	all := Get
	for plain, fetches := range pairs {
		all |= plain | fetches
		if plain.Fetching() || !fetches.Fetching() || plain.ToFetching() != fetches || fetches.ToFetching() != fetches ||
			fetches.ToNonfetching() != plain || plain.ToNonfetching() != plain {
			t.Errorf("%v and %v do not belong together", plain, fetches)
		}
	}
	if all != allOps || Int32.Ops() != all || Uint64.Ops() != all || Type(0).Ops() != 0 {
		t.Errorf("all operations are %v", all)
	}
	if lacks := all &^ Float64.Ops(); lacks != And|Or|Xor|FAnd|FOr|FXor {
		t.Errorf("floats lack %v", lacks)
	}
	if !Get.Fetching() || Get.ToNonfetching() != 0 || Get.ToFetching() != Get {
		t.Error("Get has a plain form")
	}
	for op, want := range map[Op]string{0: "no operation", Add | FCAS: "Add|FCAS", Set | Swap | Get: "Set|Swap|Get", 1 << 15: "Op(0x8000)", 1 << 31: "Op(0x80000000)"} {
		if op.String() != want {
			t.Errorf("%q, want %q", op, want)
		}
	}
}

func TestPackAtomic(t *testing.T) {
	for _, typ := range []Type{Int32, Uint32, Int64, Uint64, Float32, Float64} {
		for op := Op(1); op != 0; op <<= 1 {
			gotType, gotOp, ok := unpackAtomic(packAtomic(typ, op))
			if gotType != typ || gotOp != op || ok != (op&typ.Ops() != 0) {
				t.Errorf("%v of %v became %v of %v, %v", op, typ, gotOp, gotType, ok)
			}
		}
	}
	for _, what := range []uint32{6 << 8, 31 << 8, 32 << 8, 12, 32, 0xff, 1 << 31, 0xffffffff} {
		if typ, op, ok := unpackAtomic(what); ok {
			t.Errorf("%#x is %v of %v", what, op, typ)
		}
	}
}
