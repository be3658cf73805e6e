package spawner

import (
	"errors"
	"fmt"
)

// rendezvous matches the collective calls of the ranks. It is pure state: calls in,
// completion out. A rank is in one collective call at a time, so only the call being
// assembled has to be known.
type rendezvous struct {
	size  int
	kind  kind // of the call being assembled
	first int  // the rank that made it first
	n     int  // ranks that have made it
	in    []bool
	blobs [][]byte // Exchange
}

func newRendezvous(size int) *rendezvous {
	return &rendezvous{size: size, in: make([]bool, size)}
}

// arrive notes that a rank has made the call, with its contribution to an Exchange, and reports
// whether that completes the call. The contributions then are in blobs, indexed by rank, until
// reset.
func (c *rendezvous) arrive(rank int, k kind, blob []byte) (complete bool, err error) {
	if c.n == 0 {
		c.kind, c.first = k, rank
		if k == kindExchange {
			c.blobs = make([][]byte, c.size)
		}
	}
	switch {
	case k != c.kind:
		return false, fmt.Errorf("collective calls do not match: rank %d called %v while rank %d called %v",
			c.first, c.kind, rank, k)
	case c.in[rank]:
		return false, errors.New("a second collective call before the first has returned")
	}
	if k == kindExchange {
		c.blobs[rank] = blob
	}
	c.in[rank] = true
	c.n++
	return c.n == c.size, nil
}

// waiting returns the call being assembled and the rank that made it first; ok is false if
// nobody waits.
func (c *rendezvous) waiting() (k kind, first int, ok bool) {
	return c.kind, c.first, c.n > 0
}

// reset makes ready for the next call.
func (c *rendezvous) reset() {
	clear(c.in)
	c.n, c.blobs = 0, nil
}
