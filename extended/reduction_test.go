package extended

import "testing"

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
