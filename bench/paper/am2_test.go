package paper

import (
	"errors"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// am2Outcome runs an experiment of AM-II on its machine, as outcomeOn does.
func am2Outcome(t *testing.T, run func(*Setting) (*Outcome, error), name, value, unit string) (*Setting, *Outcome) {
	t.Helper()
	return outcomeOn(t, AM2, am2Machines[0], run, name, value, unit)
}

// TestAM2Moves changes constants: each must move what rests on it, the loss of bandwidth first of all, and leave the rest.
func TestAM2Moves(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	t.Parallel()
	value := func(o *Outcome, name string) float64 {
		for _, n := range o.Numbers {
			if n.Name == name {
				return n.Value
			}
		}
		t.Fatalf("no number %s", name)
		return 0
	}
	_, before := am2Outcome(t, am2Bandwidth, "", "", "")
	for _, c := range []struct {
		constant    [3]string
		limit       [2]float64 // ratios
		ratio       [2]float64
		ratioPasses bool
	}{
		{[3]string{"steps.accept", "700", "count"}, [2]float64{1, 1}, [2]float64{0.85, 0.97}, false},
		{[3]string{"steps.accept", "60", "count"}, [2]float64{1, 1}, [2]float64{1.005, 1.03}, true},
		{[3]string{"dma.burst", "32", "B"}, [2]float64{0.6, 0.8}, [2]float64{1.01, 1.04}, false},
		{[3]string{"am2.fragment", "4096", "B"}, [2]float64{1, 1}, [2]float64{0.9, 0.98}, false},
		{[3]string{"am2.buffers", "1", "count"}, [2]float64{1, 1}, [2]float64{0.6, 0.9}, false},
	} {
		s, o := am2Outcome(t, am2Bandwidth, c.constant[0], c.constant[1], c.constant[2])
		for name, most := range map[string][2]float64{"am2-dma-limit": c.limit, "am2-ratio": c.ratio} {
			if q := value(o, name) / value(before, name); q < most[0] || q > most[1] {
				t.Errorf("%v: %s is %.4f times what it was", c.constant, name, q)
			}
		}
		if lines, err := o.Failures(s.Machine); err != nil || (len(lines) == 0) != c.ratioPasses {
			t.Errorf("%v: %q, %v", c.constant, lines, err)
		}
	}
	waits := func(s *Setting) (*Outcome, error) { // those parts of am2Latency that the constants concern
		o := new(Outcome)
		p, err := s.am2Profile()
		if err == nil {
			err = errors.Join(s.am2Sleep(o, p), s.am2Paging(o, p))
		}
		return o, err
	}
	_, before = am2Outcome(t, waits, "", "", "")
	for _, c := range []struct {
		constant     [3]string
		moves, stays string
		least, most  float64
	}{
		{[3]string{"driver.wakeup", "100", "us"}, "am2-sleeping", "am2-resident", 1.9, 2.1},
		{[3]string{"driver.page", "1", "ms"}, "am2-paged", "am2-sleeping", 1.3, 3},
	} {
		_, o := am2Outcome(t, waits, c.constant[0], c.constant[1], c.constant[2])
		if q := value(o, c.moves) / value(before, c.moves); q < c.least || q > c.most {
			t.Errorf("%v: %s is %.2f times what it was", c.constant, c.moves, q)
		}
		if a, b := value(o, c.stays), value(before, c.stays); a != b {
			t.Errorf("%v: %s is %g, and was %g", c.constant, c.stays, a, b)
		}
	}
}
