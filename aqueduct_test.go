package aqueduct_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/programs"
)

// envRole makes the test program one of the programs below.
const envRole = "AQ_TEST_ROLE"

// roles are small programs.
var roles = map[string]func(){
	"good": func() {
		aqueduct.Run(func(job *core.Job) error {
			fmt.Printf("rank %d of %d\n", job.Rank(), job.Size())
			return nil
		})
	},
	"attaches": func() {
		aqueduct.Run(func(job *core.Job) error {
			_, err := job.Attach(core.AttachSpec{Segment: "64KB"})
			fmt.Printf("rank %d of %d over %s\n", job.Rank(), job.Size(), job.Config().Conduit)
			return err
		})
	},
	"prefers goroutines": func() {
		aqueduct.Run(func(job *core.Job) error {
			fmt.Printf("rank %d of %d\n", job.Rank(), job.Size())
			return nil
		}, aqueduct.Goroutines(3))
	},
	"prefers a model": func() {
		aqueduct.Run(func(job *core.Job) error {
			fmt.Printf("rank %d of %d\n", job.Rank(), job.Size())
			job.Measure(0, func() {})
			return nil
		}, aqueduct.Model("loopback/default", 2))
	},
	"logs by itself": func() {
		cfg := core.Config{Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
		aqueduct.Run(func(job *core.Job) error {
			job.Measure(0, func() {})
			return nil
		}, aqueduct.Config(cfg), aqueduct.Model("loopback/default", 2))
	},
	"fails": func() {
		aqueduct.Run(func(*core.Job) error { return errors.New("no luck") })
	},
	"segment of two pages": func() {
		aqueduct.Run(func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{Segment: strconv.Itoa(2 * os.Getpagesize())})
			if err == nil {
				fmt.Println(len(ep.Segment()) / os.Getpagesize())
			}
			return err
		}, aqueduct.Segment(strconv.Itoa(5*os.Getpagesize())))
	},
	"negative stall": func() {
		aqueduct.Run(func(*core.Job) error { return nil }, aqueduct.Stall(-time.Second))
	},
	"too many": func() {
		aqueduct.Run(func(*core.Job) error { return nil }, aqueduct.Model("loopback", 1e9))
	},
	"twice": func() {
		for range 2 {
			if err := aqueduct.Launch(func(*core.Job) error { return nil }); err != nil {
				fmt.Println(err)
			}
		}
	},
	"by a launcher": func() {
		core.RegisterLauncher(core.Launcher{
			Conduit: "loopback", Name: "rocket", Variables: []string{"AQUEDUCT_ROCKET"},
			Rank: func() (string, bool) { return os.Getenv("AQUEDUCT_ROCKET"), os.Getenv("AQUEDUCT_ROCKET") != "" },
			Connect: func() (core.Bootstrap, error) {
				if os.Getenv("AQUEDUCT_ROCKET") == "lost" {
					return nil, errors.New("no ground control")
				}
				return core.Alone(), nil
			},
			Starter: func(string, int, bool) (*core.Starter, error) { return nil, errors.ErrUnsupported },
		})
		aqueduct.Run(func(job *core.Job) error {
			fmt.Println(job.Config().Conduit)
			return nil
		})
	},
	"one fails, others compute": func() {
		aqueduct.Run(func(job *core.Job) error {
			if job.Rank() == 1 {
				return &core.ExitError{Status: 7, Reason: "rank 1 has had enough"}
			}
			compute()
			return nil
		})
	},
	"compute": func() {
		aqueduct.Run(func(job *core.Job) error {
			fmt.Println("ready")
			if job.Rank() == core.Rank(job.Size()-1) {
				compute()
			}
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			return ep.WaitUntil(func() bool { return false })
		})
	},
}

// compute never ends.
func compute() {
	for {
		runtime.Gosched()
	}
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(envRole)]; role != nil {
		role()
		return
	}
	os.Exit(run(m))
}

// built is where goBuild puts programs.
var built string

func run(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "aqueduct-test-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	return m.Run()
}

// program returns the command that runs a role with settings of the environment.
func program(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if roles[role] == nil {
		t.Fatalf("no role %q", role)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), envRole+"="+role), env...)
	return cmd
}

