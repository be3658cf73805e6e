package core

import (
	"slices"
	"testing"
)

// placed is a bootstrap whose ranks are on several hosts.
type placed struct {
	Bootstrap
	hosts []int
}

func (p placed) Size() int       { return len(p.hosts) }
func (p placed) Host(r Rank) int { return p.hosts[r] }

func TestHosts(t *testing.T) {
	j := newJob(placed{Alone(), []int{0, 1, 0, 2, 1}}, new(Config), nil)
	for r, want := range map[Rank]int{0: 0, 1: 1, 2: 0, 3: 2, 4: 1, 5: -1, -1: -1} {
		if got := j.Host(r); got != want {
			t.Errorf("rank %d is on host %d, want %d", r, got, want)
		}
	}
	if j.Hosts() != 3 {
		t.Errorf("%d hosts, want 3", j.Hosts())
	}
}

// TestPerHost has a driver make hosts of three ranks, of those that are on one.
func TestPerHost(t *testing.T) {
	Register(Driver{Name: "placed", New: func(string) Conduit { return nil }, PerHost: func(bool, map[string]string) int { return 3 }})
	hosts := []int{0, 0, 0, 0, 1, 0, 1, 1}
	want := []int{0, 0, 0, 1, 2, 1, 3, 3}
	j := newJob(placed{Alone(), hosts}, &Config{Conduit: "placed"}, nil)
	for r, h := range want {
		if got := j.Host(Rank(r)); got != h {
			t.Errorf("rank %d is on host %d, want %d", r, got, h)
		}
	}
	if local := j.Local(); j.Hosts() != 4 || !slices.Equal(local, []Rank{0, 1, 2}) {
		t.Errorf("%d hosts, want 4; %v are on that of rank 0, want 0 to 2", j.Hosts(), local)
	}
}
