package core

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Process is a rank in virtual time, as core uses it. The rank's own goroutine calls it. What vtime.Proc says of the methods of
// these names holds here too.
type Process interface {
	// Now returns the rank's own time.
	Now() Time
	// Charge lets d pass for the rank alone.
	Charge(d Time)
	// Park waits for an arrival, and wakes at a point of the grid of polls of that period.
	Park(period Time)
	// SetWaiting says what the rank waits for, "" for nothing.
	SetWaiting(op string)
	// Explain has a report of a deadlock ask f, given what SetWaiting was, where the rank is. The place has a wait. f runs while
	// the rank is in Park.
	Explain(f func(op string) Place)
	// Arrived returns how much has arrived for the rank since it began. Whoever waits looks at it before looking for what it
	// waits for.
	Arrived() uint64
	// LastSetUp returns when the model last set something up for any rank.
	LastSetUp() Time
	// Disturb says what of the host has influenced the run, which is not deterministic then.
	Disturb(what string)
}

// coroutine is the Process of a rank that lives in the model's process.
type coroutine struct {
	*vtime.Proc
	stuck *Place // where the rank was when the kernel found that nothing is left to happen
}

// Explain implements Process. The place is asked for at once, as the rank is unwound afterwards.
func (c *coroutine) Explain(f func(op string) Place) {
	c.Proc.Explain(func(op string) string {
		p := f(op)
		c.stuck = &p
		return p.Waits[0].For
	})
}

// Arrived implements Process.
func (c *coroutine) Arrived() uint64 { return c.Arrivals }

// LastSetUp implements Process.
func (c *coroutine) LastSetUp() Time { return c.Kernel().LastSetUp() }

// Disturb implements Process.
func (c *coroutine) Disturb(what string) { c.Kernel().Disturb(what) }
