package myrinet_test

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, append(deaths, descriptors)...)
	os.Exit(m.Run())
}

// TestLive runs the suite over NICs that ranks and goroutines drive.
func TestLive(t *testing.T) {
	var kinds []coretest.Kind
	add := func(name string, l coretest.Launcher, threads core.Threads, sleep time.Duration, conduit string, s map[string]string) {
		where, _, _ := strings.Cut(name, "/") // each case runs in processes and between goroutines, and each group of cases in every kind
		kinds = append(kinds, coretest.Kind{
			Name: name, Launcher: l, Factors: where + " " + threads.String(), Config: core.Config{Conduit: conduit, Profile: "live", Threads: threads, Sleep: sleep, Settings: s},
		})
	}
	add("processes/many", spawntest.Processes, core.Many, 0, "myrinet", nil)
	add("processes/mesh", spawntest.Processes, core.Single, 1, "myrinet", map[string]string{"topology": "mesh:2x2", "one-sided": "shared"})
	add("processes/shared", spawntest.Processes, core.Many, 0, "myrinet", map[string]string{"topology": "random:4", "per-host": "2", "channels": "5", "sequencing": "per-ni"})
	add("goroutines/many", coretest.Goroutines, core.Many, 1, "myrinet", map[string]string{"topology": "fat-tree:2x3"})
	add("goroutines/shared", coretest.Goroutines, core.Single, 0, "myrinet", map[string]string{"per-host": "2"})
	add("goroutines/scarce", coretest.Goroutines, core.Many, 0, "myrinet", scarce)
	add("goroutines/in-transit", coretest.Goroutines, core.Single, 1, "myrinet", map[string]string{"topology": "ring:5", "routes": "in-transit"})
	add("goroutines/errors", coretest.Goroutines, core.Many, 0, "myrinet", map[string]string{"topology": "mesh:2x2", "errors": "3000"})
	add("goroutines/devices", coretest.Goroutines, core.Many, 0, "myrinet", map[string]string{"per-host": "2", "devices": "1", "device-time": "1ms", "device-blocks": "100"})
	add("checked", coretest.Goroutines, core.Many, 0, "checked-myrinet", nil)
	add("adverse", coretest.Goroutines, core.Many, 1, "adverse-myrinet", nil)
	add("lent", coretest.Goroutines, core.Many, 0, "lent-myrinet", nil)
	raced := []string{"processes/many", "goroutines/many", "goroutines/shared", "goroutines/in-transit", "goroutines/errors"}
	for i := range kinds {
		if s := kinds[i].Config.Settings; s["sequencing"] == "per-ni" || s["one-sided"] == "shared" {
			kinds[i].Only = others(refused)
		}
		if k := &kinds[i]; shm.RaceEnabled && !slices.Contains(raced, k.Name) { // of equal code, and minutes for the race detector
			k.Rest = coretest.Groups()
			continue
		} else if shm.RaceEnabled {
			k.Most, k.Why = 10, "under the race detector the NICs of more hosts take turns for so long that some count as lost"
		}
		switch k := &kinds[i]; k.Name {
		case "processes/mesh", "goroutines/scarce", "goroutines/errors", "goroutines/in-transit", "goroutines/devices":
			k.Rest = coretest.Groups("flood", "order", "context", "progress")
		case "checked", "adverse": // which other conduits run through all of the suite
			k.Rest = coretest.Groups()
		case "lent":
			k.Rest = func(c *coretest.Case) bool { return !coretest.Groups("attach", "segment", "group", "one-sided")(c) }
		}
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}

// TestLiveRefusals has settings that no live job can have refused, with what to do.
func TestLiveRefusals(t *testing.T) {
	for _, c := range []struct {
		want     string
		settings []string
	}{
		{"a live job has no cables to be pulled; kill one of its processes", []string{"unplug=h1@1ms"}},
		{`setting link-ring="64KB": want a size such as 4096 or 64KB, 128KB to 64MB`, []string{"link-ring=64KB"}},
		{"2 ranks (per-host, one-sided) and 0 devices (devices) on a host need 4 channels; 1 are asked for (channels)", []string{"per-host=2", "channels=1"}},
		{"packets are lost on cables", []string{"errors=100", "time-outs=off"}},
		{"limits of 512 B", []string{"queue=200"}},
		{"see settings channels, one-sided, queue", []string{"channels=64", "queue=1MB"}},
		{"need 2", []string{"topology=fat-tree:1x1"}},
	} {
		err := core.RunGoroutines(2, with("live", c.settings...), func(j *core.Job) error {
			_, err := attach(j, new(int))
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.settings, err, c.want)
		}
	}
}

// TestUnlimited wants a job with NICs that there never were to say so, once.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	cfg := with("live", "unlimited-sram=on", "channels=64", "queue=64KB")
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	err := core.RunGoroutines(3, cfg, func(j *core.Job) error {
		ep, err := attach(j, new(int))
		if err != nil {
			return err
		}
		return ep.Barrier()
	})
	if n := strings.Count(log.String(), "results are of no NIC that there was"); err != nil || n != 1 {
		t.Errorf("said %d times, want once: %v\n%s", n, err, log.String())
	}
}
