package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupKey is the annotation of an option that names the group which it belongs to.
const groupKey = "aqueduct_group"

// Group has define add options to a flag set that stand together under a heading, in this order.
func Group(fs *pflag.FlagSet, heading string, define func(fs *pflag.FlagSet)) {
	fs.SortFlags = false
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	group.SortFlags = false
	define(group)
	group.VisitAll(func(f *pflag.Flag) {
		if err := group.SetAnnotation(f.Name, groupKey, []string{heading}); err != nil {
			panic(err) // an option that is visited is there
		}
		fs.AddFlag(f)
	})
}

// group is a heading with the options below it.
type group struct {
	heading string
	flags   *pflag.FlagSet
}

// groups returns the options of a command by group, in the order in which they were defined; those without one last.
func groups(cmd *cobra.Command) (list []*group) {
	rest := &group{"Options", pflag.NewFlagSet("", pflag.ContinueOnError)}
	rest.flags.SortFlags = false
	at := map[string]*group{}
	cmd.InheritedFlags() // are options of cmd from here on
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		to := rest
		if names := f.Annotations[groupKey]; names != nil {
			if to = at[names[0]]; to == nil {
				to = &group{names[0], pflag.NewFlagSet("", pflag.ContinueOnError)}
				to.flags.SortFlags = false
				at[names[0]] = to
				list = append(list, to)
			}
		}
		shown := *f
		if o, wrapped := f.Value.(*once); wrapped {
			shown.Value = o.Value // whose type says whether its default is worth a word
		}
		if shown.DefValue == "0s" || shown.DefValue == "[]" {
			shown.DefValue = ""
		}
		to.flags.AddFlag(&shown)
	})
	if len(list) > 0 {
		rest.heading = "Other options"
	}
	return append(list, rest)
}

// helpWidth is how many columns help takes.
const helpWidth = 100

// usageLines returns the ways to call a command, from its Use, a line each.
func usageLines(cmd *cobra.Command) []string {
	lines := strings.Split(cmd.Use, "\n")
	if cmd.HasParent() {
		for i := range lines {
			lines[i] = cmd.Parent().CommandPath() + " " + lines[i]
		}
	}
	return lines
}

// Usage returns the ways to call a command, and what there is below it.
func Usage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s\n", strings.Join(usageLines(cmd), "\n       "))
	for _, part := range []struct {
		heading string
		has     func(*cobra.Command) bool
	}{
		{"Commands", func(c *cobra.Command) bool { return !isTopic(c) }},
		{"Topics, " + cmd.CommandPath() + " help TOPIC", isTopic},
	} {
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		heading := "\n" + part.heading + ":\n"
		for _, c := range cmd.Commands() {
			if !c.Hidden && part.has(c) {
				fmt.Fprintf(w, "%s  %s\t%s\n", heading, c.Name(), c.Short)
				heading = ""
			}
		}
		w.Flush() // to a strings.Builder, which takes all
	}
	return b.String()
}

// Help returns the help of a command, or of a topic.
func Help(cmd *cobra.Command) string {
	if isTopic(cmd) {
		return cmd.Long + "\n"
	}
	usage, below, _ := strings.Cut(Usage(cmd), "\n\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", strings.TrimSuffix(usage, "\n"), about(cmd))
	if below != "" {
		fmt.Fprintf(&b, "\n%s", below)
	}
	for _, g := range groups(cmd) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.heading, g.flags.FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}

// about returns what a command's help says of it.
func about(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	return strings.TrimSpace(cmd.Long)
}

// helpCommand returns the command that prints the help of commands and topics.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: "print the help of a command, or about a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			about := root
			for _, word := range args {
				sub := child(about, word)
				if sub == nil {
					return Misuse{fmt.Errorf("there is no help about %q; %s help lists what there is", strings.Join(args, " "), root.Name())}
				}
				about = sub
			}
			return say(cmd, Help(about))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if len(args) == 0 && !c.Hidden && strings.HasPrefix(c.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// child returns the command or topic of that name directly below another one, or nil.
func child(of *cobra.Command, name string) *cobra.Command {
	for _, c := range of.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}
