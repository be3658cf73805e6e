package nbrhd

import (
	"time"

	"github.com/aqueduct-go/aqueduct/internal/cpu"
)

// When a poll looks at the far conduit too, where a rank has neighbours. A look at a socket takes as long as a short
// message to a neighbour and back, one at memory a hundredth of that.
const (
	farTime  = 1 << 19 // ticks, some 200 microseconds, after which one does in any case
	farClock = 16      // polls after which one reads the clock for that
)

// pace is how many polls of the near conduit in a row have to be empty before one looks at the far conduit.
type pace struct {
	every uint
	idle  uint // while near messages come: more than there are between a message and its answer
}

// Where ranks outnumber CPUs, others run between two empty polls, for far longer than a look takes.
var (
	spinning = pace{every: 8, idle: 64}
	yielding = pace{every: 1, idle: 1}
)

// setPace chooses between them.
func (c *conduit) setPace(crowded bool) {
	if c.pace = spinning; crowded {
		c.pace = yielding
	}
	c.until = c.pace.every
}

// Poll implements core.Conduit.
func (c *conduit) Poll(budget int) int {
	if c.alone {
		return c.part[far].Poll(budget)
	}
	n := c.part[near].Poll(budget)
	if n > 0 {
		c.empty, c.until = 0, c.pace.idle
	} else {
		c.empty++
	}
	switch c.polls++; {
	case c.look:
	case c.empty >= c.until:
		c.until = c.pace.every
	case c.polls%farClock == 0 && c.overdue():
	default:
		return n
	}
	c.polls, c.empty = 0, 0
	found := c.part[far].Poll(budget)
	c.look = found >= budget // it may have left some
	return n + found
}

// overdue reports whether farTime has passed since it did last. Should the clocks of processors differ, it does so once too often.
func (c *conduit) overdue() bool {
	now := c.clock()
	if now-c.timed < farTime {
		return false
	}
	c.timed = now
	return true
}

// newClock returns a clock of some ticks in a nanosecond.
func newClock() func() uint64 {
	if cpu.HasCycles() {
		return cpu.Cycles
	}
	began := time.Now()
	return func() uint64 { return 2 * uint64(time.Since(began)) }
}
