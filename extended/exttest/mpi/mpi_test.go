// Package mpi_test runs the suite of the Extended API over two-sided message passing.
package mpi_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	_ "github.com/aqueduct-go/aqueduct/conduits/mpi/scampi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// overTest is the conduit over networks of this process.
const overTest = "mpi over mpitest"

func init() {
	mpi.Register(overTest,
		mpitest.Network("unruly", mpitest.Options{Unruly: true}),
		mpitest.Network("model", mpitest.Options{Model: true, Latency: vtime.Microsecond, Rate: 1e9, Search: 5 * vtime.Nanosecond}))
}

// TestExtended runs the suite over networks of this process and over the modelled ScaMPI.
func TestExtended(t *testing.T) {
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"goroutines", coretest.Goroutines, core.Config{Conduit: overTest, Profile: "unruly"}},
		{"packed", coretest.Goroutines, core.Config{Conduit: overTest, Profile: "unruly", Threads: core.Single, Settings: map[string]string{"pack": "all"}}},
		{"model", coretest.Model, core.Config{Conduit: overTest, Profile: "model", Debug: true}},
		{"scampi", coretest.Model, core.Config{Conduit: "mpi", Profile: "scampi", Debug: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				// ScaMPI is modelled burst by burst. A quarter of a million messages take it
				// long, and so do all algorithms of collectives, which know no network. For the
				// race detector there is nothing in one logical thread.
				if c.name == "scampi" && (x.Name == "event/many" || strings.HasPrefix(x.Name, "forced/") || shm.RaceEnabled) {
					continue
				}
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
