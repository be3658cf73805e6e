package extended

import (
	"fmt"
	"math/bits"
)

// shape says which bytes of one side go where on the other: by two lists, or by a section
// of each side.
type shape struct {
	far, near list

	sections                bool
	farSection, nearSection Section
	elem                    int
	counts                  []int
}

// list names pieces of one side: extents, or offsets of pieces of one size.
type list struct {
	extents []Extent
	offs    []uint64
	size    int
}

func (l *list) len() int { return max(len(l.extents), len(l.offs)) }

func (l *list) at(i int) (off uint64, n int) {
	if l.offs != nil {
		return l.offs[i], l.size
	}
	return l.extents[i].Off, l.extents[i].Len
}

// check returns what is wrong with the transfer, and whether it moves anything.
func (s *shape) check(t *transfer) (some bool, err error) {
	if !t.lc.valid() {
		return false, t.c.ep.misuse(t.call, "%v is none of LCNow, LCDefer and LCLeaf", t.lc)
	}
	if s.sections {
		return s.checkSections(t)
	}
	far, err := s.far.check(t, true)
	if err != nil {
		return false, err
	}
	near, err := s.near.check(t, false)
	if err != nil {
		return false, err
	}
	if far != near {
		return false, t.c.ep.misuse(t.call, "%d bytes of rank %d's segment against %d of the local buffer; the totals must be equal", far, t.rank, near)
	}
	return far > 0, nil
}

// check checks the pieces of one side and returns their total.
func (l *list) check(t *transfer, far bool) (total int, err error) {
	size := t.size(far)
	for i := range l.len() {
		off, n := l.at(i)
		if n < 0 {
			return 0, t.c.ep.misuse(t.call, "entry %d of %s has %d bytes", i, t.side(far), n)
		}
		if n > 0 && (off > size || uint64(n) > size-off) {
			return 0, t.c.ep.misuse(t.call, "entry %d of %s: bytes %d to %d lie outside its %d bytes", i, t.side(far), off, off+uint64(n), size)
		}
		if total += n; total < 0 {
			return 0, t.c.ep.misuse(t.call, "the entries of %s up to %d are more bytes in all than can be counted", t.side(far), i)
		}
	}
	return total, nil
}

// size returns the bytes that a side has.
func (t *transfer) size(far bool) uint64 {
	if far {
		return uint64(t.c.ep.SegmentSize(t.rank))
	}
	return uint64(len(t.near))
}

// side names a side in errors.
func (t *transfer) side(far bool) string {
	if far {
		return fmt.Sprintf("rank %d's segment", t.rank)
	}
	return "the local buffer"
}

// walk makes the pieces.
func (s *shape) walk(t *transfer) error {
	if s.sections {
		return s.walkSections(t, len(s.counts)-1, s.farSection.Off, s.nearSection.Off)
	}
	return s.zip(t)
}

// zip goes along both lists, whose totals are equal, and makes a piece wherever neither
// has a border.
func (s *shape) zip(t *transfer) error {
	var far, near uint64
	var farLeft, nearLeft, i, j int
	for {
		for ; farLeft == 0; i++ {
			if i == s.far.len() {
				return nil
			}
			far, farLeft = s.far.at(i)
		}
		for ; nearLeft == 0; j++ {
			near, nearLeft = s.near.at(j)
		}
		n := min(farLeft, nearLeft)
		if err := t.add(far, near, n); err != nil {
			return err
		}
		far, farLeft = far+uint64(n), farLeft-n
		near, nearLeft = near+uint64(n), nearLeft-n
	}
}

// checkSections checks a strided transfer.
func (s *shape) checkSections(t *transfer) (some bool, err error) {
	ep, dims := t.c.ep, len(s.counts)
	switch {
	case s.elem == 0:
		return false, nil
	case s.elem < 0:
		return false, ep.misuse(t.call, "elements of %d bytes", s.elem)
	case len(s.farSection.Strides) != dims || len(s.nearSection.Strides) != dims:
		return false, ep.misuse(t.call, "%d counts need as many strides on both sides; %s has %d and %s %d",
			dims, t.side(true), len(s.farSection.Strides), t.side(false), len(s.nearSection.Strides))
	}
	some = true
	for i, n := range s.counts {
		if n < 0 {
			return false, ep.misuse(t.call, "dimension %d counts %d", i, n)
		}
		some = some && n > 0
	}
	if !some {
		return false, nil
	}
	if err := s.checkSection(t, true, &s.farSection); err != nil {
		return false, err
	}
	if err := s.checkSection(t, false, &s.nearSection); err != nil {
		return false, err
	}
	return true, s.checkTotal(t)
}

// checkTotal checks that there are no more elements than the destination has bytes for: they
// would be written over each other, and might take for ever.
func (s *shape) checkTotal(t *transfer) error {
	room, total := t.size(!t.get), uint64(s.elem)
	for _, n := range s.counts {
		var over uint64
		if over, total = bits.Mul64(total, uint64(n)); over != 0 || total > room {
			return t.c.ep.misuse(t.call, "%v elements of %d bytes do not fit into the %d bytes of %s without overlapping", s.counts, s.elem, room, t.side(!t.get))
		}
	}
	return nil
}

// checkSection checks that a section lies in its side: every dimension takes of the room
// below the first element, or above it.
func (s *shape) checkSection(t *transfer, far bool, x *Section) error {
	size := t.size(far)
	if x.Off > size || uint64(s.elem) > size-x.Off {
		return t.c.ep.misuse(t.call, "the first element, bytes %d to %d of %s, lies outside its %d bytes", x.Off, x.Off+uint64(s.elem), t.side(far), size)
	}
	below, above := x.Off, size-x.Off-uint64(s.elem)
	for i, n := range s.counts {
		room, stride := &above, uint64(x.Strides[i])
		if x.Strides[i] < 0 {
			room, stride = &below, -stride
		}
		over, reach := bits.Mul64(stride, uint64(n-1))
		if over != 0 || reach > *room {
			return t.c.ep.misuse(t.call, "dimension %d, %d times with a stride of %d, leaves %s of %d bytes", i, n, x.Strides[i], t.side(far), size)
		}
		*room -= reach
	}
	return nil
}

// walkSections makes the pieces of the dimensions up to dim.
func (s *shape) walkSections(t *transfer, dim int, far, near uint64) error {
	if dim < 0 {
		return t.add(far, near, s.elem)
	}
	farStride, nearStride := uint64(s.farSection.Strides[dim]), uint64(s.nearSection.Strides[dim])
	for range s.counts[dim] {
		var err error
		if dim == 0 {
			err = t.add(far, near, s.elem)
		} else {
			err = s.walkSections(t, dim-1, far, near)
		}
		if err != nil {
			return err
		}
		far, near = far+farStride, near+nearStride // two's complement: strides may be negative
	}
	return nil
}
