package udp_test

import (
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

func init() {
	core.Register(coretest.Checked("udp"))
	core.Register(coretest.Adverse("udp"))
}

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect)
	os.Exit(m.Run())
}

// scarce has one of everything, and datagrams of which a Medium takes several.
var scarce = map[string]string{
	"depth": "1", "window": "1", "packets": "1", "replies": "2", "stages": "1", "receive": "1", "assemblies": "0",
	"datagram": "512", "medium": "1024", "long": "8192", "buffer": "16384",
}

// small has little, but more than one, and no help of the kernel.
var small = map[string]string{
	"depth": "3", "window": "4", "packets": "8", "receive": "4", "datagram": "1400", "gather": "1ms", "gso": "off", "gro": "off",
}

// kinds have each setting, way to start ranks, way to wait and number of threads at least once. The wrapped ones have shares of the cases: other conduits run through all of the suite wrapped.
var kinds = []coretest.Kind{
	{Name: "processes", Launcher: spawntest.Processes, Config: core.Config{Threads: core.Many}, Factors: "processes many"},
	{Name: "unprotected", Launcher: spawntest.Processes, Config: core.Config{Threads: core.Single, Sleep: 1, Settings: map[string]string{"security": "none"}}, Factors: "processes single"},
	{Name: "ipv6", Launcher: coretest.Goroutines, Config: core.Config{Threads: core.Many, Settings: map[string]string{"address": "::1"}}, Factors: "goroutines many"},
	{Name: "encrypt", Launcher: coretest.Goroutines, Config: core.Config{Threads: core.Single, Sleep: 1, Settings: map[string]string{"security": "encrypt", "datagram": "1400"}}, Factors: "goroutines single"},
	{Name: "small", Launcher: coretest.Goroutines, Config: core.Config{Threads: core.Many, Settings: small}, Factors: "goroutines many"},
	{Name: "checked", Share: 2, Launcher: spawntest.Processes, Config: core.Config{Conduit: "checked-udp"}, Factors: "checked"},
	{Name: "checked/goroutines", Share: 2, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "checked-udp", Settings: small}, Factors: "checked"},
	{Name: "adverse", Share: 5, Launcher: coretest.Goroutines, Config: core.Config{Conduit: "adverse-udp", Sleep: 1}, Factors: "adverse"},
	{Name: "scarce", Launcher: coretest.Goroutines, Config: core.Config{Threads: core.Single, Sleep: 1, Settings: scarce}, Factors: "goroutines single"},
}

func TestConformance(t *testing.T) {
	for i := range kinds {
		if k := &kinds[i]; k.Config.Conduit == "" {
			k.Config.Conduit = "udp"
		}
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}
