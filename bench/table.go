package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table writes tables for people: comment lines, then the size at the left and values 20 wide.
// Besides the columns of osu, ratios and other units that a series has are columns.
type table struct{ w io.Writer }

func (o *table) Header(h *Header) error { return writeHeader(o.w, h) }

// writeHeader writes a header as comments.
func writeHeader(w io.Writer, h *Header) error {
	var b strings.Builder
	comment(&b, h.lines())
	_, err := io.WriteString(w, b.String())
	return err
}

// comment writes a line for each parameter that has a value.
func comment(b *strings.Builder, params []Param) {
	for _, p := range params {
		if p.Value != "" {
			fmt.Fprintf(b, "# %s: %s\n", p.Key, p.Value)
		}
	}
}

func (o *table) Series(s *Series) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# Aqueduct %s Test: %s\n", s.Family, s.Title)
	fmt.Fprintf(&b, "# %s: medians%s", s.Label(), notes[s.Quantity])
	if s.Quantity == RoundTrip {
		b.WriteString(", ratios compare whole round trips")
	}
	b.WriteByte('\n')
	comment(&b, s.against())
	dropped(&b, s)
	others := otherUnits(s)
	row(&b, axes[s.Axis].title, slices.Concat(titles(s.Quantity), others, []string{"Placement"}))
	for i := range s.Results {
		r := &s.Results[i]
		row(&b, s.Axis.of(r), cells(s.Quantity, r, others))
	}
	_, err := io.WriteString(o.w, b.String())
	return err
}

// cells formats a result's values for the columns of its quantity, then for the other
// units, then its placement.
func cells(q Quantity, r *Result, others []string) []string {
	list := values(q, r)
	for _, unit := range others {
		if values := r.Values(unit); len(values) > 0 {
			list = append(list, decimal(Median(values)))
		} else {
			list = append(list, "-")
		}
	}
	return append(list, string(r.Placement))
}

// otherUnits returns the units besides NsPerOp that any result of a series has, in order.
func otherUnits(s *Series) []string {
	var all []string
	for i := range s.Results {
		all = append(all, s.Results[i].Units()[1:]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
