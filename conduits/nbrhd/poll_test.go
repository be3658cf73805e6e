package nbrhd

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// counting is a part whose polls find what they are told to.
type counting struct {
	core.Conduit
	polls int
	finds func(poll int) int
}

func (c *counting) Poll(int) int {
	c.polls++
	return c.finds(c.polls)
}

// TestPolls counts the looks at the far conduit: all without neighbours, and none at the near one then; one of eight while there is nothing near; few while
// there is; and some even so.
func TestPolls(t *testing.T) {
	nothing := func(int) int { return 0 }
	for _, x := range []struct {
		name        string
		alone       bool
		near        func(int) int
		least, most int // of 8,192 polls
	}{
		{"alone", true, nothing, 8192, 8192},
		{"nothing near", false, nothing, 1024, 1024},
		{"an exchange", false, func(poll int) int { return 1 - min(1, poll%20) }, 8, 10},
		{"a flood", false, func(int) int { return 1 }, 8, 8},
		{"now and then", false, func(poll int) int { return 1 - min(1, poll%500) }, 800, 1000},
	} {
		near, far := &counting{finds: x.near}, &counting{finds: nothing}
		c := &conduit{part: [2]core.Conduit{near, far}, alone: x.alone, until: farEvery}
		for range 8192 {
			c.Poll(1)
		}
		if near.polls != 8192 && !x.alone || x.alone && near.polls > 0 || far.polls < x.least || far.polls > x.most {
			t.Errorf("%s: %d polls of the near conduit, %d of the far one; want 8192, and %d to %d", x.name, near.polls, far.polls, x.least, x.most)
		}
	}
}
