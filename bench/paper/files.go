package paper

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// csvTitle names the columns that WriteCSV writes.
var csvTitle = []string{"experiment", "machine", "seed", "figure", "series", "x", "x of", "y", "y of"}

// CSV writes outcomes as rows of CSV under one title: every point of every figure, and
// every number as a row without figure and x. Units are spelt as in machine files: us.
type CSV struct {
	w      *csv.Writer
	titled bool
}

// NewCSV returns a writer of CSV to w.
func NewCSV(w io.Writer) *CSV { return &CSV{w: csv.NewWriter(w)} }

// Write writes one outcome.
func (c *CSV) Write(e *Experiment, s *Setting, o *Outcome) error {
	if !c.titled {
		c.w.Write(csvTitle) // Error below reports what fails
		c.titled = true
	}
	row := func(cells ...string) {
		c.w.Write(append([]string{e.Name, s.Machine.Name, strconv.FormatUint(s.Seed, 10)}, cells...))
	}
	for _, n := range o.Numbers {
		row("", n.Name, "", "", exact(n.Value), n.Unit)
	}
	for _, f := range o.Figures {
		for _, series := range f.Series {
			for _, p := range series.Points {
				row(f.Name, series.Name, exact(p.X), spelt(f.X.Label), exact(p.Y), spelt(f.Y.Label))
			}
		}
	}
	c.w.Flush()
	return c.w.Error()
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
