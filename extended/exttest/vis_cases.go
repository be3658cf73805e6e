package exttest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
)

var visCases = []coretest.Case{{
	Name:  "vis/put",
	Rule:  "vector, indexed and strided puts of any shape move the bytes that a naive loop moves, and touch nothing else",
	Ranks: []int{1, 2, 3}, Body: visPut,
}, {
	Name:  "vis/get",
	Rule:  "vector, indexed and strided gets of any shape move the bytes that a naive loop moves, and touch nothing else",
	Ranks: []int{1, 2, 3}, Body: visGet,
}, {
	Name:  "vis/dimensions",
	Rule:  "strided transfers go to 20 dimensions, and transpose and reflect (GASNet-EX)",
	Ranks: []int{2}, Body: visDimensions,
}, {
	Name:  "vis/empty",
	Rule:  "calls that move no bytes succeed, whatever the rank",
	Ranks: []int{1, 2}, Body: visEmpty,
}, {
	Name:  "vis/misuse",
	Rule:  "pieces outside either side, negative sizes and unequal totals are errors that name the call and the entry, and move nothing",
	Ranks: []int{1, 2}, Config: lenient, Body: visMisuse,
}, {
	Name:  "vis/allocation",
	Rule:  "vector, indexed and strided transfers allocate nothing",
	Ranks: []int{1, 2}, Needs: coretest.Plain, Body: visAllocation,
	Config: func(cfg *core.Config) { cfg.Sleep = time.Minute }, // going to sleep may allocate
}}

// visSpace is the part of a segment, and the buffer, that the shapes lie in.
const visSpace = 96 << 10

// visLocal is where in the segment the local buffer lies if it does.
const visLocal = 512 << 10

// visShape is the pieces of one transfer: calls that make it, and the offset of every byte
// on both sides, as a naive loop finds them.
type visShape struct {
	kind     string
	dst, src []uint64
	to, from []extended.Extent // vector
	tos      extended.Chunks   // indexed
	froms    extended.Chunks
	toSec    extended.Section // strided
	fromSec  extended.Section
	elem     int
	counts   []int
}

// form is how an operation is initiated and synchronised.
type form int

const (
	blocking form = iota
	explicit
	implicit
	region
	forms
)

// run initiates and synchronises an operation.
func (f form) run(c *extended.Context, now func() error, nb func() (extended.Event, error), nbi func() error) error {
	switch f {
	case blocking:
		return now()
	case explicit:
		ev, err := nb()
		return errors.Join(err, c.Wait(ev))
	case implicit:
		return errors.Join(nbi(), c.WaitNBI(extended.All))
	}
	if err := c.BeginRegion(); err != nil {
		return err
	}
	err := nbi()
	ev, err2 := c.EndRegion()
	return errors.Join(err, err2, c.Wait(ev))
}

// put does the transfer as a put.
func (s *visShape) put(c *extended.Context, f form, dst core.Rank, src []byte, lc extended.LocalCompletion) error {
	switch s.kind {
	case "vector":
		return f.run(c,
			func() error { return c.PutVector(dst, s.to, src, s.from) },
			func() (extended.Event, error) { return c.PutVectorNB(dst, s.to, src, s.from, lc) },
			func() error { return c.PutVectorNBI(dst, s.to, src, s.from, lc) })
	case "indexed":
		return f.run(c,
			func() error { return c.PutIndexed(dst, s.tos, src, s.froms) },
			func() (extended.Event, error) { return c.PutIndexedNB(dst, s.tos, src, s.froms, lc) },
			func() error { return c.PutIndexedNBI(dst, s.tos, src, s.froms, lc) })
	}
	return f.run(c,
		func() error { return c.PutStrided(dst, s.toSec, src, s.fromSec, s.elem, s.counts) },
		func() (extended.Event, error) {
			return c.PutStridedNB(dst, s.toSec, src, s.fromSec, s.elem, s.counts, lc)
		},
		func() error { return c.PutStridedNBI(dst, s.toSec, src, s.fromSec, s.elem, s.counts, lc) })
}

