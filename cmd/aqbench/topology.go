package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct/bench/topology"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// topologyFormats are a picture, and a text that the verb reads as a FILE.
var topologyFormats = []string{"svg", "text"}

// topologyCommand makes the command of the verb topology.
func topologyCommand(cmd *cobra.Command) {
	var p topology.Plan
	var svg, format string
	cmd.Use = "topology SHAPE|FILE [option...]"
	cmd.Long = "Draws a Myrinet as SVG on standard output, unless --svg names a file.\n\nShapes: " + strings.Join(topology.Shapes, ", ") + `. FILE has a topology as
go doc ./conduits/myrinet/fabric Read describes it. --machine is a fabric, myrinet or myrinet-2000, or
a machine file that is based on one; machines with hosts, as of aqbench paper, are none.`
	cmd.ValidArgsFunction = nil // shapes, or files
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&p.Hosts, "hosts", 4, about["hosts"])
	f.Uint64Var(&p.Seed, "seed", 0, about["seed"])
	f.StringVar(&p.Scheme, "scheme", "in-transit", about["scheme"])
	f.StringVar(&p.Root, "root", "", about["root"])
	f.StringVar(&p.Route, "route", "", about["route"])
	f.Var((*size)(&p.Size), "traffic", about["traffic"])
	f.StringVar(&p.Machine, "machine", "myrinet", about["machine"])
	f.StringVar(&format, "format", topologyFormats[0], about["format"])
	f.BoolVar(&p.Text, "text", false, about["text"])
	f.StringVar(&svg, "svg", "", about["svg"])
	cli.Values(cmd, "scheme", topology.Schemes)
	cli.Values(cmd, "format", func() []string { return topologyFormats })
	cli.Values(cmd, "machine", func() []string { return []string{"myrinet", "myrinet-2000"} })
	cli.Unknown(cmd, "hosts", "seed", "root", "route", "traffic")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkEmpty(f); err != nil {
			return cli.Misused(err)
		}
		if err := checkFormat(cmd, format, topologyFormats); err != nil {
			return cli.Misused(err)
		}
		p.Text = p.Text || format == "text"
		return runTopology(&p, svg, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
}

// runTopology is the verb topology.
func runTopology(p *topology.Plan, svg string, args []string, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		return cli.Misused(fmt.Errorf("one shape or file is drawn, such as random:16; given are %s", strconv.Quote(strings.Join(args, " "))))
	}
	p.Topology = args[0]
	picture, err := p.Make()
	if err != nil {
		return cli.Misused(err)
	}
	if svg == "" || svg == standard {
		return picture(stdout)
	}
	if err := writable(svg); err != nil {
		return cli.Misused(err)
	}
	file, err := os.Create(svg)
	if err != nil {
		return err
	}
	if err := picture(file); err != nil {
		file.Close()
		return err
	}
	fmt.Fprintf(stderr, "aqbench topology: wrote %s\n", svg)
	return file.Close()
}
