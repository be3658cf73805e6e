package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// Verdict is what a comparison comes to.
type Verdict uint8

// The verdicts.
const (
	Unjudged Verdict = iota // nothing was published
	Agrees                  // within the tolerance
	Deviates                // outside
)

// FitTolerance is how far a number may be off that constants were fitted to: as much as a
// poll's grain. That it is met shows only that the machine's file and the model belong
// together.
const FitTolerance = 0.02

// A Comparison sets a number beside the published one.
type Comparison struct {
	Number
	Goal    *machine.Goal // nil: nothing was published
	Fitted  bool          // constants were fitted to the goal; else it is predicted
	Within  float64       // the tolerance, as a fraction
	Verdict Verdict
}

// Deviation returns how far the model is off, as a fraction of what was published.
func (c *Comparison) Deviation() float64 { return c.Value/c.Goal.Number() - 1 }

// Compare compares the numbers of an outcome with those that the machine's own file has. What
// the constants of its base were fitted to says nothing about a machine with other constants.
// It fails if a number is in another unit there.
func Compare(o *Outcome, f *machine.File) ([]Comparison, error) {
	var list []Comparison
	for _, n := range o.Numbers {
		c := Comparison{Number: n, Goal: f.Prediction(n.Name)}
		if fit := ownFit(f, n.Name); fit != nil {
			c.Goal, c.Fitted, c.Within = fit, true, FitTolerance
		} else if c.Goal != nil {
			c.Within = c.Goal.Within()
		}
		if c.Goal != nil {
			if c.Goal.Unit != n.Unit {
				return nil, fmt.Errorf("%s: %s is in %s, and the experiment gives it in %s", c.Goal.Where, n.Name, c.Goal.Unit, n.Unit)
			}
			c.Verdict = Agrees
			if !(math.Abs(c.Deviation()) <= c.Within) {
				c.Verdict = Deviates
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// ownFit returns the number of that name that constants of the machine itself, and not of its
// base, are fitted to, or nil. The number may be one that the base has.
func ownFit(f *machine.File, name string) *machine.Goal {
	own := func(where string) bool { return strings.HasPrefix(where, f.Name+":") }
	fit := f.Fit(name)
	if fit != nil && (own(fit.Where) || slices.ContainsFunc(f.Constants, func(c machine.Constant) bool { return c.Fit == name && own(c.Where) })) {
		return fit
	}
	return nil
}

// Failures returns a line for every number outside its tolerance and every claim that does
// not hold.
func (o *Outcome) Failures(f *machine.File) ([]string, error) {
	comparisons, err := Compare(o, f)
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := range comparisons {
		if c := &comparisons[i]; c.Verdict == Deviates {
			lines = append(lines, fmt.Sprintf("%s: %s %s, published %s, off by %+.1f %%, tolerance %g %%",
				c.Name, figures(c.Value), c.Unit, c.Goal.Value, 100*c.Deviation(), 100*c.Within))
		}
	}
	for i := range o.Claims {
		if c := &o.Claims[i]; !c.Holds {
			lines = append(lines, fmt.Sprintf("does not hold: %s (%s)", c.Text, c.Shown))
		}
	}
	return lines, nil
}