// get does the transfer as a get.
func (s *visShape) get(c *extended.Context, f form, dst []byte, src core.Rank) error {
	switch s.kind {
	case "vector":
		return f.run(c,
			func() error { return c.GetVector(dst, s.to, src, s.from) },
			func() (extended.Event, error) { return c.GetVectorNB(dst, s.to, src, s.from) },
			func() error { return c.GetVectorNBI(dst, s.to, src, s.from) })
	case "indexed":
		return f.run(c,
			func() error { return c.GetIndexed(dst, s.tos, src, s.froms) },
			func() (extended.Event, error) { return c.GetIndexedNB(dst, s.tos, src, s.froms) },
			func() error { return c.GetIndexedNBI(dst, s.tos, src, s.froms) })
	}
	return f.run(c,
		func() error { return c.GetStrided(dst, s.toSec, src, s.fromSec, s.elem, s.counts) },
		func() (extended.Event, error) { return c.GetStridedNB(dst, s.toSec, src, s.fromSec, s.elem, s.counts) },
		func() error { return c.GetStridedNBI(dst, s.toSec, src, s.fromSec, s.elem, s.counts) })
}

// randomShape draws a shape in visSpace bytes whose destinations are disjoint.
func randomShape(r *rand.Rand) *visShape {
	switch r.IntN(3) {
	case 0:
		return randomVector(r)
	case 1:
		return randomIndexed(r)
	}
	return randomStrided(r)
}

// cuts cuts total bytes into random pieces.
func cuts(r *rand.Rand, total int) []int {
	most := []int{1, 9, 100, 3000, 20000}[r.IntN(5)]
	var lens []int
	for total > 0 {
		n := min(total, r.IntN(most+1), total)
		lens = append(lens, n)
		total -= n
	}
	return lens
}

// place places pieces one after the other with random gaps, in random order.
func place(r *rand.Rand, lens []int) []uint64 {
	total := 0
	for _, n := range lens {
		total += n
	}
	free := visSpace - total
	offs, off := make([]uint64, len(lens)), 0
	gap := []int{0, 1, 100, 2000}[r.IntN(4)] // 0: adjacent, to be merged
	order := r.Perm(len(lens))
	if gap == 0 {
		slices.Sort(order)
	}
	for _, i := range order {
		g := r.IntN(gap + 1)
		if g > free {
			g = 0
		}
		free -= g
		offs[i], off = uint64(off+g), off+g+lens[i]
	}
	return offs
}

// bytesOf appends the offsets of all bytes of a piece.
func bytesOf(all []uint64, off uint64, n int) []uint64 {
	for i := range n {
		all = append(all, off+uint64(i))
	}
	return all
}

func randomVector(r *rand.Rand) *visShape {
	s := &visShape{kind: "vector"}
	total := r.IntN([]int{50, 3000, 60000}[r.IntN(3)])
	side := func() (xs []extended.Extent, all []uint64) {
		lens := cuts(r, total)
		for i, off := range place(r, lens) {
			xs = append(xs, extended.Extent{Off: off, Len: lens[i]})
			all = bytesOf(all, off, lens[i])
		}
		return xs, all
	}
	s.to, s.dst = side()
	s.from, s.src = side()
	return s
}

func randomIndexed(r *rand.Rand) *visShape {
	s := &visShape{kind: "indexed"}
	unit, a, b := 1+r.IntN(1000), 1+r.IntN(4), 1+r.IntN(4)
	groups := r.IntN(1 + min(60000/(unit*a*b), 100))
	side := func(n, count int) (x extended.Chunks, all []uint64) {
		x = extended.Chunks{Offs: place(r, slices.Repeat([]int{n}, count)), Len: n}
		for _, off := range x.Offs {
			all = bytesOf(all, off, n)
		}
		return x, all
	}
	s.tos, s.dst = side(unit*a, groups*b)
	s.froms, s.src = side(unit*b, groups*a)
	for i := range s.froms.Offs { // sources may overlap
		if r.IntN(4) == 0 {
			s.froms.Offs[i] = uint64(r.IntN(visSpace - s.froms.Len))
		}
	}
	s.src = s.src[:0]
	for _, off := range s.froms.Offs {
		s.src = bytesOf(s.src, off, s.froms.Len)
	}
	return s
}

