package core

import "sync/atomic"

// Completion counts completions that are still to come. Of messages (Message.LC) it counts the payloads
// that may not be overwritten yet; of native operations, the operations under way. One value can serve a
// single message or operation, or a whole group. The zero value is ready; it must not be copied once used.
type Completion struct{ n atomic.Int64 }

// Pending returns how many completions are still to come. Any goroutine or handler may call it.
func (c *Completion) Pending() int { return int(c.n.Load()) }

// Complete records one completion. Conduits call it: exactly once for each Op whose Src they took, and
// once for each count of a one-sided or collective operation that they initiated.
func (c *Completion) Complete() { c.n.Add(-1) }

// WaitLocal polls until nothing counted by lc is pending. The payloads may then be reused.
func (c *Context) WaitLocal(lc *Completion) error {
	return c.waitSilent("WaitLocal", func() bool { return lc.Pending() == 0 })
}
