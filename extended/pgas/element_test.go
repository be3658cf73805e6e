package pgas_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

type recursive struct {
	Left, Right pgas.Ptr[recursive]
	Value       int
}

type inner struct {
	OK  int
	Bad [4]struct{ Name string }
}

func at[T any]() error {
	_, err := pgas.At[T](0, 0)
	return err
}

func TestElementTypes(t *testing.T) {
	for _, err := range []error{at[int](), at[uint](), at[bool](), at[[3]complex64](), at[recursive](), at[pgas.Ptr[string]](), at[struct {
		_ [0]func()
		A uint8
	}]()} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
	for _, c := range []struct {
		err  error
		want []string
	}{
		{at[string](), []string{"string"}},
		{at[*int](), []string{"*int"}},
		{at[unsafe.Pointer](), []string{"unsafe.Pointer"}},
		{at[uintptr](), []string{"uintptr"}},
		{at[struct{}](), []string{"no bytes"}},
		{at[struct{ A, B map[int]int }](), []string{".A", "map[int]int"}},
		{at[[2]error](), []string{"[]", "error"}},
		{at[struct{ In inner }](), []string{"because of .In.Bad[].Name: string"}},
	} {
		for range 2 { // the second answer is a kept one
			if c.err == nil {
				t.Errorf("accepted; want an error with %q", c.want)
				continue
			}
			for _, w := range c.want {
				if !strings.Contains(c.err.Error(), w) {
					t.Errorf("%q does not say %q", c.err, w)
				}
			}
		}
	}
}

func TestPtr(t *testing.T) {
	p, err := pgas.At[uint32](3, 64)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.Sizeof(p) != 16 {
		t.Errorf("a pointer has %d bytes", unsafe.Sizeof(p))
	}
	q := p.Add(5)
	if d, err := q.Diff(p); d != 5 || err != nil {
		t.Errorf("Diff: %d, %v", d, err)
	}
	if d, err := p.Diff(q); d != -5 || err != nil {
		t.Errorf("Diff: %d, %v", d, err)
	}
	if q.Add(-5) != p || q == p || q.Offset() != 84 || q.Rank() != 3 || q.On(1).Rank() != 1 || q.On(1).Offset() != 84 {
		t.Errorf("arithmetic of %v and %v", p, q)
	}
	if _, err := q.Diff(p.On(1)); err == nil {
		t.Error("Diff across ranks")
	}
	half, err := pgas.At[[2]uint32](3, 68)
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := pgas.At[[2]uint32](3, 64); half.Nil() || !strings.Contains(half.String(), "rank 3+68") {
		t.Errorf("%v", half)
	} else if _, err := half.Diff(other); err == nil {
		t.Error("Diff of half an element")
	}
	var null pgas.Ptr[uint32]
	if !null.Nil() || null.Rank() != -1 || null.On(2) != null || !null.Add(3).Nil() {
		t.Errorf("nil is %v", null)
	}
	for _, off := range []uint64{1, 2, 66} {
		if _, err := pgas.At[uint32](0, off); err == nil {
			t.Errorf("a misaligned pointer at %d", off)
		}
	}
	if _, err := pgas.At[uint32](-1, 0); err == nil {
		t.Error("a pointer to rank -1")
	}
}