// finish runs the command and returns its status and output.
func finish(t *testing.T, cmd *exec.Cmd) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestRefused gives settings that make no sense: status 1, and a message that says what to
// do.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ role, env, says string }{
		{"good", "AQUEDUCT_RANKS=0", "from 1 to 65536"},
		{"good", "AQUEDUCT_RANKS=-4", "from 1 to 65536"},
		{"good", "AQUEDUCT_RANKS=1000000000", "from 1 to 65536"},
		{"good", "AQUEDUCT_RANKS=99999999999999999999", "from 1 to 65536"},
		{"good", "AQUEDUCT_RANKS=four", "from 1 to 65536"},
		{"good", "AQUEDUCT_RANKS=4", "aqrun -n 4"},
		{"prefers goroutines", "AQUEDUCT_MODE=processes", "aqrun -n 3"},
		{"too many", "", "1000000000 ranks"},
		{"good", "AQUEDUCT_SEGMENT=5IB", `AQUEDUCT_SEGMENT="5IB": size "5IB" is not like 65536`},
		{"good", "AQUEDUCT_MODE=threads", "want processes, goroutines or model"},
		{"good", "AQUEDUCT_THREADS=few", "want single or many"},
		{"good", "AQUEDUCT_REACH=maybe", "want on or off"},
		{"good", "AQUEDUCT_NATIVE=maybe", "want on or off"},
		{"good", "AQUEDUCT_NEAR=maybe", "want one of [auto on off]"},
		{"good", "AQUEDUCT_DEBUG=perhaps", "want 1 or 0"},
		{"good", "AQUEDUCT_VERBOSE=perhaps", "want 1 or 0"},
		{"good", "AQUEDUCT_FREEZE=some", "want all, or numbers of ranks"},
		{"good", "AQUEDUCT_FREEZE_ON_ERROR=perhaps", "want 1 or 0"},
		{"good", "AQUEDUCT_PPROF=/dev/null", "AQUEDUCT_PPROF: mkdir /dev/null"},
		{"good", "AQUEDUCT_SEED=-1", "want a whole number"},
		{"good", "AQUEDUCT_STALL=-1s", "want a time"},
		{"good", "AQUEDUCT_STALL=10", "want a time"},
		{"good", "AQUEDUCT_GRACE=-1ns", "want a time"},
		{"negative stall", "", "must not be negative"},
		{"good", "AQUEDUCT_LOSE=0@1ms", "for jobs in virtual time"},
		{"good", "AQUEDUCT_TRACE=t", "for jobs in virtual time"},
		{"good", "AQUEDUCT_MODEL_REPORT=1", "for jobs in virtual time"},
		{"good", "AQUEDUCT_MODEL_REPORT=often", "want 1 or 0"},
		{"good", "AQUEDUCT_LOSE=0", "want RANK@TIME"},
		{"prefers a model", "AQUEDUCT_PROFILE=other", "no model \"other\""},
		{"prefers a model", "AQUEDUCT_TRACE=/nonexistent/trace", "the trace of the model"},
		{"prefers a model", "AQUEDUCT_LOSE=9@1ms", "rank 9 is to be lost"},
		{"good", "AQUEDUCT_SETTINGS=fast", "want key=value"},
		{"good", "AQUEDUCT_CONDUIT=tin-can", "unknown conduit"},
	} {
		status, out, errs := finish(t, program(t, c.role, c.env))
		if status != 1 || out != "" || !strings.Contains(errs, c.says) || strings.Count(errs, "aqueduct: ") != 1 {
			t.Errorf("%s with %q: status %d, output %q, message %q; want status 1 and %q", c.role, c.env, status, out, errs, c.says)
		}
	}
}

