package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/spf13/pflag"
)

const usage = `Usage: aqimpair -n NODES [option...] [--] COMMAND [argument...]
       aqimpair enter NODE PROGRAM [argument...]
       aqimpair paths [option...]

The first makes NODES network namespaces that reach each other over impaired links, and runs COMMAND
outside of them. 'aqimpair enter', somewhere below COMMAND, becomes PROGRAM inside of one: to
have rank i of a job in node i,

  aqimpair -n 4 --link loss=10%,delay=1ms -- \
      aqrun -n 4 --launch-prefix 'aqimpair enter {rank}' PROGRAM

In each node there is the device aq0, that of node i with the address 10.77.0.0 + i + 1, which
enter puts into AQIMPAIR_ADDRESS. Needs root. When it has ended nothing is left.

'aqimpair paths' compares udp and TCP over paths with delay; see aqimpair paths -h.

      -n, --nodes N     number of nodes, 1 to 1024
      --link SETTINGS   what links do to packets, KEY=VALUE,...:
                          loss=10%     lose so many         burst=3      in bursts of 3
                          dup=2%       duplicate            corrupt=1%   change bytes
                          truncate=1%  cut off the end      mtu=1400     lose longer ones
                          reorder=5%   hold back            hold=2ms     up to so long
                          delay=1ms    delay all            jitter=200us up to so much more
                          rate=1gbit   bits per second      queue=100    packets, then drop
      --seed N          seed of all that is random in the links (default 0)
      --mtu BYTES       MTU of the devices (default 1500)
      --report          say at the end what the links have done
  -h, --help            print this

Status: that of COMMAND, or 128 + N if signal N killed it; 125 aqimpair failed; 126 COMMAND
cannot be executed; 127 COMMAND not found; 2 misuse. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are
passed to COMMAND; SIGINT and SIGQUIT it has from the terminal itself.
`

// options are what the command line says.
type options struct {
	network tunnel.Config
	report  bool
	command []string
}

// parse reads the command line and refuses what makes no sense.
func parse(args []string) (*options, error) {
	var o options
	var link string
	fs := o.flags(&link)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.command = fs.Args()
	switch {
	case !fs.Changed("nodes"):
		return nil, errors.New("the number of nodes is missing; give it with -n")
	case fs.Changed("link") && strings.TrimSpace(link) == "":
		return nil, errors.New("--link needs a value")
	case len(o.command) == 0 || o.command[0] == "":
		return nil, errors.New("the command is missing")
	}
	var err error
	if o.network.Settings, err = impair.Parse(link); err != nil {
		return nil, fmt.Errorf("--link: %s", strings.TrimPrefix(err.Error(), "impair: "))
	}
	if err := o.network.Check(); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "tunnel: "))
	}
	return &o, nil
}

// flags returns the flag set that fills in o and link.
func (o *options) flags(link *string) *pflag.FlagSet {
	fs := pflag.NewFlagSet("aqimpair", pflag.ContinueOnError)
	fs.SetInterspersed(false)
	fs.Usage = func() {}
	fs.IntVarP(&o.network.Nodes, "nodes", "n", 0, "")
	fs.StringVar(link, "link", "", "")
	fs.Uint64Var(&o.network.Seed, "seed", 0, "")
	fs.IntVar(&o.network.MTU, "mtu", tunnel.DefaultMTU, "")
	fs.BoolVar(&o.report, "report", false, "")
	cli.OnlyOnce(fs)
	return fs
}
