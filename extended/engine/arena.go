package engine

// Extent is a piece of memory; Off counts from the beginning of what it is a piece of.
type Extent struct{ Off, Len int }

// Arena gives out pieces of Size bytes, first fit.
type Arena struct {
	Size int
	used []Extent // by offset
}

// scratchAlign keeps the pieces of different calls on different cache lines, prefetched
// pairs included.
const scratchAlign = 128

// Take returns n bytes; false if there is no room.
func (a *Arena) Take(n int) (Extent, bool) {
	n = (n + scratchAlign - 1) &^ (scratchAlign - 1)
	at, i := 0, 0
	for ; i < len(a.used) && a.used[i].Off-at < n; i++ {
		at = a.used[i].Off + a.used[i].Len
	}
	if at+n > a.Size {
		return Extent{}, false
	}
	a.used = append(a.used, Extent{})
	copy(a.used[i+1:], a.used[i:])
	a.used[i] = Extent{at, n}
	return a.used[i], true
}

// Give takes a piece back.
func (a *Arena) Give(e Extent) {
	for i, u := range a.used {
		if u == e {
			a.used = append(a.used[:i], a.used[i+1:]...)
			return
		}
	}
}

// Left returns the bytes that are not given out.
func (a *Arena) Left() int {
	left := a.Size
	for _, u := range a.used {
		left -= u.Len
	}
	return left
}
