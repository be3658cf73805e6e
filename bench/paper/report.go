package paper

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// WriteText writes an outcome for people: numbers beside published ones, claims, the points of
// the figures, and what it cost.
func WriteText(w io.Writer, e *Experiment, s *Setting, o *Outcome) error {
	comparisons, err := Compare(o, s.Machine)
	if err != nil {
		return err
	}
	// Errors of w show at the last Flush: a tabwriter keeps them.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "# %s: %s\n# %s/%s, seed %d\n", e.Name, e.About, s.Conduit, s.Machine.Name, s.Seed)
	for _, n := range o.Notes {
		fmt.Fprintf(t, "# %s\n", n)
	}
	if len(comparisons) > 0 {
		fmt.Fprintln(t, "\nnumber\tmodel\tunit\tpublished\tdeviation\tstanding\tverdict\twhat")
	}
	for i := range comparisons {
		writeComparison(t, &comparisons[i])
	}
	if len(o.Claims) > 0 {
		fmt.Fprintln(t, "\nclaim\tverdict\tshown by\tsource")
	}
	for _, c := range o.Claims {
		verdict := "holds"
		if !c.Holds {
			verdict = "DOES NOT HOLD"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Text, verdict, dash(c.Shown), dash(c.Source))
	}
	for i := range o.Figures {
		writePoints(t, &o.Figures[i].Figure)
	}
	if len(o.Costs) > 0 {
		fmt.Fprintln(t, "\nsimulated\tranks\tseconds of this host\tMB resident at most")
	}
	for _, c := range o.Costs {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f\n", c.What, c.Ranks, c.Seconds, float64(c.Bytes)/1e6)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

func writeComparison(w io.Writer, c *Comparison) {
	published, deviation, standing := "-", "-", "-"
	verdict := [...]string{"-", "agrees", "DEVIATES"}[c.Verdict]
	if c.Goal != nil {
		published, deviation = c.Goal.Value, fmt.Sprintf("%+.1f %%", 100*c.Deviation())
		if standing = fmt.Sprintf("predicted, ±%g %%", 100*c.Within); c.Fitted {
			standing = "fitted"
		}
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, figures(c.Value), c.Unit, published, deviation, standing, verdict, c.About)
}

// writePoints writes the points of a figure as a table with a column for each series.
func writePoints(w io.Writer, f *plot.Figure) {
	fmt.Fprintf(w, "\n# %s\n# %s, by %s\n%s", f.Title, spelt(f.Y.Label), spelt(f.X.Label), spelt(f.X.Label))
	var xs []float64
	for _, s := range f.Series {
		fmt.Fprintf(w, "\t%s", s.Name)
		for _, p := range s.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		fmt.Fprintf(w, "\n%s", figures(x))
		for _, s := range f.Series {
			y := "-"
			if i := slices.IndexFunc(s.Points, func(p plot.Point) bool { return p.X == x }); i >= 0 {
				y = figures(s.Points[i].Y)
			}
			fmt.Fprintf(w, "\t%s", y)
		}
	}
	fmt.Fprintln(w)
}

// figures writes a value with four significant digits, and integers with all of theirs.
func figures(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	e := strconv.FormatFloat(v, 'e', 3, 64) // d.ddde±dd, rounded
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	return strconv.FormatFloat(v, 'f', min(max(3-exp, 0), 12), 64)
}

func dash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
