package mpi_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// name is that of the conduit over networks of this process.
const name = "mpi over mpitest"

// modelled is the network in virtual time; its figures are round, fitted to nothing.
var modelled = mpitest.Options{
	Model: true, Latency: vtime.Microsecond, Rate: 1e9, Search: 5 * vtime.Nanosecond,
}

func TestMain(m *testing.M) {
	mpi.Register(name,
		mpitest.Network("prompt", mpitest.Options{Async: true}),
		mpitest.Network("unruly", mpitest.Options{Unruly: true}),
		mpitest.Network("async", mpitest.Options{Unruly: true, Async: true}),
		mpitest.Network("exact", mpitest.Options{Unruly: true, Exact: true}),
		mpitest.Network("reaching", mpitest.Options{Unruly: true, Reach: true}),
		mpitest.Network("narrow", mpitest.Options{Unruly: true, Eager: 512}),
		mpitest.Network("model", modelled))
	os.Exit(m.Run())
}

// scarce has one of everything.
var scarce = map[string]string{
	"depth": "1", "packet": "512", "packets": "2", "receives": "1", "stages": "1", "mediums": "1", "medium": "512", "long": "8192",
}

// configurations are what the suites run over.
var configurations = []struct {
	name string
	l    coretest.Launcher
	cfg  core.Config
}{
	{"many", coretest.Goroutines, core.Config{Profile: "prompt", Threads: core.Many}},
	{"single", coretest.Goroutines, core.Config{Profile: "prompt", Threads: core.Single, Settings: map[string]string{"pack": "off"}}},
	{"unruly", coretest.Goroutines, core.Config{Profile: "unruly", Threads: core.Many, Sleep: 1}},
	{"exact", coretest.Goroutines, core.Config{Profile: "exact", Threads: core.Many}},
	{"reaching", coretest.Goroutines, core.Config{Profile: "reaching", Threads: core.Many}},
	{"packed", coretest.Goroutines, core.Config{Profile: "async", Threads: core.Single, Settings: map[string]string{"pack": "all"}}},
	{"narrow", coretest.Goroutines, core.Config{Profile: "narrow", Threads: core.Many, Settings: scarce}},
	{"model", coretest.Model, core.Config{Profile: "model", Seed: 1}},
	{"model-packed", coretest.Model, core.Config{Profile: "model", Seed: 1, Settings: map[string]string{"pack": "all"}}},
	{"model-narrow", coretest.Model, core.Config{Profile: "model", Seed: 1, Settings: scarce}},
}

func TestConformance(t *testing.T) {
	for _, c := range configurations {
		c.cfg.Conduit = name
		t.Run(c.name, func(t *testing.T) {
			for _, x := range coretest.Cases() {
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
