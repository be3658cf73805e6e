package udp_test

import (
	"maps"
	"os"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect)
	os.Exit(m.Run())
}

// scarce has one of everything, and datagrams of which a Medium takes several.
var scarce = map[string]string{
	"depth": "1", "window": "1", "packets": "1", "replies": "2", "stages": "1", "receive": "1", "assemblies": "0",
	"datagram": "512", "medium": "1024", "long": "8192", "buffer": "16384",
}

// small has little, but more than one.
var small = map[string]string{"depth": "3", "window": "4", "packets": "8", "receive": "4", "datagram": "1400", "gather": "1ms"}

func with(base map[string]string, key, value string) map[string]string {
	m := maps.Clone(base)
	if m == nil {
		m = make(map[string]string)
	}
	m[key] = value
	return m
}

var configurations = []struct {
	name string
	l    coretest.Launcher
	cfg  core.Config
}{
	{"processes", spawntest.Processes, core.Config{Threads: core.Many}},
	{"processes-single", spawntest.Processes, core.Config{Threads: core.Single, Settings: with(nil, "security", "none")}},
	{"sleepy", spawntest.Processes, core.Config{Threads: core.Single, Sleep: 1}},
	{"goroutines", coretest.Goroutines, core.Config{Threads: core.Many}},
	{"goroutines-single", coretest.Goroutines, core.Config{Threads: core.Single, Sleep: 1, Settings: with(nil, "security", "encrypt")}},
	{"small", spawntest.Processes, core.Config{Threads: core.Many, Settings: small}},
	{"scarce", coretest.Goroutines, core.Config{Threads: core.Many, Sleep: 1, Settings: scarce}},
	{"encrypt", spawntest.Processes, core.Config{Threads: core.Many, Settings: with(small, "security", "encrypt")}},
	{"offloads-off", coretest.Goroutines, core.Config{Threads: core.Single, Settings: with(with(small, "gso", "off"), "gro", "off")}},
	{"ipv6", coretest.Goroutines, core.Config{Threads: core.Many, Settings: with(nil, "address", "::1")}},
}

func TestConformance(t *testing.T) {
	for _, c := range configurations {
		c.cfg.Conduit = "udp"
		t.Run(c.name, func(t *testing.T) { coretest.Run(t, c.l, c.cfg) })
	}
}
