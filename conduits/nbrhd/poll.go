package nbrhd

// When a poll looks at the far conduit too, where a rank has neighbours. A look at a socket takes as long as a short
// message to a neighbour and back, one at memory a hundredth of that.
const (
	farEvery = 8       // empty polls of the near conduit after which one does
	farIdle  = 64      // the same while near messages come: more than there are between a message and its answer
	farMost  = 1 << 10 // polls after which one does in any case
)

// Poll implements core.Conduit.
func (c *conduit) Poll(budget int) int {
	if c.alone {
		return c.part[far].Poll(budget)
	}
	n := c.part[near].Poll(budget)
	c.polls++
	if n > 0 {
		c.empty, c.until = 0, farIdle
	} else {
		c.empty++
	}
	switch {
	case c.polls >= farMost:
	case c.empty >= c.until:
		c.until = farEvery
	default:
		return n
	}
	c.polls, c.empty = 0, 0
	return n + c.part[far].Poll(budget)
}
