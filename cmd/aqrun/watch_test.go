package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record/recordtest"
	"github.com/aqueduct-go/aqueduct/internal/porttest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
	"golang.org/x/sys/unix"
)

func init() {
	// Each rank sends ten shorts to the next one; then rank 1 dies if it is told to.
	roles["watched"] = func() {
		aqueduct.Run(func(job *core.Job) error {
			got := 0
			ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: 200, Name: "ten", Func: func(*core.Token, []uint32, []byte) { got++ }}}})
			if err != nil {
				return err
			}
			for range 10 {
				if err := ep.RequestShort((job.Rank()+1)%core.Rank(job.Size()), 200); err != nil {
					return err
				}
			}
			if err := ep.WaitUntil(func() bool { return got == 10 }); err != nil {
				return err
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
			if os.Getenv("AQRUN_TEST_DIES") != "" && job.Rank() == 1 {
				unix.Kill(os.Getpid(), unix.SIGKILL)
			}
			return ep.Barrier()
		})
	}
}

// TestStats: the table of a job of processes is exact, and behind the output; that of a job with a rank that dies has the others.
func TestStats(t *testing.T) {
	for _, conduit := range []string{"sci", "udp"} {
		status, _, errs := output(t, "watched", "-n", "3", "--conduit", conduit, "--stats", self(t))
		if status != 0 || !strings.HasPrefix(errs, "stats of 3 ranks over "+conduit+"/") || !strings.Contains(errs, "\nten                 30        0\n") || strings.Count(errs, "\n") < 15 {
			t.Errorf("%s: status %d\n%s", conduit, status, errs)
		}
	}
	status, _, errs := output(t, "watched", "-n", "3", "--stats", "-x", "AQRUN_TEST_DIES=1", self(t))
	if status != 137 || !strings.Contains(errs, "-  (it ended without telling)\n") || !strings.Contains(errs, "\nten           20        0\n") {
		t.Errorf("a rank dies: status %d\n%s", status, errs)
	}
}

// TestStatsOnHosts: records come through agents, and clocks of hosts are compared.
func TestStatsOnHosts(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "job.json")
	status, _, errs := output(t, "watched", "--host", "a,b", "--launcher", "local", "--stats=table,"+filepath.Join(dir, "job.svg"), "--trace", trace, self(t))
	if status != 0 || !strings.Contains(errs, "\n1 on b ") || !strings.Contains(errs, "\nten                 20        0\n") {
		t.Errorf("status %d\n%s", status, errs)
	}
	text, err := os.ReadFile(trace)
	if err != nil || !strings.Contains(string(text), `"rank 1 on b"`) || strings.Contains(string(text), `"clock_error_ns":0,`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "job.svg")); err != nil {
		t.Error(err)
	}
}

// TestTop: top shows the ranks of a job that runs, and what they wait for; with several jobs it lists them.
func TestTop(t *testing.T) {
	job := start(t, command(t, "idle", "-n", "2", "--stats", self(t)))
	job.await(t, "ready", 2)
	pid := strconv.Itoa(job.Process.Pid)
	status, out, errs := output(t, "", "top", "--once", "--interval", "100ms", pid)
	if status != 0 || !strings.Contains(out, ": 2 ranks on 1 host, ") || strings.Count(out, "waits for WaitUntil") != 2 || !strings.Contains(out, " %") || errs != "" {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	other := start(t, command(t, "idle", "-n", "1", "--goroutines", self(t)))
	other.await(t, "ready", 1)
	status, out, errs = output(t, "", "top", "--once")
	if status != 0 || !strings.Contains(out, "\n"+pid+" ") || !strings.Contains(out, "several jobs run") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	status, out, errs = output(t, "", "top", "1")
	if status != 1 || out != "" || !strings.Contains(errs, "process 1 has no job") || !strings.Contains(errs, "static jobs, and jobs in virtual time cannot be") {
		t.Errorf("of another process: status %d\n%s%s", status, out, errs)
	}
	seen := start(t, command(t, "", "top", "--interval", "100ms", "--json", pid))
	if !seen.lines.Scan() || !strings.HasPrefix(seen.lines.Text(), `{"Process":`+pid) {
		t.Errorf("as JSON: %s", seen.lines.Text())
	}
	job.Process.Signal(unix.SIGKILL)
	for seen.lines.Scan() {
		if seen.lines.Text() == "the job has ended" {
			return
		}
	}
	t.Error("top does not end with the job")
}

// TestStatsEverywhere: figures and traces are complete over conduits that the tests above leave out: an MPI library, whose
// launcher starts the ranks, live Myrinet, and near and far ranks.
func TestStatsEverywhere(t *testing.T) {
	for name, args := range map[string][]string{
		"mpi":     {"--mpi", "mpich", "-n", "4"},
		"myrinet": {"--conduit", "myrinet", "-n", "4"},
		"nbrhd":   {"--host", "a:2,b:2", "--launcher", "local"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "mpi" {
				libmpitest.Launcher(t, "mpich")
			}
			trace := filepath.Join(t.TempDir(), "job.json")
			status, _, errs := output(t, "watched", append(args, "--stats", "--trace", trace, self(t))...)
			if status != 0 || !strings.Contains(errs, "stats of 4 ranks over "+name) || !strings.Contains(errs, "\nten                 40        0\n") {
				t.Errorf("status %d\n%s", status, errs)
			}
			checkTens(t, trace, 40)
		})
	}
}

