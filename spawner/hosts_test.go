package spawner_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// Launchers of tests. Each executes the agent on this host.
func init() {
	through := func(name, script string) {
		spawner.RegisterLauncher(spawner.Launcher{Name: name, Pretends: true, Command: func(host string, command []string) []string {
			return append([]string{"sh", "-c", script, host}, command...)
		}})
	}
	through("shielded", `"$@"; exit $?`)
	through("noisy", `echo Welcome to $0; head -c 60000 /dev/zero; exec "$@"`)
	through("flooded", `head -c 200000 /dev/zero; exec "$@"`)
	through("waiting", `test $0 = host0 || exec sleep 1000; sh -c 'echo $$ >$AGENT; exec "$@"' sh "$@"; exit $?`)
	through("silent", `test $0 = host0 && exec "$@"; echo still looking for $0 >&2; exec sleep 1000`)
	through("mute", `exec "$@" 2>/dev/null`)
	through("broken", `test $0 = host0 && exec "$@"; echo no way to $0 >&2; exit 255`)
	through("talkative", `(read gate < $GATE; echo the lights flicker >&2) & exec "$@"`)
	through("elsewhere", `PATH=$PLACE/$0:$PATH; exec "$@"`)
	through("closed", `echo ignore this; echo no logins on $0; exit 1`)
	through("bare", `exec env -i PATH="$PATH" "$@"`)
	through("clinging", `sleep 1000 & echo $$ $! >$CARRIER$0; "$@"; exec sleep 1000`)
	through("escorted", `sleep 1000 & echo $! >$CARRIER; wait`)
	through("mixed", `test $0 = host0 && exec "$@"; exec "$OTHER" "$2"`)
	spawner.RegisterLauncher(spawner.Launcher{Name: "missing", Missing: "grow one", Command: func(string, []string) []string {
		return []string{"no-such-launcher-here"}
	}})
}

// by has a launcher start the agents.
func by(launcher string) func(*spawner.Spec) {
	return func(s *spawner.Spec) { s.Launch.Launcher = launcher }
}

// agentOf returns the agent that has started a rank.
func agentOf(t *testing.T, j *testJob, rank core.Rank) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", j.Pid(rank)))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var parent int
	if _, err := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), "%s %d", &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// ranksOf returns descriptors of the processes of a job's ranks.
func ranksOf(t *testing.T, j *testJob, n int) map[string][]int {
	fds := make(map[string][]int)
	for r := range n {
		fds["rank"] = append(fds["rank"], processFD(t, j.Pid(core.Rank(r))))
	}
	return fds
}

// shapes are trees of agents of four hosts: flat, and as a chain, whose second agent has others below it.
var shapes = map[string]func(*spawner.Spec){
	"flat":  over(4),
	"chain": func(s *spawner.Spec) { over(4)(s); s.Launch.Width = 1 },
}

func TestAgentIsKilled(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			j := start(t, "wait", 4, shape)
			j.out.await("ready", 4)
			left := ranksOf(t, j, 4)
			unix.Kill(agentOf(t, j, 1), unix.SIGKILL)
			j.finish(137)
			j.reported("host host1 is lost: its agent was killed by SIGKILL (killed)")
			checkEnd(t, left)
		})
	}
}

// An agent that says nothing any more is lost, as one is behind a network that is.
func TestAgentIsSilent(t *testing.T) {
	defer spawner.SetPulse(50 * time.Millisecond)()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			j := start(t, "wait", 4, shape)
			j.out.await("ready", 4)
			left := ranksOf(t, j, 4)
			unix.Kill(agentOf(t, j, 1), unix.SIGSTOP)
			j.finish(137)
			j.reported("host host1 is lost: it has not been heard for 600ms")
			checkEnd(t, left)
		})
	}
}

