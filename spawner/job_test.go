package spawner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/binding"
	"golang.org/x/sys/unix"
)

func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 2, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { start(t, "collectives", n).finish(0) })
	}
}

func TestLargeExchange(t *testing.T) { start(t, "large", 3).finish(0) }

func TestShareFD(t *testing.T) {
	for _, n := range []int{1, 3, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { start(t, "share", n).finish(0) })
	}
}

func TestShareFDAmong128(t *testing.T) {
	if testing.Short() {
		t.Skip("128 processes")
	}
	start(t, "share", 128).finish(0)
}

func TestShareFDBeyondTheLimitOfOpenFiles(t *testing.T) { start(t, "share-limit", 8).finish(0) }

func TestClosedCalls(t *testing.T) { start(t, "closed-calls", 2).finish(0) }

func TestStrangersAreRefused(t *testing.T) {
	j := start(t, "strangers", 3)
	j.finish(0)
	for _, why := range []string{"no proof", "wrong proof", "process " + strconv.Itoa(j.Pid(0)) + ":", "refused 6 connections in all"} {
		j.reported(why)
	}
}

// A rank that dies in its handshake is reported as that, not as a stranger.
func TestRankDiesInItsHandshake(t *testing.T) {
	for _, read := range []string{"", "1"} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("read=%s/wrapped=%v", read, wrapped), func(t *testing.T) {
				j := start(t, "in-handshake", 3, func(s *spawner.Spec) {
					s.Env = append(s.Env, "READ="+read)
					if wrapped {
						s.Prefix = []string{"sh", "-c", `"$0" "$@"; exit $?`}
					}
				})
				j.out.await("ready", 1)
				if err := j.Kill(1); err != nil {
					t.Fatal(err)
				}
				j.finish(137)
				j.reported("rank 1 was killed by SIGKILL")
				if strings.Contains(j.err.String(), "refused") {
					t.Errorf("stderr speaks of strangers:\n%s", j.err)
				}
			})
		}
	}
}

func TestRankJoinsOnce(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	j := start(t, "twice", 2, func(s *spawner.Spec) { s.Env = append(s.Env, "GATE="+gate) })
	j.out.await("refused", 1)
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	j.finish(0)
	j.reported("rank 0 has already joined")
}

func TestEnvironmentOfRanks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(spawner.EnvRank, "9") // as in a job within a job
	t.Setenv(spawner.EnvMode, "model")
	t.Setenv(spawner.EnvProfile, "inherited")
	j := start(t, "environment", 2, func(s *spawner.Spec) {
		s.Conduit, s.Segment, s.Dir, s.Args = "sci", "3MB", dir, []string{"--np", "a b", "-x", ""}
		s.Env = append(s.Env, "X=first", "X=y=z")
	})
	j.finish(0)
	for r := range 2 {
		want := fmt.Sprintf(`rank=%d size=2 conduit=sci profile=inherited segment=3MB grace=1s mode="" x=y=z dir=%s args=["--np" "a b" "-x" ""] launched=true`, r, dir)
		if !strings.Contains(j.out.String(), want) {
			t.Errorf("no line %q in\n%s", want, j.out)
		}
	}
}

