package pmi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/pmi"
	"github.com/aqueduct-go/aqueduct/spawner/pmi/libpmix"
	"golang.org/x/sys/unix"

	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
	_ "github.com/aqueduct-go/aqueduct/conduits/udp"
)

// roleEnv makes the test program a rank: it names one of roles.
const roleEnv = "PMI_TEST_ROLE"

func TestMain(m *testing.M) {
	coretest.RankMain(pmi.Connect)
	if role, ok := os.LookupEnv(roleEnv); ok {
		roles[role]()
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // ranks end at once
	os.Exit(m.Run())
}

// launcher is one that speaks PMI.
type launcher struct {
	name    string
	rank    string               // the variable that tells a process its rank
	command func(n int) []string // that starts n ranks of the program behind it
	env     []string
	wrap    string // "": none; or a command of the shell that starts the program, $0
}

// hydra returns MPICH's launcher, and skips the test where it is not installed.
func hydra(t testing.TB) *launcher {
	path, err := exec.LookPath("mpiexec.mpich")
	if err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	return &launcher{name: "mpich", rank: "PMI_RANK", command: func(n int) []string {
		return []string{path, "-launcher", "fork", "-hosts", "localhost", "-n", strconv.Itoa(n)}
	}}
}

// openMPI returns Open MPI's launcher, which speaks PMIx, and skips the test where it is not installed, or the library of PMIx is
// not.
func openMPI(t testing.TB) *launcher {
	path, err := exec.LookPath("mpiexec.openmpi")
	if err != nil {
		t.Skipf("needs an MPI library: %v", err)
	}
	if err := libpmix.Usable(); err != nil {
		t.Skipf("needs a PMIx library: %v", err)
	}
	return &launcher{
		name: "openmpi", rank: "PMIX_RANK",
		env: []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		command: func(n int) []string {
			// On this host only, which needs no ssh, and without a pause of two seconds when a rank has failed.
			return []string{path, "--mca", "plm", "isolated", "--mca", "odls_base_sigkill_timeout", "0", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(n)}
		},
	}
}

// run runs n ranks of this program.
func (l *launcher) run(t testing.TB, n int, out io.Writer, limit time.Duration, env ...string) (status int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := l.command(n)
	if l.wrap != "" {
		argv = append(argv, "sh", "-c", l.wrap)
	}
	argv = append(argv, self)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = slices.Concat(os.Environ(), l.env, env)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slow := time.AfterFunc(limit, func() {
		t.Errorf("the job has not ended within %v", limit)
		cmd.Process.Signal(syscall.SIGTERM)
	})
	defer slow.Stop()
	if err := cmd.Wait(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// Offers implements coretest.Launcher.
func (l *launcher) Offers() coretest.Offer { return coretest.Live | coretest.Processes }

// Launch implements coretest.Launcher.
func (l *launcher) Launch(t testing.TB, j *coretest.Launch) *coretest.Outcome {
	t.Helper()
	out := &coretest.Output{Dir: j.Dir}
	status := l.run(t, j.Ranks, out, j.Timeout, j.Env()...)
	o := &coretest.Outcome{Status: status, Output: out.String()}
	if status != 0 {
		o.Err = errors.New(strings.TrimSpace(o.Output))
	}
	return o
}

// launchers are those that are installed with an MPI library.
var launchers = []struct {
	name string // of what they speak
	find func(testing.TB) *launcher
}{{"pmi", hydra}, {"pmix", openMPI}}

// suite is the cases that say something about how ranks meet, share memory and end, by conduit.
var suite = map[string]func(*coretest.Case) bool{
	"sci": coretest.Groups("attach", "exit", "segment", "group"),
	"udp": coretest.Groups("attach", "exit", "group"),
}

func TestConformance(t *testing.T) {
	for _, of := range launchers {
		t.Run(of.name, func(t *testing.T) {
			l := of.find(t)
			var kinds []coretest.Kind
			for _, conduit := range slices.Sorted(maps.Keys(suite)) {
				kinds = append(kinds, coretest.Kind{
					Name: conduit, Launcher: l, Factors: l.name, // which conduit a case has says little
					Config: core.Config{Conduit: conduit, Segment: "1MB"},
					Only: func(c *coretest.Case) bool {
						// A launcher that is told that the job ends with status 0 ends it at once.
						return suite[conduit](c) && c.Name != "exit/non-zero-beats-zero"
					},
				})
			}
			coretest.Suite(t, coretest.Cases(), kinds...)
		})
	}
}

// member is a rank as the front door makes it.
func member(conduit string, body func(*core.Job) error) func() {
	return func() {
		boot, err := pmi.Connect()
		if err == nil {
			err = core.Main(boot, core.Config{Conduit: conduit, Segment: "1MB"}, body)
			if err != nil {
				core.ExitOf(boot)(core.StatusOf(err))
			}
			return
		}
		fmt.Fprintln(os.Stderr, "rank:", err)
		os.Exit(1)
	}
}

// roles are what ranks do.
var roles = map[string]func(){
	"input": func() {
		boot, err := pmi.Connect()
		var text []byte
		if err == nil {
			text, err = io.ReadAll(os.Stdin)
		}
		fmt.Printf("rank %d reads %q, %v\n", boot.Rank(), text, err)
		boot.Close()
	},
	"alone": func() {
		_, err := spawner.Connect()
		fmt.Println(err)
	},
	"collectives": func() {
		boot, err := pmi.Connect()
		if err == nil {
			err = collectives(boot)
		}
		if err == nil {
			err = boot.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
		fmt.Println("good")
	},
	"exit-7":     member("sci", inBarrier(func(job *core.Job) error { job.Exit(7); return nil })),
	"exit-0":     member("sci", inBarrier(func(job *core.Job) error { job.Exit(0); return nil })),
	"error":      member("sci", inBarrier(func(*core.Job) error { return errors.New("an error of its own") })),
	"kill":       member("sci", inBarrier(func(*core.Job) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) })),
	"os-exit":    member("sci", inBarrier(func(*core.Job) error { os.Exit(5); return nil })),
	"panic":      member("sci", inBarrier(func(*core.Job) error { panic("kaboom") })),
	"good":       member("sci", inBarrier(func(job *core.Job) error { return job.Endpoint().Barrier() })),
	"far":        member("udp", inBarrier(func(job *core.Job) error { return job.Endpoint().Barrier() })),
	"far-exit-7": member("udp", inBarrier(func(job *core.Job) error { job.Exit(7); return nil })),
	"hosts": func() {
		boot, err := pmi.Connect()
		if err == nil {
			err = collectives(boot)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
		defer boot.Close()
		fds, err := boot.(core.DescriptorSharer).ShareFD(0)
		fmt.Println(boot.Local(), boot.Host(0), boot.Host(core.Rank(boot.Size()-1)), len(fds), err)
	},
	"lost": func() { // rank 0 ends the launcher, and all tell the test, which the launcher does not
		boot, err := pmi.Connect()
		if err == nil {
			err = boot.Barrier()
		}
		if err == nil && boot.Rank() == 0 {
			err = syscall.Kill(os.Getppid(), syscall.SIGKILL)
		}
		if err == nil {
			select {
			case err = <-boot.Done():
			case <-time.After(time.Minute):
				return
			}
		}
		if err != nil {
			to, _ := os.OpenFile(os.Getenv(lostEnv), os.O_WRONLY, 0)
			fmt.Fprintln(to, err)
		}
	},
	"faults": func() { // handlers of signals are Go's, whatever a library does
		boot, err := pmi.Connect()
		if err == nil {
			err = errors.Join(fault(), boot.Barrier(), boot.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
	},
	"inherits": func() { // a rank starts a program that takes itself for a rank
		fd := os.Getenv("PMI_FD")
		boot, err := pmi.Connect()
		if err == nil && boot.Rank() == 0 {
			self, _ := os.Executable()
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "PMI_FD="+fd, roleEnv+"=good")
			out, _ := cmd.CombinedOutput()
			fmt.Printf("%s", out)
		}
		if err = errors.Join(err, boot.Barrier(), boot.Close()); err != nil {
			fmt.Println(err)
		}
	},
}

// lostEnv names the file that ranks without a launcher write to.
const lostEnv = "PMI_TEST_LOST"

// fault returns an error unless a reference to nothing is a panic.
func fault() (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("a reference to nothing is no panic")
		}
	}()
	var nothing *int
	*nothing = 1
	return nil
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
	for _, unit := range []int{0, 1, 1000, 64 << 10} {
		give := func(r core.Rank) []byte { return bytes.Repeat([]byte{byte(r + 1)}, unit*min(int(r), 1)+int(r)) }
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

// ends are what a job of 3 ranks comes to, in roles.
var ends = []struct {
	role   string
	status int
	say    string
}{
	{"collectives", 0, "good"},
	{"good", 0, ""},
	{"far", 0, ""},
	{"faults", 0, ""},
	{"exit-7", 7, "aqueduct: rank 1 ended the job with status 7"},
	{"error", 1, "an error of its own"},
	{"exit-0", 0, ""},
	{"inherits", 0, "start the program by a launcher"},
}

func testEnds(t *testing.T, l *launcher, n int) {
	for _, e := range ends {
		t.Run(e.role, func(t *testing.T) {
			var out bytes.Buffer
			status := l.run(t, n, &out, 30*time.Second, roleEnv+"="+e.role)
			if status != e.status || !strings.Contains(out.String(), e.say) {
				t.Errorf("status %d, want %d and %q:\n%s", status, e.status, e.say, &out)
			}
			if strings.Count(out.String(), "ended the job") > 1 {
				t.Errorf("more than one rank gives the reason:\n%s", &out)
			}
		})
	}
	// The status is the launcher's: MPICH's may have killed a rank before it sees how that has ended.
	for role, say := range map[string]string{"kill": "", "os-exit": "", "panic": "kaboom"} {
		t.Run(role, func(t *testing.T) {
			var out bytes.Buffer
			if status := l.run(t, n, &out, 30*time.Second, roleEnv+"="+role); status == 0 || !strings.Contains(out.String(), say) {
				t.Errorf("status %d, want another than 0, and %q:\n%s", status, say, &out)
			}
		})
	}
}

// A launcher passes a status on, MPICH's also in an allocation of Slurm's.
func TestEnds(t *testing.T) {
	for _, of := range launchers {
		t.Run(of.name, func(t *testing.T) {
			l := of.find(t)
			l.env = append(l.env, "SLURM_STEP_ID=0")
			testEnds(t, l, 3)
		})
	}
}

// A rank learns of the loss of a launcher that has been killed.
func TestLostLauncher(t *testing.T) {
	l := openMPI(t) // Hydra kills its ranks
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := os.OpenFile(pipe, os.O_RDWR, 0) // both, so that it does not end when a rank has written
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	from.SetReadDeadline(time.Now().Add(time.Minute))
	in := bufio.NewScanner(from)
	var out bytes.Buffer
	l.run(t, 3, &out, 30*time.Second, roleEnv+"=lost", lostEnv+"="+pipe)
	for range 3 {
		if !in.Scan() {
			t.Fatalf("a rank has not learnt of it: %v", in.Err())
		}
		if !strings.Contains(in.Text(), "the launcher is lost") {
			t.Errorf("a rank says %q", in.Text())
		}
	}
}

// testHosts runs jobs of 4 ranks, of which the launcher has the last two on a host each. failed is the status
// of one that a rank ends with 7.
func testHosts(t *testing.T, l *launcher, failed int) {
	for _, e := range []struct {
		role   string
		status int
		say    []string
	}{
		{"hosts", 0, []string{"[0 1] 0 2 4 <nil>\n", "[2] 0 2 4 <nil>\n", "[3] 0 2 4 <nil>\n"}},
		{"far", 0, nil},
		{"far-exit-7", failed, []string{"aqueduct: rank 1 ended the job with status 7"}},
		{"good", -1, []string{"sci joins ranks of one host"}},
	} {
		t.Run(e.role, func(t *testing.T) {
			var out bytes.Buffer
			status := l.run(t, 4, &out, 30*time.Second, roleEnv+"="+e.role)
			if status != e.status && e.status >= 0 || status == 0 && e.status != 0 {
				t.Errorf("status %d, want %d:\n%s", status, e.status, &out)
			}
			for _, say := range e.say {
				if !strings.Contains(out.String(), say) {
					t.Errorf("it does not say %q:\n%s", say, &out)
				}
			}
		})
	}
}

// Mount namespaces of their own make hosts of ranks.
func TestHosts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces")
	}
	for _, of := range launchers {
		t.Run(of.name, func(t *testing.T) {
			l := of.find(t)
			l.wrap = `if test $` + l.rank + ` -ge 2; then exec unshare --mount "$0"; else exec "$0"; fi`
			testHosts(t, l, 7)
		})
	}
}

// Rank 0 has the launcher's standard input, and that of the others ends.
func TestInput(t *testing.T) {
	for _, of := range launchers {
		t.Run(of.name, func(t *testing.T) { testInput(t, of.find(t)) })
	}
}

func testInput(t *testing.T, l *launcher) {
	argv := l.command(3)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], append(argv[1:], self)...)
	cmd.Env = append(append(os.Environ(), l.env...), roleEnv+"=input")
	cmd.Stdin = strings.NewReader("hello")
	slow := time.AfterFunc(time.Minute, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer slow.Stop()
	out, err := cmd.CombinedOutput()
	for rank, text := range []string{"hello", "", ""} {
		if want := fmt.Sprintf("rank %d reads %q, <nil>\n", rank, text); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %q\n%s", err, want, out)
		}
	}
}