func randomStrided(r *rand.Rand) *visShape {
	s := &visShape{kind: "strided", elem: []int{1, 2, 4, 8, 13, 500, 3000}[r.IntN(7)]}
	dims := r.IntN(6)
	room := visSpace
	span := s.elem // bytes from the first of a dimension to behind its last
	strides := make([]int, dims)
	for i := range dims {
		n := 1 + r.IntN(5)
		stride := span
		if r.IntN(2) == 0 {
			stride += r.IntN(30)
		}
		if span+(n-1)*stride > room {
			n = 1
		}
		s.counts = append(s.counts, n)
		strides[i] = stride
		span += (n - 1) * stride
	}
	s.toSec = signed(r, strides, s.counts, span)
	if r.IntN(8) == 0 && dims > 0 {
		s.counts[r.IntN(dims)] = 0
	}
	// The source repeats, transposes or does the same as the destination.
	from := slices.Clone(strides)
	switch r.IntN(3) {
	case 0:
		for i := range from {
			from[i] = r.IntN(1 + visSpace/64)
		}
	case 1:
		r.Shuffle(dims, func(i, j int) { from[i], from[j] = from[j], from[i] })
	}
	span = s.elem
	for i, n := range s.counts {
		if span += max(0, n-1) * from[i]; span > room {
			span -= max(0, n-1) * from[i]
			from[i] = 0
		}
	}
	s.fromSec = signed(r, from, s.counts, span)
	s.enumerate()
	return s
}

// signed makes a section of strides of which some are turned round.
func signed(r *rand.Rand, strides, counts []int, span int) extended.Section {
	x := extended.Section{Off: uint64(r.IntN(visSpace - span + 1)), Strides: slices.Clone(strides)}
	for i, n := range counts {
		if n > 0 && r.IntN(3) == 0 {
			x.Off += uint64((n - 1) * strides[i])
			x.Strides[i] = -strides[i]
		}
	}
	return x
}

// enumerate finds the bytes of a strided shape: element k has the index k%counts[0] along
// dimension 0, and so on.
func (s *visShape) enumerate() {
	elems := 1
	for _, n := range s.counts {
		elems *= n
	}
	for k := range elems {
		to, from, rest := int(s.toSec.Off), int(s.fromSec.Off), k
		for i, n := range s.counts {
			to += rest % n * s.toSec.Strides[i]
			from += rest % n * s.fromSec.Strides[i]
			rest /= n
		}
		s.dst = bytesOf(s.dst, uint64(to), s.elem)
		s.src = bytesOf(s.src, uint64(from), s.elem)
	}
}

// move is the naive loop.
func (s *visShape) move(dst, src []byte) {
	for i := range s.dst {
		dst[s.dst[i]] = src[s.src[i]]
	}
}

func visPut(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, r := &ep.Context, t.Next(), t.Rand()
	want, got := make([]byte, visSpace), make([]byte, visSpace)
	for i := range t.Times(80) {
		s, f := randomShape(r), form(r.IntN(int(forms)))
		src := fill(localBuffer(ep, r), uint64(i))
		s.move(want, src)
		lc := extended.LocalCompletion(r.IntN(3))
		if err := s.put(c, f, next, src, lc); err != nil {
			return err
		}
		if err := ep.Get(got, next, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("transfer %d, %s, form %d: the segment differs; %+v", i, s.kind, f, s.brief())
			return t.Err()
		}
	}
	return errorsOf(t, ep.Barrier())
}

func visGet(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, r := &ep.Context, t.Next(), t.Rand()
	fill(ep.Segment()[:visSpace], uint64(t.Rank()))
	if err := ep.Barrier(); err != nil {
		return err
	}
	remote := fill(make([]byte, visSpace), uint64(next))
	for i := range t.Times(80) {
		s, f := randomShape(r), form(r.IntN(int(forms)))
		dst := fill(localBuffer(ep, r), uint64(i))
		want := bytes.Clone(dst)
		s.move(want, remote)
		if err := s.get(c, f, dst, next); err != nil {
			return err
		}
		if !bytes.Equal(dst, want) {
			t.Errorf("transfer %d, %s, form %d: the buffer differs; %+v", i, s.kind, f, s.brief())
			return t.Err()
		}
	}
	return errorsOf(t, ep.Barrier())
}

// localBuffer returns a buffer that lies in the segment or not.
func localBuffer(ep *extended.Endpoint, r *rand.Rand) []byte {
	if r.IntN(2) == 0 {
		return ep.Segment()[visLocal:][:visSpace]
	}
	return make([]byte, visSpace)
}

// brief is the shape without the enumeration.
func (s *visShape) brief() visShape {
	b := *s
	b.dst, b.src = nil, nil
	return b
}

