package paper

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// outcomeOn runs an experiment on a machine of a family, with a constant changed if name is not empty.
func outcomeOn(t *testing.T, family *Family, on string, run func(*Setting) (*Outcome, error), name, value, unit string) (*Setting, *Outcome) {
	t.Helper()
	s, err := family.Setting(on)
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		predictions := s.Machine.Predictions
		if s.Machine, err = s.Machine.With(name, value, unit); err != nil {
			t.Fatal(err)
		}
		s.Machine.Predictions = predictions // to be missed
	}
	o, err := run(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, o
}

// amOutcome runs am-family on its machine, as outcomeOn does.
func amOutcome(t *testing.T, name, value, unit string) (*Setting, *Outcome) {
	t.Helper()
	return outcomeOn(t, AMFamily, amMachines[0], amFamily, name, value, unit)
}

// TestAMFamilyMoves changes constants, each of which must move what rests on it, and nothing on another machine.
func TestAMFamilyMoves(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	t.Parallel()
	_, before := amOutcome(t, "", "", "")
	value := func(o *Outcome, name string) float64 { return numberIn(t, o, name) }
	for _, c := range []struct {
		constant [3]string
		moves    string
		least    float64 // ratio
		most     float64
		stays    string
	}{
		{[3]string{"ssam.trap.time", "5", "us"}, "ssam.one-way", 1.2, 3, "ssam-user.one-way"},
		{[3]string{"ssam.driver.interrupt", "100", "us"}, "ssam-driver.one-way", 1.5, 3, "ssam.one-way"},
		{[3]string{"hpam.ring.rate", "6.25", "MB/s"}, "hpam-peak", 0.45, 0.55, "ssam-peak"},
		{[3]string{"hpam.tcp.interrupt", "200", "us"}, "tcp-over-hpam", 1.5, 3, "hpam-round-trip"},
		{[3]string{"hpam.hpam.buffers", "2", "count"}, "hpam-pool", 0.49, 0.51, "am.one-way"},
		{[3]string{"am.library.wakeup", "200", "us"}, "library-over-am", 1.5, 4, "am.one-way"},
	} {
		_, o := amOutcome(t, c.constant[0], c.constant[1], c.constant[2])
		if q := value(o, c.moves) / value(before, c.moves); q < c.least || q > c.most {
			t.Errorf("%v: %s is %.2f times what it was", c.constant, c.moves, q)
		}
		if a, b := value(o, c.stays), value(before, c.stays); a != b {
			t.Errorf("%v: %s is %g, and was %g", c.constant, c.stays, a, b)
		}
	}
	s, o := amOutcome(t, "hpam.hpam.pool", "23", "count")
	if lines, err := o.Failures(s.Machine); err != nil || len(lines) != 1 {
		t.Errorf("a pool of 23: %q, %v", lines, err)
	}
}
