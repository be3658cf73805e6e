package hardware

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestOrder has two packets come to a site, in either order of events. The site serves that first which is so by time,
// or by stage, sender and target at one time.
func TestOrder(t *testing.T) {
	m := small(t)
	type at struct {
		when     vtime.Time
		stage    uint8
		from, to int
	}
	for _, c := range []struct {
		key           string
		first, second at
	}{
		{"time", at{4000, board, 3, 3}, at{5000, inject, 0, 1}},
		{"stage", at{5000, inject, 3, 3}, at{5000, enter, 0, 1}},
		{"sender", at{5000, hop, 0, 3}, at{5000, hop, 1, 2}},
		{"target", at{5000, hop, 0, 2}, at{5000, hop, 0, 3}},
	} {
		for _, order := range [][]at{{c.first, c.second}, {c.second, c.first}} {
			s := &site{due: serving} // nothing is served
			for _, a := range order {
				p := &packet{from: m.Node(a.from), to: m.Node(a.to)}
				s.come(p, a.stage, a.when)
			}
			if p := s.first; p.when != c.first.when || p.stage != c.first.stage || p.from.id != c.first.from || p.to.id != c.first.to {
				t.Errorf("%v came, which differ by their %s: the first is %s from %d to %d at %d",
					order, c.key, stageNames[p.stage], p.from.id, p.to.id, p.when)
			}
		}
	}
}

// TestPlanLooksAtFew has a site plan with more packets before it than it may look at: those that come after the deadline
// of the first, which are of no machine here, so that a look at one panics.
func TestPlanLooksAtFew(t *testing.T) {
	m := small(t)
	first := &packet{from: m.Node(0), to: m.Node(1), stage: inject, when: 5000}
	first.next = &packet{from: new(Node), to: m.Node(1), stage: inject, when: first.deadline()}
	s := &m.sites[0]
	s.first, s.last = first, first.next
	if s.plan(); s.due != first.deadline() {
		t.Errorf("the site is going to serve at %v, want %v", s.due, first.deadline())
	}
	if s.plan(); s.due != first.deadline() { // nothing is new
		t.Errorf("the site is going to serve at %v, want %v", s.due, first.deadline())
	}
}

// small returns a machine of four hosts.
func small(t *testing.T) *Machine {
	t.Helper()
	file, err := Library().Load("scale")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := NewProfile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(vtime.New(1), profile, 4)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
