package vis

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// elements returns the pieces of a shape as a naive loop finds them, by numbers that cannot overflow. Pieces that are
// empty, adjacent to others or outside are among them. Of more elements than limit it returns those at the corners,
// since no other lies further outside. Not ok: the shape's numbers make no sense.
func elements(s *Shape, limit int) (far, near []extent, ok bool) {
	if !s.sections {
		far, ok = entries(&s.far)
		var ok2 bool
		near, ok2 = entries(&s.near)
		return far, near, ok && ok2
	}
	if s.elem == 0 {
		return nil, nil, true
	}
	n := big.NewInt(1)
	for _, c := range s.counts {
		if c < 0 {
			return nil, nil, false
		}
		n.Mul(n, big.NewInt(int64(c)))
	}
	if s.elem < 0 || len(s.farSection.Strides) != len(s.counts) || len(s.nearSection.Strides) != len(s.counts) {
		return nil, nil, false
	}
	if n.Sign() == 0 {
		return nil, nil, true
	}
	corners := n.Cmp(big.NewInt(int64(limit))) > 0
	if corners {
		n.SetInt64(1 << len(s.counts))
	}
	for k := range int(n.Int64()) {
		at := func(sec *Section) extent {
			off, q := new(big.Int).SetUint64(sec.Off), k
			for d, c := range s.counts {
				var i int
				if corners {
					i, q = q%2*(c-1), q/2
				} else {
					i, q = q%c, q/c
				}
				off.Add(off, new(big.Int).Mul(big.NewInt(int64(i)), big.NewInt(int64(sec.Strides[d]))))
			}
			return extent{off, s.elem}
		}
		far, near = append(far, at(&s.farSection)), append(near, at(&s.nearSection))
	}
	return far, near, true
}

// extent is an Extent whose offset may be anything.
type extent struct {
	off *big.Int
	n   int
}

func entries(l *list) (all []extent, ok bool) {
	for i := range l.len() {
		off, n := l.at(i)
		if n < 0 {
			return nil, false
		}
		all = append(all, extent{new(big.Int).SetUint64(off), n})
	}
	return all, true
}

// inside reports whether all that is not empty lies in size bytes.
func inside(all []extent, size uint64) bool {
	for _, x := range all {
		end := new(big.Int).Add(x.off, big.NewInt(int64(x.n)))
		if x.n > 0 && (x.off.Sign() < 0 || end.Cmp(new(big.Int).SetUint64(size)) > 0) {
			return false
		}
	}
	return true
}

func total(all []extent) *big.Int {
	n := new(big.Int)
	for _, x := range all {
		n.Add(n, big.NewInt(int64(x.n)))
	}
	return n
}

// limit is up to how many elements the oracle enumerates. Sides of tests are smaller.
const limit = 1 << 10

// testShape compares the shape with the oracle: the verdict, and where each byte goes.
func testShape(t *testing.T, s *Shape, sides Sides) {
	t.Helper()
	far, near, ok := elements(s, limit)
	ok = ok && inside(far, sides.Far) && inside(near, sides.Near)
	if s.sections && ok && s.elem > 0 {
		n := big.NewInt(int64(s.elem))
		for _, c := range s.counts {
			n.Mul(n, big.NewInt(int64(c)))
		}
		to := sides.Far
		if sides.Get {
			to = sides.Near
		}
		ok = n.Cmp(new(big.Int).SetUint64(to)) <= 0
	} else if !s.sections && ok {
		ok = total(far).Cmp(total(near)) == 0 && total(far).IsInt64()
	}
	some, err := s.Check(sides)
	if (err == nil) != ok {
		t.Fatalf("%+v between %+v: error %v, but the oracle says %v", s, sides, err, ok)
	}
	if err != nil {
		return
	}
	if some != (total(far).Sign() > 0) {
		t.Fatalf("%+v moves something: %v, but it moves %v bytes", s, some, total(far))
	}
	if !some {
		return
	}
	want := pairs(far, near)
	var got []pair
	w, last := s.Runs(), Run{}
	for r, ok := w.Next(); ok; r, ok = w.Next() {
		if r.N <= 0 || r.Count <= 0 || len(got) > 0 && r.Count == 1 && last.Count == 1 && r.Far == last.Far+uint64(last.N) && r.Near == last.Near+uint64(last.N) {
			t.Fatalf("%+v: run %+v comes after %+v", s, r, last)
		}
		last = r
		for i := range r.Count {
			p := r.At(i)
			for i := range uint64(p.N) {
				got = append(got, pair{p.Far + i, p.Near + i})
			}
		}
	}
	if _, ok := w.Next(); ok {
		t.Fatalf("%+v has a run after the last one", s)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v moves %v, want %v", s, got, want)
	}
	testCopies(t, s, sides, want)
}

