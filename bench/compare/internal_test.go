package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// TestParseUsage reads a first line of /proc/stat, and what is none.
func TestParseUsage(t *testing.T) {
	got := parseUsage("cpu  100 20 30 4000 500 6 7 80 9 1\ncpu0 1 2 3 4 5 6 7 8 9 0\n")
	if want := (usage{busy: 1630 * time.Millisecond, stolen: 800 * time.Millisecond}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8 9"} {
		if got := parseUsage(bad); got != (usage{}) {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestNoise judges readings: noise is what others took, of all CPUs, in a time that is long enough for the clocks; and it is said once.
func TestNoise(t *testing.T) {
	start := reading{usage{10 * time.Second, time.Second}, time.Second, time.Unix(1000, 0)}
	after := func(whole, busy, own, stolen time.Duration) reading {
		return reading{usage{start.cpus.busy + busy, start.cpus.stolen + stolen}, start.own + own, start.at.Add(whole)}
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		now  reading
		says string
	}{
		{"own work", after(time.Second, 2000*ms, 2000*ms, 0), ""},
		{"others, too little", after(time.Second, 1000*ms, 820*ms, 0), ""},
		{"others", after(time.Second, 1000*ms, 780*ms, 0), "11 % of its CPUs, and other machines on its host 0 %"},
		{"other machines", after(time.Second, 500*ms, 500*ms, 400*ms), "0 % of its CPUs, and other machines on its host 20 %"},
		{"both, each too little", after(time.Second, 620*ms, 500*ms, 120*ms), "6 % of its CPUs, and other machines on its host 6 %"},
		{"too short", after(90*ms, 180*ms, 0, 0), ""},
		{"own time counted late", after(time.Second, 0, 500*ms, 0), ""},
	} {
		n := noise{last: start}
		got := n.judge("it", c.now, 2)
		if c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.name, got, c.says)
		}
		if n.last != c.now {
			t.Errorf("%s: the next time does not begin where this one ends", c.name)
		}
	}
	n := noise{last: start}
	if n.judge("it", after(time.Second, time.Second, 0, 0), 2) == "" || n.judge("it", after(2*time.Second, 2*time.Second, 0, 0), 2) != "" {
		t.Error("noise is not said once")
	}
}

// TestShare leaves half of the time to what is live.
func TestShare(t *testing.T) {
	e := Extent{Budget: time.Minute}
	model, live := Task{Subject: &Subject{Plan: runner.Plan{Mode: spawner.Modelled}}, Extent: &e}, Task{Subject: &Subject{}, Extent: &e}
	if model.share() != 30*time.Second || live.share() != time.Minute {
		t.Errorf("models have %v, and others %v", model.share(), live.share())
	}
}

// TestPeersLast has the rounds with peers at the end, so that an early end leaves results of all conduits.
func TestPeersLast(t *testing.T) {
	e := Extent{Name: "x", Ops: []string{"put"}, Sizes: []int{8}, Ranks: []int{2}, Rounds: 3, Peers: 1}
	peer, live := Subject{Name: "peer", Plan: runner.Plan{Conduit: "sci"}, references: true, peers: true}, Subject{Name: "live", Plan: runner.Plan{Conduit: "sci"}}
	var order []string
	tasks, _ := Tasks([]Subject{peer, live}, &e)
	for i := range tasks {
		order = append(order, tasks[i].Subject.Name)
	}
	if got := strings.Join(order, " "); got != "live live peer live" {
		t.Errorf("the tasks are of %s", got)
	}
}
