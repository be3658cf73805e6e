package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestOneTable: an option of one name has in every command the same type, letter and text, that of the table, and no letter
// stands for two options.
func TestOneTable(t *testing.T) {
	own := map[string]bool{"help": true, "version": true}
	for _, l := range core.Launchers() {
		own[l.Conduit] = true
	}
	first, letters, used := map[string]*pflag.Flag{}, map[string]string{}, map[string]int{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InheritedFlags() // are options of cmd from here on
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			used[f.Name]++
			if text := about[f.Name]; text != f.Usage && !own[f.Name] {
				t.Errorf("%s --%s: %q; the table says %q", cmd.CommandPath(), f.Name, f.Usage, text)
			}
			if name, ok := letters[f.Shorthand]; ok && name != f.Name && f.Shorthand != "" {
				t.Errorf("%s: -%s is --%s, and elsewhere --%s", cmd.CommandPath(), f.Shorthand, f.Name, name)
			}
			letters[f.Shorthand] = f.Name
			old := first[f.Name]
			if old == nil {
				first[f.Name] = f
			} else if old.Value.Type() != f.Value.Type() || old.Shorthand != f.Shorthand || old.Usage != f.Usage || old.NoOptDefVal != f.NoOptDefVal {
				t.Errorf("%s --%s: %s, -%s, %q; elsewhere %s, -%s, %q", cmd.CommandPath(), f.Name, f.Value.Type(), f.Shorthand, f.Usage, old.Value.Type(), old.Shorthand, old.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root())
	for name, text := range about {
		if used[name] == 0 {
			t.Errorf("no command has --%s, which the table has", name)
		}
		if strings.Count(text, "`") > 2 {
			t.Errorf("--%s: %q names more than one value", name, text)
		}
	}
	for _, name := range []string{"np", "op", "format"} {
		if used[name] < 7 {
			t.Errorf("%d verbs have --%s", used[name], name)
		}
	}
}
