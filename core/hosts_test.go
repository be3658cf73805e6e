package core

import "testing"

// placed is a bootstrap whose ranks are on several hosts.
type placed struct {
	Bootstrap
	hosts []int
}

func (p placed) Size() int       { return len(p.hosts) }
func (p placed) Host(r Rank) int { return p.hosts[r] }

func TestHosts(t *testing.T) {
	j := newJob(placed{Alone(), []int{0, 1, 0, 2, 1}}, new(Config))
	for r, want := range map[Rank]int{0: 0, 1: 1, 2: 0, 3: 2, 4: 1, 5: -1, -1: -1} {
		if got := j.Host(r); got != want {
			t.Errorf("rank %d is on host %d, want %d", r, got, want)
		}
	}
	if j.Hosts() != 3 {
		t.Errorf("%d hosts, want 3", j.Hosts())
	}
}
