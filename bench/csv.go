package bench

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
)

// CSV writes a row of titles, and one row per result and unit, which ends with the
// conditions that it was measured under: every row has the same columns, in every report.
type CSV struct {
	w      io.Writer
	header Header
	titled bool
}

var csvTitle = []string{"name", "size", "np", "contexts", "placement", "unit", "samples", "dropped", "min", "p25", "median", "p75", "p99", "max", "against"}

// NewCSV returns what writes to w.
func NewCSV(w io.Writer) *CSV { return &CSV{w: w} }

// Header implements Encoder.
func (c *CSV) Header(h *Header) error {
	c.header = *h
	return nil
}

// Value writes a row of a value that was not sampled, such as one of a model. The name's parts are words.
func (c *CSV) Value(name, unit string, v float64) error {
	w, conditions := c.begin()
	exact := strconv.FormatFloat(v, 'g', -1, 64)
	w.Write(slices.Concat([]string{name, "", "", "", "", unit, "1", "0", exact, exact, exact, exact, exact, exact, ""}, conditions))
	w.Flush()
	return w.Error()
}

// begin returns what writes rows, which report what fails by Error, after the titles, and the conditions that end each.
func (c *CSV) begin() (w *csv.Writer, conditions []string) {
	w = csv.NewWriter(c.w)
	var keys []string
	for _, p := range c.header.lines() {
		keys, conditions = append(keys, p.Key), append(conditions, p.Value)
	}
	if !c.titled {
		w.Write(slices.Concat(csvTitle, keys))
		c.titled = true
	}
	return w, conditions
}

// Series implements Encoder.
func (c *CSV) Series(s *Series) error {
	w, conditions := c.begin()
	against := paramMap(s.against())
	for i := range s.Results {
		r := &s.Results[i]
		name, err := s.Name(r)
		if err != nil {
			return err
		}
		for _, unit := range r.Units() {
			row := []string{name, strconv.Itoa(r.Size), strconv.Itoa(r.Ranks), nonZero(r.Contexts), string(r.Placement), unit}
			w.Write(slices.Concat(row, csvSummary(r, unit), []string{against[unit]}, conditions))
		}
	}
	w.Flush()
	return w.Error()
}

func csvSummary(r *Result, unit string) []string {
	q := Summarize(r.Values(unit))
	cells := []string{strconv.Itoa(q.N), strconv.Itoa(r.Uneven + r.Elsewhere)}
	for _, v := range []float64{q.Min, q.P25, q.Median, q.P75, q.P99, q.Max} {
		cells = append(cells, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return cells
}
