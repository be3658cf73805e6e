package bench

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Quantity says what an operation of a series is, and so what people want to see of it.
type Quantity uint8

// The quantities. A Sample always holds nanoseconds per operation.
const (
	RoundTrip Quantity = iota // there and back: the latency is half of it
	Stream                    // one message of many in one direction: rate and bandwidth
	Rate                      // one of many that have no size: an event, a modelled message
	Duration                  // anything else: a barrier, an empty poll, a start
	Access                    // a blocking put or get, which is done when it returns: latency and bandwidth
)

// quantities and axisNames are names in JSON lines.
var (
	quantities = []string{"round-trip", "stream", "rate", "duration", "access"}
	axisNames  = []string{"size", "np", "contexts"}
)

// Axis says what varies within a series.
type Axis uint8

// The axes.
const (
	Sizes    Axis = iota // payload bytes
	Ranks                // number of ranks
	Contexts             // number of contexts of a rank
)

// A Param is a key=value part of a benchmark's name.
type Param struct{ Key, Value string }

// A Series is one quantity measured along an axis.
type Series struct {
	Family   string  // what is measured, upper case first: "AM"
	Title    string  // for people: "short AM round trip"
	Params   []Param // op, category, conduit, profile, …; the same for all results
	Quantity Quantity
	Axis     Axis
	Results  []Result

	// Against says what each ratio is to, by unit: {"x-floor", "echo of the same size"}.
	// Units without values do not count.
	Against []Param

	// Peer says which other implementation was measured, with its setting. "": it is ours.
	Peer string `json:",omitempty"`
}

// A Result is one point of a series.
type Result struct {
	Size  int // payload bytes
	Ranks int
	Iters int // operations per sample

	Contexts int // of a rank, where that varies; else 0
	Outcome
}

// word is what the parts of a name may be made of, so that every format can hold it.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:+%,-]*$`)

// notWord is what a word has not, and what does not begin one.
var notWord = regexp.MustCompile(`^[^A-Za-z0-9]+|[^A-Za-z0-9._:+%,-]+`)

// Word makes a text a part of a name: what it may not have becomes a dash.
func Word(text string) string { return strings.TrimLeft(notWord.ReplaceAllString(text, "-"), "-") }

// Name returns the result's name in the format of go test -bench, such as
// BenchmarkAM/op=pingpong/category=short/conduit=sci/profile=live/size=0/np=2. It fails if
// a part cannot stand in such a name.
func (s *Series) Name(r *Result) (string, error) {
	if !word.MatchString(s.Family) || s.Family[0] < 'A' || s.Family[0] > 'Z' {
		return "", fmt.Errorf("bench: family %q; want letters and digits, upper case first", s.Family)
	}
	var b strings.Builder
	b.WriteString("Benchmark" + s.Family)
	for _, p := range s.Params {
		if !word.MatchString(p.Key) || !word.MatchString(p.Value) {
			return "", fmt.Errorf("bench: parameter %q=%q; want words without spaces, slashes and equal signs", p.Key, p.Value)
		}
		fmt.Fprintf(&b, "/%s=%s", p.Key, p.Value)
	}
	fmt.Fprintf(&b, "/size=%d/np=%d", r.Size, r.Ranks)
	if r.Contexts > 0 {
		fmt.Fprintf(&b, "/contexts=%d", r.Contexts)
	}
	return b.String(), nil
}

// NsPerOp is the unit of Sample.Ns.
const NsPerOp = "ns/op"

// Units returns the units the samples have values of: NsPerOp, then the others in
// alphabetical order.
func (r *Result) Units() []string {
	others := map[string]bool{}
	for _, s := range r.Samples {
		for unit := range s.Metrics {
			others[unit] = true
		}
	}
	return append([]string{NsPerOp}, slices.Sorted(maps.Keys(others))...)
}

// Values returns what the samples say in a unit, in the order measured.
func (r *Result) Values(unit string) []float64 {
	var values []float64
	for _, s := range r.Samples {
		if unit == NsPerOp {
			values = append(values, s.Ns)
		} else if v, ok := s.Metrics[unit]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Label returns what all results of a series have in common, such as
// "op=pingpong category=short conduit=sci".
func (s *Series) Label() string {
	var parts []string
	for _, p := range s.Params {
		parts = append(parts, p.Key+"="+p.Value)
	}
	return strings.Join(parts, " ")
}

// against returns the entries of Against whose unit some result has values of.
func (s *Series) against() []Param {
	var with []Param
	for _, p := range s.Against {
		if slices.Contains(otherUnits(s), p.Key) {
			with = append(with, p)
		}
	}
	return with
}
