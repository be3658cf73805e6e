package nbrhd

import "github.com/aqueduct-go/aqueduct/core"

// Reach implements core.Reacher.
func (c *conduit) Reach(r core.Rank) ([]byte, error) {
	side := c.side[r]
	if c.alone && r == c.near[0] {
		side = near // which has its segment
	}
	if x := c.powers[side].Reacher; x != nil {
		return x.Reach(r)
	}
	return nil, nil
}

// MaxPut implements core.Putter: the larger of the two.
func (c *conduit) MaxPut() (most int) {
	for i := range c.powers {
		if x := c.powers[i].Putter; x != nil {
			most = max(most, x.MaxPut())
		}
	}
	return most
}

// Put implements core.Putter.
func (c *conduit) Put(t *core.Transfer) core.Result {
	if x := c.powers[c.side[t.Rank]].Putter; x != nil && len(t.Mem) <= x.MaxPut() {
		return x.Put(t)
	}
	return core.Declined
}

// MaxGet implements core.Getter: the larger of the two.
func (c *conduit) MaxGet() (most int) {
	for i := range c.powers {
		if x := c.powers[i].Getter; x != nil {
			most = max(most, x.MaxGet())
		}
	}
	return most
}

// Get implements core.Getter.
func (c *conduit) Get(t *core.Transfer) core.Result {
	if x := c.powers[c.side[t.Rank]].Getter; x != nil && len(t.Mem) <= x.MaxGet() {
		return x.Get(t)
	}
	return core.Declined
}
