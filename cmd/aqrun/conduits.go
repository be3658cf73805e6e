package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
)

// conduits lists the conduits of this program or, given a name, the settings of one.
func conduits(args []string, stdout io.Writer) error {
	switch len(args) {
	case 0:
		return listConduits(stdout)
	case 1:
		return listSettings(args[0], stdout)
	}
	return cli.Misused(errors.New("conduits takes the name of one conduit at most; to run a program of that name give -n"))
}

// listConduits prints the conduits.
func listConduits(stdout io.Writer) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tAVAILABLE\tPROFILES\tMODELS\tSUMMARY")
	for _, d := range core.Drivers() {
		available := "yes"
		if len(d.Profiles) == 0 && len(d.Models) > 0 {
			available = "models only"
		} else if d.Check != nil {
			if err := d.Check(nil, nil); err != nil {
				available = "no: "
				if len(d.Models) > 0 {
					available = "models only: "
				}
				available += strings.ReplaceAll(err.Error(), "\n", "; ")
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, available, list(d.Profiles), list(d.Models), d.Summary)
	}
	return w.Flush()
}

// list joins names for a column.
func list(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// listModels, in place of a model's name, lists the models.
const listModels = "list"
