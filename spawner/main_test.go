package spawner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// roleEnv makes the test program a rank (or a launcher) instead: it names one of roles.
const roleEnv = "SPAWNER_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleEnv); ok && roles[role] != nil {
		roles[role]()
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")) // ranks end at once
	os.Exit(m.Run())
}

// transcript collects output and lets a test wait for a part of it.
type transcript struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  bytes.Buffer
}

func newTranscript() *transcript {
	tr := new(transcript)
	tr.cond = sync.NewCond(&tr.mu)
	return tr
}

func (tr *transcript) Write(b []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.cond.Broadcast()
	return tr.buf.Write(b)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text()
}

// onHost is what messages add where ranks are on several hosts.
var onHost = regexp.MustCompile(` on host host\d`)

// text returns what has been written, without the names of pretended hosts.
func (tr *transcript) text() string { return onHost.ReplaceAllString(tr.buf.String(), "") }

// await returns when the output holds n times the text.
func (tr *transcript) await(text string, n int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for strings.Count(tr.text(), text) < n {
		tr.cond.Wait()
	}
}

// testJob is a job of this test program in a role.
type testJob struct {
	*spawner.Job
	t        *testing.T
	out, err *transcript
}

// start starts n ranks in a role; edit changes the Spec first.
func start(t *testing.T, role string, n int, edit ...func(*spawner.Spec)) *testJob {
	t.Helper()
	leakCheck(t)
	j := &testJob{t: t, out: newTranscript(), err: newTranscript()}
	spec := spawner.Spec{N: n, Prog: self(t), Stdout: j.out, Stderr: j.err, Env: []string{roleEnv + "=" + role}}
	for _, f := range edit {
		f(&spec)
	}
	spread(&spec)
	var err error
	if j.Job, err = spawner.Start(context.Background(), spec); err != nil {
		t.Fatalf("Start: %v", err)
	}
	return j
}

// finish waits for the job and checks its status.
func (j *testJob) finish(status int) {
	j.t.Helper()
	got, err := j.Wait()
	if got != status {
		j.t.Errorf("status %d, want %d (%v)\nstdout:\n%s\nstderr:\n%s", got, status, err, j.out, j.err)
	}
	var x *core.ExitError
	if (err == nil) != (got == 0) || err != nil && (!errors.As(err, &x) || x.Status != got) {
		j.t.Errorf("status %d with error %v", got, err)
	}
}

// reported checks that the launcher's messages hold the text.
func (j *testJob) reported(text string) {
	j.t.Helper()
	if !strings.Contains(j.err.String(), text) {
		j.t.Errorf("stderr does not say %q:\n%s", text, j.err)
	}
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// leakCheck fails the test if, at its end, goroutines of the package are left, or descriptors that were not open before. So that what is left
// is the test's own, it waits for what tests before have left behind, which fails it too if that does not end.
func leakCheck(t *testing.T) {
	t.Helper()
	checkGoroutines(t)
	before := openFiles(t)
	t.Cleanup(func() {
		checkGoroutines(t)
		for fd, what := range openFiles(t) {
			if before[fd] == "" && !strings.Contains(what, "anon_inode") { // the runtime's poller
				t.Errorf("descriptor left: %s -> %s", fd, what)
			}
		}
	})
}

// checkGoroutines waits for the goroutines of the package, which are about to end. It fails the test if they do not.
func checkGoroutines(t *testing.T) {
	t.Helper()
	left := packageGoroutines()
	for until := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(until); left = packageGoroutines() {
		<-time.After(time.Millisecond)
	}
	for _, g := range left {
		t.Errorf("goroutine left:\n%s", g)
	}
}

func packageGoroutines() []string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for ; n == len(buf); n = runtime.Stack(buf, true) {
		buf = make([]byte, 4*len(buf))
	}
	var left []string
	for g := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		// The copying of standard input may outlive the job.
		if strings.Contains(g, "github.com/aqueduct-go/aqueduct/spawner.") && !strings.Contains(g, "(*Spec).input") {
			left = append(left, g)
		}
	}
	return left
}

func openFiles(t *testing.T) map[string]string {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range dir {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, fmt.Sprintf("/proc/%d/fd", os.Getpid())) {
			files[e.Name()] = to
		}
	}
	return files
}

// processFD opens a descriptor that becomes readable when the process ends.
func processFD(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("pidfd_open(%d): %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// endsWithin reports whether the process behind fd ends within the milliseconds.
func endsWithin(fd, ms int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, ms)
		if err != unix.EINTR {
			return n == 1
		}
	}
}