// How a job ends: what a role makes of it, and what the user reads.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		role   string
		env    []string
		status int
		err    string // in the launcher's messages
		heard  string // what the other ranks get from Done
	}{
		{"abort", nil, 7, "rank 2 ended the job with status 7: the bridge is out", "heard: the bridge is out"},
		{"exit", []string{"WHO=1", "STATUS=9"}, 9, "rank 1 exited with status 9; ending the job", "heard: rank 1 exited with status 9"},
		{"exit-zero", nil, 0, "rank 1 exited with status 0 without finishing the job", "heard: rank 1 exited"},
		{"abort-zero", nil, 0, "", "heard: finished"},
		{"abort-late", nil, 5, "late, but a failure", ""},
		{"mismatch", nil, 1, "collective calls do not match: rank ", "heard: collective calls do not match"},
		{"leave", nil, 1, "rank 1 left the job while rank ", "heard: rank 1 left the job"},
		{"early", nil, 1, "rank 1 exited with status 0 before it joined the job, while rank ", "heard: rank 1 exited"},
		{"disconnect", nil, 1, "rank 1 closed its connection but its process ", "heard: rank 1 closed"},
		{"malformed", nil, 1, "rank 1 broke the bootstrap protocol: message of unknown kind(200)", "heard: rank 1 broke"},
	} {
		t.Run(c.role, func(t *testing.T) {
			t.Parallel()
			j := startParallel(t, c.role, 3, func(s *spawner.Spec) { s.Env = append(s.Env, c.env...) })
			j.finish(c.status)
			j.reported(c.err)
			if strings.Contains(j.err.String(), "FAIL:") || !strings.Contains(j.out.String(), c.heard) {
				t.Errorf("the ranks did not end as they should:\n%s%s", j.out, j.err)
			}
		})
	}
}

