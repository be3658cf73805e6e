package core

import (
	"strings"
	"testing"
	"time"
)

// blocked is a rank in a wait for the first call of a sequence, that has made those of others.
func blocked(r Rank, key string, made ...string) Place {
	p := Place{Rank: r, Waits: []Wait{{For: key, Since: time.Second, Need: &Need{Key: key, Number: 1}}}, Entered: map[string]uint64{key: 1}}
	for _, k := range made {
		p.Entered[k] = 1
	}
	return p
}

// inSegmentCall is the place of a rank in AttachSegment, of which nothing else is known.
func inSegmentCall(r Rank) Place {
	return Place{Rank: r, Waits: []Wait{(&doing{what: segmentCall, since: time.Now()}).wait()}}
}

// TestDeadlock: only what can never end is a deadlock.
func TestDeadlock(t *testing.T) {
	gone := blocked(0, "a")
	gone.Waits[0].Need.Gone = true
	several := blocked(1, "b")
	several.Several = true
	two := blocked(1, "b")
	two.Waits = append(two.Waits, Wait{For: "WaitUntil"})
	until := Place{Rank: 1, Waits: []Wait{{For: "WaitUntil"}}, Entered: map[string]uint64{}}
	apart := blocked(0, "a")
	apart.Waits[0].Need.Members = []Rank{0, 2}
	other := blocked(1, "b")
	other.Waits[0].Need.Number = 2
	other.Entered["b"] = 2
	returned := blocked(1, returnKey)
	returned.Returned = true
	for name, c := range map[string]struct {
		before, now []Place
		want        string
	}{
		"two calls":                    {nil, []Place{blocked(0, "a"), blocked(1, "b")}, "rank 0 waits for a, which rank 1 has not reached: it waits for b; rank 1 waits for b, which rank 0 has not reached: it waits for a"},
		"returned":                     {nil, []Place{blocked(0, "a"), returned}, "rank 0 waits for a, which rank 1 has not reached: it has returned"},
		"a ring of three":              {nil, []Place{blocked(0, "a", "c"), blocked(1, "b", "a"), blocked(2, "c", "b")}, "rank 2 waits for c, which rank 1"},
		"a third computes":             {nil, []Place{blocked(0, "a"), blocked(1, "b"), {Rank: 2, State: "has not polled"}}, "rank 0 waits for a"},
		"the same call":                {nil, []Place{blocked(0, "a"), blocked(1, "a")}, ""},
		"all have made both":           {nil, []Place{blocked(0, "a", "b"), blocked(1, "b", "a")}, ""},
		"one has made the other's":     {nil, []Place{blocked(0, "a", "b"), blocked(1, "b")}, ""},
		"a handler can end it":         {nil, []Place{blocked(0, "a"), until}, ""},
		"other goroutines":             {nil, []Place{blocked(0, "a"), several}, ""},
		"another waits elsewhere":      {nil, []Place{blocked(0, "a"), two}, ""},
		"it computes":                  {nil, []Place{blocked(0, "a"), {Rank: 1, State: "has not polled"}}, ""},
		"not a member":                 {nil, []Place{apart, blocked(1, "b"), blocked(2, "a", "b")}, ""},
		"made, and forgotten":          {nil, []Place{gone, blocked(1, "b")}, ""},
		"it was in another call":       {[]Place{blocked(0, "a"), other}, []Place{blocked(0, "a"), blocked(1, "b")}, ""},
		"it did not answer before":     {[]Place{blocked(0, "a"), {Rank: 1}}, []Place{blocked(0, "a"), blocked(1, "b")}, ""},
		"it waited for other things":   {[]Place{blocked(0, "a"), until}, []Place{blocked(0, "a"), blocked(1, "b")}, ""},
		"nobody was asked before":      {[]Place{}, []Place{blocked(0, "a"), blocked(1, "b")}, ""},
		"a chain with an end":          {nil, []Place{blocked(0, "a", "b"), blocked(1, "b"), until2(2, "a")}, ""},
		"many in the same say it once": {nil, []Place{blocked(0, "a"), blocked(1, "b"), blocked(2, "a")}, "it waits for a"},
	} {
		if c.before == nil {
			c.before = c.now
		}
		s := Survey{}
		if len(c.before) > 0 {
			s.Judge(Stall{Debug: true}, c.before)
		}
		_, got := s.Judge(Stall{Debug: true}, c.now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Count(got, "waits for a, which") > 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		s = Survey{last: c.before}
		if _, got = s.Judge(Stall{}, c.now); got != "" {
			t.Errorf("%s: %q without debug mode", name, got)
		}
	}
}

// until2 is a rank in a wait that a handler ends, which has made a call.
func until2(r Rank, made string) Place {
	return Place{Rank: r, Waits: []Wait{{For: "WaitUntil"}}, Entered: map[string]uint64{made: 1}}
}

// TestReports: what is told of a wait that takes long, and when.
func TestReports(t *testing.T) {
	var s Survey
	returned := blocked(1, returnKey)
	returned.Returned = true
	silent := Place{Rank: 1, State: "has not polled", For: 12 * time.Second}
	places := func(p Place) []Place { return []Place{blocked(0, "a"), p} }
	for i, c := range []struct {
		stall  Stall
		places []Place
		want   string
	}{
		{Stall{Waited: time.Second}, places(silent), ""}, // debug mode looks sooner
		{Stall{Waited: time.Second, Report: true}, places(silent), "rank 0 has waited for 1s for a, of which rank 1 says nothing: rank 1 has not polled;"},
		{Stall{Waited: 2 * time.Second, Report: true}, places(silent), ""},      // the same
		{Stall{Waited: time.Second, Report: true}, places(blocked(1, "b")), ""}, // not much longer
		{Stall{Rank: 1, Waited: 2 * time.Second, Report: true}, places(returned), "rank 0 has waited for 1s for a, which rank 1 has not reached: rank 1 has returned;"},
		{Stall{Waited: 4 * time.Second, Report: true}, places(blocked(1, "a")), "which all its members have reached"},
		{Stall{Waited: 8 * time.Second, Report: true}, places(blocked(1, "b")), "for a, which rank 1 has not reached: rank 1 waits for b;"},
		{Stall{Rank: 1, Waited: 16 * time.Second, Report: true}, places(blocked(1, "b")), ""}, // the other side of the same
		{Stall{Waited: 16 * time.Second, Report: true}, []Place{blocked(0, attachCall), blocked(1, attachCall)}, ""},
		{Stall{Waited: 16 * time.Second, Report: true}, []Place{blocked(0, attachCall), {Rank: 1, State: "has not attached", Entered: map[string]uint64{}}}, "for Attach, which rank 1 has not reached: rank 1 has not attached;"},
		{Stall{Waited: 32 * time.Second, Report: true}, []Place{inSegmentCall(0), inSegmentCall(1)}, ""},
		{Stall{Waited: 32 * time.Second, Report: true}, []Place{silent, silent}, ""}, // it waits no more
	} {
		wanted := s.Wanted(c.stall)
		got, _ := s.Judge(c.stall, c.places)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || got != "" && !wanted {
			t.Errorf("stall %d: %q, want %q; wanted: %v", i, got, c.want, wanted)
		}
	}
}

// TestTable has few ranks told one by one, many by what they do.
func TestTable(t *testing.T) {
	few := Table([]Place{
		{Rank: 0, Waits: []Wait{{For: "x", Since: 1500 * time.Millisecond}}, Traffic: []PeerCounts{{1, Counts{3, 2, 1}}}},
		{Rank: 1, State: "has not polled", For: 12400 * time.Millisecond},
		{Rank: 2, Returned: true, Waits: []Wait{{For: finalWhat, Since: 1}}},
	})
	if want := "  rank 0 waits for x since 1.5s\n  rank 1 has not polled for 12s\n  rank 2 has returned\n  rank 0 with rank 1: 3 requests and 2 replies sent, 1 message received"; few != want {
		t.Errorf("got\n%s\nwant\n%s", few, want)
	}
	var many []Place
	for r := range Rank(mostPlaces + 4) {
		many = append(many, Place{Rank: r, Waits: []Wait{{For: "x", Since: time.Duration(r+1) * time.Second}}})
	}
	if got, want := Table(many), "  rank 0, rank 1, rank 2, rank 3 and 16 more: waits for x since 20s to 1s"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
