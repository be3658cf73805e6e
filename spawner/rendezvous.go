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
	fds   []int    // ShareFD
}

func newRendezvous(size int) *rendezvous {
	return &rendezvous{size: size, in: make([]bool, size)}
}

// arrive notes that a rank has made the call, with its contribution (blob or fd, as the
// kind has it), and reports whether that completes the call. The contributions then are in
// blobs or fds, indexed by rank, until reset.
func (c *rendezvous) arrive(rank int, k kind, blob []byte, fd int) (complete bool, err error) {
	if c.n == 0 {
		c.kind, c.first = k, rank
		switch k {
		case kindExchange:
			c.blobs = make([][]byte, c.size)
		case kindShare:
			c.fds = make([]int, c.size)
		}
	}
	switch {
	case k != c.kind:
		return false, fmt.Errorf("collective calls do not match: rank %d called %v while rank %d called %v",
			c.first, c.kind, rank, k)
	case c.in[rank]:
		return false, errors.New("a second collective call before the first has returned")
	}
	switch k {
	case kindExchange:
		c.blobs[rank] = blob
	case kindShare:
		c.fds[rank] = fd
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

// held returns the descriptors of an incomplete ShareFD.
func (c *rendezvous) held() []int {
	var fds []int
	for r, in := range c.in {
		if in && c.kind == kindShare {
			fds = append(fds, c.fds[r])
		}
	}
	return fds
}

// reset makes ready for the next call.
func (c *rendezvous) reset() {
	clear(c.in)
	c.n, c.blobs, c.fds = 0, nil, nil
}
