package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
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
			"--goroutines":        "process per rank",
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
	if status := cmd.ProcessState.ExitCode(); status != 2 || !strings.Contains(string(out), fmt.Sprintf("libaqueduct-mpi-mpich.so in %s, %s, %s, /nowhere", dir, filepath.Join(dir, "../lib/aqueduct"), filepath.Join(dir, "../lib"))) &&
		!strings.Contains(string(out), "without cgo") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// Of two libraries, the one that was asked for is spoken of.
func TestMPIWithoutAnyShim(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Setenv("AQUEDUCT_LIBDIR", "/nowhere")
		status, _, errs := output(t, "", "--mpi", library, "-n", "2", "true")
		if strings.Contains(errs, "without cgo") {
			t.Skip(errs)
		}
		if status != 2 || !strings.Contains(errs, library+": no libaqueduct-mpi-"+library+".so in ") || strings.Count(errs, ".so in ") != 1 {
			t.Errorf("%s: status %d\n%s", library, status, errs)
		}
	}
}

// Standard input is that of rank 0, and the others' is at its end, whatever mpiexec gives them.
func TestMPIInput(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		cmd := command(t, "input", "--mpi", library, "-n", "3", "--timeout", "1m", self(t))
		cmd.Stdin = strings.NewReader("a line\nand more")
		out, err := cmd.CombinedOutput()
		if want := `["a line\nand more" "" ""]` + "\n"; err != nil || string(out) != want {
			t.Errorf("%v: %s, want %s", err, out, want)
		}
	})
}

// A job can start another, over the same library or the other one.
func TestMPIInMPI(t *testing.T) {
	overLibraries(t, func(t *testing.T, outer string) {
		overLibraries(t, func(t *testing.T, inner string) {
			status, out, errs := output(t, "ring", "--mpi", outer, "-n", "2", aqrun, "--mpi", inner, "-n", "3", self(t))
			if status != 0 || strings.Count(out, "ring closed") != 6 || errs != "" {
				t.Errorf("status %d\n%s%s", status, out, errs)
			}
		})
	})
}

// What an outer launcher has set is not inherited, what users set is, and so is what -x sets.
func TestMPIHides(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		hidden := []string{"OMPI_UNIVERSE_SIZE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMIX_RANK", "PMI_FD", "HYDI_CONTROL_FD", "MPI_LOCALRANKID"}
		kept := []string{"OMPI_MCA_btl_base_verbose", "OMPI_ALLOW_RUN_AS_ROOT", "PMIX_MCA_psec_base_verbose", "MPIR_CVAR_DEBUG_SUMMARY"}
		for _, name := range slices.Concat(hidden, kept) {
			t.Setenv(name, "00") // as no launcher writes it
		}
		args := []string{"--mpi", library, "-n", "1", "-x", "PMI_PORT=1"}
		_, shown, _ := output(t, "", append(args, "--dry-run", "true")...)
		for _, name := range hidden {
			if !strings.Contains(shown, " -u "+name+" ") {
				t.Errorf("%s is not hidden: %s", name, shown)
			}
		}
		for _, name := range kept {
			if strings.Contains(shown, name) {
				t.Errorf("%s is hidden: %s", name, shown)
			}
		}
		status, env, errs := output(t, "", append(args, "env")...)
		if status != 0 {
			t.Fatalf("status %d\n%s", status, errs)
		}
		for _, setting := range []string{"OMPI_MCA_btl_base_verbose=00\n", "MPIR_CVAR_DEBUG_SUMMARY=00\n", "PMI_PORT=1\n"} {
			if !strings.Contains(env, setting) {
				t.Errorf("%q is not inherited\n%s", setting, env)
			}
		}
		for _, name := range hidden {
			if strings.Contains(env, name+"=00\n") {
				t.Errorf("%s is inherited\n%s", name, env)
			}
		}
	})
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
		if status, _, errs := output(t, "", "--mpi", library, "-n", "1", "sh", "-c", "exit 5"); status != 5 || !strings.Contains(errs, "rank 0 exited with status 5") {
			t.Errorf("status %d\n%s", status, errs)
		}
	})
}

