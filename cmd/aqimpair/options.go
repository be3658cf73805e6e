package main

import (
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const about = `Makes NODES network namespaces that reach each other over impaired links, and runs COMMAND outside of
them. 'aqimpair enter', somewhere below COMMAND, becomes PROGRAM inside of one: to have rank i of a
job in node i,

    aqimpair -n 4 --link loss=10%,delay=1ms -- \\
        aqrun -n 4 --launch-prefix 'aqimpair enter {rank}' PROGRAM

In each node there is the device aq0, that of node i with the address 10.77.0.0 + i + 1, which enter
puts into AQIMPAIR_ADDRESS. Needs root. When it has ended nothing is left. 'aqimpair help links'
lists what links can do.

Status: that of COMMAND, or 128 + N if signal N killed it; 125 aqimpair failed; 126 COMMAND cannot
be executed; 127 COMMAND not found; 2 misuse. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed to
COMMAND; SIGINT and SIGQUIT it has from the terminal itself.`

// texts are the topics of the help.
//
//go:embed help/*.txt
var texts embed.FS

// root returns the command line: help, man pages and completion are made from it.
func root() *cobra.Command {
	var o options
	var link string
	cmd := &cobra.Command{
		Use:   "aqimpair -n NODES [option...] [--] COMMAND [argument...]\naqimpair enter NODE PROGRAM [argument...]\naqimpair paths [option...]",
		Short: "run a command beside a network of impaired links",
		Long:  about,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd.Flags(), link); err != nil {
				return cli.Misused(err)
			}
			return o.start(cmd.ErrOrStderr())
		},
	}
	o.flags(cmd.Flags(), &link)
	cmd.Flags().SetInterspersed(false)
	cli.Unknown(cmd, "nodes", "seed", "mtu")
	cli.Values(cmd, "link", func() []string {
		return strings.Fields("loss= burst= dup= corrupt= truncate= mtu= reorder= hold= delay= jitter= rate= queue=")
	})
	cmd.AddCommand(enterCommand(), pathsCommand())
	cli.Program(cmd, &texts, func() string { return cli.Version("aqimpair") })
	return cmd
}

// enterCommand returns the command by which a process becomes a program in a node.
func enterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enter NODE PROGRAM [argument...]", Short: "become PROGRAM inside of a node",
		RunE: func(_ *cobra.Command, args []string) error { return enter(args) },
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// options are what the command line says.
type options struct {
	network tunnel.Config
	report  bool
	command []string
}

// complete takes the operands and the links of a command line, which fs has read, and refuses what makes no sense.
func (o *options) complete(fs *pflag.FlagSet, link string) error {
	o.command = fs.Args()
	switch {
	case !fs.Changed("nodes"):
		return errors.New("the number of nodes is missing; give it with -n")
	case fs.Changed("link") && strings.TrimSpace(link) == "":
		return errors.New("--link needs a value")
	case len(o.command) == 0 || o.command[0] == "":
		return errors.New("the command is missing")
	}
	var err error
	if o.network.Settings, err = impair.Parse(link); err != nil {
		return fmt.Errorf("--link: %s", strings.TrimPrefix(err.Error(), "impair: "))
	}
	if err := o.network.Check(); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "tunnel: "))
	}
	return nil
}

// flags adds the options, which fill in o and link, to a flag set.
func (o *options) flags(fs *pflag.FlagSet, link *string) {
	cli.Group(fs, "The network", func(fs *pflag.FlagSet) {
		fs.IntVarP(&o.network.Nodes, "nodes", "n", 0, "number of nodes, `N`, 1 to 1024")
		fs.StringVar(link, "link", "", "what links do to packets, `SETTINGS` KEY=VALUE,...: see aqimpair help links")
		fs.Uint64Var(&o.network.Seed, "seed", 0, "seed `N` of all that is random in the links (default 0)")
		fs.IntVar(&o.network.MTU, "mtu", tunnel.DefaultMTU, "MTU of the devices in `BYTES`")
		fs.BoolVar(&o.report, "report", false, "say at the end what the links have done")
	})
}
