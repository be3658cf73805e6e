// Package cli has what the command lines of this project's programs share. A program describes its commands, options and
// topics once, as a tree of cobra's commands; help, man pages and completion are made from that. The rules of reading are
// this package's:
//
//   - A command is nothing but the first words of a command line. Behind an option, or behind --, no word is one, so that
//     operands may be called as they like.
//   - An option may be given again only with the same text.
//   - Errors are returned, and printed by the program, once. Nothing is guessed or suggested.
package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Misuse is an error of the command line.
type Misuse struct{ error }

// Unwrap returns the error itself.
func (m Misuse) Unwrap() error { return m.error }

// Misused makes an error one of the command line; nil stays nil.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return Misuse{err}
}

// Words with which a shell asks for what it may complete.
const (
	completeWord   = cobra.ShellCompRequestCmd
	completeNoDesc = cobra.ShellCompNoDescRequestCmd
)

// Program completes the tree below root, to which the program has added its commands and options: with the options --help and
// --version, which prints what version returns, with the commands help, completion and, hidden, man, and with a topic for each
// file of texts, which may be nil. A file NAME.txt is the topic NAME; its first line says what it is about, and an empty line follows.
func Program(root *cobra.Command, texts *embed.FS, version func() string) {
	root.Args = cobra.ArbitraryArgs
	root.CompletionOptions.DisableDefaultCmd = true
	root.Flags().Bool("version", false, "print the version, and what this program has been built with")
	root.PersistentFlags().BoolP("help", "h", false, "print this")
	help := helpCommand(root)
	root.SetHelpCommand(help) // cobra would add its own
	root.AddCommand(help, completionCommand(root), manCommand(root), versionCommand(version))
	if texts != nil {
		root.AddCommand(topics(texts)...)
	}
	all(root, func(c *cobra.Command) {
		c.Flags().SortFlags, c.PersistentFlags().SortFlags = false, false
		c.DisableFlagsInUseLine = true
	})
}

// versionName is the command that --version stands for.
const versionName = "version"

// versionCommand returns the command that prints the version.
func versionCommand(version func() string) *cobra.Command {
	return &cobra.Command{Use: versionName, Short: "print the version, as --version does", RunE: func(cmd *cobra.Command, args []string) error {
		if err := NoOperands(args); err != nil {
			return err
		}
		return say(cmd, version())
	}}
}

// topics returns the texts as commands that cannot run, which is how cobra has topics of help.
func topics(texts *embed.FS) (list []*cobra.Command) {
	entries, err := texts.ReadDir("help")
	if err != nil {
		panic(err) // the program was built without them
	}
	for _, e := range entries {
		text, err := texts.ReadFile(path.Join("help", e.Name()))
		if err != nil {
			panic(err)
		}
		short, long, _ := strings.Cut(string(text), "\n\n")
		list = append(list, &cobra.Command{Use: strings.TrimSuffix(e.Name(), ".txt"), Short: short, Long: strings.TrimSpace(long)})
	}
	return list
}

// isTopic reports whether a command is but a text.
func isTopic(c *cobra.Command) bool { return !c.Runnable() && !c.HasSubCommands() }

// all calls f for a command and those below it.
func all(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		all(sub, f)
	}
}

// find returns the command that the first words name, and the arguments behind these words.
func find(c *cobra.Command, args []string) (*cobra.Command, []string) {
	if len(args) > 0 {
		for _, sub := range c.Commands() {
			if sub.Name() == args[0] && !isTopic(sub) {
				return find(sub, args[1:])
			}
		}
	}
	return c, args
}

// Execute runs the command of the tree that the first words of args name, or prints its help, and returns it with its error: a
// Misuse if its options make no sense. The command has ctx, its operands as its arguments, and stdout and stderr as its output.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) (*cobra.Command, error) {
	root.SetOut(stdout)
	root.SetErr(stderr)
	if len(args) > 0 && (args[0] == completeWord || args[0] == completeNoDesc) {
		return root, complete(root, args)
	}
	cmd, args := find(root, args)
	cmd.SetContext(ctx)
	cmd.InheritedFlags() // are options of cmd from here on
	fs := cmd.Flags()
	fs.Usage = func() {}
	err := Parse(fs, args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return cmd, say(cmd, Help(cmd))
	case err != nil:
		return cmd, Misuse{err}
	case given(fs, "help"):
		return cmd, say(cmd, Help(cmd))
	case cmd == root && given(fs, "version"):
		cmd, _ = find(root, []string{versionName})
		return cmd, cmd.RunE(cmd, nil)
	}
	return cmd, cmd.RunE(cmd, fs.Args())
}

// given reports whether an option is there, and is true.
func given(fs *pflag.FlagSet, name string) bool {
	v, err := fs.GetBool(name)
	return err == nil && v
}

// say writes the text to the output of a command.
func say(cmd *cobra.Command, text string) error {
	_, err := io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// NoOperands refuses operands, for a command that takes options only.
func NoOperands(args []string) error {
	if len(args) > 0 {
		return Misuse{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
