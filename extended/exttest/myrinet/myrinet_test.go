// Package myrinet_test runs the suite of the Extended API over GRIM on modelled Myrinet.
package myrinet_test

import (
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended/exttest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/myrinet"
)

// TestExtended runs shares of the suite on three topologies, with puts and gets by RM-V and RM-RV and by messages. All algorithms of collectives are compared over quicker networks; a
// quarter of a million messages, which are modelled step by step, take long. What large transfers allocate is not counted: a large message has memory of its own, as long as a packet of it may be in
// the network. event/sync tests in a loop what has not ended, which over a network that loses packets it does for many time-outs, of thousands of tests each. Of cases that take long all but those over the star are left to AQ_TEST_PART, of those where all is scarce all but some, and that jobs run twice: equal traces are the concern of the suite of the Core API.
func TestExtended(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	kind := func(name string, cfg core.Config) coretest.Kind {
		cfg.Conduit = "myrinet"
		return coretest.Kind{Name: name, Share: 5, Launcher: coretest.Model, Config: cfg, Factors: "model", Once: true,
			Rest: func(c *coretest.Case) bool {
				return name == "scarce" && !coretest.Groups("get", "native", "collective", "split")(c) || name != "star" && slices.Contains([]string{"event/sync", "progress/thousands", "vis/put", "vis/get", "atomic/operations", "atomic/many", "memset/sizes", "value/in-flight"}, c.Name)
			},
			Only: func(c *coretest.Case) bool {
				return !(c.Name == "event/sync" && cfg.Settings["errors"] != "") && c.Name != "event/many" && c.Name != "allocation/large" && c.Name != "vis/allocation"
			}}
	}
	cases := slices.DeleteFunc(exttest.Cases(), coretest.Groups("forced"))
	coretest.Suite(t, cases,
		kind("star", core.Config{}),
		kind("irregular/messages", core.Config{NoNative: true, Settings: map[string]string{"topology": "random:4"}}),
		kind("torus/shared", core.Config{Profile: "grim-lanai4", Settings: map[string]string{"topology": "torus:2x2", "per-host": "2", "channels": "5"}}),
		kind("star/devices", core.Config{Settings: map[string]string{"per-host": "2", "devices": "1", "device-blocks": "200"}}),
		kind("scarce", core.Config{Settings: map[string]string{"queue": "600", "receive": "600", "depth": "1", "buffers": "1", "controls": "1", "long": "700"}}),
		kind("in-transit", core.Config{Settings: map[string]string{"topology": "../../../conduits/myrinet/testdata/ring.topology", "routes": "in-transit"}}),
		kind("in-transit/errors", core.Config{Settings: map[string]string{"topology": "random:5", "per-host": "2", "routes": "in-transit", "errors": "5000"}}))
}
