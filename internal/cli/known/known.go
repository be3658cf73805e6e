// Package known completes options that name conduits, and what belongs to conduits, for the command lines of programs that have
// all of them.
package known

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/spf13/cobra"
)

// Conduits returns the names of the conduits.
func Conduits() (names []string) {
	for _, d := range core.Drivers() {
		names = append(names, d.Name)
	}
	return names
}

// Models returns the models, as --model takes them.
func Models() []string {
	names := []string{"list"}
	for _, d := range core.Drivers() {
		for _, m := range d.Models {
			names = append(names, d.Name+"/"+m)
		}
	}
	return names
}

// Variants returns the profiles and models of a conduit, each once.
func Variants(d *core.Driver) (names []string) {
	for _, v := range slices.Concat(d.Profiles, d.Models) {
		if !slices.Contains(names, v) {
			names = append(names, v)
		}
	}
	return names
}

// Complete has the options of a command completed that name conduits, profiles, models and settings. named returns the conduit
// that the command line names, or "": then those of all conduits are completed.
func Complete(cmd *cobra.Command, named func() string) {
	each := func(of func(d *core.Driver) []string) func() []string {
		return func() (all []string) {
			for _, d := range core.Drivers() {
				if name := named(); name == "" || name == d.Name {
					all = append(all, of(&d)...)
				}
			}
			slices.Sort(all)
			return slices.Compact(all)
		}
	}
	cli.Values(cmd, "conduit", Conduits)
	cli.Values(cmd, "model", Models)
	cli.Values(cmd, "profile", each(func(d *core.Driver) []string { return d.Profiles }))
	cli.Values(cmd, "set", each(func(d *core.Driver) (keys []string) {
		for _, v := range Variants(d) {
			for _, s := range d.Table(v) {
				if s.Refused() == "" {
					keys = append(keys, s.Key+"=")
				}
			}
		}
		return keys
	}))
	for _, l := range core.Launchers() {
		cli.Values(cmd, l.Conduit, func() []string {
			if d, err := core.DriverByName(l.Conduit); err == nil {
				return d.Profiles
			}
			return nil
		})
	}
}
