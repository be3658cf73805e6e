package pgas

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// Ptr is a global pointer: it names an element of type T in some rank's segment by the rank
// in the job, a core.Rank, and the byte offset. Members of teams have other ranks, which are
// ints: extended.Team.Jobrank leads from those to these. It is a value of 16 bytes that can be compared, and may itself be an
// element of a segment. The zero value is nil and points nowhere: using it is an error that
// says so. Methods without a Context may be called in a handler.
type Ptr[T any] struct {
	_     [0]*T // pointers to different types do not convert
	off   uint64
	place int32 // rank plus one; 0 is nil
	_     int32
}

// At returns a pointer to the element at byte offset off of rank's segment. off must be a
// multiple of T's alignment. Whether it lies inside the segment shows when it is used.
func At[T any](rank core.Rank, off uint64) (Ptr[T], error) {
	var p Ptr[T]
	if err := checkElement[T](); err != nil {
		return p, fmt.Errorf("pgas: At: %w", err)
	}
	var v T
	if rank < 0 || rank == 1<<31-1 || off%uint64(unsafe.Alignof(v)) != 0 {
		return p, fmt.Errorf("pgas: At: rank %d, offset %d: want a rank, and a multiple of %d, the alignment of %T", rank, off, unsafe.Alignof(v), v)
	}
	return ptr[T](rank, off), nil
}

// ptr makes a pointer to an element whose type and alignment were checked.
func ptr[T any](rank core.Rank, off uint64) Ptr[T] {
	return Ptr[T]{off: off, place: int32(rank) + 1}
}

// size returns the bytes of an element.
func size[T any]() uint64 {
	var v T
	return uint64(unsafe.Sizeof(v))
}

// Nil reports whether p points nowhere.
func (p Ptr[T]) Nil() bool { return p.place == 0 }

// Rank returns the job's rank in whose segment the element lies, -1 for nil.
func (p Ptr[T]) Rank() core.Rank { return core.Rank(p.place - 1) }

// Offset returns the byte offset of the element in that segment.
func (p Ptr[T]) Offset() uint64 { return p.off }

// Add returns a pointer to the element i places on, in the same segment; i may be negative.
// Add of nil is unusable as nil is. Whether it lies inside the segment shows when it is used:
// one too far to count is lost, and outside every segment for good.
func (p Ptr[T]) Add(i int) Ptr[T] {
	p.off = advance(p.off, int64(i), size[T]())
	return p
}

// lost is an offset that no segment has: what is left of a pointer that went too far.
const lost = 1 << 63

// advance returns the offset i elements on. Offsets count as signed numbers, so that a
// pointer may go below its segment, and come back.
func advance(off uint64, i int64, elem uint64) uint64 {
	n := uint64(max(i, -i))
	over, way := bits.Mul64(n, elem)
	if over != 0 || way >= lost || off == lost {
		return lost
	}
	if i < 0 {
		way = -way
	}
	if to := off + way; (int64(to) < int64(off)) == (i < 0) {
		return to
	}
	return lost
}

// On returns a pointer to the same offset of another rank's segment: the same element of a
// symmetric allocation. On of nil is nil.
func (p Ptr[T]) On(rank core.Rank) Ptr[T] {
	if p.place == 0 || rank < 0 {
		return Ptr[T]{}
	}
	p.place = int32(rank) + 1
	return p
}

// Diff returns how many elements p lies after q. It is an error if they do not lie in the
// same segment a whole number of elements apart.
func (p Ptr[T]) Diff(q Ptr[T]) (int, error) {
	n := int64(size[T]())
	d := int64(p.off - q.off)
	if p.place != q.place || d%n != 0 {
		return 0, fmt.Errorf("pgas: Diff: %v and %v are not elements of one array", p, q)
	}
	return int(d / n), nil
}

// String shows the type, rank and offset.
func (p Ptr[T]) String() string {
	var v *T
	if p.Nil() {
		return fmt.Sprintf("nil global %T", v)
	}
	return fmt.Sprintf("global %T to rank %d+%d", v, p.Rank(), p.off)
}

// Local returns the element as memory of this process, false if this process does not reach
// it or it lies outside the segment: then Get and Put are the way. For the rules of stores
// see extended.Endpoint.Local. The caller's own segment is always reached.
func (p Ptr[T]) Local(ep *extended.Endpoint) (*T, bool) {
	m := p.memory(ep, 1)
	return (*T)(m), m != nil
}

// LocalSlice is Local for n elements.
func (p Ptr[T]) LocalSlice(ep *extended.Endpoint, n int) ([]T, bool) {
	if m := p.memory(ep, n); m != nil {
		return unsafe.Slice((*T)(m), n), true
	}
	return nil, false
}

// memory returns where n elements lie in this process, nil if it does not reach them all.
func (p Ptr[T]) memory(ep *extended.Endpoint, n int) unsafe.Pointer {
	mem := ep.Local(core.Rank(p.place - 1))
	if mem == nil || n < 0 || p.off > uint64(len(mem)) || uint64(n) > (uint64(len(mem))-p.off)/size[T]() {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), p.off)
}