// A launcher that has registered is joined where it has started the process, and only there. It chooses
// the conduit and owns its variables.
func TestRegisteredLauncher(t *testing.T) {
	for rank, want := range map[string]string{"0": "loopback\n", "": "sci\n"} {
		status, out, errs := finish(t, program(t, "by a launcher", "AQUEDUCT_ROCKET="+rank))
		if status != 0 || out != want || errs != "" {
			t.Errorf("rank %q: status %d, %s, want %s\n%s", rank, status, out, want, errs)
		}
	}
	status, _, errs := finish(t, program(t, "by a launcher", "AQUEDUCT_ROCKET=lost"))
	if status != 1 || !strings.Contains(errs, "no ground control; aqrun starts jobs without rocket") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

// Several processes of a launcher of MPI, each of which would be a job of its own, are refused.
func TestJobsUnderMPI(t *testing.T) {
	for _, mode := range []string{"goroutines", "model"} {
		status, _, errs := finish(t, program(t, "good", "AQUEDUCT_MODE="+mode, "OMPI_COMM_WORLD_SIZE=2"))
		if status != 1 || !strings.Contains(errs, "unset AQUEDUCT_MODE") {
			t.Errorf("%s: status %d, %q", mode, status, errs)
		}
	}
}

// TestModes runs one program in every mode that needs no launcher.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		role  string
		env   []string
		ranks int
	}{
		{"good", nil, 1},
		{"good", []string{"AQUEDUCT_RANKS=1", "AQUEDUCT_REACH=off", "AQUEDUCT_NATIVE=off", "AQUEDUCT_NEAR=on", "AQUEDUCT_GRACE=0s", "AQUEDUCT_STALL=1h"}, 1},
		{"good", []string{"AQUEDUCT_MODE=goroutines", "AQUEDUCT_RANKS=4"}, 4},
		{"good", []string{"AQUEDUCT_MODE=model", "AQUEDUCT_RANKS=5"}, 5},
		{"prefers goroutines", nil, 3},
		{"prefers goroutines", []string{"AQUEDUCT_RANKS=2"}, 2},
	} {
		status, out, errs := finish(t, program(t, c.role, c.env...))
		if status != 0 || errs != "" || strings.Count(out, fmt.Sprintf(" of %d\n", c.ranks)) != c.ranks {
			t.Errorf("%s with %q: status %d, output %q, messages %q; want %d ranks", c.role, c.env, status, out, errs, c.ranks)
		}
	}
}

// TestSegment asks for a segment in all places: the launcher's word wins over AttachSpec, and that
// over the program's default.
func TestSegment(t *testing.T) {
	page := os.Getpagesize()
	for env, want := range map[string]string{
		"AQUEDUCT_SEGMENT=":                     "2\n",
		fmt.Sprint("AQUEDUCT_SEGMENT=", 3*page): "3\n",
		fmt.Sprint("AQUEDUCT_SEGMENT=", page):   "1\n",
		"AQUEDUCT_SEGMENT=0":                    "0\n",
	} {
		if status, out, errs := finish(t, program(t, "segment of two pages", env)); status != 0 || out != want {
			t.Errorf("%s: status %d, %q, want %q\n%s", env, status, out, want, errs)
		}
	}
}

// TestModelTells wants the trace and the report that the environment asks for, and in any
// case a word about a run that is not deterministic, from the job's logger.
func TestModelTells(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	const measured = "rank 0 has measured time on the host"
	status, out, errs := finish(t, program(t, "prefers a model", "AQUEDUCT_TRACE="+trace))
	if status != 0 || strings.Count(out, "rank ") != 2 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "not deterministic: "+measured) {
		t.Errorf("status %d, output %q, messages %q", status, out, errs)
	}
	if text, err := os.ReadFile(trace); err != nil || !strings.Contains(string(text), measured) || !strings.HasPrefix(string(text), "0 wake rank 0\n") {
		t.Errorf("trace: %v\n%s", err, text)
	}
	status, _, errs = finish(t, program(t, "prefers a model", "AQUEDUCT_MODEL_REPORT=1"))
	if status != 0 || !strings.HasPrefix(errs, "model loopback/default: 2 ranks, 0s of virtual time") || strings.Count(errs, measured) != 1 {
		t.Errorf("status %d, messages %q", status, errs)
	}
	status, out, errs = finish(t, program(t, "logs by itself"))
	if status != 0 || errs != "" || !strings.Contains(out, "level=WARN") || !strings.Contains(out, measured) {
		t.Errorf("with a logger of its own: status %d, output %q, messages %q", status, out, errs)
	}
	status, _, errs = finish(t, program(t, "prefers a model", "AQUEDUCT_MODE=goroutines", "AQUEDUCT_CONDUIT=sci"))
	if status != 0 || errs != "" {
		t.Errorf("live: status %d, messages %q", status, errs)
	}
}

