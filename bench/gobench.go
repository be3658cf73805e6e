package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// gobench writes the format of go test -bench (golang.org/x/perf/benchfmt): the header as
// "key: value" lines, then a line for every sample, from which benchstat makes medians
// and confidence intervals: benchstat -col /conduit, -row /size, and so on.
type gobench struct {
	w       io.Writer
	against []Param // the lines in force that say what ratios are to
}

func (g *gobench) Header(h *Header) error {
	var b strings.Builder
	for _, p := range h.lines() {
		fmt.Fprintf(&b, "%s: %s\n", p.Key, p.Value)
	}
	_, err := io.WriteString(g.w, b.String())
	return err
}

func (g *gobench) Series(s *Series) error {
	var b strings.Builder
	g.compare(&b, s.against())
	for i := range s.Results {
		r := &s.Results[i]
		name, err := s.Name(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "placement: %s\n", r.Placement)
		units := r.Units()[1:]
		for j := range r.Samples {
			fmt.Fprintf(&b, "%s\t%d", name, max(r.Iters, 1))
			values(&b, s.Quantity, r.Size, &r.Samples[j], units)
		}
	}
	_, err := io.WriteString(g.w, b.String())
	return err
}

// compare writes what ratios are to from here on, if that changes. A key without a value
// ends what was said before.
func (g *gobench) compare(b *strings.Builder, against []Param) {
	if slices.Equal(g.against, against) {
		return
	}
	for _, old := range g.against {
		fmt.Fprintf(b, "%s: \n", old.Key)
	}
	for _, p := range against {
		fmt.Fprintf(b, "%s: %s\n", p.Key, p.Value)
	}
	g.against = against
}

// values writes the value and unit pairs of one sample.
func values(b *strings.Builder, q Quantity, size int, s *Sample, units []string) {
	fmt.Fprintf(b, "\t%s %s", decimal(s.Ns), NsPerOp)
	if q == Stream && size > 0 {
		fmt.Fprintf(b, "\t%s MB/s", decimal(float64(size)*1e3/s.Ns))
	}
	for _, unit := range units {
		if v, ok := s.Metrics[unit]; ok {
			fmt.Fprintf(b, "\t%s %s", decimal(v), unit)
		}
	}
	b.WriteByte('\n')
}
