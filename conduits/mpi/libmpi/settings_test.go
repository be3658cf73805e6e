package libmpi_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
)

// TestSettings wants values that are none refused, before MPI is initialised, with what to write.
func TestSettings(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			libmpitest.Launcher(t, library)
			for key, c := range map[string]struct{ value, says string }{
				"collectives": {"some", "want auto, native or own"},
				"rma":         {"yes", "want auto, shared or off"},
				"eager":       {"1", "want a size such as 4096 or 64KB, 512 to 1MB, or auto"},
				"colectives":  {"own", "unknown; there are collectives, depth, eager, long, medium, mediums, pack, packet, packets, receives, rma, service, stages"},
			} {
				cfg := core.Config{Conduit: "mpi", Profile: library, Segment: "4096", Settings: map[string]string{key: c.value}}
				err := core.RunGoroutines(1, cfg, attachOnly)
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), key) {
					t.Errorf("%s=%s: %v, want %q", key, c.value, err, c.says)
				}
			}
		})
	}
}
