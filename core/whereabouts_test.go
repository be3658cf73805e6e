package core

import (
	"errors"
	"log/slog"
	"runtime"
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
	if want := "  rank 0 waits for x since 1.5s\n  rank 1 has not polled for 12s\n  rank 2 has returned\n  rank 0 with rank 1: 3 requests and 2 replies sent, 1 messages received"; few != want {
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

// TestLeavingMain: a panic and a Goexit are told apart.
func TestLeavingMain(t *testing.T) {
	for want, leave := range map[string]func(){
		"rank 0 panicked": func() { panic("kaboom") },
		"rank 0 left its main function by runtime.Goexit": runtime.Goexit,
	} {
		boot := Alone()
		left := make(chan bool)
		go func() {
			defer close(left)
			defer func() { recover() }()
			Main(aborted{boot}, Config{Grace: time.Hour}, func(*Job) error { leave(); return nil })
		}()
		<-left
		var x *ExitError
		if err := boot.(*member).g.result(); !errors.As(err, &x) || x.Status != 2 || x.Reason != want {
			t.Errorf("the job ended with %v, want %s", err, want)
		}
	}
}

// aborted is a bootstrap that tells nobody of the end of the job, on which a process would leave.
type aborted struct{ Bootstrap }

func (aborted) Done() <-chan error { return nil }

// TestStallWithoutSurvey: where nobody can ask the ranks, each tells what it waits for, once.
func TestStallWithoutSurvey(t *testing.T) {
	var said strings.Builder
	j := newJob(aborted{Alone()}, &Config{Stall: time.Second, Log: slog.New(slog.NewTextHandler(&said, nil))})
	for range 3 {
		j.stalled(Wait{For: "x", Since: 2 * time.Second})
	}
	if text := said.String(); strings.Count(text, "rank 0 has waited for 2s for x") != 1 {
		t.Errorf("it said %s", text)
	}
}

// surveyed is a bootstrap that counts what it is told of waits.
type surveyed struct {
	Bootstrap
	stalls int
}

func (*surveyed) Locate(func() Place) {}
func (s *surveyed) Stalled(Stall)     { s.stalls++ }

// TestLookAfter: that a rank attaches for long is told again only at Stall, or when it has taken twice as long, however
// often it is looked: each time all ranks are asked, and one that is stopped does not read its questions.
func TestLookAfter(t *testing.T) {
	type look struct {
		ago  time.Duration
		want int
	}
	for _, tc := range []struct {
		cfg   Config
		looks []look
	}{
		{Config{Stall: time.Second}, []look{{0, 0}, {time.Minute, 1}, {time.Minute, 1}, {time.Hour, 2}, {time.Hour, 2}}},
		{Config{Stall: time.Hour, Debug: true}, []look{{0, 0}, {50 * time.Minute, 1}, {55 * time.Minute, 1}, {61 * time.Minute, 2}}}, // at Stall
	} {
		boot := &surveyed{Bootstrap: Alone()}
		j := newJob(boot, &tc.cfg)
		leave := j.enter(attachCall, map[string]uint64{attachCall: 1})
		for i, c := range tc.looks {
			j.doing.Load().since = time.Now().Add(-c.ago)
			if j.lookAfter(0); boot.stalls != c.want {
				t.Errorf("%+v: look %d, after %v: %d were told, want %d", tc.cfg, i, c.ago, boot.stalls, c.want)
			}
		}
		leave()
	}
}

// TestSurveyTooLate: what is found out when the job has ended in another way changes nothing, and is not told.
func TestSurveyTooLate(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stall Stall
		ends  bool // while the ranks are asked
		want  int  // the status; -1: the job goes on
		says  bool
	}{
		{"deadlock", Stall{Debug: true}, false, 1, false},
		{"deadlock, and ended", Stall{Debug: true}, true, 0, false},
		{"report", Stall{Waited: time.Second, Report: true}, false, -1, true},
		{"report, and ended", Stall{Waited: time.Second, Report: true}, true, 0, false},
	} {
		var said strings.Builder
		g := newInProcess(2, nil)
		g.log = slog.New(slog.NewTextHandler(&said, nil))
		places := []Place{blocked(0, "a"), blocked(1, "b")}
		g.survey.last = places
		for r, m := range g.ranks {
			m.Locate(func() Place {
				if tc.ends {
					m.Abort(0, "it is done")
				}
				return places[r]
			})
		}
		g.stall, g.surveying = &tc.stall, true
		g.surveyAll()
		status := -1
		if g.ended != nil {
			status = g.ended.Status
		}
		if status != tc.want || (said.Len() > 0) != tc.says {
			t.Errorf("%s: status %d, want %d; it said %q", tc.name, status, tc.want, said.String())
		}
	}
}

// TestAlerts: a wait is told at once when it is to be reported, in debug mode too, where it has been told before.
func TestAlerts(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		cfg  Config
		want []time.Duration
	}{
		{Config{Stall: 300 * ms}, []time.Duration{300 * ms, 600 * ms, 1200 * ms}},
		{Config{Stall: NoStall}, []time.Duration{never}},
		{Config{Stall: 300 * ms, Debug: true}, []time.Duration{100 * ms, 200 * ms, 300 * ms, 600 * ms}},
		{Config{Stall: 50 * ms, Debug: true}, []time.Duration{50 * ms, 100 * ms}},
		{Config{Stall: NoStall, Debug: true}, []time.Duration{100 * ms, 200 * ms, 400 * ms}},
	} {
		told := time.Duration(0)
		for i, want := range tc.want {
			if told = tc.cfg.alert(told); told != want {
				t.Errorf("%+v: alert %d is at %v, want %v", tc.cfg, i, told, want)
			}
		}
	}
}

// TestLocateInAttachSegment: what the layer above has entered is asked for where conditions are evaluated, since other
// goroutines may enter something.
func TestLocateInAttachSegment(t *testing.T) {
	asked := false
	err := RunGoroutines(1, Config{Conduit: "echo"}, func(j *Job) error {
		ep, err := j.Attach(AttachSpec{SegmentLater: true})
		if err != nil {
			return err
		}
		ep.OnLocate(func(map[string]uint64) {
			if asked = true; ep.bias.inside == 0 {
				t.Error("asked outside of the section in which conditions are evaluated")
			}
		})
		return ep.AttachSegment("4096")
	})
	if err != nil || !asked {
		t.Errorf("asked: %t, %v", asked, err)
	}
}
