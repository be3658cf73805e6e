package core

import "sync/atomic"

// Completion counts local completions that are still to come: how many payloads given to
// the library with Message.LC may not be overwritten yet. One value can serve a single
// message or a whole group. The zero value is ready; it must not be copied once used.
type Completion struct{ n atomic.Int64 }

// Pending returns how many payloads are still in use. Any goroutine or handler may call it.
func (c *Completion) Pending() int { return int(c.n.Load()) }

// Complete records one completion. Conduits call it, exactly once for each Op whose Src
// they took.
func (c *Completion) Complete() { c.n.Add(-1) }

// WaitLocal polls until nothing counted by lc is pending: the payloads may be reused.
func (c *Context) WaitLocal(lc *Completion) error {
	return c.waitSilent("WaitLocal", func() bool { return lc.Pending() == 0 })
}
