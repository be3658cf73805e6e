package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// complete answers a shell that asks what may follow the words behind the first.
func complete(root *cobra.Command, args []string) error {
	// Where no command is meant, cobra is not to find one among the arguments of a program.
	if cmd, _ := find(root, args[1:]); cmd == root && len(args) > 2 {
		root.RemoveCommand(root.Commands()...)
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	return root.Execute()
}

// Values has an option of a command completed to one of what list returns, or a list of them to one more. A value that ends
// with = or / has something to follow.
func Values(cmd *cobra.Command, option string, list func() []string) {
	register(cmd, option, func(_ *cobra.Command, _ []string, typed string) (found []cobra.Completion, directive cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		directive = cobra.ShellCompDirectiveNoFileComp
		for _, word := range list() {
			if strings.HasPrefix(word, typed[len(before):]) {
				found = append(found, before+word)
				if strings.HasSuffix(word, "=") {
					directive |= cobra.ShellCompDirectiveNoSpace
				}
			}
		}
		return found, directive
	})
}

// Unknown has options of a command completed to nothing: they take what is not known here, such as numbers and hosts.
func Unknown(cmd *cobra.Command, options ...string) {
	for _, name := range options {
		register(cmd, name, cobra.NoFileCompletions)
	}
}

// Dirs has options of a command completed to directories.
func Dirs(cmd *cobra.Command, options ...string) {
	for _, name := range options {
		if err := cmd.MarkFlagDirname(name); err != nil {
			panic(err) // there is no such option
		}
	}
}

func register(cmd *cobra.Command, option string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(option, f); err != nil {
		panic(err) // there is no such option, or it is completed twice
	}
}

// shells are those that a program writes a script of completion for.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash": func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"zsh":  func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
	"fish": func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
}

// completionCommand returns the command that prints such a script.
func completionCommand(root *cobra.Command) *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	name := root.Name()
	return &cobra.Command{
		Use: "completion " + strings.Join(names, " | "), Short: "print a script that has a shell complete command lines",
		Long: fmt.Sprintf(`Prints a script that has a shell complete command lines of %[1]s. make install puts it where shells look for it. For the
shell that runs:

    bash  source <(%[1]s completion bash)     (needs the package bash-completion)
    zsh   source <(%[1]s completion zsh)      (after compinit)
    fish  %[1]s completion fish | source
`, name),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || shells[args[0]] == nil {
				return Misuse{fmt.Errorf("completion: want one shell: %s", strings.Join(names, ", "))}
			}
			return shells[args[0]](root, cmd.OutOrStdout())
		},
	}
}