// TestUnknownVariable misspells a variable: one warning, on rank 0.
func TestUnknownVariable(t *testing.T) {
	const wrong = "AQUEDUCT_TREADS"
	aqrun := goBuild(t, "./cmd/aqrun")
	for _, c := range []struct {
		role   string
		launch []string
	}{
		{"good", nil},
		{"twice", nil},
		{"good", []string{aqrun, "-n", "3"}},
		{"good", []string{aqrun, "-n", "3", "--goroutines"}},
		{"good", []string{aqrun, "-n", "3", "--model", "loopback"}},
	} {
		status, _, errs := finish(t, under(program(t, c.role, wrong+"=single"), c.launch...))
		if status != 0 || strings.Count(errs, "unknown environment variable") != 1 || !strings.Contains(errs, wrong) {
			t.Errorf("%s by %q: status %d, messages %q; want one warning that names %s", c.role, c.launch, status, errs, wrong)
		}
	}
}

// TestLaunched starts programs with the launcher, which decides how they run and prints a
// failure that it knows of, once.
func TestLaunched(t *testing.T) {
	aqrun := goBuild(t, "./cmd/aqrun")
	for _, c := range []struct {
		role   string
		status int
		says   string
	}{
		{"prefers goroutines", 0, "rank 1 of 2\n"},
		{"fails", 1, "no luck"},
	} {
		status, out, errs := finish(t, under(program(t, c.role), aqrun, "-n", "2"))
		if out += errs; status != c.status || strings.Count(out, c.says) != 1 {
			t.Errorf("%s: status %d and %q; want %d and %q once", c.role, status, out, c.status, c.says)
		}
	}
}

// TestFailsBeforeJoining has ranks fail in different ways before the launcher knows them:
// the reason is printed all the same.
func TestFailsBeforeJoining(t *testing.T) {
	aqrun := goBuild(t, "./cmd/aqrun")
	for _, c := range []struct{ env, says string }{
		{"AQUEDUCT_THREADS=few", "want single or many"},
		{"AQUEDUCT_CONDUIT=tin-can", "unknown conduit"},
	} {
		// aqrun itself does not see the variable.
		cmd := under(program(t, "good"), aqrun, "-n", "1", "env", c.env)
		status, _, errs := finish(t, cmd)
		if status != 1 || strings.Count(errs, c.says) != 1 {
			t.Errorf("%s: status %d, messages %q; want 1, and once %q", c.env, status, errs, c.says)
		}
	}
	status, _, errs := finish(t, under(program(t, "good"), aqrun, "-n", "1", "env", "-u", "AQUEDUCT_SECRET"))
	if status != 1 || !strings.Contains(errs, "AQUEDUCT_SECRET not set") {
		t.Errorf("without the secret: status %d, messages %q", status, errs)
	}
}

// TestGoroutineComputes has one rank fail while others never call the library again: the
// process ends after the grace period, with the status of the one and the names of the
// others.
func TestGoroutineComputes(t *testing.T) {
	cmd := program(t, "one fails, others compute", "AQUEDUCT_MODE=goroutines", "AQUEDUCT_RANKS=3", "AQUEDUCT_GRACE=50ms")
	status, _, errs := finish(t, cmd)
	if status != 7 || !strings.Contains(errs, "rank 1 has had enough") || !strings.Contains(errs, "rank 0, 2") {
		t.Errorf("status %d, messages %q; want 7, the reason, and the ranks that still run", status, errs)
	}
}

// TestDumpNamesRanks asks processes of several ranks for their goroutines.
func TestDumpNamesRanks(t *testing.T) {
	for _, mode := range []string{"goroutines", "model"} {
		cmd := program(t, "compute", "AQUEDUCT_MODE="+mode, "AQUEDUCT_RANKS=3")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(stdout)
		for range 3 {
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("%s: before all were ready: %v", mode, err)
			}
		}
		cmd.Process.Signal(unix.SIGQUIT)
		io.Copy(io.Discard, stdout)
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 2 {
			t.Errorf("%s: status %d after SIGQUIT, want 2", mode, status)
		}
		for r := range 3 {
			if want := fmt.Sprintf(`{"rank": "%d"}`, r); !strings.Contains(errs.String(), want) {
				t.Errorf("%s: the dump does not have %s:\n%s", mode, want, errs.String())
			}
		}
	}
}

