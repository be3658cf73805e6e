package extended

// Category selects implicit operations for TestNBI and WaitNBI, to be combined
// (GEX_EC_GET, GEX_EC_PUT, GEX_EC_RMW, GEX_EC_LC, GEX_EC_ALL).
type Category uint8

const (
	Puts Category = 1 << iota // puts, value puts, memsets and atomic sets
	Gets                      // gets and atomic gets
	RMWs                      // the other atomics
	LCs                       // the local completion of puts with LCLeaf, and only that
	All  = Puts | Gets | RMWs | LCs
)

// category indexes a context's implicit operations.
type category uint8

const (
	putCategory category = iota
	getCategory
	rmwCategory
	categories
)

// implied returns the operation that counts implicit operations of the category: the open
// access region, or what the context keeps for good.
func (c *Context) implied(call string, k category) (*operation, error) {
	if c.region != nil {
		return c.region, nil
	}
	if c.implicit[k] == nil {
		op, err := c.begin(call)
		if err != nil {
			return nil, err
		}
		op.pending.Store(0)
		c.implicit[k] = op
	}
	return c.implicit[k], nil
}

// member begins an operation that implied counts.
func (c *Context) member(call string, k category) (*operation, error) {
	g, err := c.implied(call, k)
	if err != nil {
		return nil, err
	}
	op, err := c.begin(call)
	if err != nil {
		return nil, err
	}
	g.pending.Add(1)
	op.group = g
	return op, nil
}

// BeginRegion opens an access region: implicit operations of this context up to EndRegion
// are synchronised by the event that returns, and by nothing else. Regions do not nest;
// within one, TestNBI and WaitNBI are errors. Not allowed in a handler.
func (c *Context) BeginRegion() error {
	if err := c.Check("BeginRegion"); err != nil {
		return err
	}
	if c.region != nil {
		return c.ep.misuse("BeginRegion", "an access region is open; they do not nest")
	}
	op, err := c.begin("BeginRegion")
	c.region = op
	return err
}

// EndRegion closes the access region and returns the event of the operations in it, 0 if
// all are complete. Not allowed in a handler.
func (c *Context) EndRegion() (Event, error) {
	if err := c.Check("EndRegion"); err != nil {
		return 0, err
	}
	op := c.region
	if op == nil {
		return 0, c.ep.misuse("EndRegion", "no access region is open")
	}
	c.region = nil
	return c.event(op, nil)
}

// TestNBI reports whether all implicit operations of the categories that this context
// initiated outside access regions are complete; if not, none is synchronised. It does not
// poll. That there are no such categories, or none at all, is an error. Not allowed in a
// handler.
func (c *Context) TestNBI(which Category) (bool, error) {
	if err := c.synchronising("TestNBI", which); err != nil {
		return false, err
	}
	return c.quiet(which), nil
}

// WaitNBI polls until all implicit operations of the categories that this context
// initiated outside access regions are complete. Categories are as for TestNBI. Not allowed
// in a handler.
func (c *Context) WaitNBI(which Category) error {
	if err := c.synchronising("WaitNBI", which); err != nil {
		return err
	}
	if c.quiet(which) {
		return nil
	}
	return c.WaitSilent(func() bool { return c.quiet(which) })
}

// synchronising returns what forbids a call: the context's situation, an open region, or
// that there are no such categories.
func (c *Context) synchronising(call string, which Category) error {
	if err := c.Check(call); err != nil {
		return err
	}
	switch {
	case c.region != nil:
		return c.ep.misuse(call, "an access region is open; end it first")
	case which == 0 || which&^All != 0:
		return c.ep.misuse(call, "categories %#x; name some of Puts (%#x), Gets (%#x), RMWs (%#x) and LCs (%#x), or All", uint8(which), uint8(Puts), uint8(Gets), uint8(RMWs), uint8(LCs))
	}
	return nil
}

// quiet reports whether no implicit operation of the categories is under way.
func (c *Context) quiet(which Category) bool {
	for k, op := range c.implicit {
		if op == nil {
			continue
		}
		if which&(1<<k) != 0 && !op.done() {
			return false
		}
		if which&LCs != 0 && op.local.Pending() > 0 {
			return false
		}
	}
	return true
}