func visDimensions(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	many := &visShape{kind: "strided", elem: 3}
	span := many.elem
	for i := range 20 {
		n := 1
		if i%2 == 0 && i < 18 {
			n = 2
		}
		many.counts = append(many.counts, n)
		many.toSec.Strides = append(many.toSec.Strides, span+i%3)
		many.fromSec.Strides = append(many.fromSec.Strides, span)
		span += (n - 1) * (span + i%3)
	}
	const rows, columns = 50, 70
	transpose := &visShape{kind: "strided", elem: 8, counts: []int{columns, rows},
		toSec: extended.Section{Strides: []int{8 * rows, 8}}, fromSec: extended.Section{Strides: []int{8, 8 * columns}}}
	reflect := &visShape{kind: "strided", elem: 1, counts: []int{1000},
		toSec: extended.Section{Off: 999, Strides: []int{-1}}, fromSec: extended.Section{Strides: []int{1}}}
	want, got := make([]byte, visSpace), make([]byte, visSpace)
	for i, s := range []*visShape{many, transpose, reflect} {
		s.enumerate()
		src := fill(make([]byte, visSpace), uint64(i))
		s.move(want, src)
		if err := s.put(c, blocking, next, src, 0); err != nil {
			return err
		}
		if err := ep.Get(got, next, 0); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("transfer %d: the segment differs", i)
			return t.Err()
		}
	}
	return errorsOf(t, ep.Barrier())
}

func visEmpty(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	far := []extended.Extent{{Off: 1 << 60}, {Off: 1}}
	for _, s := range []*visShape{
		{kind: "vector"},
		{kind: "vector", to: far, from: far[:1]},
		{kind: "indexed"},
		{kind: "indexed", tos: extended.Chunks{Len: 5}, froms: extended.Chunks{Offs: []uint64{1 << 60}}},
		{kind: "strided", counts: []int{-1}},
		{kind: "strided", elem: 4, counts: []int{1 << 40, 0}, toSec: extended.Section{Off: 1 << 60, Strides: []int{1, 1}}, fromSec: extended.Section{Strides: []int{1, 1}}},
	} {
		for f := range forms {
			for _, rank := range []core.Rank{0, core.Rank(t.Size()), -1} {
				if err := s.put(&ep.Context, f, rank, nil, 0); err != nil {
					return err
				}
				if err := s.get(&ep.Context, f, nil, rank); err != nil {
					return err
				}
			}
		}
	}
	return errorsOf(t, ep.Barrier())
}

func visMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next, size := &ep.Context, t.Next(), uint64(len(ep.Segment()))
	x := func(off uint64, n int) extended.Extent { return extended.Extent{Off: off, Len: n} }
	row := func(off uint64, strides ...int) extended.Section {
		return extended.Section{Off: off, Strides: strides}
	}
	const most = int(^uint(0) >> 1)
	for i, bad := range []struct {
		s     visShape
		names string // what the error names
	}{
		{visShape{kind: "vector", to: []extended.Extent{x(0, 4), x(size-3, 4)}, from: []extended.Extent{x(0, 8)}}, "entry 1"},
		{visShape{kind: "vector", to: []extended.Extent{x(0, 8)}, from: []extended.Extent{x(0, 4), x(1<<62, 4)}}, "entry 1"},
		{visShape{kind: "vector", to: []extended.Extent{x(^uint64(0), 8)}, from: []extended.Extent{x(0, 8)}}, "entry 0"},
		{visShape{kind: "vector", to: []extended.Extent{x(0, -1), x(0, 9)}, from: []extended.Extent{x(0, 8)}}, "entry 0"},
		{visShape{kind: "vector", to: []extended.Extent{x(0, 8)}, from: []extended.Extent{x(0, 7)}}, "equal"},
		{visShape{kind: "vector", to: []extended.Extent{x(0, 8)}}, "equal"},
		{visShape{kind: "indexed", tos: extended.Chunks{Offs: []uint64{0, 8, size}, Len: 2}, froms: extended.Chunks{Offs: []uint64{0}, Len: 6}}, "entry 2"},
		{visShape{kind: "indexed", tos: extended.Chunks{Offs: []uint64{0}, Len: 6}, froms: extended.Chunks{Offs: []uint64{0, 99, 1}, Len: 2}}, "entry 1"},
		{visShape{kind: "indexed", tos: extended.Chunks{Offs: []uint64{0}, Len: -2}, froms: extended.Chunks{Offs: []uint64{0}, Len: -2}}, "entry 0"},
		{visShape{kind: "strided", elem: -1}, "-1"},
		{visShape{kind: "strided", elem: 1, counts: []int{1}}, "strides"},
		{visShape{kind: "strided", elem: 1, counts: []int{0, -1}, toSec: row(0, 1, 1), fromSec: row(0, 1, 1)}, "dimension 1"},
		{visShape{kind: "strided", elem: 2, toSec: row(size - 1), fromSec: row(0)}, "first element"},
		{visShape{kind: "strided", elem: 2, toSec: row(0), fromSec: row(99)}, "first element"},
		{visShape{kind: "strided", elem: 1, counts: []int{3, 2}, toSec: row(5, -2, -2), fromSec: row(0, 1, 1)}, "dimension 1"},
		{visShape{kind: "strided", elem: 1, counts: []int{3, 2}, toSec: row(0, 1, 1), fromSec: row(97, 1, 1)}, "dimension 1"},
		{visShape{kind: "strided", elem: 1, counts: []int{most}, toSec: row(0, most), fromSec: row(0, 0)}, "dimension 0"},
		{visShape{kind: "strided", elem: 1, counts: []int{2}, toSec: row(9, -most-1), fromSec: row(0, 0)}, "dimension 0"},
		{visShape{kind: "strided", elem: 1, counts: []int{1 << 30, 1 << 30, 1 << 30}, toSec: row(0, 0, 0, 0), fromSec: row(0, 0, 0, 0)}, "overlapping"},
		{visShape{kind: "strided", elem: 8, counts: []int{2, int(size / 16), 2}, toSec: row(0, 8, 0, 0), fromSec: row(0, 0, 0, 0)}, "overlapping"},
	} {
		for f := range forms {
			err := bad.s.put(c, f, next, make([]byte, 100), 0)
			var usage *core.UsageError
			if !errors.As(err, &usage) || !strings.Contains(usage.Op, "Put") || !strings.Contains(usage.Msg, bad.names) {
				t.Errorf("misuse %d as a put of form %d: %v", i, f, err)
			}
		}
	}
	once := visShape{kind: "vector", to: []extended.Extent{x(0, 8)}, from: []extended.Extent{x(0, 8)}}
	again := visShape{kind: "strided", elem: 1, counts: []int{101}, toSec: row(0, 0), fromSec: row(0, 1)}
	for f := range forms {
		if err := once.put(c, f, next, make([]byte, 100), 9); f != blocking && err == nil {
			t.Errorf("LocalCompletion(9) was accepted by form %d", f)
		}
		if err := again.get(c, f, make([]byte, 100), next); err == nil || !strings.Contains(err.Error(), "overlapping") {
			t.Errorf("101 bytes came to 100 by form %d: %v", f, err)
		}
	}
	one := []extended.Extent{x(0, 1)}
	for _, rank := range []core.Rank{-1, core.Rank(t.Size())} {
		if err := c.GetVector(make([]byte, 1), one, rank, one); err == nil {
			t.Errorf("a get of rank %d was accepted", rank)
		}
	}
	got := make([]byte, size)
	if err := ep.Get(got, next, 0); err != nil {
		return err
	}
	if !bytes.Equal(got, make([]byte, size)) {
		t.Errorf("a call that failed moved bytes")
	}
	return errorsOf(t, ep.Barrier())
}

func visAllocation(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c, next := &ep.Context, t.Next()
	if t.Rank() == 0 {
		buf := make([]byte, 8192)
		x := []extended.Extent{{Off: 8, Len: 8}, {Off: 64, Len: 200}, {Off: 800, Len: 5000}}
		chunks := extended.Chunks{Offs: []uint64{0, 80, 8}, Len: 8}
		row := extended.Section{Strides: []int{16, 256}}
		counts := []int{10, 20}
		for name, call := range map[string]func() error{
			"PutVector":  func() error { return c.PutVector(next, x, buf, x) },
			"GetVector":  func() error { return c.GetVector(buf, x, next, x) },
			"PutIndexed": func() error { return c.PutIndexed(next, chunks, buf, chunks) },
			"GetIndexed": func() error { return c.GetIndexed(buf, chunks, next, chunks) },
			"PutStrided": func() error { return c.PutStrided(next, row, buf, row, 8, counts) },
			"GetStrided": func() error { return c.GetStrided(buf, row, next, row, 8, counts) },
		} {
			if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, call()) }); n > 0 {
				t.Errorf("%s allocates %v times", name, n)
			}
		}
	}
	return errorsOf(t, errors.Join(err, ep.Barrier()))
}