// A rank that ends before it joins, of which launchers tell nothing, is named by those that wait for it, and the job fails.
func TestRankThatNeverJoins(t *testing.T) {
	for _, of := range launchers {
		t.Run(of.name, func(t *testing.T) { testNeverJoins(t, of.find(t)) })
	}
}

func testNeverJoins(t *testing.T, l *launcher) {
	meet := filepath.Join(t.TempDir(), "meet") // the other two begin at once
	if err := unix.Mkfifo(meet, 0o600); err != nil {
		t.Fatal(err)
	}
	l.wrap = `case $` + l.rank + ` in 0) exec 3>"` + meet + `";; 1) exit 0;; 2) exec 3<"` + meet + `";; esac; exec "$0"`
	var out bytes.Buffer
	status := l.run(t, 3, &out, time.Minute, roleEnv+"=good", spawner.EnvStartTimeout+"=2s")
	const absent = "on this host nothing is seen of rank 1\n"
	for _, say := range []string{
		"aqueduct: rank 0 waits for all 3 ranks to join, for 2s at most (AQUEDUCT_START_TIMEOUT); " + absent,
		": not all 3 ranks have joined the job within 2s (AQUEDUCT_START_TIMEOUT); " + absent,
	} {
		if status == 9 && strings.HasPrefix(say, ":") {
			continue // Hydra has killed the second that failed, and lost what the first had written
		}
		if status == 0 || !strings.Contains(out.String(), say) {
			t.Errorf("status %d, want another than 0, and %q:\n%s", status, say, &out)
		}
	}
}
