package bench

import (
	"encoding/csv"
	"io"
	"strconv"
)

// csvRows writes one row per result and unit. The header goes into comment lines, which
// readers of CSV skip by the option they have for "#".
type csvRows struct {
	w      io.Writer
	titled bool
}

var csvTitle = []string{"name", "size", "np", "placement", "unit", "samples", "dropped", "min", "p25", "median", "p75", "p99", "max", "against"}

func (c *csvRows) Header(h *Header) error { return (&osu{w: c.w}).Header(h) }

func (c *csvRows) Series(s *Series) error {
	w := csv.NewWriter(c.w)
	if !c.titled {
		w.Write(csvTitle) // Error below reports what fails
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
			row := []string{name, strconv.Itoa(r.Size), strconv.Itoa(r.Ranks), string(r.Placement), unit}
			w.Write(append(append(row, csvSummary(r, unit)...), against[unit]))
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
