package machine

import (
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Standing says where a constant comes from.
type Standing string

const (
	Published Standing = "published" // the source states it
	Fitted    Standing = "fitted"    // chosen so that the model gives a published number
	Assumed   Standing = "assumed"   // our choice; the source says why
)

// Constant is one line of a machine file.
type Constant struct {
	Name     string
	Value    string // as written
	Unit     string
	Standing Standing
	Fit      string // Fitted: the name of the number that it was fitted to
	Source   string // a reference, or the reason
	Where    string // file:line

	unit     unit
	quantity int64 // in the smallest units of its kind; not for a word
}

// Time returns the value of a time, and 0 for what is none.
func (c *Constant) Time() vtime.Time {
	if c.unit.kind != timeKind {
		return 0
	}
	return vtime.Time(c.quantity)
}

// Goal is a published number, which constants are fitted to or which the model's result is
// compared with.
type Goal struct {
	Name      string
	Value     string // as written
	Unit      string
	Tolerance string // predictions: how far the model may be off, as "10%"
	Source    string
	Where     string // file:line

	number float64
	within float64
}

// Number returns the goal's value in its unit.
func (g *Goal) Number() float64 { return g.number }

// Within returns a prediction's tolerance as a fraction: 0.1 for 10%.
func (g *Goal) Within() float64 { return g.within }

// File is a machine as its file and the files that it is based on describe it.
type File struct {
	Name        string // what it was loaded as
	About       string // what the machine is, in a line
	Base        string // the machine that it differs from; empty if none
	Constants   []Constant
	Fits        []Goal // what constants are fitted to
	Predictions []Goal // what the model is compared with; those of the base are not taken over

	parts []part // that the file names, if the machine consists of others
}

// A part is a machine that another one consists of: its constants have a prefix there.
type part struct{ prefix, machine, where string }

// Constant returns the constant of that name, or nil.
func (f *File) Constant(name string) *Constant {
	for i := range f.Constants {
		if f.Constants[i].Name == name {
			return &f.Constants[i]
		}
	}
	return nil
}

// Errorf returns an error about a constant, with whose name the text begins: the error has the line that gives the
// constant, and without such a name the file.
func (f *File) Errorf(format string, args ...any) error {
	text, where := fmt.Sprintf(format, args...), f.Name
	name, _, _ := strings.Cut(text, " ")
	if c := f.Constant(name); c != nil {
		where = c.Where
	}
	return fmt.Errorf("machine: %s: %s", where, text)
}

// Prediction returns the prediction of that name, or nil.
func (f *File) Prediction(name string) *Goal { return findGoal(f.Predictions, name) }

// Fit returns the number of that name that constants are fitted to, or nil.
func (f *File) Fit(name string) *Goal { return findGoal(f.Fits, name) }

func findGoal(goals []Goal, name string) *Goal {
	for i := range goals {
		if goals[i].Name == name {
			return &goals[i]
		}
	}
	return nil
}

// Part returns a part of a machine that consists of others: the constants that have its prefix, without it, and all of
// the fits and predictions.
func (f *File) Part(prefix string) *File {
	p := *f
	p.Constants = nil
	for _, c := range f.Constants {
		if name, ok := strings.CutPrefix(c.Name, prefix+"."); ok {
			c.Name = name
			p.Constants = append(p.Constants, c)
		}
	}
	return &p
}

// With returns a copy of the machine in which one constant has another value, for studies of
// what depends on it. The constant's standing becomes Assumed, and the copy predicts nothing.
func (f *File) With(name, value, unitName string) (*File, error) {
	if f.Constant(name) == nil {
		return nil, fmt.Errorf("machine %s: no constant %q to change; the machine's listing has the names", f.Name, name)
	}
	c := Constant{Name: name, Value: value, Unit: unitName, Standing: Assumed, Source: "changed by the user", Where: f.Name + ": changed"}
	if err := c.evaluate(); err != nil {
		return nil, fmt.Errorf("machine %s: %s: %w", f.Name, name, err)
	}
	changed := *f
	changed.Constants = append([]Constant(nil), f.Constants...)
	changed.Predictions = nil
	*changed.Constant(name) = c
	return &changed, nil
}
