package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadLines reads a report in JSON lines. A last line that does not end, as of a writer that was interrupted, is left out.
func ReadLines(r io.Reader) ([]*Line, error) {
	var all []*Line
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		l := new(Line)
		if err := json.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("bench: line %d is no result in JSON: %w; want what --format json or compare --write wrote", n, err)
		}
		if !strings.HasPrefix(l.Name, "Benchmark") || len(l.Samples) == 0 {
			return nil, fmt.Errorf("bench: line %d has no name or no samples; want what --format json or compare --write wrote", n)
		}
		all = append(all, l)
	}
}

// Merge makes one line of those that have the same name and mode, such as of several rounds of a comparison, in the order in which
// names appear. Figures are those of all samples.
func Merge(lines []*Line) ([]*Line, error) {
	var merged []*Line
	place := make(map[string]int)
	for _, l := range lines {
		key := l.Mode + " " + l.Name
		i, seen := place[key]
		if !seen {
			copied := *l
			place[key] = len(merged)
			merged = append(merged, &copied)
			continue
		}
		m := merged[i]
		m.Samples = slices.Concat(m.Samples, l.Samples)
		m.Uneven, m.Elsewhere = m.Uneven+l.Uneven, m.Elsewhere+l.Elsewhere
		if m.Placement != l.Placement {
			m.Placement = Unknown
		}
		for unit, what := range l.Against {
			m.Against[unit] = what
		}
	}
	for i, m := range merged {
		s, err := m.Series()
		if err != nil {
			return nil, err
		}
		again, err := NewLine(m.Header, s, &s.Results[0])
		if err != nil {
			return nil, err
		}
		merged[i] = again
	}
	return merged, nil
}

// Values returns the samples in a unit, of those that have it.
func (l *Line) Values(unit string) (values []float64) {
	for _, s := range l.Samples {
		if x, ok := s[unit].(float64); ok {
			values = append(values, x)
		}
	}
	return values
}

// Series returns the line as a series of one result.
func (l *Line) Series() (*Series, error) {
	q, x := slices.Index(quantities, l.Quantity), slices.Index(axisNames, l.Axis)
	if q < 0 || x < 0 {
		return nil, fmt.Errorf("bench: %s: quantity %q along %q; known: %v, %v", l.Name, l.Quantity, l.Axis, quantities, axisNames)
	}
	s := &Series{Family: l.Family, Title: l.Title, Quantity: Quantity(q), Axis: Axis(x), Peer: l.Peer}
	for _, part := range strings.Split(l.Name, "/")[1:] {
		if key, value, _ := strings.Cut(part, "="); l.Params[key] == value {
			s.Params = append(s.Params, Param{key, value})
		}
	}
	r := Result{Size: l.Size, Ranks: l.Ranks, Contexts: l.Contexts, Iters: l.Iters}
	r.Placement, r.Uneven, r.Elsewhere = l.Placement, l.Uneven, l.Elsewhere
	for _, values := range l.Samples {
		sample := Sample{Metrics: make(map[string]float64), Placement: l.Placement}
		for unit, v := range values {
			f, ok := v.(float64)
			if !ok {
				return nil, fmt.Errorf("bench: %s: a sample has %v %s", l.Name, v, unit)
			}
			if unit == NsPerOp {
				sample.Ns = f
			} else {
				sample.Metrics[unit] = f
			}
		}
		r.Samples = append(r.Samples, sample)
	}
	for _, unit := range r.Units()[1:] {
		if what, ok := l.Against[unit]; ok {
			s.Against = append(s.Against, Param{unit, what})
		}
	}
	s.Results = []Result{r}
	return s, nil
}
