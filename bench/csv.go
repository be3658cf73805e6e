package bench

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
)

// csvRows writes a row of titles, and one row per result and unit, which ends with the
// conditions that it was measured under: every row has the same columns, in every report.
type csvRows struct {
	w      io.Writer
	header Header
	titled bool
}

var csvTitle = []string{"name", "size", "np", "contexts", "placement", "unit", "samples", "dropped", "min", "p25", "median", "p75", "p99", "max", "against"}

func (c *csvRows) Header(h *Header) error {
	c.header = *h
	return nil
}

func (c *csvRows) Series(s *Series) error {
	w := csv.NewWriter(c.w)
	var keys, conditions []string
	for _, p := range c.header.lines() {
		keys, conditions = append(keys, p.Key), append(conditions, p.Value)
	}
	if !c.titled {
		w.Write(slices.Concat(csvTitle, keys)) // Error below reports what fails
		c.titled = true
	}
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
