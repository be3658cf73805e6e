package spawner_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// launcher runs a launcher of three ranks that wait, wrapped in a script that may start
// others, as a child. It returns the launcher with descriptors of the processes that its
// output names: each rank's as started, those of the script, and the rank itself.
func launcher(t *testing.T, wrap string, processes int) (*exec.Cmd, map[string][]int) {
	t.Helper()
	cmd := exec.Command(self(t))
	cmd.Env = append(os.Environ(), roleEnv+"=launcher", "JOB=wait", "WRAP="+wrap)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	fds := make(map[string][]int)
	in := bufio.NewScanner(out)
	for range 3 * processes {
		var what string
		var pid int
		in.Scan()
		if _, err := fmt.Sscanf(in.Text(), "%s %d", &what, &pid); err != nil {
			t.Fatalf("launcher says %q", in.Text())
		}
		fds[what] = append(fds[what], processFD(t, pid))
	}
	return cmd, fds
}

// wrappers shield ranks from the end of their launcher, and start others in their group.
var wrappers = []struct {
	script    string
	processes int // of each rank
}{
	{"", 2},
	{`"$0" "$@"; exit $?`, 2},
	{`env -i sleep 1000 & echo helper $!; exec "$0" "$@"`, 3},
}

// checkEnd checks that all processes end.
func checkEnd(t *testing.T, processes map[string][]int) {
	t.Helper()
	for what, fds := range processes {
		for i, fd := range fds {
			if !endsWithin(fd, 2000) {
				t.Errorf("%s %d of the job lives on", what, i)
				unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
		}
	}
}

// Nothing survives the launcher, not even ranks that a wrapper separates from it.
func TestNothingSurvivesTheLauncher(t *testing.T) {
	for _, w := range wrappers {
		t.Run("wrap="+w.script, func(t *testing.T) {
			cmd, fds := launcher(t, w.script, w.processes)
			cmd.Process.Kill()
			checkEnd(t, fds)
		})
	}
}

// Nothing survives the death of a rank, and the launcher reports it.
func TestNothingSurvivesARank(t *testing.T) {
	for _, w := range wrappers {
		t.Run("wrap="+w.script, func(t *testing.T) {
			cmd, fds := launcher(t, w.script, w.processes)
			if err := unix.PidfdSendSignal(fds["ready"][2], unix.SIGKILL, nil, 0); err != nil {
				t.Fatal(err)
			}
			checkEnd(t, fds)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != 137 {
				t.Errorf("the launcher exits with %d, want 137", got)
			}
		})
	}
}

// The socket's directory is there only until all have joined.
func TestSocketIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	left := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	j := start(t, "signals", 2)
	j.out.await("ready", 2)
	if names := left(); len(names) > 0 {
		t.Errorf("all have joined, yet there is %v", names)
	}
	j.Signal(unix.SIGUSR2)
	j.finish(0)

	j = start(t, "", 2, shell(`stat -c %a $(dirname $AQUEDUCT_SOCKET)`))
	j.finish(0)
	if j.out.String() != "700\n700\n" {
		t.Errorf("modes of the directory: %q", j.out)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("the job is over, yet there is %v", names)
	}
}

func TestLongTempDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	start(t, "collectives", 2).finish(0)
}

// What a killed launcher has left is removed by the next, at once; what looks similar is not, nor what
// another may be about to lock.
func TestStaleSocketsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	make := func(age time.Duration, name string, files ...string) string {
		d := filepath.Join(dir, name)
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(d, f)}); err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
		}
		old := time.Now().Add(-age)
		if err := os.Chtimes(d, old, old); err != nil {
			t.Fatal(err)
		}
		return d
	}
	stale := []string{make(0, "aqueduct-socket-1", "s"), make(time.Hour, ".new-aqueduct-socket-1")}
	foreign := make(time.Hour, "aqueduct-socket-2", "s", "t")
	other := make(time.Hour, "aqueduct-src", "s")
	begun := make(0, ".new-aqueduct-socket-2")
	start(t, "never", 1).finish(0)
	for _, d := range stale {
		if _, err := os.Stat(d); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", d, err)
		}
	}
	for _, d := range []string{foreign, other, begun} {
		if _, err := os.Stat(d); err != nil {
			t.Errorf("%s is gone: %v", d, err)
		}
	}
}
