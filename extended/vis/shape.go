// Package vis has the shapes of vector, indexed and strided transfers: which bytes of one side go where on the
// other. It checks shapes against the sizes of both sides, cuts them into pieces, moves the pieces between two
// memories, and packs them into messages and out of them. It knows no ranks and no network.
//
// One side is the far one, a rank's segment. The other one is the near one, the caller's buffer.
package vis

import (
	"fmt"
	"math/bits"
)

// Extent is Len bytes at Off of a segment or a buffer.
type Extent struct {
	Off uint64
	Len int
}

// Chunks are pieces of Len bytes each at the offsets Offs of a segment or a buffer.
type Chunks struct {
	Offs []uint64
	Len  int
}

// Section is one side of a strided transfer: the elements of an array of any dimension,
// the first of them at Off of a segment or a buffer. Strides[i] is the distance in bytes
// between neighbours along dimension i. It may be negative, to go backwards, and strides
// need not nest, so that a transfer may transpose, reflect or repeat.
type Section struct {
	Off     uint64
	Strides []int
}

// Shape says which bytes of one side go where on the other: by two lists, or by a section
// of each side.
type Shape struct {
	far, near list

	sections                bool
	farSection, nearSection Section
	elem                    int
	counts                  []int
}

// Vector is the shape that pairs the bytes of two lists, in their order. The lists may be cut differently.
func Vector(far, near []Extent) Shape {
	return Shape{far: list{extents: far}, near: list{extents: near}}
}

// Indexed is Vector for pieces of one size on each side.
func Indexed(far, near Chunks) Shape {
	return Shape{far: list{offs: far.Offs, size: far.Len}, near: list{offs: near.Offs, size: near.Len}}
}

// Strided is the shape of elements of elem bytes, counts[i] along dimension i, of which 0 is the innermost.
func Strided(far, near Section, elem int, counts []int) Shape {
	return Shape{sections: true, farSection: far, nearSection: near, elem: elem, counts: counts}
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

// Sides are the two sides of a transfer.
type Sides struct {
	Rank      int    // whose segment the far side is, for errors
	Far, Near uint64 // their sizes in bytes
	Get       bool   // the near side is the destination
}

// side is one of the sides.
type side struct {
	rank int // -1: the near one
	size uint64
}

func (s *Sides) far() side  { return side{s.Rank, s.Far} }
func (s *Sides) near() side { return side{-1, s.Near} }

// to returns the destination.
func (s *Sides) to() side {
	if s.Get {
		return s.near()
	}
	return s.far()
}

// String names the side.
func (x side) String() string {
	if x.rank >= 0 {
		return fmt.Sprintf("rank %d's segment", x.rank)
	}
	return "the local buffer"
}

// Check returns what is wrong with a transfer of the shape, and whether it moves anything. If it does and
// nothing is wrong, all that it moves lies in the sides.
func (s *Shape) Check(sides Sides) (some bool, err error) {
	if s.sections {
		return s.checkSections(&sides)
	}
	far, err := s.far.check(sides.far())
	if err != nil {
		return false, err
	}
	near, err := s.near.check(sides.near())
	if err != nil {
		return false, err
	}
	if far != near {
		return false, fmt.Errorf("%d bytes of %v against %d of %v; the totals must be equal", far, sides.far(), near, sides.near())
	}
	return far > 0, nil
}

// check checks the pieces of one side and returns their total.
func (l *list) check(x side) (total int, err error) {
	for i := range l.len() {
		off, n := l.at(i)
		if n < 0 {
			return 0, fmt.Errorf("entry %d of %v has %d bytes", i, x, n)
		}
		if n > 0 && (off > x.size || uint64(n) > x.size-off) {
			return 0, fmt.Errorf("entry %d of %v: bytes %d to %d lie outside its %d bytes", i, x, off, off+uint64(n), x.size)
		}
		if total += n; total < 0 {
			return 0, fmt.Errorf("the entries of %v up to %d are more bytes in all than can be counted", x, i)
		}
	}
	return total, nil
}

// checkSections checks a strided transfer.
func (s *Shape) checkSections(sides *Sides) (some bool, err error) {
	dims := len(s.counts)
	switch {
	case s.elem == 0:
		return false, nil
	case s.elem < 0:
		return false, fmt.Errorf("elements of %d bytes", s.elem)
	case len(s.farSection.Strides) != dims || len(s.nearSection.Strides) != dims:
		return false, fmt.Errorf("%d counts need as many strides on both sides; %v has %d and %v %d",
			dims, sides.far(), len(s.farSection.Strides), sides.near(), len(s.nearSection.Strides))
	}
	some = true
	for i, n := range s.counts {
		if n < 0 {
			return false, fmt.Errorf("dimension %d counts %d", i, n)
		}
		some = some && n > 0
	}
	if !some {
		return false, nil
	}
	if err := s.checkSection(sides.far(), &s.farSection); err != nil {
		return false, err
	}
	if err := s.checkSection(sides.near(), &s.nearSection); err != nil {
		return false, err
	}
	return true, s.checkTotal(sides.to())
}

// checkTotal checks that there are no more elements than the destination has bytes for: they
// would be written over each other, and might take for ever.
func (s *Shape) checkTotal(to side) error {
	total := uint64(s.elem)
	for _, n := range s.counts {
		var over uint64
		if over, total = bits.Mul64(total, uint64(n)); over != 0 || total > to.size {
			return fmt.Errorf("%v elements of %d bytes do not fit into the %d bytes of %v without overlapping", s.counts, s.elem, to.size, to)
		}
	}
	return nil
}

// checkSection checks that a section lies in its side: every dimension takes of the room
// below the first element, or above it.
func (s *Shape) checkSection(x side, sec *Section) error {
	if sec.Off > x.size || uint64(s.elem) > x.size-sec.Off {
		return fmt.Errorf("the first element, bytes %d to %d of %v, lies outside its %d bytes", sec.Off, sec.Off+uint64(s.elem), x, x.size)
	}
	below, above := sec.Off, x.size-sec.Off-uint64(s.elem)
	for i, n := range s.counts {
		room, stride := &above, uint64(sec.Strides[i])
		if sec.Strides[i] < 0 {
			room, stride = &below, -stride
		}
		over, reach := bits.Mul64(stride, uint64(n-1))
		if over != 0 || reach > *room {
			return fmt.Errorf("dimension %d, %d times with a stride of %d, leaves %v of %d bytes", i, n, sec.Strides[i], x, x.size)
		}
		*room -= reach
	}
	return nil
}
