package core

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
)

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
	j := newJob(aborted{Alone()}, &Config{Stall: time.Second, Log: slog.New(slog.NewTextHandler(&said, nil))}, nil)
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
		j := newJob(boot, &tc.cfg, nil)
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
			if asked = true; ep.state.Inside == 0 {
				t.Error("asked outside of the section in which conditions are evaluated")
			}
		})
		return ep.AttachSegment("4096")
	})
	if err != nil || !asked {
		t.Errorf("asked: %t, %v", asked, err)
	}
}
