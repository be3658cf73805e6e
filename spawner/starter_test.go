package spawner_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

func init() {
	roles["starter"] = roleStarter
	roles["crowd"] = roleCrowd
	roles["input"] = roleInput
	roles["in-barrier"] = roleInBarrier
}

// started has a launcher of its own start the ranks in their role.
func started(t *testing.T) func(*spawner.Spec) {
	return func(s *spawner.Spec) {
		role := strings.TrimPrefix(s.Env[0], roleEnv+"=")
		s.Starter, s.Env = &core.Starter{Command: []string{self(t), "{dir}"}, RankVar: "STARTED_RANK"}, []string{roleEnv + "=starter", "STARTS=" + role}
	}
}

// roleStarter is a launcher as hasty as can be: when a rank has failed it kills the others at once, and
// leaves the file that it has made. Rank 0 has its standard input, that of the others never ends.
func roleStarter() {
	endless, end, err := os.Pipe()
	check(err)
	defer end.Close()
	dir := os.Args[1]
	check(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	check(os.WriteFile(filepath.Join(dir, "a", "b", "file"), nil, 0o400))
	fmt.Println("directory", dir)
	n, err := strconv.Atoi(os.Getenv(spawner.EnvSize))
	check(err)
	ranks, ends := make([]*exec.Cmd, n), make(chan int)
	for r := range ranks {
		if strconv.Itoa(r) == os.Getenv("ABSENT") {
			continue
		}
		c := exec.Command(os.Args[2], os.Args[3:]...)
		c.Env = append(os.Environ(), roleEnv+"="+os.Getenv("STARTS"), "STARTED_RANK="+strconv.Itoa(r))
		c.Stdin, c.Stdout, c.Stderr = endless, os.Stdout, os.Stderr
		if r == 0 {
			c.Stdin = os.Stdin
		}
		check(c.Start())
		ranks[r] = c
		if os.Getenv("REAPS") != "" {
			continue
		}
		go func() {
			c.Wait()
			ends <- c.ProcessState.ExitCode()
		}()
	}
	switch os.Getenv("REAPS") {
	case "backwards":
		reapBackwards(ranks)
	case "nobody":
		leaveUnreaped(ranks)
	}
	for range ranks {
		if status := <-ends; status != 0 && os.Getenv("PATIENT") == "" {
			for _, c := range ranks {
				if c != nil {
					c.Process.Kill()
				}
			}
			os.Exit(status)
		}
	}
}

// reapBackwards has rank 1 end, kills the others and reaps them first.
func reapBackwards(ranks []*exec.Cmd) {
	check(unix.Waitid(unix.P_PID, ranks[1].Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	for r, c := range ranks {
		if r != 1 {
			c.Process.Kill()
			c.Wait()
		}
	}
	ranks[1].Wait()
	os.Exit(1)
}

// leaveUnreaped ends as soon as rank 1 has been killed, with the signal as status.
func leaveUnreaped(ranks []*exec.Cmd) {
	check(unix.Waitid(unix.P_PID, ranks[1].Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	os.Exit(int(unix.SIGKILL))
}

// crowd is how many goroutines rank 1 has more, so that it prints for longer.
const crowd = 2000

func roleInBarrier() {
	boot := join()
	fmt.Println("joined")
	check(boot.Barrier())
}

func roleCrowd() {
	boot := join()
	if os.Getenv("ABSENT") == "" {
		check(boot.Barrier())
	}
	if boot.Rank() == 1 {
		for range crowd {
			go inCrowd()
		}
	}
	stuckHere()
}

//go:noinline
func inCrowd() { select {} }

// roleInput has rank 0 print what every rank reads, and has of the variables that the test sets.
func roleInput() {
	boot := join()
	text, err := io.ReadAll(os.Stdin)
	check(err)
	all, err := boot.Exchange(fmt.Appendf(text, ", %q %q %q", os.Getenv("OUTER_A"), os.Getenv("OUTER_B"), os.Getenv("INNER")))
	check(err)
	if boot.Rank() == 0 {
		fmt.Printf("%s\n", bytes.Join(all, []byte("; ")))
	}
	check(boot.Close())
}

// Ranks other than 0 have no input once they have joined, and of the launcher's environment the starter
// has what is not hidden from it.
func TestStartedRanksInherit(t *testing.T) {
	for _, name := range []string{"OUTER_A", "OUTER_B", "INNER"} {
		t.Setenv(name, "outer")
	}
	hides := func(s *spawner.Spec) {
		s.Starter.Hides = func(name string) bool { return strings.HasPrefix(name, "OUTER_") }
		s.Stdin, s.Timeout, s.Env = strings.NewReader("input"), time.Minute, append(s.Env, "OUTER_B=set")
	}
	j := start(t, "input", 3, started(t), hides)
	j.finish(0)
	const rest = `, "" "set" "outer"`
	if want := "input" + rest + "; " + rest + "; " + rest + "\n"; !strings.HasSuffix(j.out.String(), want) {
		t.Errorf("%s, want %s", j.out, want)
	}
}

// A dry run shows what is hidden.
func TestDescribeHidden(t *testing.T) {
	t.Setenv("OUTER_A", "outer")
	spec := spawner.Spec{N: 2, Prog: self(t), Starter: &core.Starter{
		Command: []string{self(t)}, RankVar: "R", Hides: func(name string) bool { return name == "OUTER_A" },
	}}
	var text strings.Builder
	if err := spawner.Describe(&text, spec); err != nil || !strings.HasPrefix(text.String(), "env -u OUTER_A AQUEDUCT_") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// Ranks that a hasty launcher has started print all their goroutines before it hears of the first
// one's end.
func TestStartedRanksDumpGoroutines(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(*testJob)
		status int
		absent string // the rank that never joins
		ranks  int    // those that do
	}{
		{"time limit", (*testJob).Expire, 124, "", 3},
		{"time limit, one absent", (*testJob).Expire, 124, "2", 2},
		{"SIGQUIT", func(j *testJob) { j.Signal(unix.SIGQUIT) }, 2, "", 3},
		{"SIGQUIT, one absent", func(j *testJob) { j.Signal(unix.SIGQUIT) }, 2, "2", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := start(t, "crowd", 3, started(t), func(s *spawner.Spec) {
				s.Timeout, s.Grace, s.Env = time.Hour, time.Minute, append(s.Env, "ABSENT="+c.absent)
			})
			j.out.await("ready", c.ranks)
			c.end(j)
			j.finish(c.status)
			for frame, want := range map[string]int{`stuckHere\(\)`: c.ranks, `inCrowd\(\)`: crowd} {
				if got := len(regexp.MustCompile(`(?m)^\S*`+frame).FindAllString(j.err.String(), -1)); got != want {
					t.Errorf("%d frames of %s, want %d", got, frame, want)
				}
			}
		})
	}
}

// One that somebody else asks for its goroutines waits for nobody.
func TestStartedRankQuits(t *testing.T) {
	j := start(t, "wait", 3, started(t))
	j.out.await("ready", 3)
	if err := unix.Kill(j.Pid(1), unix.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	j.finish(2)
	j.reported("SIGQUIT: goroutines of rank 1")
}

// A launcher that is killed gives the job its status, whatever its ranks do then.
func TestStarterIsKilled(t *testing.T) {
	j := start(t, "wait", 2, started(t))
	j.out.await("ready", 2)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", j.Pid(0)))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.Fields(string(status[strings.LastIndexByte(string(status), ')'):]))[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(parent, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	j.finish(128 + int(unix.SIGKILL))
	j.reported("was killed by SIGKILL (killed); ending the job")
}

// The rank that went first is blamed, though its launcher has reaped those first that it has killed itself.
func TestStartedRanksAreJudgedInOrder(t *testing.T) {
	j := start(t, "wait", 3, started(t), func(s *spawner.Spec) { s.Grace, s.Env = time.Minute, append(s.Env, "REAPS=backwards") })
	j.out.await("ready", 3)
	if err := j.Kill(1); err != nil {
		t.Fatal(err)
	}
	j.finish(128 + int(unix.SIGKILL))
	j.reported("rank 1 was killed by SIGKILL (killed); ending the job")
}

// The rank that was killed is blamed, and not one that its launcher has never started, though the launcher ends
// before anybody has reaped the rank.
func TestStartedRankIsReapedLate(t *testing.T) {
	j := start(t, "in-barrier", 3, started(t), func(s *spawner.Spec) { s.Env = append(s.Env, "ABSENT=0", "REAPS=nobody") })
	j.out.await("joined", 2)
	if err := j.Kill(1); err != nil {
		t.Fatal(err)
	}
	j.finish(128 + int(unix.SIGKILL))
	j.reported("rank 1 was killed by SIGKILL (killed); ending the job")
}

// A rank that ends before it joins ends the job for those that wait for it, though its launcher does not mind.
func TestStartedRankEndsEarly(t *testing.T) {
	for status, want := range map[int]int{0: 1, 9: 9} {
		j := start(t, "early", 3, started(t), func(s *spawner.Spec) {
			s.Timeout, s.Env = time.Minute, append(s.Env, "STATUS="+strconv.Itoa(status), "PATIENT=1")
		})
		j.finish(want)
		j.reported(fmt.Sprintf("rank 1 exited with status %d", status))
	}
}

// The directory of a job goes with it, and with the next what a launcher that was killed has left.
func TestScratchIsRemoved(t *testing.T) {
	const base = "/dev/shm"
	old := func(name string) string {
		dir, err := os.MkdirTemp(base, name)
		if err != nil {
			t.Skipf("needs a directory that can be written: %v", err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ago := time.Now().Add(-time.Hour)
		if err := os.Chtimes(dir, ago, ago); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	stale, owned, other := old("aqueduct-job-"), old("aqueduct-job-"), old("aqueduct-jobs-")
	owner, err := os.Open(owned)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if err := unix.Flock(int(owner.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for role, status := range map[string]int{"collectives": 0, "stuck": 128 + int(unix.SIGKILL)} {
		j := start(t, role, 2, started(t))
		if status != 0 {
			j.out.await("ready", 2)
			if err := j.Kill(0); err != nil {
				t.Fatal(err)
			}
		}
		j.finish(status)
		_, rest, _ := strings.Cut(j.out.String(), "directory ")
		dir, _, _ := strings.Cut(rest, "\n")
		if filepath.Dir(dir) != base {
			t.Errorf("the job's directory is %q", dir)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", stale, err)
	}
	for _, dir := range []string{owned, other} {
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}
}