// On SIGQUIT and at the time limit every rank prints all its goroutines, though mpiexec kills those that
// are left when one has exited.
func TestMPIDumps(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		cmd := command(t, "crowd", "--mpi", library, "-n", "4", "--grace", "1m", self(t))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		s := start(t, cmd)
		s.await(t, "hanging", 4)
		s.Process.Signal(unix.SIGQUIT)
		if status := s.status(); status != 2 {
			t.Errorf("status %d", status)
		}
		const cut = 10 // mpiexec mixes what ranks print, in the middle of lines
		if got := strings.Count(errs.String(), "inCrowd()"); got < crowd-cut {
			t.Errorf("%d goroutines are printed, want %d", got, crowd)
		}
		if got := strings.Count(errs.String(), "hangHere()"); got != 4 {
			t.Errorf("%d ranks have printed their goroutines, want 4", got)
		}

		// The limit counts from the start of mpiexec, which may take any time.
		for limit := 2 * time.Second; ; limit *= 2 {
			status, all := together(t, "hang", "--mpi", library, "-n", "2", "--grace", "1m", "--timeout", limit.String(), self(t))
			if status != 124 {
				t.Fatalf("status %d\n%s", status, all)
			}
			before, _, _ := strings.Cut(all, "reached its time limit")
			before, _, _ = strings.Cut(before, "SIGQUIT: goroutines") // which may overtake it
			if strings.Count(before, "hanging") < 2 {
				continue
			}
			if strings.Count(all, "hangHere()") != 2 {
				t.Errorf("%s", all)
			}
			break
		}
	})
}

// together runs aqrun to its end, and returns all output in the order in which it came.
func together(t *testing.T, role string, args ...string) (status int, all string) {
	t.Helper()
	cmd := command(t, role, args...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
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

// Whoever of a job is killed, nothing of it is left, neither processes nor files; a rank's death gives
// the job its status.
func TestMPIKillLeavesNothing(t *testing.T) {
	const ranks = 3
	for _, victim := range []string{"rank 1", "aqrun", "mpiexec"} {
		t.Run(victim, func(t *testing.T) {
			overLibraries(t, func(t *testing.T, library string) {
				dir := t.TempDir()
				t.Setenv("TMPDIR", dir)
				cmd := command(t, "traffic", "--mpi", library, "--set", "rma=shared", "-n", strconv.Itoa(ranks), self(t))
				var errs bytes.Buffer
				cmd.Stderr = &errs
				s := start(t, cmd)
				all := map[string]process{"aqrun": watch(t, cmd.Process.Pid)}
				files := make(map[string]bool)
				for i, line := range s.await(t, "ready ", ranks) {
					pid, err := strconv.Atoi(strings.TrimPrefix(line, "ready "))
					if err != nil {
						t.Fatal(err)
					}
					all[fmt.Sprint("rank ", i)] = watch(t, pid)
					mappedFiles(t, pid, files)
				}
				all["mpiexec"], all["guard"] = mpiexecOf(t, cmd.Process.Pid), guardOf(t, cmd.Process.Pid)

				began := time.Now()
				if err := unix.PidfdSendSignal(all[victim].fd, unix.SIGKILL, nil, 0); err != nil {
					t.Fatal(err)
				}
				for name, p := range all {
					if !p.endsBy(began.Add(deadline)) {
						t.Errorf("%s, process %d, lives on\n%s", name, p.pid, &errs)
					}
				}
				t.Logf("all ended after %v", time.Since(began))
				if status := s.status(); victim != "aqrun" && status != 128+int(unix.SIGKILL) {
					t.Errorf("status %d\n%s", status, &errs)
				}
				for file := range files {
					if _, err := os.Lstat(file); err == nil {
						t.Errorf("%s is left", file)
					}
				}
				for name := range entries(t, dir) {
					t.Errorf("%s is left in TMPDIR", name)
				}
			})
		})
	}
}

// mappedFiles adds to files those under /dev/shm that a process has mapped.
func mappedFiles(t *testing.T, pid int, files map[string]bool) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if f := strings.Fields(line); len(f) == 6 && strings.HasPrefix(f[5], "/dev/shm/") { // a deleted one has a seventh
			files[f[5]] = true
		}
	}
}

// mpiexecOf returns the mpiexec that an aqrun has started.
func mpiexecOf(t *testing.T, aqrun int) process {
	t.Helper()
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", aqrun)) // the guard's, too
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", aqrun))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			pid, _ := strconv.Atoi(child)
			if exe, _ := os.Readlink("/proc/" + child + "/exe"); pid != 0 && exe != own {
				return watch(t, pid)
			}
		}
	}
	t.Fatalf("aqrun %d has started nothing", aqrun)
	return process{}
}