// So is one that is stopped where its launcher cannot kill it, and its host's guard kills it with its ranks.
func TestStoppedAgentIsOutOfReach(t *testing.T) {
	defer spawner.SetPulse(50 * time.Millisecond)()
	j := start(t, "wait", 4, over(2), by("shielded"))
	j.out.await("ready", 4)
	left := ranksOf(t, j, 4)
	agent := agentOf(t, j, 1)
	left["agent"] = []int{processFD(t, agent)}
	unix.Kill(agent, unix.SIGSTOP)
	j.finish(137)
	checkEnd(t, left)
}

// One that is stopped before there are ranks is killed by its guard as well.
func TestStoppedAgentWithoutRanks(t *testing.T) {
	defer spawner.SetPulse(50 * time.Millisecond)()
	leakCheck(t)
	file := filepath.Join(t.TempDir(), "agent")
	t.Setenv("AGENT", file)
	spec := spawner.Spec{N: 2, Prog: "true"}
	over(2)(&spec)
	by("waiting")(&spec)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := spawner.Start(ctx, spec)
		ended <- err
	}()
	agent, guards := 0, []string(nil)
	for until := time.Now().Add(time.Minute); len(guards) == 0 && time.Now().Before(until); <-time.After(10 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		agent, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", agent))
		for _, path := range all {
			text, _ := os.ReadFile(path)
			guards = append(guards, strings.Fields(string(text))...)
		}
	}
	if len(guards) == 0 {
		t.Error("an agent without ranks has no guard")
	}
	fd := processFD(t, agent)
	unix.Kill(agent, unix.SIGSTOP)
	cancel()
	if err := <-ended; err == nil {
		t.Error("the job has started")
	}
	checkEnd(t, map[string][]int{"agent": {fd}})
}

// How long an agent may be silent is a setting.
func TestSilenceIsASetting(t *testing.T) {
	j := start(t, "wait", 2, over(2), func(s *spawner.Spec) { s.Launch.Silence = spawner.MinSilence })
	j.out.await("ready", 2)
	unix.Kill(agentOf(t, j, 1), unix.SIGSTOP)
	j.finish(137)
	j.reported("host host1 is lost: it has not been heard for 1s")
}

// Ranks end when their agent does not hear of the job any more, be it that the launcher is killed, or
// that nothing comes from it.
func TestAgentIsAlone(t *testing.T) {
	t.Setenv(hostsEnv, "2")
	for name, sig := range map[string]unix.Signal{"killed": unix.SIGKILL, "stopped": unix.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LAUNCHER", "shielded")
			t.Setenv("PULSE", "100ms")
			cmd, fds := launcher(t, "", 2)
			cmd.Process.Signal(sig)
			checkEnd(t, fds)
		})
	}
}

// Ranks that are silent for long are not lost: their agent and the launcher say that they live.
func TestSilentRanksOverHosts(t *testing.T) {
	defer spawner.SetPulse(100 * time.Millisecond)()
	j := start(t, "signals", 2, over(2))
	j.out.await("ready", 2)
	if endsWithin(processFD(t, j.Pid(0)), 2000) {
		t.Error("a rank has ended")
	}
	j.Signal(unix.SIGUSR2)
	j.finish(0)
}

