package myrinet

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// Poll implements core.Conduit.
func (c *conduit) Poll(budget int) int {
	c.proc.Sync()
	n := 0
	for ; n < budget; n++ {
		m := c.endpoint.Take()
		if m == nil {
			break
		}
		c.deliver(m)
	}
	c.endpoint.Release()
	n += c.complete()
	if c.endpoint.RoomReturned() {
		n++
	}
	if !c.joint {
		c.oneSided.Interrupts() // no messages come here
		if c.oneSided.RoomReturned() {
			n++
		}
	}
	if n == 0 {
		c.proc.Charge(c.site.profile.Host.Poll)
	}
	return n
}

// deliver runs the handler of a message.
func (c *conduit) deliver(m *grim.Message) {
	src, ok := c.site.rankOf(m.Source)
	if !ok {
		c.port.Fail(fmt.Errorf("myrinet: rank %d: a message from endpoint %d, which no rank has", c.rank, m.Source))
		return
	}
	handler, ok := c.endpoint.Position(m.Handler)
	if !ok {
		c.port.Fail(fmt.Errorf("myrinet: rank %d: message from rank %d: handler %d has no name here", c.rank, src, m.Handler))
		return
	}
	h, data, off, n, err := decode(m, handler, &c.args)
	switch {
	case err != nil:
		c.port.Fail(fmt.Errorf("myrinet: rank %d: message from rank %d: %w", c.rank, src, err))
	case h.Kind() == core.Long:
		c.port.DispatchLong(src, h, &c.args, c.segment, off, n, 0)
	default:
		c.port.Dispatch(src, h, &c.args, data, 0)
	}
}