// The variable that holds a rank's number may be named in place of it.
func TestRankVariable(t *testing.T) {
	t.Setenv(spawner.EnvRank, "$SOMEBODYS_RANK")
	t.Setenv("SOMEBODYS_RANK", "3")
	if got := spawner.RankText(); got != "3" {
		t.Errorf("rank %q", got)
	}
}

// A rank that ends before it joins ends the job: with its status, or with 1 if that is 0 and others wait for it.
func TestMPIEndsBeforeItJoins(t *testing.T) {
	overLibraries(t, func(t *testing.T, library string) {
		for status, want := range map[int]int{0: 1, 7: 7} {
			t.Setenv("STATUS", strconv.Itoa(status))
			got, _, errs := output(t, "ring", "--mpi", library, "-n", "3", "--timeout", "1m", "sh", "-c",
				`[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 ] && exit $STATUS; exec "$0"`, self(t))
			if got != want || !strings.Contains(errs, fmt.Sprintf("rank 1 exited with status %d", status)) {
				t.Errorf("rank 1 exits with %d: status %d, want %d\n%s", status, got, want, errs)
			}
		}
	})
}

// Of a rank that is killed, and no other, is told that it was, with its status: when it has begun, which is before
// it has joined, and amid traffic. The others are killed by the library's launcher, or end on their own account.
func TestMPIBlames(t *testing.T) {
	const ranks, victim, rounds = 3, 1, 2
	overLibraries(t, func(t *testing.T, library string) {
		for _, when := range []string{"beginning", "traffic"} {
			t.Run(when, func(t *testing.T) {
				for range rounds {
					cmd := command(t, "traffic", "--mpi", library, "-n", strconv.Itoa(ranks), "--verbose", "--timeout", "1m", self(t))
					errs, err := cmd.StderrPipe()
					if err != nil {
						t.Fatal(err)
					}
					s := start(t, cmd)
					lines := bufio.NewScanner(errs)
					said, pid := "", 0
					for pid == 0 && lines.Scan() {
						said += lines.Text() + "\n"
						fmt.Sscanf(lines.Text(), fmt.Sprintf("aqueduct: rank %d is process %%d", victim), &pid)
					}
					if when == "traffic" {
						s.await(t, "ready ", ranks)
					}
					if err := unix.Kill(pid, unix.SIGKILL); err != nil {
						t.Fatalf("process %d: %v\n%s", pid, err, said)
					}
					for lines.Scan() {
						said += lines.Text() + "\n"
					}
					status := s.status()
					if blame := fmt.Sprintf("rank %d was killed by SIGKILL (killed); ending the job\n", victim); status != 128+int(unix.SIGKILL) || strings.Count(said, "ending the job") != 1 || !strings.Contains(said, blame) {
						t.Errorf("status %d\n%s", status, said)
					}
				}
			})
		}
	})
}

// Where a container's /dev/shm has no room for Open MPI's files, jobs run as everywhere, with them elsewhere.
func TestMPISmallShm(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm").CombinedOutput(); err != nil {
		t.Skipf("needs root that may mount: %s%v", out, err)
	}
	for _, size := range []string{"1m", "8m"} {
		t.Run(size, func(t *testing.T) {
			libmpitest.Launcher(t, "openmpi")
			cmd := exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs -o size=`+size+` tmpfs /dev/shm && exec "$@"`, "sh",
				aqrun, "--mpi", "openmpi", "-n", "2", "--timeout", "1m", self(t))
			cmd.Env = append(os.Environ(), roleEnv+"=sum")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "the sum is 1\n") != 2 || !strings.Contains(string(out), "files of mpiexec.openmpi, which take up to 20 MB, are in ") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// sum has the ranks add up their numbers by messages.
func sum() {
	const onNumber = 128
	aqueduct.Run(func(job *core.Job) error {
		got, total := 0, uint32(0)
		ep, err := job.Attach(core.AttachSpec{Segment: "64KB", Handlers: []core.HandlerEntry{
			{Index: onNumber, Func: func(_ *core.Token, args []uint32, _ []byte) { got, total = got+1, total+args[0] }},
		}})
		if err != nil {
			return err
		}
		for r := range core.Rank(job.Size()) {
			if err := ep.RequestShort(r, onNumber, uint32(job.Rank())); err != nil {
				return err
			}
		}
		if err := ep.WaitUntil(func() bool { return got == job.Size() }); err != nil {
			return err
		}
		fmt.Println("the sum is", total)
		return nil
	})
}
