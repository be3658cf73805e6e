package paper_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/aqueduct-go/aqueduct" // registers the conduits
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/paper"
	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// pseudo is a machine that publishes something about an experiment that does not exist.
const pseudo = `about a machine for tests
wire.latency 1 us fitted(fit) as the test wants it
fit fit 2 us nobody
predict close 10 us 10% nobody
predict far 10 us 10% nobody
predict other 10 us 10% nobody
`

func load(t *testing.T, text string) *paper.Setting {
	t.Helper()
	library := &machine.Library{Builtin: fstest.MapFS{"pseudo.machine": {Data: []byte(text)}}}
	f, err := library.Load("pseudo")
	if err != nil {
		t.Fatal(err)
	}
	return &paper.Setting{Conduit: "loopback", Profile: "", Machine: f}
}

// outcome has a number of every standing and both sorts of claim.
func outcome() *paper.Outcome {
	return &paper.Outcome{
		Numbers: []paper.Number{
			{Name: "fit", About: "what is fitted", Value: 2.001, Unit: "us"},
			{Name: "close", About: "a prediction that is met", Value: 10.9, Unit: "us"},
			{Name: "far", About: "one that is not", Value: 8.9, Unit: "us"},
			{Name: "new", About: "nothing was published", Value: 7, Unit: "MB/s"},
		},
		Claims: []paper.Claim{
			{Text: "water runs downhill", Source: "everybody", Holds: true},
			{Text: "and uphill", Holds: false, Shown: "a bucket"},
		},
		Figures: []paper.Figure{{Name: "chart", Figure: plot.Figure{
			Title: "A chart", X: plot.Axis{Label: "bytes"}, Y: plot.Axis{Label: "µs"},
			Series: []plot.Series{{Name: "a, b", Points: []plot.Point{point(1, 2), point(2, 4.5)}}, {Name: "c", Points: []plot.Point{point(2, 1)}}},
		}}},
		Notes: []string{"read this"},
	}
}

func point(x, y float64) plot.Point { return plot.Point{X: x, Y: y} }

var experiment = &paper.Experiment{Name: "pseudo", About: "an experiment for tests"}

func TestCompare(t *testing.T) {
	s, o := load(t, pseudo), outcome()
	list, err := paper.Compare(o, s.Machine)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		verdict paper.Verdict
		fitted  bool
	}{{paper.Agrees, true}, {paper.Agrees, false}, {paper.Deviates, false}, {paper.Unjudged, false}}
	for i, c := range list {
		if c.Verdict != want[i].verdict || c.Fitted != want[i].fitted {
			t.Errorf("%s: verdict %d, fitted %v; want %+v", c.Name, c.Verdict, c.Fitted, want[i])
		}
	}
	if d := list[2].Deviation(); math.Abs(d+0.11) > 1e-12 {
		t.Errorf("deviation %g, want -0.11", d)
	}
	lines, err := o.Failures(s.Machine)
	if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "far: 8.9") || !strings.Contains(lines[1], "uphill") {
		t.Errorf("failures %q, %v", lines, err)
	}
	o.Numbers[2].Value = math.NaN()
	if lines, _ := o.Failures(s.Machine); len(lines) != 2 {
		t.Errorf("NaN passes: %q", lines)
	}
	o.Numbers[1].Unit = "ns"
	if _, err := paper.Compare(o, s.Machine); err == nil || !strings.Contains(err.Error(), "close is in us") {
		t.Errorf("another unit: %v", err)
	}
}

