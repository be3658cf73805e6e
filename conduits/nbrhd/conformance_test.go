package nbrhd_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/nbrhd"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect)
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	blocks := func(more ...string) map[string]string {
		s := map[string]string{"block": "2"}
		for i := 0; i < len(more); i += 2 {
			s[more[i]] = more[i+1]
		}
		return s
	}
	kind := func(name string, l coretest.Launcher, cfg core.Config, factors string) coretest.Kind {
		cfg.Conduit = "nbrhd"
		return coretest.Kind{Name: name, Launcher: l, Config: cfg, Factors: factors}
	}
	coretest.Suite(t, coretest.Cases(),
		kind("processes", spawntest.Processes, core.Config{Profile: "sci+udp", Threads: core.Many, Settings: blocks()}, "processes many"),
		kind("apart", spawntest.Processes, core.Config{Profile: "sci+udp", Threads: core.Single, Sleep: 1, Settings: map[string]string{"block": "1"}}, "processes single"),
		kind("goroutines", coretest.Goroutines, core.Config{Profile: "sci/paper+loopback", Threads: core.Single, Sleep: 1, Settings: blocks("far.depth", "1")}, "goroutines single"),
		kind("native", coretest.Goroutines, core.Config{Profile: "loopback/native+udp", Threads: core.Many, Settings: blocks("near.depth", "1", "far.datagram", "1400")}, "goroutines many"),
		kind("reach", coretest.Goroutines, core.Config{Profile: "sci+loopback/native", Threads: core.Many, Sleep: 1, Settings: blocks("far.native-most", "1000")}, "reach"))
}

// TestSmallShm runs near and far ranks where /dev/shm has less room than one segment, as in containers: the conduits' memory
// has no name there, so nothing of it is taken.
func TestSmallShm(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm").CombinedOutput(); err != nil {
		t.Skipf("needs root that may mount: %s%v", out, err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$0" -test.v -test.run 'TestConformance/processes/segment/later$'`
	out, err := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", script, exe).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance/processes/segment/later") {
		t.Errorf("%v\n%s", err, out)
	}
}
