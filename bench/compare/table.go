package compare

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct/bench"
)

// A figure is a table of one quantity: a row for each size or number of ranks, a column for each conduit.
type figure struct {
	title, unit string
	rows        []string
	columns     []string
	cells       map[[2]string]string // by row and column
}

// Tables writes a table for each quantity that lines have, of the live conduits and then of the models. A cell is the median with the
// confidence interval, as the larger of its two sides in per cent of the median, ~ where there are too few samples for one, and the ratio to
// the floor.
func Tables(w io.Writer, lines []*bench.Line) error {
	merged, err := bench.Merge(lines)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, mode := range []struct{ name, title string }{{"live", "LIVE, on this machine"}, {"modelled", "MODELLED, in virtual time"}, {"", "MODE NOT SAID"}} {
		figures := figuresOf(merged, mode.name)
		if len(figures) > 0 {
			fmt.Fprintf(out, "%s\n\n", mode.title)
		}
		for _, f := range figures {
			if err := f.write(out); err != nil {
				return err
			}
		}
	}
	if len(merged) > 0 {
		fmt.Fprintln(out, "median ±95 % confidence interval (~: too few samples for one), ×ratio to the floor in the same rounds")
	}
	return out.Flush()
}

// figuresOf returns the figures of a mode, in the order in which operations appear.
func figuresOf(lines []*bench.Line, mode string) (figures []*figure) {
	for _, l := range lines {
		if l.Mode != mode {
			continue
		}
		for _, q := range quantitiesOf(l) {
			// References have no category: they are beside each.
			titles := []string{strings.TrimSpace(l.Params["category"] + " " + l.Params["op"])}
			if l.Peer != "" {
				titles = categories(lines, l)
			}
			for _, title := range titles {
				at := slices.IndexFunc(figures, func(f *figure) bool { return f.title == title && f.unit == q.unit })
				if at < 0 {
					at = len(figures)
					figures = append(figures, &figure{title: title, unit: q.unit, cells: map[[2]string]string{}})
				}
				figures[at].set(cmp.Or(q.row, rowOf(l)), l.Params["conduit"], q.text)
			}
		}
	}
	return figures
}

// categories returns the titles of the figures in which a reference has a place: those of conduits' results of the same operation and size.
func categories(lines []*bench.Line, ref *bench.Line) (titles []string) {
	for _, l := range lines {
		if l.Peer == "" && l.Params["op"] == ref.Params["op"] && l.Size == ref.Size && l.Mode == ref.Mode {
			if title := strings.TrimSpace(l.Params["category"] + " " + l.Params["op"]); !slices.Contains(titles, title) {
				titles = append(titles, title)
			}
		}
	}
	return titles
}

type quantity struct{ unit, row, text string } // row: "" for that of the line

// quantitiesOf returns what a line has a cell for: its main figure, or of LogGP each parameter; of start-up the memory too.
func quantitiesOf(l *bench.Line) (all []quantity) {
	for _, unit := range slices.Sorted(maps.Keys(l.Summary)) {
		switch text := short(l.Summary[unit].Median); {
		case unit == "B/rank":
			all = append(all, quantity{unit, "", text})
		case l.Family == "LogGP" && unit != bench.NsPerOp && !strings.HasPrefix(unit, "x-"):
			all = append(all, quantity{"as the rows say", unit, text})
		}
	}
	if l.Family == "LogGP" || len(l.Figures) == 0 {
		return all
	}
	f := l.Figures[0]
	text := short(f.Value) + " ~"
	if f.Sure && f.Value > 0 {
		text = fmt.Sprintf("%s ±%.0f%%", short(f.Value), 100*max(f.High-f.Value, f.Value-f.Low)/f.Value)
	}
	if l.Mode == "modelled" {
		text = short(f.Value)
	}
	if x, ok := l.Summary["x-floor"]; ok {
		text += fmt.Sprintf(" ×%.3g", x.Median)
	}
	return append([]quantity{{f.Unit, "", text}}, all...)
}

// short writes a value with four significant digits and no exponent.
func short(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// rowOf names the row: the size, and the ranks where it is not two of them that measure.
func rowOf(l *bench.Line) string {
	var parts []string
	if l.Size > 0 {
		parts = append(parts, fmt.Sprintf("%d B", l.Size))
	}
	if l.Family == "Coll" || l.Family == "Kernel" || l.Params["op"] == "startup" {
		parts = append(parts, fmt.Sprintf("%d ranks", l.Ranks))
	}
	return cmp.Or(strings.Join(parts, ", "), "empty")
}

func (f *figure) set(row, column, text string) {
	if !slices.Contains(f.rows, row) {
		f.rows = append(f.rows, row)
	}
	if !slices.Contains(f.columns, column) {
		f.columns = append(f.columns, column)
	}
	f.cells[[2]string{row, column}] = text
}

func (f *figure) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, %s\t%s\n", f.title, f.unit, strings.Join(f.columns, "\t"))
	for _, row := range f.rows {
		var cells []string
		for _, column := range f.columns {
			cells = append(cells, cmp.Or(f.cells[[2]string{row, column}], "-"))
		}
		fmt.Fprintf(t, "%s\t%s\n", row, strings.Join(cells, "\t"))
	}
	fmt.Fprintln(t)
	return t.Flush()
}
