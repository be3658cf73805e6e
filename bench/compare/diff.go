package compare

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"

	"github.com/aqueduct-go/aqueduct/bench"
)

// Significance is the level of false alarms: of the changes that are named, that share is expected to be none.
const Significance = 0.05

// A Change is what has become of a value of a result, less of which is better: a time, or a ratio of times.
type Change struct {
	Mode, Name, Unit string
	Old, New         float64 // medians
	N                [2]int  // samples, old and new
	P                float64 // by the test of Mann and Whitney; 0 of a model, whose values are exact
	Sure             bool    // beyond noise
	TooFew           bool    // there are so few samples that no change could be sure
}

// Factor is the new median over the old one.
func (c *Change) Factor() float64 { return c.New / c.Old }

// Changes compares the values of results that both have, in the units that a result is to be compared in. The test of Mann and Whitney
// says how likely samples differ so much by chance; which of all the changes are sure is found by the procedure of Benjamini and
// Hochberg ("Controlling the False Discovery Rate", J. R. Stat. Soc. B 57 (1), 1995) at the level of Significance. A model's values have no
// noise: every difference is sure. The order is that of the old lines; only has the names that one side alone has.
func Changes(old, new []*bench.Line, unitsOf func(l *bench.Line) []string) (changes []Change, only [2][]string, err error) {
	merged := [2]map[string]*bench.Line{}
	var order []*bench.Line
	for i, lines := range [][]*bench.Line{old, new} {
		all, err := bench.Merge(lines)
		if err != nil {
			return nil, only, err
		}
		merged[i] = map[string]*bench.Line{}
		for _, l := range all {
			merged[i][l.Mode+" "+l.Name] = l
		}
		if i == 0 {
			order = all
		}
	}
	for i := range merged {
		for _, key := range slices.Sorted(maps.Keys(merged[i])) {
			if merged[1-i][key] == nil {
				only[i] = append(only[i], key)
			}
		}
	}
	for _, o := range order {
		n := merged[1][o.Mode+" "+o.Name]
		if n == nil {
			continue
		}
		for _, unit := range unitsOf(o) {
			before, after := o.Values(unit), n.Values(unit)
			if len(before) > 0 && len(after) > 0 {
				changes = append(changes, changeOf(o, unit, before, after))
			}
		}
	}
	discover(changes)
	return changes, only, nil
}

func changeOf(l *bench.Line, unit string, before, after []float64) Change {
	c := Change{Mode: l.Mode, Name: l.Name, Unit: unit, Old: bench.Median(before), New: bench.Median(after), N: [2]int{len(before), len(after)}}
	if l.Mode == "modelled" {
		c.Sure = math.Abs(c.New-c.Old) > 1e-9*c.Old // what rounding leaves
		return c
	}
	s := func(v []float64) *benchmath.Sample { return benchmath.NewSample(v, &benchmath.DefaultThresholds) }
	c.P = benchmath.AssumeNothing.Compare(s(before), s(after)).P
	c.TooFew = 2/binomial(len(before)+len(after), len(before)) > Significance
	return c
}

// binomial returns how many ways there are to choose k of n.
func binomial(n, k int) float64 {
	b := 1.0
	for i := 1; i <= k; i++ {
		b *= float64(n-k+i) / float64(i)
	}
	return b
}

// discover marks the changes of what was measured that are sure: with p-values in order, those up to the last that is at most its place's share
// of Significance.
func discover(changes []Change) {
	var live []*Change
	for i := range changes {
		if changes[i].Mode != "modelled" {
			live = append(live, &changes[i])
		}
	}
	slices.SortStableFunc(live, func(a, b *Change) int { return cmp.Compare(a.P, b.P) })
	last := -1
	for i, c := range live {
		if c.P <= Significance*float64(i+1)/float64(len(live)) {
			last = i
		}
	}
	for _, c := range live[:last+1] {
		c.Sure = c.Old != c.New && !c.TooFew
	}
}

// Times has results compared by what they took, ratios not.
func Times(l *bench.Line) []string {
	if _, ok := l.Summary["B/rank"]; ok {
		return []string{bench.NsPerOp, "B/rank"}
	}
	return []string{bench.NsPerOp}
}

// Ratios has results of conduits compared by the ratio to the floor, or, where there is none, to the peers; and those of models by their time, which no
// machine changes.
func Ratios(l *bench.Line) (units []string) {
	switch {
	case l.Mode == "modelled":
		return []string{bench.NsPerOp}
	case l.Peer != "":
		return nil
	}
	if _, ok := l.Summary["x-floor"]; ok {
		return []string{"x-floor"}
	}
	for _, unit := range slices.Sorted(maps.Keys(l.Summary)) {
		if strings.HasPrefix(unit, "x-") {
			units = append(units, unit)
		}
	}
	return units
}

// WriteDiff writes the changes that are sure, and how many are not.
func WriteDiff(w io.Writer, changes []Change, only [2][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var slower, faster, few int
	for i := range changes {
		switch c := &changes[i]; {
		case c.TooFew:
			few++
		case !c.Sure:
		case c.New > c.Old:
			slower++
		default:
			faster++
		}
	}
	if slower+faster > 0 {
		fmt.Fprintf(t, "changed beyond noise\tunit\told\tnew\tchange\tp\tsamples\n")
	}
	for i := range changes {
		if c := &changes[i]; c.Sure {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%+.1f%%\t%.2g\t%d, %d\n", strings.TrimPrefix(c.Name, "Benchmark"), c.Unit, short(c.Old), short(c.New),
				100*(c.Factor()-1), c.P, c.N[0], c.N[1])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d values compared: %d more, %d less, %d not changed beyond noise, %d of too few samples to say; "+
		"%d results only in the old file, %d only in the new one\n",
		len(changes), slower, faster, len(changes)-slower-faster-few, few, len(only[0]), len(only[1]))
	return err
}

// Differ names the conditions of measurement that are not the same in both, such as another processor: then times say little.
func Differ(old, new []*bench.Line) (what []string) {
	conditions := func(lines []*bench.Line) map[string]string {
		for _, l := range lines {
			if h := l.Header; h != nil {
				return map[string]string{"cpu": h.CPU, "usable CPUs": fmt.Sprint(h.Usable), "governor": h.Governor, "kernel": h.Kernel, "go": h.Go, "commit": h.Commit}
			}
		}
		return nil
	}
	a, b := conditions(old), conditions(new)
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if b != nil && a[key] != b[key] {
			what = append(what, fmt.Sprintf("%s: %s, then %s", key, a[key], b[key]))
		}
	}
	return what
}

// Regressions returns the changes for the worse that are sure and more than a tolerance, such as 0.1; of a model any.
func Regressions(changes []Change, tolerance float64) (worse []Change) {
	for _, c := range changes {
		if c.Sure && (c.Mode == "modelled" && c.New > c.Old || c.New > c.Old*(1+tolerance)) {
			worse = append(worse, c)
		}
	}
	return worse
}
