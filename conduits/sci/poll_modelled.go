package sci

import "github.com/aqueduct-go/aqueduct/conduits/sci/sisci"

// Poll implements core.Conduit: it completes puts, too.
func (c *modelled) Poll(budget int) int {
	n := c.paper.Poll(budget)
	if c.room == c.model.profile.PIO.Outstanding {
		return n // nothing is under way
	}
	return n + c.followEngine() + c.checkStores()
}

// checkStores asks for the answers to the oldest batch, and goes on to the next if they are
// there: answers come in the order of the stores. Each time costs what a status register does.
func (c *modelled) checkStores() (complete int) {
	for c.first != nil && !c.failed {
		b := c.first
		b.asked = true
		status, known := b.q.TryCheck()
		if !known {
			break
		}
		if status == sisci.OK || c.repeat(b) {
			complete += c.end(b)
		}
	}
	return complete
}

// end ends the oldest batch, which has arrived.
func (c *modelled) end(b *batch) (complete int) {
	if c.first = b.next; c.first == nil {
		c.last = nil
	}
	for p := b.first; p != nil; {
		next := p.next
		p.next = nil
		complete += c.arrived(p)
		p = next
	}
	b.first, b.last, b.asked = nil, nil, false
	b.next, b.target.idle = b.target.idle, b
	return complete
}
