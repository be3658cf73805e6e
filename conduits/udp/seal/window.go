package seal

// windowSize is how many numbers back a datagram may come late. Older ones are refused,
// had or not.
const windowSize = 1024

// window tells which numbers have been received. The zero value says that none has been.
type window struct {
	top  uint64                    // largest number had
	bits [windowSize/64 + 1]uint64 // one more than fit, as a word is cleared at once
}

// fresh reports whether n has not been received and is not too old to tell.
func (w *window) fresh(n uint64) bool {
	return n > w.top || w.top-n < windowSize && w.bits[n/64%uint64(len(w.bits))]>>(n%64)&1 == 0
}

// mark notes that n, which was fresh, has been received.
func (w *window) mark(n uint64) {
	words := uint64(len(w.bits))
	if n > w.top {
		for i := w.top/64 + 1; i <= n/64 && i <= w.top/64+words; i++ {
			w.bits[i%words] = 0
		}
		w.top = n
	}
	w.bits[n/64%words] |= 1 << (n % 64)
}
