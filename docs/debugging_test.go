//go:build !race

package docs_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// crash is the program of debugging.md.
func crash(t *testing.T) string {
	t.Helper()
	for _, s := range complete {
		if s.file == "debugging.md" {
			return filepath.Join(bin, s.dir())
		}
	}
	t.Fatal("debugging.md has no program")
	return ""
}

// need skips the test if a tool is not installed.
func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("needs %s: %v", tool, err)
	}
}

// TestDebugger has gdb attach to one rank, by commands as a user types them.
func TestDebugger(t *testing.T) {
	need(t, "gdb")
	cmd := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", "--timeout", "60s", "--debugger", "gdb", "--ranks", "1", crash(t))
	cmd.Stdin = strings.NewReader("break main.crash\ncontinue\nbt 1\ncontinue\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "#0  main.crash (job=") || !strings.Contains(string(out), "the weight is 0.25") {
		t.Errorf("%v; want rank 1 in main.crash, and its output:\n%s", err, out)
	}
}

// TestDelve is TestDebugger with the debugger of Go.
func TestDelve(t *testing.T) {
	need(t, "dlv")
	cmd := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", "--timeout", "60s", "--debugger", "dlv", "--ranks", "1", crash(t))
	cmd.Stdin = strings.NewReader("break main.crash\ncontinue\nstack 1\nclearall\ncontinue\nexit\n")
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), "[Breakpoint 1] main.crash()") || !strings.Contains(string(out), "the weight is 0.25") {
		t.Errorf("want rank 1 in main.crash, and its output:\n%s", out)
	}
}

// TestDebuggerPrefix has every rank start under gdb.
func TestDebuggerPrefix(t *testing.T) {
	need(t, "gdb")
	out, _ := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", "--timeout", "60s",
		"--launch-prefix", "gdb -q -batch -ex run -ex bt --args", crash(t)).CombinedOutput()
	if n := strings.Count(string(out), "exited normally"); n != 2 || !strings.Contains(string(out), "the weight is 0.25") {
		t.Errorf("gdb saw %d programs end, want 2:\n%s", n, out)
	}
}

// TestDebuggerCommands has several ranks and no windows for them: the commands are printed.
func TestDebuggerCommands(t *testing.T) {
	need(t, "gdb")
	cmd := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", "--debugger", "gdb", crash(t))
	cmd.Env = append(os.Environ(), "TMUX=", "DISPLAY=")
	end := frozen(t, cmd, regexp.MustCompile(`aqrun: rank \d: gdb -q -p (\d+)`), 2, func(pid int) { _ = unix.Kill(pid, unix.SIGKILL) })
	if end != 128+9 {
		t.Errorf("status %d, want that of a rank that was killed", end)
	}
}

// frozen starts a job and has f called with the process in each of so many messages. It returns the job's status.
func frozen(t *testing.T, cmd *exec.Cmd, message *regexp.Regexp, n int, f func(pid int)) int {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if m := message.FindStringSubmatch(lines.Text()); m != nil {
			pid, _ := strconv.Atoi(m[1])
			f(pid)
			n--
		}
	}
	_ = cmd.Wait()
	if n != 0 {
		t.Errorf("%d messages %v are missing or too many:\n%s", n, message, said.String())
	}
	return cmd.ProcessState.ExitCode()
}

// TestFreeze has ranks wait, and go on by a signal.
func TestFreeze(t *testing.T) {
	for _, c := range []struct {
		options string
		who     string
		n       int
	}{
		{"--freeze", `rank \d`, 3},
		{"--freeze --ranks 0,2", `rank [02]`, 2},
		{"--freeze --goroutines", "the process of all ranks", 1},
		{"--freeze --model loopback", "the process of all ranks", 1},
	} {
		var out bytes.Buffer
		cmd := exec.Command(filepath.Join(bin, "aqrun"), append(append([]string{"-n", "3", "--timeout", "60s"}, strings.Fields(c.options)...), crash(t))...)
		cmd.Stdout = &out
		message := regexp.MustCompile("aqueduct: " + c.who + ` is frozen on host \S+ as process (\d+), at its beginning;`)
		end := frozen(t, cmd, message, c.n, func(pid int) {
			if err := unix.Kill(pid, unix.SIGCONT); err != nil {
				t.Error(err)
			}
		})
		if end != 0 || out.String() != "the weight is 0.25\n" {
			t.Errorf("%s: status %d, output %q", c.options, end, &out)
		}
	}
}

// TestFreezeOnError has a rank that panics wait, and looks at its stack.
func TestFreezeOnError(t *testing.T) {
	need(t, "gdb")
	cmd := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", "--timeout", "60s", "--freeze-on-error", crash(t), "a", "b")
	message := regexp.MustCompile(`aqueduct: rank 1 is frozen on host \S+ as process (\d+), since it fails: panicked;`)
	end := frozen(t, cmd, message, 1, func(pid int) {
		out, err := exec.Command("gdb", "-q", "-batch", "-p", fmt.Sprint(pid), "-ex", "thread apply all bt").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "main.crash") {
			t.Errorf("%v; want main.crash in the stacks:\n%s", err, out)
		}
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	if end != 2 {
		t.Errorf("status %d, want that of a panic", end)
	}
}

// TestCore has a rank leave a core, and gdb read it.
func TestCore(t *testing.T) {
	need(t, "gdb")
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if name := strings.TrimSpace(string(pattern)); err != nil || strings.ContainsAny(name, "|/") {
		t.Skipf("needs cores in the working directory, core_pattern is %q", name)
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited && exec "$@"`, "sh", filepath.Join(bin, "aqrun"), "-n", "2", "--timeout", "100s", "--grace", "30s",
		"-x", "GOTRACEBACK=crash", "--wdir", dir, crash(t), "a", "b")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("the job ended well:\n%s", out)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		t.Fatal("no rank has left a core")
	}
	out, err := exec.Command("gdb", "-q", "-batch", "-ex", "thread apply all bt", crash(t), cores[0]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "main.crash") {
		t.Errorf("%v; want main.crash in the stacks:\n%s", err, out)
	}
}

// TestProfiles has each rank write a profile.
func TestProfiles(t *testing.T) {
	for options, want := range map[string][]string{"": {"rank.0.pprof", "rank.1.pprof"}, "--goroutines": {"rank.all.pprof"}} {
		dir := filepath.Join(t.TempDir(), "profiles")
		job(t, "-n 2 --pprof "+dir+" "+options, "total")
		for _, name := range want {
			file := filepath.Join(dir, name)
			if out, err := exec.Command("go", "tool", "pprof", "-top", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "Type: cpu") {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
		}
	}
}

// TestPerf has perf see the ranks of a job.
func TestPerf(t *testing.T) {
	need(t, "perf")
	data := filepath.Join(t.TempDir(), "perf.data")
	if out, err := exec.Command("perf", "record", "-g", "-o", data, filepath.Join(bin, "aqrun"), "-n", "2", filepath.Join(bin, "total")).CombinedOutput(); err != nil {
		t.Skipf("needs perf that may count: %s", out)
	}
	out, err := exec.Command("perf", "report", "-i", data, "--stdio", "--comm", "total").Output()
	if err != nil || !strings.Contains(string(out), "main.total") {
		t.Errorf("%v; want main.total in the report:\n%s", err, out)
	}
}
