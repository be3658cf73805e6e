package sisci

import "slices"

// extent is a page-aligned part of an arena.
type extent struct{ off, size int }

// extents is the free memory of an arena: ascending, no two adjacent.
type extents []extent

// take removes size bytes from the first extent that has them.
func (f *extents) take(size int) (off int, ok bool) {
	for i := range *f {
		e := &(*f)[i]
		if e.size < size {
			continue
		}
		off = e.off
		e.off += size
		e.size -= size
		if e.size == 0 {
			*f = slices.Delete(*f, i, i+1)
		}
		return off, true
	}
	return 0, false
}

// give puts back what take returned.
func (f *extents) give(off, size int) {
	i, _ := slices.BinarySearchFunc(*f, off, func(e extent, off int) int { return e.off - off })
	*f = slices.Insert(*f, i, extent{off, size})
	if i+1 < len(*f) && off+size == (*f)[i+1].off {
		(*f)[i].size += (*f)[i+1].size
		*f = slices.Delete(*f, i+1, i+2)
	}
	if i > 0 && (*f)[i-1].off+(*f)[i-1].size == off {
		(*f)[i-1].size += (*f)[i].size
		*f = slices.Delete(*f, i, i+1)
	}
}

// largest returns the size of the largest free extent.
func (f extents) largest() (n int) {
	for _, e := range f {
		n = max(n, e.size)
	}
	return n
}