// pair is the places of a byte on both sides.
type pair struct{ far, near uint64 }

// pairs returns the bytes of two lists of equal totals.
func pairs(far, near []extent) (all []pair) {
	bytesOf := func(list []extent) (offs []uint64) {
		for _, x := range list {
			for i := range uint64(x.n) {
				offs = append(offs, x.off.Uint64()+i)
			}
		}
		return offs
	}
	f, n := bytesOf(far), bytesOf(near)
	for i := range f {
		all = append(all, pair{f[i], n[i]})
	}
	return all
}

// testCopies compares Put and Get with a naive copy in the same order.
func testCopies(t *testing.T, s *Shape, sides Sides, want []pair) {
	t.Helper()
	far, near := make([]byte, sides.Far), make([]byte, sides.Near)
	for i := range far {
		far[i] = byte(3*i + 1)
	}
	for i := range near {
		near[i] = byte(5*i + 2)
	}
	overlap := false // where a destination is written twice, pieces and bytes come in different orders
	seen := make(map[uint64]bool)
	for _, x := range want {
		to := x.far
		if sides.Get {
			to = x.near
		}
		overlap, seen[to] = overlap || seen[to], true
	}
	if overlap {
		return
	}
	naiveFar, naiveNear := bytes.Clone(far), bytes.Clone(near)
	for _, x := range want {
		if sides.Get {
			naiveNear[x.near] = far[x.far]
		} else {
			naiveFar[x.far] = near[x.near]
		}
	}
	if sides.Get {
		s.Get(near, far)
	} else {
		s.Put(far, near)
	}
	if !bytes.Equal(far, naiveFar) || !bytes.Equal(near, naiveNear) {
		t.Fatalf("%+v between %+v: far % x, want % x; near % x, want % x", s, sides, far, naiveFar, near, naiveNear)
	}
}

// TestShapes compares random shapes, right and wrong ones, with the oracle.
func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	accepted := 0
	for range 30000 {
		s, sides := randomShape(r.IntN)
		testShape(t, &s, sides)
		if some, err := s.Check(sides); some && err == nil {
			accepted++
		}
	}
	if accepted < 5000 {
		t.Errorf("%d shapes move something", accepted)
	}
}

// randomShape draws a shape between small sides.
func randomShape(intn func(int) int) (Shape, Sides) {
	sides := Sides{Rank: 3, Far: uint64(1 + intn(120)), Near: uint64(1 + intn(120)), Get: intn(2) == 0}
	kind := intn(3)
	if kind == 2 {
		dims := intn(5)
		far, near := Section{Off: uint64(intn(40))}, Section{Off: uint64(intn(40))}
		counts := make([]int, dims)
		for i := range dims {
			counts[i] = intn(5)
			far.Strides, near.Strides = append(far.Strides, intn(30)-10), append(near.Strides, intn(30)-10)
			if intn(4) == 0 { // as in memory
				far.Strides[i], near.Strides[i] = 4, 4
			}
		}
		return Strided(far, near, intn(6), counts), sides
	}
	if kind == 1 {
		far, near := Chunks{Len: intn(6)}, Chunks{Len: intn(6)}
		if near.Len > 0 && intn(10) > 0 {
			far.Len = near.Len
		}
		for range intn(8) {
			far.Offs = append(far.Offs, uint64(intn(int(sides.Far)+2)))
			near.Offs = append(near.Offs, uint64(intn(int(sides.Near)+2)))
		}
		return Indexed(far, near), sides
	}
	var far, near []Extent
	left := intn(30)
	cut := func(total int, size uint64) (list []Extent) {
		for total > 0 || intn(3) == 1 {
			n := min(total, 1+intn(12))
			if intn(5) == 1 {
				n = 0
			}
			list, total = append(list, Extent{uint64(intn(int(size))), n}), total-n
		}
		return list
	}
	far, near = cut(left, sides.Far), cut(left, sides.Near)
	for i := 1; i < min(len(far), len(near)); i++ { // some are adjacent
		if intn(3) == 0 {
			far[i].Off, near[i].Off = far[i-1].Off+uint64(far[i-1].Len), near[i-1].Off+uint64(near[i-1].Len)
		}
	}
	if intn(20) == 0 && len(far) > 0 {
		far[0].Len -= intn(9) // unequal, or negative
	}
	return Vector(far, near), sides
}

