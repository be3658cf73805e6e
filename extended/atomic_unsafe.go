package extended

import (
	"math/bits"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/element"
)

// window is a segment as atomics see it.
type window struct {
	base  unsafe.Pointer
	words uint64 // elements in it
}

func windowOf(mem []byte, size int) window {
	return window{unsafe.Pointer(unsafe.SliceData(mem)), uint64(len(mem) / size)}
}

// at returns the place at off of the window.
func (w *window) at(off uint64) unsafe.Pointer { return unsafe.Add(w.base, off) }

// element returns the element of 1<<shift bytes that op may be done on in place; nil if that is not
// the way, or if something is wrong with the element, which check then says. Rotated, an offset that is
// not aligned is beyond everything. It is inlined into every method, as ordered is; the two together
// would be too large for that.
func (d *Domain) element(rank int, off uint64, op Op, shift int) unsafe.Pointer {
	if uint(rank) < uint(len(d.direct)) && d.ops&op != 0 && !d.team.freed {
		if w := &d.direct[rank]; bits.RotateLeft64(off, -shift) < w.words {
			return w.at(off)
		}
	}
	return nil
}

// element is Domain.element with a shift that is known when it is compiled.
func (a *Atomic[T]) element(rank int, off uint64, op Op) unsafe.Pointer {
	shift := 3
	if unsafe.Sizeof(*new(T)) == 4 {
		shift = 2
	}
	return a.Domain.element(rank, off, op, shift)
}

// wordOf returns the memory of a value to be fetched, nil for none.
func wordOf[T Number](p *T) []byte {
	if p == nil {
		return nil
	}
	return element.Bytes(unsafe.Slice(p, 1))
}
