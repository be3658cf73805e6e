package paper

import (
	"math"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// TestGRIMMemoryMoves changes what translations and misses take: each moves what rests on it, and hardly anything else; and without a price of translation RM-P is no faster.
func TestGRIMMemoryMoves(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	t.Parallel()
	measure := func(c ...change) *Outcome {
		t.Helper()
		s, err := GRIM.Setting("grim-lanai9")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range c {
			if s.Machine, err = s.Machine.With(c.name, c.value, c.unit); err != nil {
				t.Fatal(err)
			}
		}
		o := new(Outcome)
		if err := s.rmWrites(o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	value := func(o *Outcome, name string) float64 { return numberIn(t, o, name) }
	before := measure()
	for _, c := range []struct {
		change       change
		moves, stays string
	}{
		{count("steps.translate", 200), "grim-rm-v", "grim-rm-p"},
		{change{"host.interrupt", "20", "us"}, "grim-rm-miss", "grim-rm-v"},
	} {
		after := measure(c.change)
		if a, b := value(before, c.moves), value(after, c.moves); b < 1.2*a {
			t.Errorf("%v: %s is %g, and was %g", c.change, c.moves, b, a)
		}
		if a, b := value(before, c.stays), value(after, c.stays); math.Abs(b/a-1) > 0.02 { // the scan is elsewhere when it begins
			t.Errorf("%v: %s is %g, and was %g", c.change, c.stays, b, a)
		}
	}
	for _, c := range measure(count("steps.translate", 0)).Claims {
		if strings.HasPrefix(c.Text, "RM-P") == c.Holds {
			t.Errorf("translation for nothing: %q: holds is %v", c.Text, c.Holds)
		}
	}
}

// numberIn returns a number of an outcome, which must be there.
func numberIn(t *testing.T, o *Outcome, name string) float64 {
	t.Helper()
	for _, n := range o.Numbers {
		if n.Name == name {
			return n.Value
		}
	}
	t.Fatalf("no number %s", name)
	return 0
}
