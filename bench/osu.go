package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// osu writes what programs read that read the OSU micro-benchmarks: comment lines, then a line for each
// size, which has that at the left and values 20 wide, all of them decimal numbers. How many there are depends on the
// quantity alone. As there, latency is half the round trip and MB is 10^6 bytes. Unlike there, values are medians. What else is
// known of the results is in comments above a table, or in other formats.
type osu struct{ w io.Writer }

func (o *osu) Header(h *Header) error { return writeHeader(o.w, h) }

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
	Rate: {{"Operations/s", perSecond}},
	Access: {
		{"Latency (us)", func(r *Result) float64 { return medianNs(r) / 1e3 }},
		{"MB/s", func(r *Result) float64 { return float64(r.Size) * 1e3 / medianNs(r) }},
	},
	Duration: {{"Time (us)", func(r *Result) float64 { return medianNs(r) / 1e3 }}},
}

var notes = map[Quantity]string{
	RoundTrip: "; latency is half the round trip",
	Stream:    "; MB is 10^6 bytes",
	Access:    "; MB is 10^6 bytes",
}

// kinds are the tables' titles, where OSU has Latency, Bandwidth and the like.
var kinds = map[Quantity]string{RoundTrip: "Latency", Stream: "Bandwidth / Message Rate", Rate: "Operation Rate", Duration: "Time"}

// axes are the first columns.
var axes = map[Axis]struct {
	title string
	value func(r *Result) int
}{
	Sizes:    {"# Size", func(r *Result) int { return r.Size }},
	Ranks:    {"# Ranks", func(r *Result) int { return r.Ranks }},
	Contexts: {"# Contexts", func(r *Result) int { return r.Contexts }},
}

// of returns where a result lies on an axis.
func (a Axis) of(r *Result) string { return strconv.Itoa(axes[a].value(r)) }

func (o *osu) Series(s *Series) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# Aqueduct %s Test: %s\n", kinds[s.Quantity], s.Title)
	fmt.Fprintf(&b, "# %s: medians%s\n", s.Label(), notes[s.Quantity])
	placements(&b, s)
	dropped(&b, s)
	row(&b, axes[s.Axis].title, titles(s.Quantity))
	for i := range s.Results {
		if r := &s.Results[i]; len(r.Samples) > 0 {
			row(&b, s.Axis.of(r), values(s.Quantity, r))
		}
	}
	_, err := io.WriteString(o.w, b.String())
	return err
}

// placements writes a comment for each run of results of one placement.
func placements(b *strings.Builder, s *Series) {
	var last Placement
	for i := range s.Results {
		if r := &s.Results[i]; len(r.Samples) > 0 && r.Placement != last {
			fmt.Fprintf(b, "# placement from %s on: %s\n", s.Axis.of(r), r.Placement)
			last = r.Placement
		}
	}
}

// dropped writes a comment for each result that lacks samples.
func dropped(b *strings.Builder, s *Series) {
	for i := range s.Results {
		if r := &s.Results[i]; r.Uneven+r.Elsewhere > 0 {
			fmt.Fprintf(b, "# samples at %s: %d; dropped: %d disturbed, %d of another placement\n", s.Axis.of(r), len(r.Samples), r.Uneven, r.Elsewhere)
		}
	}
}

// titles returns the columns' titles of a quantity.
func titles(q Quantity) (list []string) {
	for _, c := range columns[q] {
		list = append(list, c.title)
	}
	return list
}

// values formats a result's values for the columns of its quantity.
func values(q Quantity, r *Result) (list []string) {
	for _, c := range columns[q] {
		list = append(list, decimal(c.value(r)))
	}
	return list
}

func row(b *strings.Builder, first string, rest []string) {
	fmt.Fprintf(b, "%-10s", first)
	for _, cell := range rest {
		fmt.Fprintf(b, " %19s", cell)
	}
	b.WriteByte('\n')
}
