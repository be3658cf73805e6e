package paper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/paper"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// TestOwnMyrinet changes a constant of a machine of Myrinet in a file of its own, one at a time: what depends on it moves the right
// way and by how much it must, what does not stays, and nothing that was published judges it.
func TestOwnMyrinet(t *testing.T) {
	t.Parallel()
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	const base = "gm-pci64a"
	load := func(machine string) *paper.Outcome {
		s, err := paper.Myrinet.Setting(machine)
		if err != nil {
			t.Fatal(err)
		}
		o := run(t, "gm-latency", s)
		list, err := paper.Compare(o, s.Machine)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if machine != base && c.Verdict != paper.Unjudged {
				t.Errorf("%s: %s is judged by %s", machine, c.Name, c.Goal.Where)
			}
		}
		return o
	}
	is := load(base)
	for line, moved := range map[string][2]struct{ least, most float64 }{ // short messages in µs more, and the part of a stream's rate
		"fabric.link.rate 80 MB/s":  {{0, 0.5}, {0.45, 0.55}},
		"fabric.switch.san 1150 ns": {{0.999, 1.001}, {0.9, 1}},
		"cpu.instruction 33 MHz":    {{4, 12}, {0.9, 1}},
		"bus.clock 16.5 MHz":        {{4, 12}, {0.3, 0.5}},
	} {
		path := filepath.Join(t.TempDir(), "own.machine")
		if err := os.WriteFile(path, fmt.Appendf(nil, "about one constant is another\nbase %s\n%s assumed for the test\n", base, line), 0o666); err != nil {
			t.Fatal(err)
		}
		own := load(path)
		short := value(t, own, "gm-short-switch") - value(t, is, "gm-short-switch")
		rate := value(t, own, "gm-one-way") / value(t, is, "gm-one-way")
		if short < moved[0].least || short > moved[0].most || rate < moved[1].least || rate > moved[1].most {
			t.Errorf("%s: a short message takes %+g µs, a stream has %.3f times the rate", line, short, rate)
		}
	}
}