// TestInheritedFit: what a constant of a machine's own is fitted to is judged, also where the base states the number;
// what the base's constants are fitted to is not.
func TestInheritedFit(t *testing.T) {
	for standing, want := range map[string]paper.Verdict{"fitted(fit)": paper.Deviates, "assumed": paper.Unjudged} {
		library := &machine.Library{Builtin: fstest.MapFS{
			"pseudo.machine": {Data: []byte(pseudo)},
			"own.machine":    {Data: []byte("base pseudo\nwire.latency 3 us " + standing + " as the test wants it\n")},
		}}
		f, err := library.Load("own")
		if err != nil {
			t.Fatal(err)
		}
		list, err := paper.Compare(&paper.Outcome{Numbers: []paper.Number{{Name: "fit", Value: 3, Unit: "us"}}}, f)
		if err != nil || list[0].Verdict != want {
			t.Errorf("%s: %+v, %v; want verdict %d", standing, list, err, want)
		}
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := paper.WriteText(&b, experiment, load(t, pseudo), outcome()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# pseudo: an experiment for tests", "# read this", "fitted", "+9.0 %", "agrees", "-11.0 %", "DEVIATES",
		"holds", "DOES NOT HOLD", "bytes  a, b   c\n1      2      -\n2      4.500  1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	if err := paper.WriteText(failing{}, experiment, load(t, pseudo), outcome()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	w := paper.NewCSV(&b, bench.Header{})
	for range 2 {
		if err := w.Write(experiment, load(t, pseudo), outcome()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+2*(4+3) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got, want := strings.Join(rows[6][:15], "|"), "Paper/experiment=pseudo/machine=pseudo/seed=0/figure=chart/series=a,-b/bytes=2|||||us|1|0|4.5|4.5|4.5|4.5|4.5|4.5|"; got != want {
		t.Errorf("row %s, want %s", got, want)
	}
	var other bytes.Buffer // of a verb that measures
	enc, err := bench.NewEncoder("csv", &other)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(enc.Header(&bench.Header{}), enc.Series(&bench.Series{Family: "AM"})); err != nil {
		t.Fatal(err)
	}
	if titles := strings.TrimSpace(other.String()); strings.Join(rows[0], ",") != titles {
		t.Errorf("columns %q, and those of other verbs are %q", rows[0], titles)
	}
	if err := paper.NewCSV(failing{}, bench.Header{}).Write(experiment, load(t, pseudo), outcome()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer that fails: %v", err)
	}
}

// TestJSON reads the line again: numbers beside what was published, claims, and figures as they are.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := paper.WriteJSON(&b, experiment, load(t, pseudo), outcome()); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Kind, Mode, Experiment, Machine string
		Numbers                         []struct{ Name, Published, Standing, Verdict string }
		Claims                          []struct {
			Text  string
			Holds bool
		}
		Figures []paper.Figure
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("%v in %s", err, &b)
	}
	if line.Kind != "paper" || line.Mode != "modelled" || line.Experiment != "pseudo" || line.Machine != "pseudo" {
		t.Errorf("%+v", line)
	}
	if got := fmt.Sprint(line.Numbers); got != "[{fit 2 fitted agrees} {close 10 predicted agrees} {far 10 predicted deviates} {new   }]" {
		t.Errorf("numbers %s", got)
	}
	if got := fmt.Sprint(line.Claims); got != "[{water runs downhill true} {and uphill false}]" {
		t.Errorf("claims %s", got)
	}
	if got, want := fmt.Sprint(line.Figures), fmt.Sprint(outcome().Figures); got != want {
		t.Errorf("figures %s, want %s", got, want)
	}
}

func TestSVG(t *testing.T) {
	dir, o := t.TempDir(), outcome()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "one.svg"), filepath.Join(dir, "one.svg")},
		{filepath.Join(dir, "new"), filepath.Join(dir, "new", "pseudo-chart.svg")},
	} {
		names, err := paper.WriteSVG(c.path, experiment, o)
		if err != nil || len(names) != 1 || names[0] != c.want {
			t.Errorf("%s: %q, %v", c.path, names, err)
			continue
		}
		text, err := os.ReadFile(c.want)
		if err == nil {
			err = xml.Unmarshal(text, new(struct{ XMLName xml.Name }))
		}
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	o.Figures = nil
	if _, err := paper.WriteSVG(filepath.Join(dir, "two.svg"), experiment, o); err == nil {
		t.Error("a figure that does not exist was written")
	}
	if _, err := paper.WriteSVG(filepath.Join(dir, "one.svg", "below"), experiment, outcome()); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func TestByName(t *testing.T) {
	for _, e := range paper.All() {
		if got, err := paper.ByName(e.Name); err != nil || got != e {
			t.Errorf("%s: %v, %v", e.Name, got, err)
		}
	}
	if _, err := paper.ByName("fly"); err == nil || !strings.Contains(err.Error(), "sci-short") {
		t.Errorf("an unknown one: %v", err)
	}
}
