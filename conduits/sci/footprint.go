package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// footprint is all of a node's arenas but its long segment.
func (c *live) footprint(n int) int {
	return c.layout(n, layoutFor(pageStagger-1).size, hintBytes(n)).Size() + c.longLayout(n, 0).Size()
}

// footprint is all of a node's arenas but its long segment. On a
// machine whose ranks connect at the first use it is what an idle rank has.
func (c *paper) footprint(a *core.Attachment) int {
	if l, err := c.layOut(a); err == nil && l.firstUse {
		return shm.PageSize
	}
	n := len(a.Group)
	return c.layout(n, perPeer*commandSize, published(n).size).Size() + c.longLayout(n, 0).Size()
}

// hintBytes is the size of a control segment of the live profile: a byte per sender, in
// whole words.
func hintBytes(n int) int { return 8 * ((n + 7) / 8) }
