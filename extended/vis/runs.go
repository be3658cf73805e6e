package vis

import "encoding/binary"

// Piece is N bytes at an offset of the far side and an offset of the near side.
type Piece struct {
	Far, Near uint64
	N         int
}

// Run is Count pieces at equal distances. The distances are two's complement, as strides may be negative.
type Run struct {
	Piece             // the first one
	Count             int
	farStep, nearStep uint64 // from each piece to the next one
}

// At returns piece i of the run, 0 ≤ i < Count.
func (r *Run) At(i int) Piece {
	return Piece{r.Far + uint64(i)*r.farStep, r.Near + uint64(i)*r.nearStep, r.N}
}

// Runs cuts a shape into runs, in order. Pieces that are adjacent on both sides are one. The shape has been
// checked, moves something, and does not change meanwhile.
type Runs struct {
	s     *Shape
	ahead Run // the next one, if more
	more  bool

	// Of two lists: what is left of the entries before i of the far side and j of the near side.
	i, j              int
	farLeft, nearLeft Piece

	row int // of sections: all elements that differ in dimension 0 alone
}

// Runs returns the runs of the shape.
func (s *Shape) Runs() Runs {
	w := Runs{s: s, more: true}
	if !s.sections {
		w.pair()
		return w
	}
	w.ahead = Run{Piece: Piece{s.farSection.Off, s.nearSection.Off, s.elem}, Count: 1}
	if len(s.counts) > 0 {
		far, near := s.farSection.Strides[0], s.nearSection.Strides[0]
		if far == s.elem && near == s.elem {
			w.ahead.N *= s.counts[0]
		} else {
			w.ahead.Count, w.ahead.farStep, w.ahead.nearStep = s.counts[0], uint64(far), uint64(near)
		}
	}
	return w
}

// Next returns the next run, or false.
func (w *Runs) Next() (r Run, ok bool) {
	if !w.more {
		return Run{}, false
	}
	for r = w.ahead; ; r.N += w.ahead.N {
		if w.s.sections {
			w.nextRow()
		} else {
			w.pair()
		}
		if !w.more || r.Count > 1 || w.ahead.Count > 1 ||
			w.ahead.Far != r.Far+uint64(r.N) || w.ahead.Near != r.Near+uint64(r.N) {
			return r, true
		}
	}
}

// pair goes along both lists, whose totals are equal, up to where either has a border.
func (w *Runs) pair() {
	far, near := &w.farLeft, &w.nearLeft
	for ; far.N == 0; w.i++ {
		if w.i == w.s.far.len() {
			w.more = false
			return
		}
		far.Far, far.N = w.s.far.at(w.i)
	}
	for ; near.N == 0; w.j++ {
		near.Near, near.N = w.s.near.at(w.j)
	}
	n := min(far.N, near.N)
	w.ahead = Run{Piece: Piece{far.Far, near.Near, n}, Count: 1}
	far.Far, far.N = far.Far+uint64(n), far.N-n
	near.Near, near.N = near.Near+uint64(n), near.N-n
}

// nextRow goes to the next row of sections.
func (w *Runs) nextRow() {
	s, p := w.s, &w.ahead
	far, near := s.farSection.Strides, s.nearSection.Strides
	w.row++
	for d, q := 1, w.row; d < len(s.counts); d++ {
		p.Far, p.Near = p.Far+uint64(far[d]), p.Near+uint64(near[d])
		n := s.counts[d]
		if q%n != 0 {
			return
		}
		// Dimension d is through: back to its beginning, and on along the next one.
		p.Far, p.Near = p.Far-uint64(far[d]*n), p.Near-uint64(near[d]*n)
		q /= n
	}
	w.more = false
}

// reversed returns the shape whose far side is the near side of s.
func (s *Shape) reversed() Shape {
	r := *s
	r.far, r.near, r.farSection, r.nearSection = s.near, s.far, s.nearSection, s.farSection
	return r
}

// Get copies the bytes of the shape from the far side to the near side, both of which are memory.
func (s *Shape) Get(near, far []byte) {
	r := s.reversed()
	r.Put(near, far)
}

// Put copies the bytes of the shape from the near side to the far side, both of which are memory.
func (s *Shape) Put(far, near []byte) {
	if n := s.far.size; n > 0 && n == s.near.size { // chunks of one size
		for i, to := range s.far.offs {
			copyPiece(far[to:][:n], near[s.near.offs[i]:])
		}
		return
	}
	w := s.Runs()
	for r, ok := w.Next(); ok; r, ok = w.Next() {
		to, from := r.Far, r.Near
		for range r.Count {
			copyPiece(far[to:][:r.N], near[from:])
			to, from = to+r.farStep, from+r.nearStep
		}
	}
}

// copyPiece copies len(to) bytes. The sizes of single elements are moves.
func copyPiece(to, from []byte) {
	switch len(to) {
	case 8:
		binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
	case 4:
		binary.NativeEndian.PutUint32(to, binary.NativeEndian.Uint32(from))
	default:
		copy(to, from)
	}
}
