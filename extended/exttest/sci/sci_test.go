// Package sci_test runs the suite of the Extended API over modelled SCI.
package sci_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

// TestExtended runs the suite on two machines, with the native powers of SCI and without. All
// algorithms of collectives are forced once: they know no network.
func TestExtended(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	for _, c := range []struct {
		name   string
		cfg    core.Config
		forced bool
	}{
		{"d339", core.Config{Profile: "d339"}, true},
		{"d339/messages", core.Config{Profile: "d339", NoNative: true}, false},
		{"scale", core.Config{Profile: "scale"}, false},
	} {
		c.cfg.Conduit = "sci"
		t.Run(c.name, func(t *testing.T) {
			for _, x := range exttest.Cases() {
				if c.forced || !strings.HasPrefix(x.Name, "forced/") {
					t.Run(x.Name, func(t *testing.T) { coretest.RunCase(t, coretest.Model, c.cfg, x) })
				}
			}
		})
	}
}
