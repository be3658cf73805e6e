// Package libmpi_test runs the suite of the Extended API over the MPI libraries of this host.
package libmpi_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/spawner"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, exttest.Cases()...)
	os.Exit(libmpitest.Main(m))
}

// TestExtended runs the suite, with ranks that each library's launcher starts and that share their
// segments; and by messages, as between hosts, what moves data. All algorithms of collectives are
// compared over quicker networks.
func TestExtended(t *testing.T) {
	var cases, moving []*coretest.Case
	for _, c := range exttest.Cases() {
		group, _, _ := strings.Cut(c.Name, "/")
		if group != "forced" {
			cases = append(cases, c)
		}
		if slices.Contains([]string{"put", "get", "atomic", "order", "vis", "collective", "typed"}, group) {
			moving = append(moving, c)
		}
	}
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) { libmpitest.Run(t, library, core.Config{}, cases) })
		t.Run(library+"/messages", func(t *testing.T) {
			libmpitest.Run(t, library, core.Config{Settings: map[string]string{"rma": "off"}}, moving)
		})
	}
}

// TestNativeCollectives runs what there is about collectives and teams with the library's own.
func TestNativeCollectives(t *testing.T) {
	var cases []*coretest.Case
	for _, c := range exttest.Cases() {
		switch group, _, _ := strings.Cut(c.Name, "/"); group {
		case "team", "barrier", "collective", "typed", "progress":
			cases = append(cases, c)
		case "native":
			if strings.Contains(c.Name, "collectives") {
				cases = append(cases, c)
			}
		}
	}
	cfg := core.Config{Settings: map[string]string{"collectives": "native"}}
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) { libmpitest.Run(t, library, cfg, cases) })
	}
}
