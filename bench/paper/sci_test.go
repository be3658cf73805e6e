package paper_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/paper"
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func sci(t *testing.T, name string) *paper.Setting {
	t.Helper()
	s, err := paper.SCI.Setting(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, name string, s *paper.Setting) *paper.Outcome {
	t.Helper()
	e, err := paper.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// written returns all of an outcome that must not differ between runs.
func written(t *testing.T, name string, s *paper.Setting, o *paper.Outcome) string {
	t.Helper()
	e, err := paper.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := paper.NewCSV(&b, bench.Header{}).Write(e, s, o); err != nil {
		t.Fatal(err)
	}
	for i := range o.Figures {
		if err := o.Figures[i].WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprint(&b, o.Claims, o.Notes)
	return b.String()
}

// worded fails on a figure whose axes do not say a quantity, or whose legend has the name of a published number as machine
// files spell it.
func worded(t *testing.T, s *paper.Setting, o *paper.Outcome) {
	t.Helper()
	for _, f := range o.Figures {
		for _, label := range []string{f.X.Label, f.Y.Label} {
			if slices.Contains([]string{"", "µs", "ns", "bytes", "MB/s", "%", "B/ns/switch"}, label) {
				t.Errorf("figure %s: an axis has the label %q", f.Name, label)
			}
		}
		for _, series := range f.Series {
			for _, g := range s.Goals() {
				if series.Kind == plot.Published && strings.HasSuffix(series.Name, ": "+g.Name) {
					t.Errorf("figure %s: %q in the legend is no name for people", f.Name, series.Name)
				}
			}
		}
	}
}

// TestPaper runs the experiments on the paper's machine: every number is within its tolerance,
// every claim holds, and a second run gives the same to the last byte. Of what takes long the second run is a matter of
// [coretest.InPart].
func TestPaper(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	for _, e := range paper.All() {
		for _, name := range e.Machines {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, err := e.Family.Setting(name)
				if err != nil {
					t.Fatal(err)
				}
				o := run(t, e.Name, s)
				worded(t, s, o)
				failures, err := o.Failures(s.Machine)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range failures {
					t.Error(line)
				}
				if len(o.Claims) == 0 || len(o.Figures) == 0 {
					t.Error("nothing is claimed or drawn")
				}
				// They take long. What differed from run to run in them would in others too, as in TestStudy.
				if long := e.Name == "itb-throughput" || e.Name == "sci-scaling"; long && !coretest.InPart(t, t.Name()) {
					return
				}
				if first, second := written(t, e.Name, s, o), written(t, e.Name, s, run(t, e.Name, s)); first != second {
					t.Errorf("first\n%s\nthen\n%s", first, second)
				}
			})
		}
	}
}

// TestGoals wants every number that the papers' machines have to be produced by some
// experiment, lest one is predicted and never looked at.
func TestGoals(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	for family, experiments := range map[*paper.Family][]string{
		paper.SCI:     {"sci-pio-dma", "sci-short", "sci-medium", "sci-long"},
		paper.Myrinet: {"gm-latency", "itb-overhead", "itb-cost"},
		paper.GRIM:    {"grim-scan", "grim-injection"},
	} {
		produced, goals := map[string]bool{}, map[string]string{}
		for _, name := range experiments {
			e, err := paper.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range e.Machines {
				s, err := family.Setting(m)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range run(t, name, s).Numbers {
					produced[n.Name] = true
				}
				for _, g := range slices.Concat(s.Machine.Fits, s.Machine.Predictions) {
					goals[g.Name] = g.Where
				}
			}
		}
		for name, where := range goals {
			if !produced[name] {
				t.Errorf("%s: no experiment gives %s; there are %v", where, name, produced)
			}
		}
	}
}

// TestOwnMachine changes a constant of the paper's machine in a file of its own: what depends
// on it moves, and what was published about the other machine judges nothing.
func TestOwnMachine(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes minutes over it")
	}
	path := filepath.Join(t.TempDir(), "fast.machine")
	text := "about faster stores\nbase d339-2003\npio.word 1 ns assumed for the test\nlink.rate 0.1 ns/B assumed for the test\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	fast, paperMachine := sci(t, path), sci(t, "d339-2003")
	for _, name := range []string{"sci-pio-dma", "sci-short"} {
		a, b := run(t, name, fast), run(t, name, paperMachine)
		if got, was := value(t, a, "raw-pio-80"), value(t, b, "raw-pio-80"); got >= was {
			t.Errorf("%s: faster stores take %g µs, the others %g", name, got, was)
		}
		if name == "sci-short" && !strings.Contains(strings.Join(a.Notes, ""), "ScaMPI is on d339-2003") {
			t.Errorf("no note that the MPI conduit is left out: %q", a.Notes)
		}
		list, err := paper.Compare(a, fast.Machine)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Verdict != paper.Unjudged {
				t.Errorf("%s: %s is judged by %s", name, c.Name, c.Goal.Where)
			}
			if strings.Contains(c.Name, "mpi") {
				t.Errorf("%s: %s is of another machine", name, c.Name)
			}
		}
	}
}

func value(t *testing.T, o *paper.Outcome, name string) float64 {
	t.Helper()
	for _, n := range o.Numbers {
		if n.Name == name {
			return n.Value
		}
	}
	t.Fatalf("no number %s in %v", name, o.Numbers)
	return 0
}

// TestUnknownMachine wants the machines that there are.
func TestUnknownMachine(t *testing.T) {
	if _, err := paper.SCI.Setting("fly"); err == nil || !strings.Contains(err.Error(), "d339-2003") {
		t.Error(err)
	}
	if names := paper.SCI.Machines(); !slices.Contains(names, "d339-2003") {
		t.Errorf("machines %v", names)
	}
}