// under puts a command line in front of the command.
func under(cmd *exec.Cmd, prefix ...string) *exec.Cmd {
	if len(prefix) == 0 {
		return cmd
	}
	c := exec.Command(prefix[0], append(prefix[1:], cmd.Args...)...)
	c.Env = cmd.Env
	return c
}

// goBuild builds a program of this module, unless a test has done that, and returns its path.
func goBuild(t *testing.T, pkg string) string {
	t.Helper()
	prog := filepath.Join(built, filepath.Base(pkg))
	if _, err := os.Stat(prog); err == nil {
		return prog
	}
	if err := programs.Build(built, pkg); err != nil {
		t.Fatal(err)
	}
	return prog
}

// A launcher that speaks PMI starts jobs with any conduit; over MPI they find each other by that.
func TestPMI(t *testing.T) {
	mpiexec, err := exec.LookPath("mpiexec.mpich")
	if err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	for _, c := range []struct{ env, conduit, refusal string }{
		{"AQUEDUCT_CONDUIT=udp", "udp", ""},
		{"AQUEDUCT_CONDUIT=sci", "sci", ""},
		{"AQUEDUCT_CONDUIT=", "sci", ""}, // mpi cannot be used here
		{"AQUEDUCT_CONDUIT=mpi", "", "no libaqueduct-mpi-mpich.so"},
		{"AQUEDUCT_MODE=goroutines", "", "a launcher that speaks PMI or PMIx has started several processes"},
	} {
		t.Run(c.env, func(t *testing.T) {
			prog := program(t, "attaches", c.env)
			cmd := exec.Command(mpiexec, "-launcher", "fork", "-hosts", "localhost", "-n", "3", prog.Path)
			cmd.Env = append(prog.Env, "AQUEDUCT_LIBDIR=")
			out, err := cmd.CombinedOutput()
			for r := range 3 {
				if want := fmt.Sprintf("rank %d of 3 over %s\n", r, c.conduit); c.refusal == "" && !strings.Contains(string(out), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if !strings.Contains(string(out), c.refusal) || (err != nil) != (c.refusal != "") {
				t.Errorf("%v, want %q:\n%s", err, c.refusal, out)
			}
		})
	}
}

// If nobody names a conduit, ranks use MPI where its own launcher has started them, and not where another has that speaks PMI, as srun.
// What tells the two apart is a variable, which is hidden here.
func TestPMINeedNotBeMPI(t *testing.T) {
	mpiexec, err := exec.LookPath("mpiexec.mpich")
	if err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	shims := t.TempDir()
	if out, err := exec.Command("sh", "scripts/mpi-shims.sh", shims).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(shims, "libaqueduct-mpi-mpich.so")); err != nil {
		t.Skipf("needs an MPI library, and a C compiler: %v", err)
	}
	prog := program(t, "attaches")
	for conduit, hidden := range map[string][]string{"mpi": nil, "sci": {"env", "-u", "MPI_LOCALNRANKS"}} {
		cmd := exec.Command(mpiexec, slices.Concat([]string{"-launcher", "fork", "-hosts", "localhost", "-n", "2"}, hidden, []string{prog.Path})...)
		cmd.Env = append(prog.Env, "AQUEDUCT_LIBDIR="+shims)
		out, err := cmd.CombinedOutput()
		if want := " of 2 over " + conduit + "\n"; err != nil || strings.Count(string(out), want) != 2 {
			t.Errorf("%v; want two ranks%s%s", err, want, out)
		}
	}
}

// On several hosts, which mount namespaces make of this one, nobody need name a conduit that joins them.
func TestPMIOnSeveralHosts(t *testing.T) {
	mpiexec, err := exec.LookPath("mpiexec.mpich")
	if err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("needs root that may make namespaces: unshare --mount: %v", err)
	}
	prog := program(t, "attaches")
	cmd := exec.Command(mpiexec, "-launcher", "fork", "-hosts", "localhost", "-n", "3",
		"sh", "-c", `if test $PMI_RANK = 2; then exec unshare --mount "$0"; else exec "$0"; fi`, prog.Path)
	cmd.Env = append(prog.Env, "AQUEDUCT_LIBDIR=")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "of 3 over nbrhd\n") != 3 {
		t.Errorf("%v; want three ranks over nbrhd, which is sci and udp:\n%s", err, out)
	}
}
