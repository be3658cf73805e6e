package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct/core"
)

// conduits lists the conduits of this program.
func conduits(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "--help"):
		return say(stdout, stderr, usage)
	case len(args) > 0:
		fmt.Fprintf(stderr, "aqrun: conduits takes no arguments; to run a program of that name give -n\nTry 'aqrun -h'.\n")
		return statusUsage
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tAVAILABLE\tPROFILES\tMODELLED\tSUMMARY")
	for _, d := range core.Drivers() {
		available := "yes"
		if d.Check != nil {
			if err := d.Check(nil); err != nil {
				available = "no: " + err.Error()
			}
		}
		modelled := "no"
		if d.Modelled {
			modelled = "yes"
		}
		profiles := strings.Join(d.Profiles, ", ")
		if profiles == "" {
			profiles = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, available, profiles, modelled, d.Summary)
	}
	return report(stderr, written(w.Flush()))
}
