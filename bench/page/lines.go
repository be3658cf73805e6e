package page

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// Lines are what JSON lines say, in their order.
type Lines struct {
	results  []*result
	papers   []*plot.Paper
	matrices []*matrix
	headers  []header // distinct conditions
}

// header is the conditions of a measurement as a line has them: fields of bench.Header, and others that a newer program
// may have added.
type header map[string]any

// result is one point that was measured: what a line of `aqbench … --format json` says. Its conditions are those of header, as Line has only the
// fields that are known here.
type result struct {
	bench.Line
	header header
}

// matrix says who sent how much to whom.
type matrix struct {
	Title  string `json:"title"`
	Cells  []cell `json:"cells"`
	Header header `json:"header"`
	cell          // a line may hold a single cell
}

type cell struct {
	From     int   `json:"from"`
	To       int   `json:"to"`
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

// Read adds the JSON lines of r, which name calls in errors. Lines of a kind that is not known here are an error, since
// a report without them would be silently incomplete.
func (l *Lines) Read(r io.Reader, name string) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if err := l.line(s.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w; want a line that aqbench wrote with --format json", name, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// line adds one.
func (l *Lines) line(text []byte) error {
	var kind struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return err
	}
	switch {
	case kind.Kind == "paper":
		return add(text, &l.papers)
	case kind.Kind == "matrix":
		return l.matrix(text)
	case kind.Name != "": // a result, whatever its quantity
		r, err := resultOf(text)
		if err != nil {
			return err
		}
		l.results = append(l.results, r)
		l.header(r.header)
		l.merge()
		return nil
	}
	return fmt.Errorf("kind %q is not known, and there is no name", kind.Kind)
}

// resultOf reads the line of a result. It need not have all that bench.ReadLines wants: it is shown as far as it goes.
func resultOf(text []byte) (*result, error) {
	r := new(result)
	var conditions struct {
		Header header `json:"header"`
	}
	if err := errors.Join(json.Unmarshal(text, &r.Line), json.Unmarshal(text, &conditions)); err != nil {
		return nil, err
	}
	r.header = conditions.Header
	return r, nil
}

// merge joins the last result with an earlier one of the same name that was measured under the same conditions, as those of
// several rounds are: the samples of both count.
func (l *Lines) merge() {
	last := l.results[len(l.results)-1]
	for _, r := range l.results[:len(l.results)-1] {
		if r.Name == last.Name && r.Peer == last.Peer && r.mode() == last.mode() && r.header.same(last.header) && len(r.Samples) > 0 && len(last.Samples) > 0 {
			r.Samples = append(r.Samples, last.Samples...)
			r.Summary = nil // of some of the samples
			l.results = l.results[:len(l.results)-1]
			return
		}
	}
}

func add[T any](text []byte, to *[]*T) error {
	v := new(T)
	err := json.Unmarshal(text, v)
	*to = append(*to, v)
	return err
}

// matrix adds cells to the matrix of the same title.
func (l *Lines) matrix(text []byte) error {
	m := new(matrix)
	if err := json.Unmarshal(text, m); err != nil {
		return err
	}
	if len(m.Cells) == 0 {
		m.Cells = []cell{m.cell}
	}
	for _, c := range m.Cells {
		if c.From < 0 || c.To < 0 || c.From >= mostRanks || c.To >= mostRanks {
			return fmt.Errorf("a message from rank %d to %d; a matrix has ranks from 0 to %d", c.From, c.To, mostRanks-1)
		}
	}
	l.header(m.Header)
	for _, other := range l.matrices {
		if other.Title == m.Title {
			other.Cells = append(other.Cells, m.Cells...)
			return nil
		}
	}
	l.matrices = append(l.matrices, m)
	return nil
}

// header keeps conditions that differ from all before. The date does not count: it differs with every line of a report
// that several runs have written.
func (l *Lines) header(h header) {
	if len(h) == 0 {
		return
	}
	for _, other := range l.headers {
		if h.same(other) {
			return
		}
	}
	l.headers = append(l.headers, h)
}

func (h header) same(o header) bool {
	for _, keys := range []header{h, o} {
		for k := range keys {
			if k != "date" && fmt.Sprint(h[k]) != fmt.Sprint(o[k]) {
				return false
			}
		}
	}
	return true
}

// mode is live, modelled, or "" where the line does not say.
func (r *result) mode() string {
	if r.Mode != "" {
		return r.Mode
	}
	if m, ok := r.header["mode"].(string); ok {
		return m
	}
	return ""
}

// op is the operation.
func (r *result) op() string { return r.Params["op"] }

// units returns what the result has values of.
func (r *result) units() []string {
	units := slices.Collect(maps.Keys(r.Summary))
	for _, sample := range r.Samples {
		units = slices.AppendSeq(units, maps.Keys(sample))
	}
	return units
}

// value returns the median in a unit, with the 5th and the 95th percentile; false if the result has none. Where the
// line has no percentiles they come from its samples.
func (r *result) value(unit string) (v spread, ok bool) {
	s, ok := r.Summary[unit]
	values := r.Line.Values(unit)
	switch {
	case !ok && len(values) == 0:
		return v, false
	case !ok:
		s.Median = bench.Median(values)
	}
	v = spread{s.Median, s.Median, s.Median}
	switch {
	case ok && s.P5 > 0 && s.P95 > 0:
		v.low, v.high = s.P5, s.P95
	case len(values) > 0:
		v.low, v.high = bench.Quantile(values, 0.05), bench.Quantile(values, 0.95)
	}
	return v, true
}

// spread is a median between two percentiles.
type spread struct{ median, low, high float64 }

// per returns what so much of something is in the time: a rate, whose percentiles change places.
func (v spread) per(amount float64) spread {
	return spread{amount / v.median, amount / v.high, amount / v.low}
}

// times returns the spread in another unit.
func (v spread) times(f float64) spread { return spread{v.median * f, v.low * f, v.high * f} }

// words writes a parameter for people.
func words(key, value string) string {
	switch key {
	case "conduit", "profile", "category", "op", "mpi":
		return value
	}
	return strings.ReplaceAll(key, "_", " ") + " " + value
}
