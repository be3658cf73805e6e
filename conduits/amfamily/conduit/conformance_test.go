package conduit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"

	_ "github.com/aqueduct-go/aqueduct/conduits/amfamily/conduit"
)

func init() {
	for _, name := range []string{"am", "amii", "hpam", "ssam"} {
		core.Register(coretest.Checked(name))
		core.Register(coretest.Adverse(name))
	}
}

// on is a job over a system, on a machine that has lines besides those of its built-in one; none: on that.
func on(t testing.TB, system, lines string) core.Config {
	t.Helper()
	cfg := core.Config{Conduit: system, Segment: "512KB", Seed: 1}
	if lines == "" {
		return cfg
	}
	base := map[string]string{"am": "mpp", "amii": "now-lanai4", "hpam": "hp735", "ssam": "sba100"}[system]
	cfg.Profile = filepath.Join(t.TempDir(), "my.machine")
	if err := os.WriteFile(cfg.Profile, []byte("base "+base+"\n"+lines+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// scarce are machines with the least of everything.
var scarce = map[string]string{
	"am":   "am.message 640 B assumed for the test\nam.replies 1 count assumed for the test",
	"hpam": "hpam.buffers 1 count assumed for the test\nhpam.pool 6 count assumed for the test",
	"amii": "am2.frames 1 count assumed for the test\nam2.sends 2 count assumed for the test\nam2.receives 1 count assumed for the test\nam2.depth 1 count assumed for the test\nam2.window 1 count assumed for the test\nam2.staging 1 count assumed for the test\nam2.buffers 1 count assumed for the test\nam2.fragment 640 B assumed for the test\nam2.medium 1 B assumed for the test",
	"ssam": "card.input 111 count assumed for the test\ncard.output 1 count assumed for the test\nssam.depth 1 count assumed for the test\nssam.buffers 1 count assumed for the test",
}

// lossy is a network in which AM-II has to send packets again.
const lossy = "fabric.error.lose 20000 ppm assumed for the test\nfabric.error.corrupt 20000 ppm assumed for the test"

// TestConformance runs the suite over every system. HPAM's cards have receive buffers for 4 workstations, so that larger jobs run
// with more of them.
func TestConformance(t *testing.T) {
	kind := func(name string, cfg core.Config, most int, why string, groups ...string) coretest.Kind {
		return coretest.Kind{Name: name, Launcher: coretest.Model, Config: cfg, Only: coretest.Groups(groups...), Factors: "model", Most: most, Why: why}
	}
	const buffers = "24 receive buffers are enough for 4 workstations"
	if shm.RaceEnabled { // which has little to find among coroutines that take turns
		some := []string{"message", "reply"}
		coretest.Suite(t, coretest.Cases(), kind("am", on(t, "am", ""), 0, "", some...), kind("amii", on(t, "amii", ""), 0, "", some...),
			kind("hpam", on(t, "hpam", ""), 4, buffers, some...), kind("ssam", on(t, "ssam", ""), 0, "", some...))
		return
	}
	some := []string{"message", "reply", "order", "flood", "immediate", "negotiation", "barrier", "final", "group"}
	kinds := []coretest.Kind{
		kind("am", on(t, "am", ""), 0, ""),
		kind("amii", on(t, "amii", ""), 0, ""),
		kind("hpam", on(t, "hpam", ""), 4, buffers),
		kind("hpam-of-9", on(t, "hpam", "hpam.pool 64 count assumed for the test"), 9, buffers),
		kind("ssam", on(t, "ssam", ""), 10, "an input FIFO is enough for 10 workstations"),
		kind("am-scarce", on(t, "am", scarce["am"]), 0, "", some...),
		kind("amii-scarce", on(t, "amii", scarce["amii"]), 0, "", "message", "reply"),
		kind("amii-lossy", on(t, "amii", lossy), 0, "", "message", "reply"),
		kind("amii-sleep", sleeping(t, ""), 0, "", "message", "reply", "flood", "immediate", "barrier", "final", "group"),
		kind("hpam-scarce", on(t, "hpam", scarce["hpam"]), 4, "6 receive buffers are enough for 4 workstations with a buffer each", some...),
		kind("ssam-scarce", on(t, "ssam", scarce["ssam"]), 4, "an input FIFO of 111 cells is enough for 4 workstations", some...),
	}
	for i := range kinds {
		if i < 5 {
			kinds[i].Factors = kinds[i].Config.Conduit // every case over every system
		} else {
			kinds[i].Share = 2
		}
	}
	for _, system := range []string{"am", "amii", "hpam", "ssam"} {
		for _, wrapped := range []string{"checked", "adverse"} {
			cfg := on(t, system, "")
			cfg.Conduit = wrapped + "-" + system
			k := kind(wrapped+"-"+system, cfg, 4, buffers, "message", "reply", "negotiation", "barrier")
			k.Share = 4
			kinds = append(kinds, k)
		}
	}
	coretest.Suite(t, coretest.Cases(), kinds...)
}