// checkTens wants a trace with so many messages of the role watched.
func checkTens(t *testing.T, path string, n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := recordtest.CheckTrace(text)
	if err != nil || got.Names["handler ten"] != n || got.Flows < n {
		t.Errorf("%v, %+v; want %d times handler ten", err, got, n)
	}
}

// TestStatsOfStaticJob: ranks that nothing has started together exchange their records, and rank 0 writes.
func TestStatsOfStaticJob(t *testing.T) {
	dir := t.TempDir()
	stats, trace := filepath.Join(dir, "job.txt"), filepath.Join(dir, "job.json")
	root, key := porttest.Reserve(t), spawntest.KeyFile(t)
	var ranks [2]*exec.Cmd
	var errs [2]bytes.Buffer
	for r := range ranks {
		ranks[r] = exec.Command(self(t))
		ranks[r].Env = slices.Concat(os.Environ(), []string{roleEnv + "=watched", "AQUEDUCT_STATS=" + stats, "AQUEDUCT_TRACE=" + trace},
			spawntest.Environment(r, len(ranks), root, key))
		ranks[r].Stderr = &errs[r]
		if err := ranks[r].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ranks[r].Process.Kill(); ranks[r].Wait() })
	}
	for r, cmd := range ranks {
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v\n%s", r, err, &errs[r])
		}
	}
	text, err := os.ReadFile(stats)
	if err != nil || !strings.Contains(string(text), "\nten                 20        0\n") {
		t.Errorf("%v\n%s", err, text)
	}
	checkTens(t, trace, 20)
}

// TestTopOnTerminal: on a terminal top draws over what it has drawn, until ^C, and leaves the terminal as it was.
func TestTopOnTerminal(t *testing.T) {
	job := start(t, command(t, "idle", "-n", "2", self(t)))
	job.await(t, "ready", 2)
	terminal, screen := pseudoTerminal(t)
	cmd := command(t, "", "top", "--interval", "100ms", strconv.Itoa(job.Process.Pid))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	screen.Close()
	var seen []byte
	said := false
	for b := make([]byte, 4096); ; {
		n, err := terminal.Read(b)
		seen = append(seen, b[:n]...)
		if !said && bytes.Count(seen, []byte("\x1b[H")) >= 2 { // two tables
			said = true
			if _, err := terminal.Write([]byte{'C' - '@'}); err != nil {
				t.Error(err)
			}
		}
		if err != nil { // nobody has the other end open
			break
		}
	}
	err := cmd.Wait()
	text := string(seen)
	if err != nil || !said || !strings.HasPrefix(text, "\x1b[?1049h\x1b[?25l\x1b[H") || !strings.HasSuffix(text, "\x1b[?25h\x1b[?1049l") ||
		!strings.Contains(text, "lines more") || strings.Count(text, "\x1b[J") != strings.Count(text, "\x1b[H") {
		t.Errorf("%v: %q", err, text)
	}
}

// pseudoTerminal returns both ends of a terminal of three lines.
func pseudoTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 3, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
