package myrinet

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// Poll implements core.Conduit.
func (c *live) Poll(budget int) int {
	if c.with != nil && c.reports.Empty() {
		c.with.attend(c.turn)
	}
	n := 0
	for n < budget {
		b, err := c.reports.Next()
		if b == nil && err == nil {
			break
		}
		if err == nil {
			err = c.report.get(b)
		}
		if err == nil {
			err = c.take(&c.report)
		}
		if err != nil {
			c.port.Fail(fmt.Errorf("myrinet: rank %d: %w", c.rank, err))
			return n
		}
		c.reports.Drop()
		n++
	}
	if n > 0 && c.reports.Wanted() {
		c.ring()
	}
	if c.pending.Load() {
		n += c.flush()
	}
	return n
}

// flush orders what has waited, and looks whether there is room again that was asked for.
func (c *live) flush() int {
	c.mu.Lock()
	n := 0
	for i := range c.outlets {
		n += c.outlets[i].flush()
	}
	c.note()
	c.mu.Unlock()
	if n > 0 {
		c.ring()
	}
	return n
}

// take does what a report asks for.
func (c *live) take(r *record) error {
	switch r.kind {
	case reportAM:
		src, ok := c.site.rankOf(r.peer)
		if !ok {
			return fmt.Errorf("a message from endpoint %d, which no rank has", r.peer)
		}
		c.message.Args, c.message.Payload = r.args, r.data
		h, data, off, n, err := decode(&c.message, int(r.handler), &c.args)
		switch {
		case err != nil:
			return fmt.Errorf("message from rank %d: %w", src, err)
		case h.Kind() == core.Long:
			c.port.DispatchLong(src, h, &c.args, c.segment, off, n, 0)
		default:
			c.port.Dispatch(src, h, &c.args, data, 0)
		}
		return nil
	case reportDone:
		return c.ended(r.op)
	case reportError:
		return fmt.Errorf("the NIC: %s", r.data)
	}
	return fmt.Errorf("the NIC reports an order, of kind %d", r.kind)
}
