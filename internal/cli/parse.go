package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Parse reads the options in args. An option may be given again only with the same text, unless it collects what it is given:
// lists of texts (StringArray) and of KEY=VALUE (StringToString) do. A value that is no number, or neither true nor false, is
// refused with what is wanted. So is a long option with one hyphen, as MPI libraries' mpiexec permits, by its name.
func Parse(fs *pflag.FlagSet, args []string) error {
	fs.VisitAll(func(f *pflag.Flag) {
		if _, wrapped := f.Value.(*once); !wrapped && !slices.Contains(collecting, f.Value.Type()) {
			f.Value = &once{Value: f.Value}
		}
	})
	err := fs.Parse(args)
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() == "" {
		return err
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		name, hyphen := strings.CutPrefix(name, "-")
		// What is unknown is the end of an argument, behind letters that are options.
		if hyphen && fs.Lookup(name) != nil && strings.HasSuffix(arg, unknown.GetSpecifiedShortnames()) {
			return fmt.Errorf("-%s is spelt --%[1]s", name)
		}
	}
	return err
}

// collecting are the types of options that may be given several times with different texts.
var collecting = []string{"stringArray", "stringToString"}

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
