package spawntest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/porttest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// Static launches each rank of a static job as a process that runs this test binary again; its TestMain must call
// coretest.RankMain with spawner.Connect. Every other rank has a host of its own, as far as it can tell, if apart is set: that
// needs root.
func Static(apart bool) coretest.Launcher { return static{apart} }

type static struct{ apart bool }

// Offers implements coretest.Launcher.
func (static) Offers() coretest.Offer { return coretest.Live | coretest.Processes | coretest.Kills }

// KeyFile makes a key file for a static job.
func KeyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%x\n", mtls.NewKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Environment returns what tells a process that it is a rank of a static job of so many.
func Environment(rank, size int, root, keyFile string) []string {
	return []string{
		fmt.Sprintf("%s=%d", spawner.EnvRank, rank), fmt.Sprintf("%s=%d", spawner.EnvSize, size),
		spawner.EnvRoot + "=" + root, spawner.EnvKeyFile + "=" + keyFile,
	}
}

// Launch implements coretest.Launcher.
func (s static) Launch(t testing.TB, l *coretest.Launch) *coretest.Outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, key := porttest.Reserve(t), KeyFile(t)
	out := &coretest.Output{Dir: l.Dir}
	ranks := make([]*exec.Cmd, l.Ranks)
	var alive sync.RWMutex
	for r := range ranks {
		cmd := exec.Command(self)
		if s.apart && r%2 == 1 {
			cmd = exec.Command("unshare", "--mount", self)
		}
		cmd.Env = slices.Concat(os.Environ(), l.Env(), Environment(r, l.Ranks, root, key))
		cmd.Stdout, cmd.Stderr = out, out
		ranks[r] = cmd
	}
	alive.Lock()
	for _, cmd := range ranks {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	alive.Unlock()
	out.Kill(func(rank core.Rank) {
		alive.RLock()
		defer alive.RUnlock()
		ranks[rank].Process.Kill() // an error means that it has ended
	})
	stuck := time.AfterFunc(l.Timeout, func() {
		t.Errorf("the job did not end within %v", l.Timeout)
		for _, cmd := range ranks {
			cmd.Process.Signal(unix.SIGQUIT) // shows where; as above
		}
	})
	defer stuck.Stop()
	status, said := 0, false
	for _, cmd := range ranks {
		cmd.Wait() // its status after a kill says nothing
		if code := cmd.ProcessState.ExitCode(); code >= 0 && !said {
			status, said = code, true
		}
	}
	o := &coretest.Outcome{Status: status, Output: out.String()}
	if status != 0 {
		o.Err = errors.New(strings.TrimSpace(o.Output))
	}
	return o
}