// startParallel is start without the leak check, which needs the process for itself and
// cannot be made when the job leaves something behind on purpose.
func startParallel(t *testing.T, role string, n int, edit func(*spawner.Spec)) *testJob {
	t.Helper()
	j := &testJob{t: t, out: newTranscript(), err: newTranscript()}
	spec := spawner.Spec{N: n, Prog: self(t), Stdout: j.out, Stderr: j.err, Env: []string{roleEnv + "=" + role}}
	edit(&spec)
	spread(&spec)
	var err error
	if j.Job, err = spawner.Start(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestEndReleasesEverything(t *testing.T) {
	start(t, "abort", 3).finish(7) // start checks for leaks
}

func TestProgramThatNeverJoins(t *testing.T) {
	j := start(t, "never", 3)
	j.finish(0)
	if got := j.out.String(); got != strings.Repeat("no job needed\n", 3) {
		t.Errorf("output %q", got)
	}
	if j.err.String() != "" {
		t.Errorf("messages %q", j.err)
	}
}

func TestFirstFailingRankWins(t *testing.T) {
	j := start(t, "", 3, shell(`exit $AQUEDUCT_RANK`))
	status, _ := j.Wait()
	if status != 1 && status != 2 {
		t.Errorf("status %d, want 1 or 2", status)
	}
	j.reported(fmt.Sprintf("rank %d exited with status %d", status, status))
}

// shell runs a script instead of the test program.
func shell(script string) func(*spawner.Spec) {
	return func(s *spawner.Spec) { s.Prog, s.Args = "sh", []string{"-c", script} }
}

func TestRankThatNeverJoinedIsEnded(t *testing.T) {
	j := start(t, "", 2, shell(`if [ $AQUEDUCT_RANK = 0 ]; then exit 4; fi; exec sleep 1000`), func(s *spawner.Spec) { s.Grace = time.Hour })
	j.finish(4)
}

func TestGraceThenKill(t *testing.T) {
	j := start(t, "stubborn", 3, func(s *spawner.Spec) {
		s.Env = append(s.Env, "STATUS=6")
		s.Grace = time.Millisecond
	})
	j.finish(6)
	j.reported("killing what did not end within 1ms: ranks 1, 2")
}

// What a user reads of ranks comes in the order of their lives, and once.
func TestVerbose(t *testing.T) {
	j := start(t, "", 8, shell(`test $AQUEDUCT_RANK != 5`), func(s *spawner.Spec) { s.Verbose, s.Grace = true, time.Hour })
	j.finish(1)
	var started, ended int
	for line := range strings.Lines(j.err.String()) {
		switch {
		case strings.Contains(line, " is process "):
			started++
			if ended > 0 {
				t.Error("a start is reported after an end")
			}
		case strings.Contains(line, " exited with status "), strings.Contains(line, " was killed by "):
			ended++
		default:
			t.Errorf("unexpected message %q", line)
		}
	}
	if started != 8 || ended != 8 {
		t.Errorf("%d starts and %d ends of 8 ranks", started, ended)
	}
	if t.Failed() {
		t.Logf("messages:\n%s", j.err)
	}
}

// The launcher is given a child that is no rank: as it takes in orphans, the helper of a
// rank. They go to the main thread, which with GOMAXPROCS=1 is likely to start the ranks.
func TestForeignChild(t *testing.T) {
	cmd := exec.Command(self(t))
	cmd.Env = append(os.Environ(), roleEnv+"=adopter", "GOMAXPROCS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestKill(t *testing.T) {
	j := start(t, "wait", 3)
	j.out.await("ready", 3)
	if err := j.Kill(1); err != nil {
		t.Fatal(err)
	}
	j.finish(128 + 9)
	j.reported("rank 1 was killed by SIGKILL")
	if err := j.Kill(1); err == nil {
		t.Error("a rank that has ended was killed")
	}
	if err := j.Kill(3); err == nil {
		t.Error("rank 3 of 3 was killed")
	}
}

func TestCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	err := newTranscript()
	leakCheck(t)
	job, e := spawner.Start(ctx, spawner.Spec{N: 2, Prog: self(t), Stderr: err, Env: []string{roleEnv + "=wait"}})
	if e != nil {
		t.Fatal(e)
	}
	cancel()
	if status, e := job.Wait(); status != 125 || !strings.Contains(e.Error(), "cancelled") {
		t.Errorf("status %d, %v", status, e)
	}
}

func TestTimeoutDumpsGoroutines(t *testing.T) {
	for _, c := range []struct{ role, frame string }{{"stuck", "stuckHere"}, {"spin", "spinHere"}} {
		t.Run(c.role, func(t *testing.T) {
			j := start(t, c.role, 2, func(s *spawner.Spec) { s.Timeout = time.Hour })
			j.out.await("ready", 2)
			j.Expire()
			j.finish(124)
			j.reported("the job reached its time limit of 1h0m0s; asking every rank for its goroutines")
			for r := range 2 {
				j.reported(fmt.Sprintf("[%d] SIGQUIT: goroutines of rank %d\n", r, r))
				if !regexp.MustCompile(fmt.Sprintf(`(?m)^\[%d\] .*%s`, r, c.frame)).MatchString(j.err.String()) {
					t.Errorf("no stack of rank %d in %s:\n%s", r, c.frame, j.err)
				}
			}
		})
	}
}

func TestTimeoutOfProgramThatDoesNotDump(t *testing.T) {
	j := start(t, "", 2, shell("exec sleep 1000"), func(s *spawner.Spec) { s.Timeout = 1100 * time.Millisecond })
	j.finish(124)
	j.reported("the job reached its time limit of 1.1s; where the ranks are:\n")
	for r := range 2 {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^  rank %d( on host\d)? has not joined the job for [1-9]`, r)).MatchString(j.err.String()) {
			t.Errorf("no line of rank %d in the table:\n%s", r, j.err)
		}
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	j := start(t, "signals", 3)
	j.out.await("ready", 3)
	for _, sig := range []string{"SIGUSR1", "SIGHUP", "SIGUSR2"} {
		j.Signal(unix.SignalNum(sig))
		j.out.await("got "+sig, 3)
	}
	j.finish(0)
}

func TestInterruptDecidesTheStatus(t *testing.T) {
	for name, want := range map[string]int{"SIGINT": 130, "SIGTERM": 143} {
		t.Run(name, func(t *testing.T) {
			j := start(t, "wait", 2)
			j.out.await("ready", 2)
			j.Signal(unix.SignalNum(name))
			j.finish(want)
		})
		t.Run(name+" handled", func(t *testing.T) {
			j := start(t, "signals", 2)
			j.out.await("ready", 2)
			j.Signal(unix.SignalNum(name))
			j.out.await("got "+name, 2)
			j.Signal(unix.SIGUSR2) // the ranks finish in good order
			j.finish(want)
		})
	}
}

func TestSecondInterruptKills(t *testing.T) {
	for _, c := range []struct {
		first, second syscall.Signal
		status        int
	}{{unix.SIGINT, unix.SIGINT, 130}, {unix.SIGTERM, unix.SIGTERM, 143}, {unix.SIGINT, unix.SIGTERM, 130}} {
		t.Run(fmt.Sprint(c.first, " ", c.second), func(t *testing.T) {
			j := start(t, "stubborn", 2)
			j.out.await("ready", 2)
			j.Signal(c.first)
			j.Signal(c.second)
			j.finish(c.status)
			j.reported(unix.SignalName(c.second) + ", the second signal to end the job: killing all ranks")
		})
	}
}

// A job that is ending already can be cut short as well.
func TestInterruptsCutTheGraceShort(t *testing.T) {
	j := start(t, "stubborn", 2, func(s *spawner.Spec) {
		s.Env = append(s.Env, "STATUS=6")
		s.Grace = time.Hour
	})
	j.err.await("rank 0 exited with status 6", 1)
	j.Signal(unix.SIGINT)
	j.Signal(unix.SIGINT)
	j.finish(6)
}

func TestProcessGroupEndsWithItsRank(t *testing.T) {
	j := start(t, "", 1, shell(`sleep 1000 & echo $!`))
	j.finish(0)
	pid, err := strconv.Atoi(strings.TrimSpace(j.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it is gone already
	}
	defer unix.Close(fd)
	if !endsWithin(fd, 2000) {
		t.Errorf("process %d is left", pid)
		unix.Kill(pid, unix.SIGKILL)
	}
}

func TestStrayProcessDoesNotHoldTheJob(t *testing.T) {
	j := start(t, "", 1, shell(`setsid sleep 1000 & echo $!; sleep 0.2`))
	j.finish(0)
	pid, err := strconv.Atoi(strings.TrimSpace(j.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(pid, unix.SIGKILL)
}

// Ranks have the CPUs that package binding says, and the launcher reports them.
func TestBind(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for i := 0; len(cpus) < allowed.Count(); i++ {
		if allowed.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	m, err := binding.Read(os.DirFS("/sys/devices/system"), cpus)
	if err != nil {
		t.Fatal(err)
	}
	n := allowed.Count() + 1
	each := func(kind spawner.Binding, hosts int) {
		j := start(t, "affinity", n*hosts, func(s *spawner.Spec) {
			s.Bind, s.TagOutput, s.ReportBindings = kind, true, true
			if hosts > 1 {
				over(hosts)(s)
				s.Launch.Launcher = "mute" // agents tell, whether or not their standard error is read
			}
		})
		j.finish(0)
		for r := range n * hosts {
			own, who := m.CPUs(kind, r/hosts, n), "aqueduct: "
			if hosts > 1 {
				who += fmt.Sprintf("host host%d: ", r%hosts)
			}
			if want := fmt.Sprintf("[%d] %d CPUs, first %d\n", r, len(own), own[0]); !strings.Contains(j.out.String(), want) {
				t.Errorf("%s: no %q in\n%s", kind, want, j.out)
			}
			says := "is bound to "
			if kind == spawner.BindNone {
				says = "is not bound, and may use "
			}
			if want := fmt.Sprintf("%srank %d %s%s\n", who, r, says, m.Describe(own)); !strings.Contains(j.err.String(), want) {
				t.Errorf("%s: no %q in\n%s", kind, want, j.err)
			}
		}
	}
	for _, kind := range []spawner.Binding{spawner.BindNone, spawner.BindCore, spawner.BindSocket, spawner.BindNUMA} {
		each(kind, 1)
	}
	each(spawner.BindCore, 2)
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != allowed {
		t.Errorf("the launcher's own binding changed: %v, %v", after, err)
	}
}

func TestPrefix(t *testing.T) {
	j := start(t, "", 2, shell(`echo $0 $WRAPPED`), func(s *spawner.Spec) {
		s.Prefix = []string{"env", "WRAPPED=in-{rank}"}
		s.Args = append(s.Args, "{rank}")
	})
	j.finish(0)
	for _, want := range []string{"{rank} in-0\n", "{rank} in-1\n"} {
		if !strings.Contains(j.out.String(), want) {
			t.Errorf("no %q in %q", want, j.out)
		}
	}
}

// Ranks that a prefix puts into network namespaces of their own find their launcher, and pass
// descriptors, as the socket is a file.
func TestNetworkNamespaces(t *testing.T) {
	if err := exec.Command("unshare", "--net", "true").Run(); err != nil {
		t.Skipf("needs root that may make network namespaces: unshare --net: %v", err)
	}
	for _, role := range []string{"collectives", "share"} {
		start(t, role, 3, func(s *spawner.Spec) { s.Prefix = []string{"unshare", "--net"} }).finish(0)
	}
}

func TestInProcessJob(t *testing.T) {
	j := start(t, "", 5, shell(`echo $AQUEDUCT_MODE $AQUEDUCT_RANKS $AQUEDUCT_CONDUIT [$AQUEDUCT_RANK$AQUEDUCT_SECRET]; exit 3`), func(s *spawner.Spec) {
		s.Mode, s.Conduit = spawner.Modelled, "loopback"
	})
	j.finish(3)
	if got := j.out.String(); got != "model 5 loopback []\n" {
		t.Errorf("output %q", got)
	}
	if got := j.err.String(); got != "" {
		t.Errorf("the launcher says %q; the process says itself why it fails", got)
	}
}

// A job can be seen from outside by who starts it, unless it is not to be.
func TestJobIsSeen(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		j := start(t, "wait", 2, func(s *spawner.Spec) { s.Unseen = unseen })
		seen, err := spawner.Jobs(os.Getpid())
		for _, s := range seen {
			v, failed := s.Look()
			if err = errors.Join(err, failed); v.Process != os.Getpid() || v.Ranks != 2 {
				t.Errorf("it looks like %+v", v)
			}
			s.Close()
		}
		if err != nil || (len(seen) == 0) != unseen {
			t.Errorf("unseen %v: %d jobs are seen, %v", unseen, len(seen), err)
		}
		j.Signal(unix.SIGKILL)
		j.Wait()
	}
}

func TestStartFailures(t *testing.T) {
	leakCheck(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	noFormat := filepath.Join(dir, "noformat")
	noInterpreter := filepath.Join(dir, "nointerpreter")
	for path, mode := range map[string]os.FileMode{plain: 0o644, noFormat: 0o755, noInterpreter: 0o755} {
		text := "just text\n"
		if path == noInterpreter {
			text = "#!/nonexistent/interpreter\n"
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		spec   spawner.Spec
		status int
		says   string
	}{
		{"no ranks", spawner.Spec{N: 0, Prog: "true"}, 125, "1 to 65536"},
		{"negative", spawner.Spec{N: -3, Prog: "true"}, 125, "1 to 65536"},
		{"too many", spawner.Spec{N: 65537, Prog: "true"}, 125, "1 to 65536"},
		{"too many goroutines", spawner.Spec{N: 65537, Prog: "true", Mode: spawner.Goroutines}, 125, "1 to 65536"},
		{"no program", spawner.Spec{N: 1}, 127, "no program"},
		{"unknown program", spawner.Spec{N: 1, Prog: "no-such-program-here"}, 127, "not found in PATH"},
		{"missing file", spawner.Spec{N: 1, Prog: dir + "/none"}, 127, "no such file"},
		{"missing in wdir", spawner.Spec{N: 1, Prog: "./none", Dir: dir}, 127, "no such file"},
		{"no permission", spawner.Spec{N: 1, Prog: plain}, 126, "cannot be executed"},
		{"a directory", spawner.Spec{N: 1, Prog: dir}, 126, "cannot be executed"},
		{"no format", spawner.Spec{N: 3, Prog: "./noformat", Dir: dir}, 126, "#!"},
		{"no interpreter", spawner.Spec{N: 1, Prog: noInterpreter}, 127, "interpreter"},
		{"no wrapper", spawner.Spec{N: 1, Prog: "true", Prefix: []string{"no-such-wrapper"}}, 127, "no-such-wrapper"},
		{"wrapper in process", spawner.Spec{N: 1, Prog: "true", Prefix: []string{"env", "a b"}, Mode: spawner.Goroutines}, 125, "through env 'a b'; leave the prefix out"},
		{"no directory", spawner.Spec{N: 1, Prog: "true", Dir: dir + "/none"}, 125, "working directory"},
		{"file as directory", spawner.Spec{N: 1, Prog: "true", Dir: plain}, 125, "not a directory"},
		{"output in a file", spawner.Spec{N: 1, Prog: "true", OutputDir: plain + "/x"}, 125, "not a directory"},
		{"setting", spawner.Spec{N: 1, Prog: "true", Env: []string{"NOVALUE"}}, 2, "NAME=value"},
		{"zero byte", spawner.Spec{N: 1, Prog: "true", Env: []string{"A=b\x00c"}}, 2, "NAME=value"},
		{"a field's", spawner.Spec{N: 1, Prog: "true", Conduit: "sci", Env: []string{"AQUEDUCT_CONDUIT=loopback"}}, 2, "choose it by Spec.Conduit or --conduit"},
		{"identity", spawner.Spec{N: 1, Prog: "true", Env: []string{"AQUEDUCT_RANK=3"}}, 2, "set by the launcher"},
		{"mode", spawner.Spec{N: 1, Prog: "true", Mode: "threads"}, 125, "unknown mode"},
		{"binding", spawner.Spec{N: 1, Prog: "true", Bind: "thread"}, 125, "unknown binding"},
		{"binding in process", spawner.Spec{N: 1, Prog: "true", Bind: spawner.BindCore, Mode: spawner.Goroutines}, 125, "share a process"},
		{"timeout", spawner.Spec{N: 1, Prog: "true", Timeout: -1}, 125, "negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := spawner.Start(context.Background(), c.spec)
			if err == nil || core.StatusOf(err) != c.status || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v with status %d; want %d and %q", err, core.StatusOf(err), c.status, c.says)
			}
		})
	}
}

func TestLimitOfOpenFiles(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 100, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
	const raise = ", but the limit is 100; raise it with `ulimit -n %d`, as root where that is refused"
	for _, c := range []struct {
		spec spawner.Spec
		want string
	}{
		{spawner.Spec{N: 100}, "starting 100 processes needs 728 open files" + fmt.Sprintf(raise, 728) + ", or start fewer ranks"},
		{spawner.Spec{N: 1}, "starting 1 process needs 134 open files" + fmt.Sprintf(raise, 134)},
		{spawner.Spec{N: 100, Mode: spawner.Goroutines}, "starting 1 process needs 134 open files" + fmt.Sprintf(raise, 134)},
	} {
		c.spec.Prog = "true"
		_, err := spawner.Start(context.Background(), c.spec)
		if err == nil || err.Error() != "spawner: "+c.want || core.StatusOf(err) != 125 {
			t.Errorf("%d ranks %q with 100 open files: %v, want %s", c.spec.N, c.spec.Mode, err, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	var b strings.Builder
	err := spawner.Describe(&b, spawner.Spec{
		N: 2, Prog: "sh", Args: []string{"-c", "it's"}, Dir: "/", Conduit: "sci", Env: []string{"A=b c"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for r := range 2 {
		want += fmt.Sprintf("cd / && env AQUEDUCT_GRACE=1s AQUEDUCT_CONDUIT=sci 'A=b c' AQUEDUCT_JOB=JOB AQUEDUCT_RANK=%d AQUEDUCT_SIZE=2 AQUEDUCT_SOCKET=SOCKET 'AQUEDUCT_SECRET=********' sh -c 'it'\\''s'\n", r)
	}
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if err := spawner.Describe(&b, spawner.Spec{N: 1, Prog: "no-such-program-here"}); core.StatusOf(err) != 127 {
		t.Errorf("missing program: %v", err)
	}
}

func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1, 4, 64} {
		b.Run(fmt.Sprintf("np=%d", n), func(b *testing.B) {
			for b.Loop() {
				job, err := spawner.Start(context.Background(), spawner.Spec{
					N: n, Prog: self(b), Env: []string{roleEnv + "=startup"}, Stderr: os.Stderr,
				})
				if err != nil {
					b.Fatal(err)
				}
				if status, err := job.Wait(); status != 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// Ranks are numbered in the order of the programs, each of which has its arguments, variables and directory.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\n"+`echo $AQUEDUCT_RANK of $AQUEDUCT_SIZE: $A $B "$@" in ${PWD##*/}`), 0o700); err != nil {
		t.Fatal(err)
	}
	j := start(t, "", 4, func(s *spawner.Spec) {
		s.Prog, s.Dir = "", "/"
		s.Env = append(s.Env, "A=all", "B=none")
		s.Programs = []spawner.Program{
			{N: 1, Prog: "sh", Args: []string{"-c", "echo $AQUEDUCT_RANK of $AQUEDUCT_SIZE: $A $B in $PWD"}},
			{N: 2, Prog: "./program", Args: []string{"x", ":"}, Env: []string{"B=two"}, Dir: dir},
			{N: 1, Prog: "sh", Args: []string{"-c", "echo $AQUEDUCT_RANK of $AQUEDUCT_SIZE: $A $B"}, Env: []string{"A=three"}},
		}
	})
	j.finish(0)
	lines := strings.Split(strings.TrimSpace(j.out.String()), "\n")
	slices.Sort(lines)
	in := " in " + filepath.Base(dir)
	want := []string{"0 of 4: all none in /", "1 of 4: all two x :" + in, "2 of 4: all two x :" + in, "3 of 4: three none"}
	if !slices.Equal(lines, want) {
		t.Errorf("output %q, want %q", lines, want)
	}
}

func TestProgramsMisuse(t *testing.T) {
	two := []spawner.Program{{N: 1, Prog: "true"}, {N: 2, Prog: "true"}}
	for _, c := range []struct {
		spec   spawner.Spec
		status int
		says   string
	}{
		{spawner.Spec{N: 4, Programs: two}, 2, "the job has 4 ranks, but its programs have 3 together"},
		{spawner.Spec{N: 3, Programs: two, Prog: "true"}, 2, "give one of them"},
		{spawner.Spec{N: 3, Programs: two, Mode: spawner.Goroutines}, 2, "execute one program; this job has 2"},
		{spawner.Spec{N: 3, Programs: two, Starter: &core.Starter{Command: []string{"mpiexec"}}}, 2, "to be told of several programs by its own options"},
		{spawner.Spec{N: 1, Programs: []spawner.Program{{N: 0, Prog: "true"}}}, 2, "program 0 of the job, true, has 0 ranks"},
		{spawner.Spec{N: 1, Programs: []spawner.Program{{N: 1, Prog: "true", Env: []string{"AQUEDUCT_RANK=1"}}}}, 2, "cannot be chosen"},
		{spawner.Spec{N: 1, Programs: []spawner.Program{{N: 1, Prog: "true", Dir: "/dev/null"}}}, 125, "working directory /dev/null is not a directory"},
		{spawner.Spec{N: 1, Programs: []spawner.Program{{N: 1}}}, 127, "no program given"},
	} {
		if _, err := spawner.Start(context.Background(), c.spec); core.StatusOf(err) != c.status || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want status %d and %q", err, c.status, c.says)
		}
	}
}
