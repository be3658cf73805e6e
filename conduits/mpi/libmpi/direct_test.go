package libmpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// roleEnv makes the test program a rank: it names one of roles.
const roleEnv = "LIBMPI_TEST_ROLE"

// libraryEnv is the profile of a rank.
const libraryEnv = "LIBMPI_TEST_LIBRARY"

var roles = map[string]func(){
	"attach": func() { // a rank of the spawner's
		boot, err := spawner.Connect()
		check(err)
		leave(boot, core.Main(boot, config(), attachOnly))
	},
	"boot": func() {
		boot, err := libmpi.Connect()
		check(err)
		check(collectives(boot))
		check(boot.Close())
		fmt.Println("good")
	},
	"traffic": member(exchangeAll),
	"unreceived": func() {
		boot, err := libmpi.Connect()
		check(err)
		check(leaveUnreceived(boot))
		check(boot.Close())
	},
	"twice": func() { // MPI is finalised by then
		member(attachOnly)()
		_, err := libmpi.Connect()
		fmt.Println("second:", err)
	},
	"recover": member(func(job *core.Job) error {
		if err := attachOnly(job); err != nil {
			return err
		}
		defer func() { fmt.Println("recovered:", recover()) }()
		var nothing *core.Job
		return fmt.Errorf("rank %d of nothing", nothing.Rank())
	}),
	"aborted-then-closed": func() {
		boot, err := libmpi.Connect()
		check(err)
		boot.Abort(3, "an end")
		check(boot.Close())
		select {} // the rank has a second to leave
	},
	"exit-alone": member(func(job *core.Job) error {
		err := attachOnly(job)
		job.Exit(7)
		return err
	}),
	"exit-7": member(inBarrier(func(job *core.Job) error { job.Exit(7); return nil })),
	"exit-0": member(inBarrier(func(job *core.Job) error { job.Exit(0); return nil })),
	"error":  member(inBarrier(func(*core.Job) error { return errors.New("an error of its own") })),
	"panic":  member(inBarrier(func(*core.Job) error { panic("kaboom") })),
	"level":  member(printLevel),
	"level-beside": func() {
		libmpi.Beside()
		member(printLevel)()
	},
	"uneven": func() {
		boot, err := libmpi.Connect()
		check(err)
		cfg := config()
		cfg.Settings = map[string]string{"collectives": "native"}
		check(core.Main(boot, cfg, beginUnevenly))
	},
	"killed": member(inBarrier(func(*core.Job) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })),
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "rank:", err)
		os.Exit(1)
	}
}

func config() core.Config {
	return core.Config{Conduit: "mpi", Profile: os.Getenv(libraryEnv), Segment: "1MB"}
}

// leave ends the process as the front door does.
func leave(boot core.Bootstrap, err error) {
	if err != nil {
		core.ExitOf(boot)(core.StatusOf(err))
	}
}

// member is a rank whose launcher is that of MPI.
func member(body func(*core.Job) error) func() {
	return func() {
		boot, err := libmpi.Connect()
		check(err)
		leave(boot, core.Main(boot, config(), body))
	}
}

func attachOnly(job *core.Job) error {
	_, err := job.Attach(core.AttachSpec{})
	return err
}

func printLevel(job *core.Job) error {
	err := attachOnly(job)
	fmt.Println(libmpi.Describe())
	return err
}

// beginUnevenly has rank 1 begin a collective operation that the others do not, and leave.
func beginUnevenly(job *core.Job) error {
	ep, err := job.Attach(core.AttachSpec{})
	if err != nil || job.Rank() != 1 {
		return err
	}
	_, err = ep.CollectiveNative(core.Collective{Op: core.CollectiveBarrier, Done: new(core.Completion)})
	return err
}

// inBarrier has rank 1 do something while the others wait for it.
func inBarrier(do func(*core.Job) error) func(*core.Job) error {
	return func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			return do(job)
		}
		return ep.Barrier()
	}
}

// collectives checks the calls of a bootstrap among all ranks.
func collectives(boot core.Bootstrap) error {
	if n := len(boot.Local()); n != boot.Size() || !slices.Contains(boot.Local(), boot.Rank()) {
		return fmt.Errorf("rank %d: local %v of %d", boot.Rank(), boot.Local(), boot.Size())
	}
	for _, unit := range []int{0, 1, 1000, 64 << 10} {
		give := func(r core.Rank) []byte { return bytes.Repeat([]byte{byte(r + 1)}, unit*int(r)) }
		all, err := boot.Exchange(give(boot.Rank()))
		if err != nil {
			return err
		}
		for r := range core.Rank(boot.Size()) {
			if !bytes.Equal(all[r], give(r)) {
				return fmt.Errorf("rank %d: %d bytes of rank %d differ", boot.Rank(), len(all[r]), r)
			}
		}
		if err := boot.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

// exchangeAll has every rank send to every one, with payloads of all kinds.
func exchangeAll(job *core.Job) error {
	const onMedium, onLong = 128, 129
	got := 0
	ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
		{Index: onMedium, Func: func(tok *core.Token, _ []uint32, data []byte) { got += len(data) }},
		{Index: onLong, Func: func(tok *core.Token, _ []uint32, data []byte) { got += len(data) }},
	}})
	if err != nil {
		return err
	}
	want := 0
	for _, n := range []int{1, 4000, 5000, 60000} {
		data := make([]byte, n)
		for r := range core.Rank(job.Size()) {
			if err := ep.RequestMedium(r, onMedium, data); err != nil {
				return err
			}
			if err := ep.RequestLong(r, onLong, data, uint64(job.Rank())*(64<<10)); err != nil {
				return err
			}
		}
		want += 2 * n * job.Size()
	}
	if err := ep.WaitUntil(func() bool { return got >= want }); err != nil {
		return err
	}
	fmt.Println("good")
	return nil
}

