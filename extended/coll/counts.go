package coll

// counts counts messages by peer. It is a hash table that empties in one step, so that a
// Builder can make one schedule after the other without allocating.
type counts struct {
	slots []count // a power of two of them, at most half in use
	used  int
	round uint32 // slots of other rounds are empty
}

type count struct {
	peer, n int
	round   uint32
}

// fewPeers is how many slots a table begins with: enough for the logarithmic algorithms.
const fewPeers = 64

// next returns how often it was called for peer since the last reset.
func (c *counts) next(peer int) int {
	if 2*c.used >= len(c.slots) {
		c.grow()
	}
	s := c.slot(peer)
	if s.round != c.round {
		*s = count{peer: peer, round: c.round}
		c.used++
	}
	s.n++
	return s.n - 1
}

// slot returns the slot of peer, or the empty one where it belongs.
func (c *counts) slot(peer int) *count {
	mask := len(c.slots) - 1
	for i := int(uint64(peer)*0x9e3779b97f4a7c15>>32) & mask; ; i = (i + 1) & mask {
		if s := &c.slots[i]; s.round != c.round || s.peer == peer {
			return s
		}
	}
}

// grow doubles the table, or makes the first one.
func (c *counts) grow() {
	old, round := c.slots, c.round
	c.slots, c.round = make([]count, max(fewPeers, 2*len(old))), 1
	for _, s := range old {
		if s.round == round {
			s.round = c.round
			*c.slot(s.peer) = s
		}
	}
}

// reset forgets all counts.
func (c *counts) reset() {
	c.used = 0
	if c.round++; c.round == 0 { // the oldest rounds come again
		clear(c.slots)
		c.round = 1
	}
}
