package paper

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench"
)

// CSV writes outcomes as rows of CSV, as bench has them: every number, and every point of every figure. The name says which, as in
// Paper/experiment=E/machine=M/seed=0/figure=F/series=S/size,-bytes=8: what is no word has dashes in place of what words have not.
// Units are spelt as in machine files: us.
type CSV struct {
	w      *bench.CSV
	header bench.Header
}

// NewCSV returns a writer of CSV to w, of outcomes under these conditions.
func NewCSV(w io.Writer, h bench.Header) *CSV { return &CSV{bench.NewCSV(w), h} }

// Write writes one outcome.
func (c *CSV) Write(e *Experiment, s *Setting, o *Outcome) error {
	h := c.header
	h.Conduit, h.Profile, h.Mode = s.Conduit, s.Machine.Name, "modelled"
	if err := c.w.Header(&h); err != nil {
		return err
	}
	row := func(unit string, v float64, params ...string) error {
		name := fmt.Sprintf("Paper/experiment=%s/machine=%s/seed=%d", bench.Word(e.Name), bench.Word(s.Machine.Name), s.Seed)
		for i := 0; i < len(params); i += 2 {
			name += "/" + bench.Word(params[i]) + "=" + bench.Word(params[i+1])
		}
		return c.w.Value(name, spelt(unit), v)
	}
	for _, n := range o.Numbers {
		if err := row(n.Unit, n.Value, "number", n.Name); err != nil {
			return err
		}
	}
	for _, f := range o.Figures {
		for _, series := range f.Series {
			for _, p := range series.Points {
				if err := row(f.Y.Label, p.Y, "figure", f.Name, "series", series.Name, spelt(f.X.Label), exact(p.X)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// spelt returns the label of an axis with units as they are spelt in machine files, which tables have for numbers, too.
func spelt(label string) string { return strings.ReplaceAll(label, "µs", "us") }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// SVGSuffix ends the name of an SVG file.
const SVGSuffix = ".svg"

// WriteSVG writes the figures of an outcome to path: the first one if path ends in .svg, else
// all of them into the directory path, which is made if need be, as <experiment>-<figure>.svg.
// It returns the files' names.
func WriteSVG(path string, e *Experiment, o *Outcome) ([]string, error) {
	if strings.HasSuffix(path, SVGSuffix) {
		if len(o.Figures) == 0 {
			return nil, fmt.Errorf("%s has no figure to write to %s", e.Name, path)
		}
		if err := writeSVG(path, &o.Figures[0]); err != nil {
			return nil, err
		}
		return []string{path}, nil
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	var names []string
	for i := range o.Figures {
		f := &o.Figures[i]
		name := filepath.Join(path, e.Name+"-"+f.Name+SVGSuffix)
		if err := writeSVG(name, f); err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

func writeSVG(name string, f *Figure) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	err = f.WriteSVG(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
