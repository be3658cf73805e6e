// Package cli has what the command lines of this project's programs share: options that may be
// given again only with the same text, and numbers whose errors say what is wanted.
package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// OnlyOnce has the options of fs, but for the repeatable ones, refuse a second value that is
// another text than the first. Those of type bool say which values there are.
func OnlyOnce(fs *pflag.FlagSet, repeatable ...string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(repeatable, f.Name) {
			f.Value = &once{Value: f.Value}
		}
	})
}

// once is the value of an option that may be given again only with the same text.
type once struct {
	pflag.Value
	first string
	given bool
}

// Set implements pflag.Value.
func (v *once) Set(s string) error {
	if v.given && s != v.first {
		return fmt.Errorf("it was given before as %q", v.first)
	}
	v.first, v.given = s, true
	err := v.Value.Set(s)
	if err != nil && v.Type() == "bool" {
		return errors.New("want true or false")
	}
	return err
}

// Int is a whole number.
type Int int

// Set implements pflag.Value.
func (v *Int) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("want a whole number")
	}
	*v = Int(n)
	return nil
}

// String implements pflag.Value.
func (v *Int) String() string { return strconv.Itoa(int(*v)) }

// Type implements pflag.Value.
func (*Int) Type() string { return "int" }

// Seed is the seed of random numbers.
type Seed uint64

// Set implements pflag.Value.
func (v *Seed) Set(s string) error {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return errors.New("want a whole number from 0 to 2^64-1")
	}
	*v = Seed(n)
	return nil
}

// String implements pflag.Value.
func (v *Seed) String() string { return strconv.FormatUint(uint64(*v), 10) }

// Type implements pflag.Value.
func (*Seed) Type() string { return "seed" }
