package component

import "fmt"

// SetMTU has messages whose turn comes from now on cut into frames of up to n bytes of payload: at least 64, at most Traits.MTU,
// for which the structures are made. Each frame says the MTU of its message, so that receivers need not be told before.
func (c *Baseline) SetMTU(n int) error {
	if err := c.needs(MTU, "SetMTU"); err != nil {
		return err
	}
	if n < minMTU || n > c.traits.MTU {
		return fmt.Errorf("component: an MTU of %d B, but it must be from %d to %d (Traits.MTU)", n, minMTU, c.traits.MTU)
	}
	c.mtu = n
	return nil
}

// cut gives a message the MTU of now.
func (c *Baseline) cut(m *message) {
	if m.kind == Data {
		m.mtu = c.mtu
	}
}
