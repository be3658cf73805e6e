package myrinet_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/myrinet"
)

func init() {
	core.Register(coretest.Checked("myrinet"))
	core.Register(coretest.Adverse("myrinet"))
	core.Register(coretest.Lent("myrinet"))
}

// scarce has as little as there can be: queues with room for one of the smallest Mediums that there may be, one receive buffer, one message before a request waits, one entry
// for control messages.
var scarce = map[string]string{
	"queue": "600", "receive": "600", "depth": "1", "buffers": "1", "controls": "1", "long": "700",
}

// lossless is the cases for networks that lose no packets. Else a message takes the longer, the larger it is, only if neither is sent again; a damaged packet is a copy, so that one
// in some hundred operations allocates; and a target computes for some time-outs only.
func lossless(c *coretest.Case) bool {
	return c.Name == "model/time-passes" || c.Name == "allocation/one-sided" || refused(c)
}

// refused is the case for channels that do not wait for each other: with sequencing per NI, or in a shared channel, puts and gets wait behind requests.
func refused(c *coretest.Case) bool { return c.Name == "one-sided/refused-requests" }

func others(of func(*coretest.Case) bool) func(*coretest.Case) bool {
	return func(c *coretest.Case) bool { return !of(c) }
}

// kinds are what the suite runs over. On the ring in testdata ranks 0 and 1 talk through an in-transit host that has no rank in small jobs.
var kinds = []coretest.Kind{
	{Name: "star", Config: core.Config{}},
	{Name: "mesh", Config: core.Config{Profile: "grim-lanai4", Settings: map[string]string{"topology": "mesh:2x2"}}},
	{Name: "irregular", Config: core.Config{Settings: map[string]string{"topology": "random:4"}}},
	{Name: "fat-tree", Config: core.Config{Settings: map[string]string{"topology": "fat-tree:2x3", "bounce": "512", "one-sided": "shared"}}, Only: others(refused)},
	{Name: "shared", Config: core.Config{Profile: "grim-lanai4", Settings: map[string]string{"per-host": "2", "channels": "5", "sequencing": "per-ni"}}, Only: others(refused)},
	{Name: "devices", Config: core.Config{Settings: map[string]string{"per-host": "2", "devices": "1", "device-blocks": "200"}}},
	{Name: "scarce", Config: core.Config{Settings: scarce}},
	{Name: "in-transit", Config: core.Config{Settings: map[string]string{"topology": "testdata/ring.topology", "routes": "in-transit"}}},
	{Name: "errors", Config: core.Config{Settings: map[string]string{"topology": "mesh:2x2", "errors": "10000"}}, Only: others(lossless)},
	{Name: "in-transit/errors", Config: core.Config{Profile: "grim-lanai4", Settings: map[string]string{"topology": "random:5", "per-host": "2", "routes": "in-transit", "errors": "5000"}}, Only: others(lossless)},
	{Name: "checked", Config: core.Config{Conduit: "checked-myrinet"}},
	{Name: "adverse", Config: core.Config{Conduit: "adverse-myrinet"}},
	{Name: "lent", Config: core.Config{Conduit: "lent-myrinet"}},
}

// heavy is which cases that take long the kinds leave to AQ_TEST_PART. All of them run where all is scarce, which is where NICs refuse most, and, but those that take longest, where ranks share NICs.
var heavy = map[string]func(*coretest.Case) bool{
	"scarce": nil,
	"shared": func(c *coretest.Case) bool { return strings.HasPrefix(c.Name, "flood/all-to-all") },
}

func TestConformance(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find among coroutines that take turns, and takes minutes over it")
	}
	for i := range kinds {
		k := &kinds[i]
		k.Launcher, k.Config.Seed = coretest.Model, 1
		if k.Config.Conduit == "" {
			k.Config.Conduit = "myrinet"
		}
		k.Factors = "model"
		k.Once = k.Name != "star"
		if rest, ok := heavy[k.Name]; ok {
			k.Rest = rest
		} else {
			k.Rest = coretest.Groups("flood", "order")
		}
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}
