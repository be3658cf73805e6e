package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// overLibraries runs a test for each MPI library that there is.
func overLibraries(t *testing.T, test func(t *testing.T, library string)) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			libmpitest.Launcher(t, library)
			test(t, library)
		})
	}
}

// What a dry run shows is what runs, and tells how the library's launcher is called.
func TestMPIDryRun(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		for _, args := range [][]string{{"--mpi", library}, {"--conduit", "mpi", "--profile", library}} {
			status, out, errs := output(t, "", append(args, "-n", "3", "--dry-run", "true", "an argument")...)
			if status != 0 || strings.Count(out, "\n") != 1 {
				t.Fatalf("status %d\n%s%s", status, out, errs)
			}
			for _, want := range []string{"AQUEDUCT_CONDUIT=mpi", "AQUEDUCT_PROFILE=" + library, "mpiexec", " -n 3 ", "true 'an argument'\n", "********"} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %s", want, out)
				}
			}
			if root := strings.Contains(out, "--allow-run-as-root"); library == "openmpi" && root != (os.Geteuid() == 0) {
				t.Errorf("as user %d: %s", os.Geteuid(), out)
			}
		}
	})
}

// Options that contradict each other, or what mpiexec can do, are refused.
func TestMPIOptions(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		for options, want := range map[string]string{
			"--conduit sci":       "contradict",
			"--profile auto":      "they mean the same",
			"--model mpi/scampi":  "give one of them",
			"--tag-output":        "started by mpiexec",
			"--launch-prefix env": "started by mpiexec",
		} {
			args := append([]string{"--mpi", library, "-n", "2"}, strings.Fields(options)...)
			if status, _, errs := output(t, "", append(args, "true")...); status != 2 || !strings.Contains(errs, want) {
				t.Errorf("%s: status %d, want %q\n%s", options, status, want, errs)
			}
		}
	})
	if status, _, errs := output(t, "", "--mpi", "other", "-n", "2", "true"); status != 2 || !strings.Contains(errs, "other") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

// Without a shim, the error says where it was looked for.
func TestMPIWithoutShim(t *testing.T) {
	exe, err := os.ReadFile(aqrun)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	elsewhere := dir + "/aqrun" // beside no shim
	if err := os.WriteFile(elsewhere, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(elsewhere, "--mpi", "mpich", "-n", "2", "true")
	cmd.Env = append(os.Environ(), "AQUEDUCT_LIBDIR=/nowhere")
	out, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != 2 || !strings.Contains(string(out), fmt.Sprintf("libaqueduct-mpi-mpich.so in %s, %s, /nowhere", dir, filepath.Join(dir, "../lib"))) &&
		!strings.Contains(string(out), "without cgo") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// Ranks find the shims that aqrun has found, wherever their program lies.
func TestMPIElsewhere(t *testing.T) {
	shims := filepath.SplitList(os.Getenv("AQUEDUCT_LIBDIR"))[0]
	overLibraries(t, func(t *testing.T, library string) {
		t.Chdir(shims)
		cmd := command(t, "ring", "--mpi", library, "-n", "2", self(t))
		cmd.Env = append(cmd.Env, "AQUEDUCT_LIBDIR=.")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "ring closed\n") != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// A job through mpiexec ends with its own status, and ranks that the launcher does not start
// itself have signals passed to them all the same.
func TestMPIJob(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		status, out, errs := output(t, "ring", "--mpi", library, "-n", "4", self(t))
		if status != 0 || strings.Count(out, "ring closed\n") != 4 {
			t.Errorf("status %d\n%s%s", status, out, errs)
		}
		if status, _, errs := output(t, "", "--mpi", library, "-n", "1", "sh", "-c", "exit 5"); status != 5 || !strings.Contains(errs, "mpiexec") {
			t.Errorf("status %d\n%s", status, errs)
		}
		if status, _, errs := output(t, "hang", "--mpi", library, "-n", "2", "--timeout", "3s", self(t)); status != 124 || strings.Count(errs, "hangHere") < 2 {
			t.Errorf("status %d\n%s", status, errs)
		}
	})
}

func TestMPISignals(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		s := start(t, command(t, "signals", "--mpi", library, "-n", "2", self(t)))
		s.await(t, "ready", 2)
		s.Process.Signal(unix.SIGUSR1)
		s.await(t, "got SIGUSR1", 2)
		s.Process.Signal(unix.SIGTERM)
		s.await(t, "got SIGTERM", 2)
		s.Process.Signal(unix.SIGUSR2)
		if status := s.status(); status != 128+int(unix.SIGTERM) {
			t.Errorf("status %d", status)
		}
	})
}

// Whoever of a job is killed, nothing of it is left; a rank's death gives the job its status.
func TestMPIKillLeavesNothing(t *testing.T) {
	for _, victim := range []string{"rank 1", "aqrun"} {
		t.Run(victim, func(t *testing.T) {
			overLibraries(t, func(t *testing.T, library string) {
				cmd := command(t, "wait", "--mpi", library, "-n", "3", self(t))
				s := start(t, cmd)
				all := []process{watch(t, cmd.Process.Pid)}
				for _, line := range s.await(t, "ready ", 3) {
					pid, err := strconv.Atoi(strings.TrimPrefix(line, "ready "))
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, watch(t, pid))
				}
				mpiexec, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
				if err == nil {
					for _, child := range strings.Fields(string(mpiexec)) {
						pid, _ := strconv.Atoi(child)
						all = append(all, watch(t, pid))
					}
				}
				dies := all[0]
				if victim != "aqrun" {
					dies = all[2]
				}
				began := time.Now()
				if err := unix.PidfdSendSignal(dies.fd, unix.SIGKILL, nil, 0); err != nil {
					t.Fatal(err)
				}
				for _, p := range all {
					if !p.endsBy(began.Add(deadline)) {
						t.Errorf("process %d lives on", p.pid)
					}
				}
				t.Logf("all ended after %v", time.Since(began))
				if status := s.status(); victim != "aqrun" && status != 128+int(unix.SIGKILL) {
					t.Errorf("status %d", status)
				}
			})
		})
	}
}

// The variable that holds a rank's number may be named in place of it.
func TestRankVariable(t *testing.T) {
	t.Setenv(spawner.EnvRank, "$SOMEBODYS_RANK")
	t.Setenv("SOMEBODYS_RANK", "3")
	if got := spawner.RankText(); got != "3" {
		t.Errorf("rank %q", got)
	}
}
