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
// there is; some even so, one of 16 where polls are slow; and as many as there are empty polls where ranks are crowded.
func TestPolls(t *testing.T) {
	const quick, slow = farTime / 1024, farTime
	nothing := func(int) int { return 0 }
	for _, x := range []struct {
		name        string
		alone       bool
		crowded     bool
		near        func(int) int
		takes       uint64 // ticks of a poll
		least, most int    // of 8,192 polls
	}{
		{"alone", true, false, nothing, quick, 8192, 8192},
		{"nothing near", false, false, nothing, quick, 1024, 1032},
		{"an exchange", false, false, func(poll int) int { return 1 - min(1, poll%20) }, quick, 8, 10},
		{"a flood", false, false, func(int) int { return 1 }, quick, 7, 8},
		{"now and then", false, false, func(poll int) int { return 1 - min(1, poll%500) }, quick, 800, 1000},
		{"slow polls", false, false, func(int) int { return 1 }, slow, 512, 512},
		{"crowded, nothing near", false, true, nothing, quick, 8192, 8192},
		{"crowded, an exchange", false, true, func(poll int) int { return poll % 2 }, quick, 4096, 4104},
	} {
		near, far := &counting{finds: x.near}, &counting{finds: nothing}
		c := &conduit{part: [2]core.Conduit{near, far}, alone: x.alone}
		c.setPace(x.crowded)
		c.clock = func() uint64 { return uint64(near.polls) * x.takes }
		for range 8192 {
			c.Poll(1)
		}
		if near.polls != 8192 && !x.alone || x.alone && near.polls > 0 || far.polls < x.least || far.polls > x.most {
			t.Errorf("%s: %d polls of the near conduit, %d of the far one; want 8192, and %d to %d", x.name, near.polls, far.polls, x.least, x.most)
		}
	}
}

// TestFarBacklog has more far messages come than the looks take that are due: none wait for longer than one does.
func TestFarBacklog(t *testing.T) {
	const budget, polls, each = 32, 100_000, 1024 // polls in farTime
	waiting, most := 0, 0
	near := &counting{finds: func(poll int) int { return poll % 2 }}
	far := &counting{finds: func(int) int {
		n := min(waiting, budget)
		waiting -= n
		return n
	}}
	c := &conduit{part: [2]core.Conduit{near, far}}
	c.setPace(false)
	c.clock = func() uint64 { return uint64(near.polls) * farTime / each }
	for range polls {
		waiting++
		c.Poll(budget)
		most = max(most, waiting)
	}
	if most > each+budget || far.polls > polls/16 {
		t.Errorf("up to %d far messages waited, and %d of %d polls looked at them", most, far.polls, polls)
	}
}
