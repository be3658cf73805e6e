package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// gobench writes the format of go test -bench (golang.org/x/perf/benchfmt): a line for every
// sample, from which benchstat makes medians and confidence intervals. What differs between
// operations is in their names: benchstat -col /conduit, -row /size, and so on.
type gobench struct{ w io.Writer }

// configuration are the lines of a header that are configuration keys. benchstat compares
// samples whose keys are equal, so that a key is only what makes a comparison void and is not
// in the names. The rest of a header is comments, which benchstat skips: what differs from one
// run to the next, and what names say.
var configuration = []string{"goos", "goarch", "cpu", "mode", "settings"}

func (g *gobench) Header(h *Header) error {
	var b strings.Builder
	for _, p := range h.lines() {
		if !slices.Contains(configuration, p.Key) {
			comment(&b, []Param{p})
			continue
		}
		// A key without a value ends that of a report that stands before this one in the file.
		b.WriteString(strings.TrimSuffix(p.Key+": "+p.Value, " ") + "\n")
	}
	_, err := io.WriteString(g.w, b.String())
	return err
}

func (g *gobench) Series(s *Series) error {
	var b strings.Builder
	comment(&b, s.against())
	for i := range s.Results {
		r := &s.Results[i]
		name, err := s.Name(r)
		if err != nil {
			return err
		}
		comment(&b, []Param{{"placement", string(r.Placement)}})
		units := r.Units()[1:]
		for j := range r.Samples {
			fmt.Fprintf(&b, "%s\t%d", name, max(r.Iters, 1))
			measured(&b, s.Quantity, r.Size, &r.Samples[j], units)
		}
	}
	_, err := io.WriteString(g.w, b.String())
	return err
}

// measured writes the value and unit pairs of one sample.
func measured(b *strings.Builder, q Quantity, size int, s *Sample, units []string) {
	fmt.Fprintf(b, "\t%s %s", decimal(s.Ns), NsPerOp)
	if (q == Stream || q == Access) && size > 0 {
		fmt.Fprintf(b, "\t%s MB/s", decimal(float64(size)*1e3/s.Ns))
	}
	for _, unit := range units {
		if v, ok := s.Metrics[unit]; ok {
			fmt.Fprintf(b, "\t%s %s", decimal(v), unit)
		}
	}
	b.WriteByte('\n')
}
