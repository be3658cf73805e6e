package exttest_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/mpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func init() {
	mpi.Register("mpi over mpitest",
		mpitest.Network("unruly", mpitest.Options{Unruly: true}),
		mpitest.Network("model", mpitest.Options{Model: true, Latency: vtime.Microsecond, Rate: 1e9, Search: 5 * vtime.Nanosecond}))
}

// TestExtendedOverMPI runs the suite over two-sided message passing.
func TestExtendedOverMPI(t *testing.T) {
	for _, c := range []struct {
		name string
		l    coretest.Launcher
		cfg  core.Config
	}{
		{"goroutines", coretest.Goroutines, core.Config{Profile: "unruly"}},
		{"packed", coretest.Goroutines, core.Config{Profile: "unruly", Threads: core.Single, Settings: map[string]string{"pack": "all"}}},
		{"model", coretest.Model, core.Config{Profile: "model", Debug: true}},
	} {
		c.cfg.Conduit = "mpi over mpitest"
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, c.l, c.cfg, x) })
			}
		})
	}
}
