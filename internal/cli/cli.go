// Package cli has what the command lines of this project's programs share: options that may be
// given again only with the same text, and errors of values that say what is wanted.
package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// OnlyOnce has the options of fs, but for the repeatable ones, refuse a second value that is
// another text than the first, and say of a value that is no number, or neither true nor false, what is wanted.
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

// wanted says what package strconv reads, by the types of options.
var wanted = map[string]string{
	"bool":         "true or false",
	"float64Slice": "numbers, joined by commas",
	"int":          "a whole number",
	"intSlice":     "whole numbers, joined by commas",
	"uint64":       "a whole number from 0 to 2^64-1",
}

// Set implements pflag.Value.
func (v *once) Set(s string) error {
	if v.given {
		if s != v.first {
			return fmt.Errorf("it was given before as %q", v.first)
		}
		return nil // a list would have its elements twice
	}
	v.first, v.given = s, true
	err := v.Value.Set(s)
	if want, ok := wanted[v.Type()]; ok && errors.As(err, new(*strconv.NumError)) {
		return errors.New("want " + want)
	}
	return err
}