// Hosts have the same program, and the same launcher.
func TestBuildsDiffer(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		place := filepath.Join(dir, fmt.Sprintf("host%d", i))
		if err := os.Mkdir(place, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(place, "aqueduct-test-program"), fmt.Appendf(nil, "#!/bin/sh\nexit %d\n", i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PLACE", dir)
	t.Setenv("OTHER", otherBuild(t, dir))
	for _, c := range []struct{ launcher, program, says string }{
		{"elsewhere", "aqueduct-test-program", "program aqueduct-test-program is not the same on hosts host0 and host1 (file "},
		{"mixed", "true", "the launcher is not the same build on hosts host0 and host1 (build "},
	} {
		spec := spawner.Spec{N: 2, Prog: c.program}
		over(2)(&spec)
		by(c.launcher)(&spec)
		if _, err := spawner.Start(context.Background(), spec); err == nil || core.StatusOf(err) != 125 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
}

// Two names of one host are noticed, unless the user has hosts told apart by name.
func TestOneHostByTwoNames(t *testing.T) {
	spec := spawner.Spec{N: 3, Prog: "true"}
	over(3)(&spec)
	by("env N=%N H=%H %C")(&spec)
	const want = "host0 and host1 are one host"
	if _, err := spawner.Start(context.Background(), spec); core.StatusOf(err) != 125 || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	spec.Launch.ByName = true
	job, err := spawner.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Error(err)
	}
}

// Of a program those hosts need have the same build whose ranks execute it, and only they look for it.
func TestBuildsOfSeveralPrograms(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"both", "both", "one"} {
		place := filepath.Join(dir, fmt.Sprintf("host%d", i%2))
		if err := os.MkdirAll(place, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(place, "aqueduct-test-"+name), fmt.Appendf(nil, "#!/bin/sh\n# %d\nexit 0\n", i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PLACE", dir)
	for _, c := range []struct {
		programs []string // each of one rank; ranks are on the hosts in turn
		status   int
		says     string
	}{
		{[]string{"aqueduct-test-one", "aqueduct-test-both", "true"}, 0, ""},
		{[]string{"true", "aqueduct-test-one"}, 127, "host host1: program aqueduct-test-one not found in PATH"},
		{[]string{"aqueduct-test-both", "aqueduct-test-both"}, 0, ""},
	} {
		spec := spawner.Spec{N: len(c.programs)}
		for _, p := range c.programs {
			spec.Programs = append(spec.Programs, spawner.Program{N: 1, Prog: p})
		}
		over(2)(&spec)
		by("elsewhere")(&spec)
		job, err := spawner.Start(context.Background(), spec)
		if err == nil {
			_, err = job.Wait()
		}
		if core.StatusOf(err) != c.status || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want status %d and %q", c.programs, err, c.status, c.says)
		}
	}
	spec := spawner.Spec{N: 3, Programs: []spawner.Program{{N: 1, Prog: "true"}, {N: 2, Prog: "aqueduct-test-both"}}}
	over(2)(&spec)
	by("elsewhere")(&spec)
	const want = "program aqueduct-test-both is not the same on hosts host0 and host1 (file "
	if _, err := spawner.Start(context.Background(), spec); core.StatusOf(err) != 125 || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// otherBuild makes a copy of this program that passes for another build.
func otherBuild(t *testing.T, dir string) string {
	t.Helper()
	f, err := elf.Open(self(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id := f.Section(".note.go.buildid")
	program, err := os.ReadFile(self(t))
	if err != nil || id == nil {
		t.Fatalf("this program has no build id: %v", err)
	}
	program[id.Offset+id.Size-8] ^= 1
	path := filepath.Join(dir, "other")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// What connects an agent ends with the launcher, also if it does not notice that its input has ended, and with what it has started.
func TestCarrierEndsWithTheLauncher(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(hostsEnv, "1")
	t.Setenv("LAUNCHER", "clinging")
	t.Setenv("CARRIER", dir+"/")
	cmd, fds := launcher(t, "", 2)
	text, err := os.ReadFile(filepath.Join(dir, "host0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		fds["carrier"] = append(fds["carrier"], processFD(t, pid))
	}
	cmd.Process.Kill()
	checkEnd(t, fds)
}

// So does what a carrier has started, as a script that waits for a program, when the start is given up.
func TestCarrierEndsWithWhatItHasStarted(t *testing.T) {
	leakCheck(t)
	fifo := filepath.Join(t.TempDir(), "carrier")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CARRIER", fifo)
	spec := spawner.Spec{N: 1, Prog: "true"}
	over(1)(&spec)
	by("escorted")(&spec)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := spawner.Start(ctx, spec)
		ended <- err
	}()
	text, err := os.ReadFile(fifo) // when the carrier has written it
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	fd := processFD(t, pid)
	cancel()
	if err := <-ended; err == nil {
		t.Error("the job has started")
	}
	checkEnd(t, map[string][]int{"what the carrier has started": {fd}})
}

// Ranks have what the launcher's environment says of the job, and else that of their host.
func TestEnvironmentOverHosts(t *testing.T) {
	t.Setenv("AQUEDUCT_THREADS", "many")
	t.Setenv("OTHER", "here only")
	j := start(t, "", 2, shell(`echo $AQUEDUCT_THREADS $OTHER`), over(2), by("bare"))
	j.finish(0)
	if got := j.out.String(); got != "many\nmany\n" {
		t.Errorf("output %q", got)
	}
}

// Arguments, variables and paths need not be UTF-8.
func TestBytesOverHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d\xfd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j := start(t, "", 1, shell(`printf '%s %s %s\n' "$1" "$V" "${PWD##*/}"`), over(1), func(s *spawner.Spec) {
		s.Args, s.Env, s.Dir = append(s.Args, "sh", "a\xff"), append(s.Env, "V=v\xfe"), dir
	})
	j.finish(0)
	if got := j.out.String(); got != "a\xff v\xfe d\xfd\n" {
		t.Errorf("output %q", got)
	}
}

// A launcher that says that it stops is not taken for lost.
func TestPause(t *testing.T) {
	defer spawner.SetPulse(100 * time.Millisecond)()
	j := start(t, "signals", 2, over(2))
	j.out.await("ready", 2)
	rank := processFD(t, j.Pid(0))
	j.Pause()
	if endsWithin(rank, 2000) {
		t.Error("a rank has ended in a pause")
	}
	j.Resume()
	j.Signal(unix.SIGUSR2)
	j.finish(0)
}

func TestNoiseBeforeTheAgent(t *testing.T) {
	start(t, "collectives", 3, over(2), by("noisy")).finish(0)
}

func TestLauncherSaysSomethingLater(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GATE", gate)
	j := start(t, "signals", 1, over(1), by("talkative"))
	j.out.await("ready", 1)
	if err := os.WriteFile(gate, []byte("open\n"), 0); err != nil {
		t.Fatal(err)
	}
	j.err.await("aqueduct: host host0: the lights flicker", 1)
	j.Signal(unix.SIGUSR2)
	j.finish(0)
}

func TestStartFailuresOfHosts(t *testing.T) {
	leakCheck(t)
	dir := t.TempDir()
	noInterpreter := filepath.Join(dir, "nointerpreter")
	if err := os.WriteFile(noInterpreter, []byte("#!/nonexistent/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		edit   func(*spawner.Spec)
		status int
		says   string
	}{
		{"no process", by(noInterpreter + " %H %C"), 125, "starting " + noInterpreter + ": "},
		{"no process of all", by(noInterpreter + " %C"), 125, "starting " + noInterpreter + ": "},
		{"no program", func(s *spawner.Spec) { s.Prog = "no-such-program-here" }, 127, "host host0: program no-such-program-here not found in PATH"},
		{"no permission", func(s *spawner.Spec) { s.Prog = dir }, 126, "host host1: program " + dir + " cannot be executed"},
		{"no directory", func(s *spawner.Spec) { s.Dir = dir + "/none" }, 125, "host host1: working directory: stat " + dir + "/none"},
		{"no launcher", by("missing"), 125, "there is no program no-such-launcher-here in PATH: grow one"},
		{"unknown launcher", by("telepathy"), 2, `there is no launcher "telepathy"; known: local, ssh, `},
		{"template without command", by("mycmd %H"), 2, "has %C"},
		{"quoted template", by("my 'cmd' %C"), 2, "cannot be quoted"},
		{"broken", by("broken"), 125, "host host1: sh exited with status 255; "},
		{"what it says", by("broken"), 125, "exited with status 255; it said last: no way to host1"},
		{"closed", by("closed"), 125, `sh exited with status 1; its output ended with "no logins on host`},
		{"flooded", by("flooded"), 125, "bytes came from there, and none of them from an agent"},
		{"silent", func(s *spawner.Spec) { s.Launch.Launcher, s.Launch.Timeout = "silent", 300*time.Millisecond }, 125, "host host1: its agent has not answered within 300ms; it said last: still looking for host1"},
		{"unplaced", func(s *spawner.Spec) { s.HostOf = s.HostOf[:1] }, 2, "placed"},
		{"misnumbered", func(s *spawner.Spec) { s.HostOf = []int{1, 0} }, 2, "in the order of their lowest ranks"},
		{"twice", func(s *spawner.Spec) { s.Hosts[1] = s.Hosts[0] }, 2, "host host0 is named twice"},
		{"an option", func(s *spawner.Spec) { s.Hosts[1] = "-oProxyCommand=x" }, 2, "is no name of a host"},
		{"no tree", func(s *spawner.Spec) { s.Launch.Width = -1 }, 2, "a tree of agents of width -1"},
		{"no silence", func(s *spawner.Spec) { s.Launch.Silence = time.Millisecond }, 2, "silent for 1ms only"},
		{"goroutines", func(s *spawner.Spec) { s.Mode = spawner.Goroutines }, 2, "share a process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, width := range []int{0, 1} { // in a tree of width 1, one agent starts the other
				var said bytes.Buffer
				spec := spawner.Spec{N: 2, Prog: "true", Stderr: &said}
				over(2)(&spec)
				spec.Launch.Width = width
				c.edit(&spec)
				_, err := spawner.Start(context.Background(), spec)
				if said.Len() > 0 { // the error says it all
					t.Errorf("also said:\n%s", said.String())
				}
				if err == nil || core.StatusOf(err) != c.status || !strings.Contains(err.Error(), c.says) {
					t.Errorf("width %d: error %v with status %d; want %d and %q", width, err, core.StatusOf(err), c.status, c.says)
				}
			}
		})
	}
}

// A job can be given up while its agents start. The error alone tells of it, and names hosts whose agents have not answered.
func TestStartIsCancelled(t *testing.T) {
	leakCheck(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	for width, host := range map[int]string{2: "host1", 1: "host0"} { // in a tree of width 1, host0 is waiting for host1
		said := newTranscript()
		spec := spawner.Spec{N: 2, Prog: "true", Stderr: said}
		over(2)(&spec)
		by("silent")(&spec)
		spec.Launch.Width = width
		_, err := spawner.Start(ctx, spec)
		if err == nil || !strings.Contains(err.Error(), "enough, with no answer yet from host") || !strings.Contains(err.Error(), host) || said.String() != "" {
			t.Errorf("width %d: Start: %v; said %q", width, err, said)
		}
	}
}

// The table at the time limit says where each rank is.
func TestTableOverHosts(t *testing.T) {
	j := start(t, "stuck", 3, over(2), func(s *spawner.Spec) { s.Timeout = time.Hour })
	j.out.await("ready", 3)
	j.Expire()
	j.finish(124)
	for r := range 3 {
		j.reported(fmt.Sprintf("rank %d on host%d", r, r%2))
	}
}

// Files of the output lie where the launcher is.
func TestOutputDirOverHosts(t *testing.T) {
	dir := t.TempDir()
	start(t, "", 2, shell(`echo $AQUEDUCT_RANK; printf %s "end of $AQUEDUCT_RANK"`), over(2), func(s *spawner.Spec) {
		s.OutputDir, s.TagOutput = dir, true
	}).finish(0)
	for r := range 2 {
		if got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank.%d.out", r))); err != nil || string(got) != fmt.Sprintf("%d\nend of %[1]d", r) {
			t.Errorf("output of rank %d: %q, %v", r, got, err)
		}
	}
}

// hostsEnv has the ranks of all jobs of a test live on so many hosts, and widthEnv says how wide the tree of agents is.
const (
	hostsEnv = "SPAWNER_TEST_HOSTS"
	widthEnv = "SPAWNER_TEST_WIDTH"
)

// spread puts ranks on as many hosts as the environment says.
func spread(s *spawner.Spec) {
	if n, err := strconv.Atoi(os.Getenv(hostsEnv)); err == nil && s.Hosts == nil && s.Mode == spawner.Processes {
		over(min(n, s.N))(s)
		s.Launch.Width, _ = strconv.Atoi(os.Getenv(widthEnv)) // 0: as it is
		s.Env = append(s.Env, fmt.Sprintf("HOSTS=%d", min(n, s.N)))
	}
}

// over has the ranks of a job live on so many hosts, all of which this one pretends to be.
func over(hosts int) func(*spawner.Spec) {
	return func(s *spawner.Spec) {
		s.Launch.Launcher = "local"
		for h := range hosts {
			s.Hosts = append(s.Hosts, fmt.Sprintf("host%d", h))
		}
		for rank := range s.N {
			s.HostOf = append(s.HostOf, rank%hosts)
		}
	}
}

// What jobs on one host do, those on several do, whatever the shape of the tree of agents.
func TestTheSameOverHosts(t *testing.T) {
	// Each takes one of the flat shapes and one of the trees, and the others as coretest.InTurn has it.
	for i, shape := range []struct{ hosts, width, way, ways int }{{1, 0, 0, 3}, {2, 0, 1, 3}, {3, 0, 2, 3}, {3, 1, 0, 2}, {5, 2, 1, 2}} {
		some := slices.DeleteFunc(slices.Clone(anywhere), func(test string) bool {
			return !coretest.InTurn(t, fmt.Sprint(test, shape.ways), shape.way, shape.ways)
		})
		if len(some) == 0 {
			t.Errorf("no test is run in shape %d", i)
		}
		t.Run(fmt.Sprintf("%d in a tree of width %d", shape.hosts, shape.width), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self(t), "-test.run=^("+strings.Join(some, "|")+")$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostsEnv, shape.hosts), fmt.Sprintf("%s=%d", widthEnv, shape.width))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("over %d hosts, width %d: %v\n%s", shape.hosts, shape.width, err, out)
			}
		})
	}
}

// anywhere are the tests of what does not depend on where ranks are.
var anywhere = []string{
	"TestCollectives", "TestShareFD", "TestNothingSurvivesTheLauncher", "TestNothingSurvivesARank", "TestLongTempDir",
	"TestLargeExchange", "TestClosedCalls", "TestRankDiesInItsHandshake",
	"TestEnvironmentOfRanks", "TestEndings", "TestEndReleasesEverything", "TestProgramThatNeverJoins", "TestFirstFailingRankWins",
	"TestRankThatNeverJoinedIsEnded", "TestGraceThenKill", "TestKill", "TestTimeoutDumpsGoroutines",
	"TestTimeoutOfProgramThatDoesNotDump", "TestSignalsArePassedOn", "TestInterruptDecidesTheStatus", "TestSecondInterruptKills",
	"TestInterruptsCutTheGraceShort", "TestProcessGroupEndsWithItsRank", "TestStrayProcessDoesNotHoldTheJob", "TestPrefix",
	"TestLinesStayWhole", "TestLongLineOfOneRankIsUntouched", "TestLongLinesAreNotMixed", "TestPartialLastLine", "TestFailingOutputEndsTheJob",
	"TestReaderGoesAway", "TestLostOutput", "TestStuckOutput", "TestSlowReader", "TestPrompt", "TestStdinGoesToRankZero", "TestUnreadStdin",
	"TestPrograms", "TestTimestamps",
}
