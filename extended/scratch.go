package extended

// Shared scratch memory: what a rank's segment has beyond the client's part. Peers read it,
// only the owner writes it. A team takes a piece when it is made, if one is left, and gives
// it to its calls.

// extent is a piece of memory; off counts from the beginning of what it is a piece of.
type extent struct{ off, n int }

// arena gives out pieces of size bytes, first fit.
type arena struct {
	size int
	used []extent // by offset
}

// scratchAlign keeps the pieces of different calls on different cache lines, prefetched
// pairs included.
const scratchAlign = 128

// take returns n bytes; false if there is no room.
func (a *arena) take(n int) (extent, bool) {
	n = (n + scratchAlign - 1) &^ (scratchAlign - 1)
	at, i := 0, 0
	for ; i < len(a.used) && a.used[i].off-at < n; i++ {
		at = a.used[i].off + a.used[i].n
	}
	if at+n > a.size {
		return extent{}, false
	}
	a.used = append(a.used, extent{})
	copy(a.used[i+1:], a.used[i:])
	a.used[i] = extent{at, n}
	return a.used[i], true
}

// give takes a piece back.
func (a *arena) give(e extent) {
	for i, u := range a.used {
		if u == e {
			a.used = append(a.used[:i], a.used[i+1:]...)
			return
		}
	}
}

// minPiece is the size of the smallest piece of a team. The largest is a fourth of all there
// is, and at most half of what is left.
const minPiece = 64 << 10

// takePiece takes a team's piece; its length is 0 if there is none.
func (ep *Endpoint) takePiece() extent {
	left := ep.scratch.size
	for _, u := range ep.scratch.used {
		left -= u.n
	}
	for n := min(ep.scratch.size/4, left/2) &^ (minPiece - 1); n >= minPiece; n /= 2 {
		if e, ok := ep.scratch.take(n); ok {
			return e
		}
	}
	return extent{}
}

// scratchAt returns where a call's piece of the team's piece lies in shared scratch.
func (t *Team) scratchAt(e extent) uint32 { return uint32(t.piece.off + e.off) }
