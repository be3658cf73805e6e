package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
)

// listed is a setting of a conduit, and the variants, profiles and models, in which it has a meaning.
type listed struct {
	settings.Setting
	in []string
}

// row returns the columns of the setting; all is the number of variants.
func (l *listed) row(all int) []string {
	ranks, in := "agree", "all"
	if l.Own {
		ranks = "own"
	}
	if len(l.in) < all {
		in = strings.Join(l.in, ", ")
	}
	return []string{l.Key, l.Kind, l.Range, cmp.Or(l.Default, "none"), ranks, in, l.Help}
}

// settingsIn returns the settings of a conduit in these variants, each once.
func settingsIn(d *core.Driver, variants []string) (all []*listed) {
	for _, v := range variants {
		for _, s := range d.Table(v) {
			i := slices.IndexFunc(all, func(l *listed) bool { return l.Key == s.Key })
			if i < 0 {
				i = len(all)
				all = append(all, &listed{Setting: s})
			}
			if s.Refused() == "" {
				all[i].in = append(all[i].in, v)
			}
		}
	}
	return slices.DeleteFunc(all, func(l *listed) bool { return l.in == nil })
}

// findVariants returns the conduit that a name stands for and all its variants or, for CONDUIT/PROFILE
// and CONDUIT/MODEL, the one.
func findVariants(name string) (d core.Driver, variants []string, err error) {
	name, variant := aqueduct.CutModel(name)
	if d, err = core.DriverByName(name); err != nil || variant == "" {
		return d, known.Variants(&d), err
	}
	if slices.Contains(d.Models, variant) {
		return d, []string{variant}, nil
	}
	variant, err = d.LiveProfile(variant)
	return d, []string{variant}, err
}

// listSettings prints the settings of the conduit of that name.
func listSettings(name string, stdout io.Writer) error {
	d, variants, err := findVariants(name)
	if err != nil {
		return cli.Misused(fmt.Errorf("%w; aqrun conduits lists them", plain(err)))
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tKIND\tVALUES\tDEFAULT\tRANKS\tPROFILES\tMEANING")
	for _, l := range settingsIn(&d, variants) {
		fmt.Fprintln(w, strings.Join(l.row(len(variants)), "\t"))
	}
	return w.Flush()
}
