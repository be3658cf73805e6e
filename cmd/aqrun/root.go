package main

import (
	"embed"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/cobra"
)

// texts are the topics of the help: those that options and commands do not explain in a line.
//
//go:embed help/*.txt
var texts embed.FS

// root returns the command line: help, man pages and completion are made from it.
func root() *cobra.Command {
	o := &options{grace: duration(spawner.DefaultGrace)}
	cmd := &cobra.Command{
		Use: "aqrun [-n RANKS] [option...] [--] PROGRAM [argument...]\n" +
			"aqrun -n RANKS [option...] PROGRAM [argument...] : -n RANKS [option...] PROGRAM...\n" +
			"aqrun COMMAND [argument...]",
		Short: "start the ranks of an Aqueduct job",
		Long: `Starts PROGRAM as a job of RANKS ranks, on this host or those named, and exits with the job's
status. What follows PROGRAM is passed on untouched. A colon stands between the programs of a job
that has several; -n, -x and --wdir hold for the program that they stand before, the others for the
job. Behind -- a colon is an argument.

COMMAND is one only as the first word: a program of such a name is started with an option before
it, as -n is, or behind --.

Status: that of the first rank that failed; 128 + N if signal N killed it or ended the job; 124 on
timeout; 125 aqrun failed, or could not write the output; 126 PROGRAM cannot be executed; 127
PROGRAM not found; 141 the reader of the output went away; 2 misuse. SIGINT, SIGTERM, SIGHUP,
SIGUSR1, SIGUSR2 and SIGQUIT are passed to all ranks; a second SIGINT or SIGTERM kills them.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.start(cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().SetInterspersed(false)
	completeOptions(cmd, o)
	cmd.AddCommand(conduitsCommand(), topCommand())
	cli.Program(cmd, &texts, version)
	return cmd
}

// conduitsCommand returns the command that lists conduits and their settings.
func conduitsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "conduits [NAME[/PROFILE]]", Short: "list the conduits, or the settings of one",
		Long: `Lists the conduits of this binary: whether each is available here, or why not, its live profiles,
and its models. With the name of a conduit it lists the settings that --set takes: their values and
defaults, and whether all ranks must give the same.`,
		RunE: func(cmd *cobra.Command, args []string) error { return conduits(args, cmd.OutOrStdout()) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return known.Conduits(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// completeOptions has a shell complete the values of options. Those not named here are files.
func completeOptions(cmd *cobra.Command, o *options) {
	known.Complete(cmd, func() string { return o.conduit })
	for name, words := range map[string]string{
		"udp-security": "none auth encrypt",
		"bind-to":      "none core socket numa",
		"debugger":     "gdb dlv",
		"map-by":       "slot node",
		"rank-by":      "slot node",
		"launcher":     "ssh local",
		"host-id":      hostByKernel + " " + hostByName,
	} {
		cli.Values(cmd, name, func() []string { return strings.Fields(words) })
	}
	cli.Unknown(cmd, "np", "ranks", "segment", "x", "host", "nodes", "ppn", "start-timeout", "tree-width", "host-timeout", "stats", "trace-events", "trace-sample", "seed", "lose", "timeout", "grace")
	cli.Dirs(cmd, "wdir", "output-dir", "pprof")
}

// version says what this program was built from and with.
func version() string {
	return cli.Version("aqrun", "conduits: "+strings.Join(known.Conduits(), ", "), "C library: "+cli.CLibrary())
}
