package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct/bench/topology"
)

// runTopology is the verb topology.
func runTopology(_ context.Context, args []string, stdout, stderr io.Writer) error {
	f := pflag.NewFlagSet("aqbench topology", pflag.ContinueOnError)
	f.SetOutput(stdout)
	f.Usage = func() {
		fmt.Fprintf(stdout, "usage: aqbench topology SHAPE|FILE [options]\n\nshapes: %s; FILE has a topology as go doc ./conduits/myrinet/fabric Read describes it\n\n%s",
			strings.Join(topology.Shapes, ", "), f.FlagUsages())
	}
	var p topology.Plan
	f.IntVar(&p.Hosts, "hosts", 4, "`NUMBER` of hosts of each switch of a shape")
	f.Uint64Var(&p.Seed, "seed", 0, "`NUMBER` that seeds random shapes and traffic")
	f.StringVar(&p.Scheme, "scheme", "in-transit", "routes: "+strings.Join(topology.Schemes(), ", ")+"; shortest takes the shortest ways whatever is legal, so packets may deadlock")
	f.StringVar(&p.Root, "root", "", "`NAME` of the switch at the root of the tree (default the one in the middle)")
	f.StringVar(&p.Route, "route", "", "two `HOSTS`, joined by a comma, the route between which is drawn")
	f.IntVar(&p.Size, "traffic", 0, "payload in `BYTES` of packets that all hosts send to random others as fast as they can (default no traffic)")
	f.StringVar(&p.Machine, "machine", "myrinet", "`NAME` of a fabric, myrinet or myrinet-2000, or the path of a machine file that is based on one; machines with hosts, as of aqbench paper, are none")
	f.BoolVar(&p.Text, "text", false, "write the topology as text instead of drawing it")
	svg := f.String("svg", "", "write the picture to `PATH` instead of standard output")
	if err := parseFlags(f, args); err != nil {
		return misuse{err}
	}
	if f.NArg() != 1 {
		return misuse{fmt.Errorf("one shape or file is drawn, such as random:16; given are %s", strconv.Quote(strings.Join(f.Args(), " ")))}
	}
	p.Topology = f.Arg(0)
	picture, err := p.Make()
	if err != nil {
		return misuse{err}
	}
	if *svg == "" || *svg == standard {
		return picture(stdout)
	}
	if err := writable(*svg); err != nil {
		return misuse{err}
	}
	file, err := os.Create(*svg)
	if err != nil {
		return err
	}
	if err := picture(file); err != nil {
		file.Close()
		return err
	}
	fmt.Fprintf(stderr, "aqbench topology: wrote %s\n", *svg)
	return file.Close()
}