// ranks runs n ranks of the test program in a role under the spawner, and returns what came of it.
func ranks(t *testing.T, n int, starter *core.Starter, role, library string) (status int, out string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	job, err := spawner.Start(context.Background(), spawner.Spec{
		N: n, Prog: exe, Starter: starter, Env: []string{roleEnv + "=" + role, libraryEnv + "=" + library},
		Stdout: &all, Stderr: &all,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, _ = job.Wait()
	return status, all.String()
}

// direct runs n ranks in a role under a library's launcher alone.
func direct(t *testing.T, library string, n int, role string) (status int, out string) {
	t.Helper()
	libmpitest.Launcher(t, library)
	starter, err := libmpi.Starter(library, n, false)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	argv := starter.Command
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{dir}", dir)
	}
	cmd := exec.Command(argv[0], append(argv[1:], exe)...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, libraryEnv+"="+libmpi.Auto, "GORACE=atexit_sleep_ms=0")
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// Jobs of mpiexec alone: MPI is their bootstrap.
func TestDirect(t *testing.T) {
	// What becomes of a rank's own end is the launcher's affair. MPICH's tells signals without 128, and
	// sometimes takes a rank that it has killed itself for the first.
	panicked := map[string][]int{"openmpi": {2}, "mpich": {2, 9}}
	failed := map[string][]int{"openmpi": {1}, "mpich": {1, 9}}
	// The least level at which calls take no locks.
	cheap := map[string]string{"openmpi": "by this package, provides MPI_THREAD_SINGLE", "mpich": "by this package, provides MPI_THREAD_SERIALIZED"}
	killed := map[string][]int{"openmpi": {128 + 9}, "mpich": {9}}
	for _, library := range libmpitest.Libraries {
		for _, c := range []struct {
			role  string
			n     int
			any   []int // of these statuses
			says  string
			times int
		}{
			{"boot", 1, []int{0}, "good", 1},
			{"boot", 4, []int{0}, "good", 4},
			{"traffic", 2, []int{0}, "good", 2},
			{"traffic", 4, []int{0}, "good", 4},
			{"unreceived", 2, []int{0}, "good", 2},
			{"twice", 2, []int{0}, "second: mpi: the launcher", 2},
			{"recover", 2, []int{0}, "recovered: runtime error: invalid memory address", 2},
			{"aborted-then-closed", 1, []int{3}, "ended the job with status 3: an end", 1},
			{"exit-alone", 1, []int{7}, "rank 0 called Exit(7)", 1},
			{"exit-7", 3, []int{7}, "rank 1 called Exit(7)", 1},
			{"exit-0", 3, []int{0}, "", 0},
			{"error", 3, []int{1}, "rank 1 ended the job with status 1: an error of its own", 1},
			{"panic", 4, panicked[library], "kaboom", 1},
			{"level", 1, []int{0}, cheap[library], 1},
			{"level-beside", 1, []int{0}, "by this package, provides MPI_THREAD_MULTIPLE", 1},
			{"uneven", 3, failed[library], "not all ranks have begun the same collective operations", 1},
			{"killed", 3, killed[library], "", 0},
		} {
			t.Run(fmt.Sprintf("%s/%s/n=%d", library, c.role, c.n), func(t *testing.T) {
				t.Parallel()
				status, out := direct(t, library, c.n, c.role)
				if !slices.Contains(c.any, status) || strings.Count(out, c.says) < c.times {
					t.Errorf("status %d, want %v and %d times %q\n%s", status, c.any, c.times, c.says, out)
				}
				// Which would only exit, and the launcher take that for an end with status 1 at times.
				if library == "mpich" && c.n == 1 && strings.Contains(out, "MPI_Abort") {
					t.Errorf("a job of one has called MPI_Abort\n%s", out)
				}
			})
		}
	}
}

// What says that there are several processes is believed only if the library says so as well.
func TestFalseEnvironment(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			libmpitest.Launcher(t, library)
			starter, err := libmpi.Starter(library, 2, false)
			if err != nil {
				t.Fatal(err)
			}
			rankVar := starter.RankVar
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), roleEnv+"=boot", rankVar+"=0", strings.Replace(rankVar, "RANK", "SIZE", 1)+"=2")
			out, _ := cmd.CombinedOutput()
			if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(string(out), "do not fit together") {
				t.Errorf("status %d\n%s", status, out)
			}
		})
	}
}
