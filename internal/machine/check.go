package machine

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Checks collects the values of a machine for which its model has no meaning. Texts begin with the name of a constant.
type Checks struct {
	errorf func(format string, args ...any) error
	errs   []error
}

// NewChecks returns checks whose errors errorf makes, such as [File.Errorf].
func NewChecks(errorf func(format string, args ...any) error) *Checks { return &Checks{errorf: errorf} }

// Bad refuses the machine if when is true.
func (c *Checks) Bad(when bool, format string, args ...any) {
	if when {
		c.errs = append(c.errs, c.errorf(format, args...))
	}
}

// In refuses a number that is not from least to most.
func (c *Checks) In(name string, n, least, most int) {
	c.Bad(n < least || n > most, "%s is %d, but must be from %d to %d", name, n, least, most)
}

// Takes refuses a time of nothing, with which what waits for it would stop the clock.
func (c *Checks) Takes(name string, t vtime.Time) { c.Bad(t < 1, "%s must take time", name) }

// Err returns all that has been refused, or nil.
func (c *Checks) Err() error { return errors.Join(c.errs...) }

// Checked decodes a file into a new T, and has check refuse values for which the model has no meaning.
func Checked[T any](f *File, check func(*T, *Checks)) (*T, error) {
	v := new(T)
	if err := f.Decode(v); err != nil {
		return nil, err
	}
	c := NewChecks(f.Errorf)
	check(v, c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	return v, nil
}