// FuzzShape has the fuzzer draw them, and numbers of any size.
func FuzzShape(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, uint64(0), int64(0))
	f.Add([]byte{9, 9, 0, 2, 3, 1, 1, 1, 3, 4, 3, 4, 3, 4, 3}, uint64(1<<63), int64(math.MinInt64))
	f.Add([]byte{80, 80, 1, 2, 2, 0, 0, 2, 14, 14, 2, 30, 3, 3}, uint64(math.MaxUint64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, draws []byte, off uint64, number int64) {
		s, sides := randomShape(func(n int) int {
			if len(draws) == 0 {
				return 0
			}
			x := int(draws[0]) % n
			draws = draws[1:]
			return x
		})
		testShape(t, &s, sides)
		switch {
		case s.sections && len(s.counts) > 0:
			s.nearSection.Off += off
			testShape(t, &s, sides)
			s.nearSection.Strides[len(s.counts)-1] = int(number)
			testShape(t, &s, sides)
			s.counts[0] = int(number)
			testShape(t, &s, sides)
		case len(s.far.extents) > 0:
			s.far.extents[0].Off += off
			testShape(t, &s, sides)
			s.far.extents[0].Len = int(number)
			testShape(t, &s, sides)
		case len(s.far.offs) > 0:
			s.far.offs[0] += off
			testShape(t, &s, sides)
			s.far.size = int(number)
			testShape(t, &s, sides)
		}
	})
}

// TestErrors holds what is said of wrong shapes: the side and the entry.
func TestErrors(t *testing.T) {
	row := func(off uint64, strides ...int) Section { return Section{off, strides} }
	many := make([]Extent, 5)
	for i := range many {
		many[i] = Extent{0, math.MaxInt/4 + 1}
	}
	for _, x := range []struct {
		s    Shape
		want string
	}{
		{Vector([]Extent{{0, 8}, {60, 8}}, []Extent{{0, 16}}), "entry 1 of rank 7's segment: bytes 60 to 68 lie outside its 64 bytes"},
		{Vector([]Extent{{0, 8}}, []Extent{{0, 4}, {32, 1}}), "entry 1 of the local buffer: bytes 32 to 33 lie outside its 32 bytes"},
		{Vector([]Extent{{0, -1}}, nil), "entry 0 of rank 7's segment has -1 bytes"},
		{Vector([]Extent{{0, 8}}, []Extent{{0, 7}}), "8 bytes of rank 7's segment against 7 of the local buffer; the totals must be equal"},
		{Strided(row(0), row(0), -1, nil), "elements of -1 bytes"},
		{Strided(row(0, 1), row(0, 1, 2), 1, []int{1}), "1 counts need as many strides on both sides; rank 7's segment has 1 and the local buffer 2"},
		{Strided(row(0, 1), row(0, 1), 1, []int{-2}), "dimension 0 counts -2"},
		{Strided(row(60), row(0), 8, nil), "the first element, bytes 60 to 68 of rank 7's segment, lies outside its 64 bytes"},
		{Strided(row(0, 8), row(8, -8), 8, []int{3}), "dimension 0, 3 times with a stride of -8, leaves the local buffer of 32 bytes"},
		{Strided(row(0, 0), row(0, 0), 1, []int{65}), "[65] elements of 1 bytes do not fit into the 64 bytes of rank 7's segment without overlapping"},
		{Strided(row(0, 0), row(0, 0), 8, []int{9}), "[9] elements of 8 bytes do not fit into the 64 bytes of rank 7's segment without overlapping"},
	} {
		if _, err := x.s.Check(Sides{Rank: 7, Far: 64, Near: 32}); err == nil || err.Error() != x.want {
			t.Errorf("%+v: %v, want %q", x.s, err, x.want)
		}
	}
	s := Vector(many, many)
	if _, err := s.Check(Sides{Far: math.MaxInt, Near: math.MaxInt}); err == nil || !strings.Contains(err.Error(), "more bytes in all than can be counted") {
		t.Errorf("more bytes than there are numbers: %v", err)
	}
}

// TestAllocations: a shape is walked, and moved, without the heap.
func TestAllocations(t *testing.T) {
	far, near := make([]byte, 1024), make([]byte, 1024)
	a, b, counts := Section{0, []int{64, 8, 1}}, Section{0, []int{8, 64, 512}}, []int{4, 8, 2}
	if n := testing.AllocsPerRun(100, func() {
		s := Strided(a, b, 8, counts)
		if some, err := s.Check(Sides{Far: 1024, Near: 1024}); !some || err != nil {
			t.Fatal(err)
		}
		s.Put(far, near)
		s.Get(near, far)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
