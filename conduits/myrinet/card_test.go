package myrinet

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestSilence wants a host lost that has not answered for ten seconds in which it was tried, and no other.
func TestSilence(t *testing.T) {
	const tenth = vtime.Second / 10
	told := func(s *silence, from, to, heard vtime.Time) (lost bool) {
		for now := from; now <= to; now += tenth {
			lost = s.long(now, heard)
		}
		return lost
	}
	for name, c := range map[string]struct {
		lost  bool
		tries func(s *silence) bool
	}{
		"silent":          {true, func(s *silence) bool { return told(s, tenth, longSilence+tenth, 0) }},
		"not yet":         {false, func(s *silence) bool { return told(s, tenth, longSilence, 0) }},
		"answers between": {false, func(s *silence) bool { told(s, tenth, longSilence, 0); return s.long(longSilence+tenth, longSilence) }},
		"silent afterwards": {true, func(s *silence) bool {
			told(s, tenth, longSilence, 0)
			return told(s, longSilence+tenth, 2*longSilence+tenth, longSilence)
		}},
		"not tried between": {false, func(s *silence) bool {
			told(s, tenth, longSilence/2, 0)
			return told(s, longSilence, longSilence+tenth, 0)
		}},
	} {
		if lost := c.tries(new(silence)); lost != c.lost {
			t.Errorf("%s: lost %v", name, lost)
		}
	}
}

// TestTold wants NICs to tell of a silent host again before the silence counts as one that has ended, though they are late.
func TestTold(t *testing.T) {
	p, err := grim.Load(machineLive)
	if err != nil {
		t.Fatal(err)
	}
	g := &p.Live().GRIM
	told := vtime.Time(0)
	for try := range g.Tries + 1 {
		told += 2 * g.Resend << min(try, g.Growth) // half of it by chance
	}
	if 2*told > pastSilence {
		t.Errorf("told of each %v, and %v without that end a silence", told, pastSilence)
	}
}

// TestBoardSize wants rings of links in the memory of the first rank of each host alone.
func TestBoardSize(t *testing.T) {
	p := defaults
	p.perHost = 2
	group := []core.Rank{1, 2, 3, 4} // of hosts 0, 1, 1 and 2
	for i, first := range []bool{true, true, false, true} {
		with, without := p.boardSize(group, group[i]), p.boardSize(group, 9)
		if got := with-without >= 3*p.linkRing; got != first {
			t.Errorf("rank %d: %d B, and %d B without links", group[i], with, without)
		}
	}
}
