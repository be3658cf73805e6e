package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// osu writes tables in the form of the OSU micro-benchmarks: comment lines, then the size
// at the left and values 20 wide. As there, latency is half the round trip and MB is 10^6
// bytes. Unlike there, values are medians, and the ratios and the placement are further
// columns.
type osu struct{ w io.Writer }

func (o *osu) Header(h *Header) error {
	var b strings.Builder
	comment(&b, h.lines())
	_, err := io.WriteString(o.w, b.String())
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

// column is a value derived from a result for the table.
type column struct {
	title string
	value func(r *Result) float64
}

func medianNs(r *Result) float64  { return Median(r.Values(NsPerOp)) }
func perSecond(r *Result) float64 { return 1e9 / medianNs(r) }

// columns of each quantity.
var columns = map[Quantity][]column{
	RoundTrip: {{"Latency (us)", func(r *Result) float64 { return medianNs(r) / 2 / 1e3 }}},
	Stream: {
		{"MB/s", func(r *Result) float64 { return float64(r.Size) * 1e3 / medianNs(r) }},
		{"Messages/s", perSecond},
	},
	Rate:     {{"Operations/s", perSecond}},
	Duration: {{"Time (us)", func(r *Result) float64 { return medianNs(r) / 1e3 }}},
}

var notes = map[Quantity]string{
	RoundTrip: "; latency is half the round trip, ratios compare whole round trips",
	Stream:    "; MB is 10^6 bytes",
}

func (o *osu) Series(s *Series) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# Aqueduct %s Test: %s\n", s.Family, s.Title)
	fmt.Fprintf(&b, "# %s: medians%s\n", s.Label(), notes[s.Quantity])
	comment(&b, s.against())
	axis := map[Axis]string{Sizes: "# Size", Ranks: "# Ranks", Contexts: "# Contexts"}[s.Axis]
	var titles []string
	for _, c := range columns[s.Quantity] {
		titles = append(titles, c.title)
	}
	others := otherUnits(s)
	row(&b, axis, slices.Concat(titles, others, []string{"Placement"}))
	for i := range s.Results {
		r := &s.Results[i]
		x := map[Axis]int{Sizes: r.Size, Ranks: r.Ranks, Contexts: r.Contexts}[s.Axis]
		row(&b, strconv.Itoa(x), cells(s.Quantity, r, others))
		if r.Uneven+r.Elsewhere > 0 {
			fmt.Fprintf(&b, "# %d samples above; dropped: %d disturbed, %d of another placement\n", len(r.Samples), r.Uneven, r.Elsewhere)
		}
	}
	_, err := io.WriteString(o.w, b.String())
	return err
}

// cells formats a result's values for the columns of its quantity, then for the other
// units, then its placement.
func cells(q Quantity, r *Result, others []string) []string {
	var list []string
	for _, c := range columns[q] {
		list = append(list, decimal(c.value(r)))
	}
	for _, unit := range others {
		if values := r.Values(unit); len(values) > 0 {
			list = append(list, decimal(Median(values)))
		} else {
			list = append(list, "-")
		}
	}
	return append(list, string(r.Placement))
}

func row(b *strings.Builder, first string, rest []string) {
	fmt.Fprintf(b, "%-10s", first)
	for _, cell := range rest {
		fmt.Fprintf(b, "%20s", cell)
	}
	b.WriteByte('\n')
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
