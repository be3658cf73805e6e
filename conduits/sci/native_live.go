package sci

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// Reach implements core.Reacher.
func (c *live) Reach(rank core.Rank) ([]byte, error) {
	p := c.byRank[rank]
	if m := c.longMap(p.remote); m != nil {
		return m.Window(0, c.sizes[rank]), nil
	}
	return nil, fmt.Errorf("sci: the segment of rank %d cannot be imported", rank)
}
