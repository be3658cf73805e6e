package mpi_test

import (
	"os"
	"slices"
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
	core.Register(coretest.Checked(name))
	core.Register(coretest.Adverse(name))
	core.Register(coretest.Lent(name))
	os.Exit(m.Run())
}

// scarce has one of everything.
var scarce = map[string]string{
	"depth": "1", "packet": "512", "packets": "2", "receives": "1", "stages": "1", "mediums": "1", "medium": "512", "long": "8192",
}

// kinds are what the suite runs over.
var kinds = []coretest.Kind{
	{Name: "many", Launcher: coretest.Goroutines, Config: core.Config{Profile: "prompt", Threads: core.Many}, Factors: "live many"},
	{Name: "single", Launcher: coretest.Goroutines, Config: core.Config{Profile: "prompt", Threads: core.Single, Settings: map[string]string{"pack": "off"}}, Factors: "live single"},
	{Name: "unruly", Launcher: coretest.Goroutines, Config: core.Config{Profile: "unruly", Threads: core.Many, Sleep: 1}, Factors: "live many"},
	{Name: "exact", Launcher: coretest.Goroutines, Config: core.Config{Profile: "exact", Threads: core.Many}, Factors: "live many"},
	{Name: "reaching", Launcher: coretest.Goroutines, Config: core.Config{Profile: "reaching", Threads: core.Many}, Factors: "live many"},
	{Name: "packed", Launcher: coretest.Goroutines, Config: core.Config{Profile: "async", Threads: core.Single, Settings: map[string]string{"pack": "all"}}, Factors: "live single"},
	{Name: "narrow", Launcher: coretest.Goroutines, Config: core.Config{Profile: "narrow", Threads: core.Many, Settings: scarce}, Factors: "live many"},
	{Name: "model", Launcher: coretest.Model, Config: core.Config{Profile: "model", Seed: 1}, Factors: "model"},
	{Name: "model-packed", Launcher: coretest.Model, Config: core.Config{Profile: "model", Seed: 1, Settings: map[string]string{"pack": "all"}}, Factors: "model"},
	{Name: "model-narrow", Launcher: coretest.Model, Config: core.Config{Profile: "model", Seed: 1, Settings: scarce}, Factors: "model"},
}

// wrapped are conduits that stand on it, with shares of the cases: loopback runs through all of the suite wrapped.
var wrapped = []coretest.Kind{
	{Name: "checked", Share: 4, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "checked-" + name, Profile: "unruly"}, Factors: "checked"},
	{Name: "adverse", Share: 4, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "adverse-" + name, Profile: "prompt", Sleep: 1}, Factors: "adverse"},
	{Name: "lent", Share: 4, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "lent-" + name, Profile: "reaching"}, Factors: "lent"},
}

func TestConformance(t *testing.T) {
	for i := range kinds {
		kinds[i].Config.Conduit = name
	}
	coretest.Suite(t, coretest.Cases(), slices.Concat(kinds, wrapped)...)
}
