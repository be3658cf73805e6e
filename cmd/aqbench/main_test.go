package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/sim"
	choices "github.com/aqueduct-go/aqueduct/extended/coll"
)

// envSelf makes the test binary behave as aqbench.
const envSelf = "AQBENCH_TEST_SELF"

// envEven has it leave out no ratio, however busy the machine is.
const envEven = "AQBENCH_TEST_EVEN"

func TestMain(m *testing.M) {
	rankMain()
	quickWeight = 0.01
	if os.Getenv(envSelf) != "" {
		os.Unsetenv(envSelf)
		if os.Getenv(envEven) != "" {
			bench.Uneven = math.Inf(1)
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// aqbench runs a command line.
func aqbench(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(t.Context(), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// TestVerbs runs a small measurement of every operation of every verb and reads the result
// back.
func TestVerbs(t *testing.T) {
	// Many contexts take long on a machine that does other things; bench/am has its own test of them.
	short := slices.DeleteFunc(am.Ops(), func(op string) bool { return op == am.Contexts })
	for _, c := range []struct {
		args []string
		ops  []string
	}{
		{[]string{"am", "-n", "4", "--op", strings.Join(short, ",")}, short},
		{[]string{"am", "--profile", "paper", "--op", "pingpong,flood"}, []string{am.PingPong, am.Flood}},
		{[]string{"rma"}, rma.Ops()},
		{[]string{"rma", "--goroutines"}, rma.Ops()},
		{[]string{"coll", "--profile", "live", "--op", "barrier", "-n", "2"}, []string{"barrier"}},
		{[]string{"coll", "--goroutines", "-n", "3"}, coll.Ops()},
		{[]string{"coll", "--model", "loopback", "-n", "5"}, coll.Ops()},
		{[]string{"am", "--model", "loopback", "--op", "exchange", "-n", "3,6"}, []string{am.Exchange}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			args := append(c.args, "--threads", "many", "--sizes", "8,64K", "--samples", "1", "--quick", "--format", "json")
			var out, errs bytes.Buffer
			if status := run(t.Context(), args, &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, &errs)
			}
			ops := map[string]bool{}
			for line := range strings.Lines(out.String()) {
				var r struct {
					Params map[string]string
					Header bench.Header
				}
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%v in %q", err, line)
				}
				ops[r.Params["op"]] = true
				checkHeader(t, c.args, r.Params["op"], &r.Header)
			}
			if got := slices.Sorted(maps.Keys(ops)); !slices.Equal(got, slices.Sorted(slices.Values(c.ops))) {
				t.Errorf("operations %v, want %v, in\n%s", got, c.ops, &out)
			}
		})
	}
}

// TestTune makes a table for a model, the same every time, and from a table in a file one in
// which only what was measured changes. The report is on standard output, as that of all verbs.
func TestTune(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	tuned := func(args ...string) string {
		t.Helper()
		args = append([]string{"tune", "--model", "loopback", "-n", "2,3", "--samples", "1", "--write", path, "--format", "json"}, args...)
		status, out, errs := aqbench(t, args...)
		if status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, errs)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%v: %q on standard output is no measurement", args, line)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := choices.ParseTable(string(text)); err != nil {
			t.Fatalf("%v: %v in\n%s", args, err, text)
		}
		return string(text)
	}
	some := tuned("--op", "barrier,scan", "--sizes", "8,512")
	if again := tuned("--op", "barrier,scan", "--sizes", "8,512"); again != some {
		t.Errorf("first:\n%s\nthen:\n%s", some, again)
	}
	both := tuned("--op", "alltoall", "--sizes", "8,512")
	if cut := func(text string) string { before, _, _ := strings.Cut(text, "\nalltoall"); return before }; cut(both) != cut(some) {
		t.Errorf("from\n%s\ncame\n%s", some, both)
	}
	if both == some {
		t.Errorf("nothing changed in\n%s", both)
	}

	// Without a file the table is behind the report.
	for _, file := range [][]string{nil, {"--write", "-"}} {
		status, out, errs := aqbench(t, append([]string{"tune", "--model", "loopback", "-n", "2,3", "--op", "barrier"}, file...)...)
		report, text, ok := strings.Cut(out, "\n\n# Which algorithm ")
		if _, err := choices.ParseTable("# Which algorithm " + text); status != 0 || !ok || err != nil || !strings.Contains(report, "# Aqueduct Tune Test") {
			t.Errorf("status %d, %v: %s%s", status, err, out, errs)
		}
	}
}

// signalled runs aqbench and sends it signals when it has said something, and returns the status and what it has said.
func signalled(t *testing.T, args []string, signals ...unix.Signal) (status int, said string) {
	var b strings.Builder
	var once sync.Once
	status = run(t.Context(), args, io.Discard, writer(func(text []byte) {
		b.Write(text)
		once.Do(func() {
			for _, s := range signals {
				unix.Kill(os.Getpid(), s)
			}
		})
	}))
	return status, b.String()
}

var longRun = []string{"am", "--goroutines", "--threads", "single", "--op", am.PingPong, "--samples", "1000000"}

// TestSignal: a signal ends a verb and its job, and is the status.
func TestSignal(t *testing.T) {
	for _, s := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if signal.Ignored(s) { // by who started the tests, as nohup does: TestIgnoredSignal is about that
			continue
		}
		if status, said := signalled(t, longRun, s); status != 128+int(s) || !strings.Contains(said, "aqbench am: "+unix.SignalName(s)) {
			t.Errorf("%v: status %d: %s", s, status, said)
		}
	}
	if status, said := signalled(t, []string{"sim", "--op", sim.Stack + "," + sim.Barrier, "-n", "512", "--samples", "20", "--messages", "10"}, unix.SIGTERM); status != 128+int(unix.SIGTERM) {
		t.Errorf("sim: status %d: %s", status, said)
	}
}

// TestIgnoredSignal: a signal that is ignored, as SIGHUP is under nohup, stays so.
func TestIgnoredSignal(t *testing.T) {
	signal.Ignore(unix.SIGHUP)
	defer signal.Reset(unix.SIGHUP)
	if status, said := signalled(t, longRun, unix.SIGHUP, unix.SIGTERM); status != 128+int(unix.SIGTERM) {
		t.Errorf("status %d: %s", status, said)
	}
}

// writer is a function of what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestLists: names that stand for themselves are told from those of models and experiments.
func TestLists(t *testing.T) {
	for _, verb := range []string{"am", "rma", "coll"} {
		if status, out, errs := aqbench(t, verb, "--model", "list"); status != 0 || !strings.Contains(out, "sci/d339\n") {
			t.Errorf("%s --model list: status %d: %s%s", verb, status, out, errs)
		}
	}
	for operands, want := range map[string]string{"list all": "list stands alone", "sci-short all": "all stands alone", "nosuch": "aqbench paper: no experiment"} {
		if status, _, errs := aqbench(t, append([]string{"paper"}, strings.Fields(operands)...)...); status != 2 || !strings.Contains(errs, want) {
			t.Errorf("paper %s: status %d: %s", operands, status, errs)
		}
	}
}

// TestQuick wants what an option says in spite of --quick, and few samples where none does.
func TestQuick(t *testing.T) {
	for _, c := range []struct {
		args    []string
		samples string
	}{
		{[]string{"rma", "--goroutines", "--threads", "single", "--op", "barrier"}, "3 samples"},
		{[]string{"rma", "--goroutines", "--threads", "single", "--op", "barrier", "--samples", "5"}, "5 samples"},
		{[]string{"sim", "--op", "events", "-n", "2"}, "2 samples of about 16384"},
		{[]string{"sim", "--op", "events", "-n", "2", "--samples", "4", "--messages", "20000"}, "4 samples of about 20000"},
	} {
		status, out, errs := aqbench(t, append(c.args, "--quick")...)
		if want := "# method: " + c.samples; status != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: status %d, no %q: %s%s", c.args, status, want, out, errs)
		}
	}
}

// TestProgress wants standard error to say how far a verb is, and standard output nothing but
// the report.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"coll", "--model", "loopback", "--profile", "default", "-n", "2,3", "--op", "barrier"}, []string{"part 1 of 2", "ranks 2", "op=barrier", "part 2 of 2", "ranks 3"}},
		{[]string{"sim", "--op", "events", "-n", "2", "--quick"}, []string{"op=events"}},
		{[]string{"schedule", "--op", "scan,reduce", "-n", "4"}, []string{"op=scan", "op=reduce"}},
		{[]string{"tune", "--model", "loopback", "-n", "2", "--op", "barrier", "--write", filepath.Join(t.TempDir(), "table")}, []string{"part 1 of 1", "op=barrier"}},
	} {
		status, out, errs := aqbench(t, append(c.args, "--format", "json")...)
		if status != 0 {
			t.Errorf("%v: status %d", c.args, status)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%v: %q is no measurement", c.args, line)
			}
		}
		for _, want := range c.says {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: no %q in %s", c.args, want, errs)
			}
		}
	}
}

// TestOneMeaning wants -n, --op and --format to mean in every verb the numbers of ranks, the
// operations, and the format of standard output.
func TestOneMeaning(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table")
	for _, args := range [][]string{
		{"am", "--model", "loopback", "--op", "poll"},
		{"am", "--model", "loopback", "--op", "exchange"},
		{"coll", "--model", "loopback", "--op", "allreduce", "--sizes", "8"},
		{"tune", "--model", "loopback", "--op", "scan", "--sizes", "8", "--write", table},
		{"sim", "--quick", "--op", "ring"},
		{"sim", "--quick", "--op", "stack"},
		{"schedule", "--op", "gather"},
	} {
		status, out, errs := aqbench(t, append(args, "-n", "3,5", "--format", "json")...)
		ranks := map[int]bool{}
		for line := range strings.Lines(out) {
			var r struct {
				Params map[string]string
				NP     int
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || !slices.Contains(args, r.Params["op"]) {
				t.Errorf("%v: %v in %q", args, err, line)
			}
			ranks[r.NP] = true
		}
		if status != 0 || len(ranks) != 2 || !ranks[3] || !ranks[5] {
			t.Errorf("%v: status %d, numbers of ranks %v: %s", args, status, ranks, errs)
		}
	}
}

// TestSimulate runs the verbs that measure no job.
func TestSimulate(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"sim", "--quick", "--messages", "100", "-n", "2,3", "--format", "json"}, `"stack"`},
		{[]string{"schedule", "-n", "4", "--op", "allreduce", "--sizes", "1K", "--cost", "loggp:L=2us", "--format", "gobench"}, "BenchmarkSchedule/op=allreduce/algorithm=doubling/size=1024/np=4"},
		{[]string{"schedule", "-n", "4", "--op", "barrier", "--algorithm", "linear", "--in-order"}, "algorithm=linear"},
		{[]string{"schedule", "-n", "4"}, "op=exscan"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), c.args, &out, &errs); status != 0 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: status %d, %s; want %q in\n%s", c.args, status, &errs, c.says, &out)
		}
	}
}

// checkHeader wants the header to say where the ranks of an operation were, and what is
// measured beside them: nothing, unless they are pinned.
func checkHeader(t *testing.T, args []string, op string, h *bench.Header) {
	t.Helper()
	want, live := "live", true
	if slices.Contains(args, "--model") {
		want, live = "modelled", false
	} else if slices.Contains(args, "--goroutines") {
		live = false
	}
	if pinned := live && op != am.Poll && op != am.Startup; h.Mode != want || (h.Pinning != "none") != pinned {
		t.Errorf("%s: mode %s, %d ranks, pinning %s", op, h.Mode, h.Ranks, h.Pinning)
	}
	if (h.Peers != "") != (args[0] == "coll" && live) {
		t.Errorf("%s: peers %q", op, h.Peers)
	}
}

// TestSettings has the conduit get its settings: a header that names them, or its refusal.
func TestSettings(t *testing.T) {
	args := []string{"rma", "--conduit", "udp", "--goroutines", "--threads", "single", "--op", "barrier", "--samples", "1", "--quick"}
	var out, errs bytes.Buffer
	if status := run(t.Context(), append(args, "--set", "security=none", "--set", "gso=off"), &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	if want := "settings: gso=off,security=none\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no line %q in\n%s", want, &out)
	}
	if status := run(t.Context(), append(args, "--set", "security=perhaps"), &out, &errs); status != 1 {
		t.Errorf("a setting that the conduit refuses: status %d", status)
	}
}

func TestMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "Usage: aqbench VERB"},
		{[]string{"fly"}, "unknown verb"},
		{[]string{"am", "--conduit", "fly"}, "unknown conduit"},
		{[]string{"am", "--profile", "fly"}, "no profile"},
		{[]string{"am", "--mpi", "openmpi", "--conduit", "sci"}, "contradicts"},
		{[]string{"am", "--mpi", "openmpi", "--profile", "mpich"}, "contradicts"},
		{[]string{"am", "--mpi", "openmpi", "--goroutines"}, "contradicts"},
		{[]string{"am", "--mpi", "fly"}, "no profile"},
		{[]string{"am", "--op", "fly"}, "unknown operation"},
		{[]string{"am", "--op", "poll,poll"}, "poll twice"},
		{[]string{"am", "--op", "poll", "--op", "startup"}, "given before"},
		{[]string{"am", "--conduit", ""}, "--conduit is empty"},
		{[]string{"am", "-n", "2,x"}, "want whole numbers, joined by commas"},
		{[]string{"am", "--samples", "1.5"}, "want a whole number"},
		{[]string{"am", "--samples", "0"}, "--samples 0"},
		{[]string{"am", "--sizes", "0"}, "--sizes"},
		{[]string{"am", "--sizes", "8,5Q"}, `"5Q"`},
		{[]string{"am", "--sizes", "8M"}, "--sizes 8M"},
		{[]string{"am", "--op", "startup", "-n", "0"}, "startup wants 1 to"},
		{[]string{"am", "--op", "pingpong,flood", "-n", "4"}, "always of 2 ranks: pingpong, flood"},
		{[]string{"am", "--threads", "few"}, "--threads"},
		{[]string{"am", "--format", "fly"}, "unknown format"},
		{[]string{"am", "-n", "1"}, "-n [1]"},
		{[]string{"am", "--goroutines", "--model", "loopback"}, "exclude"},
		{[]string{"am", "--model", "sci/nosuch"}, "no machine is called"},
		{[]string{"am", "--model", "sci/"}, "is no conduit"},
		{[]string{"am", "--model", "loopback", "--op", "startup"}, "no virtual time"},
		{[]string{"rma", "-n", "4"}, "always of 2 ranks"},
		{[]string{"coll", "--sizes", "12"}, "multiples of 8"},
		{[]string{"tune", "--profile", "all"}, "one profile"},
		{[]string{"tune", "--threads", "all"}, "one kind of threads"},
		{[]string{"tune", "--write", "main.go"}, "main.go: line"},
		{[]string{"tune", "--sizes", "12"}, "multiples of 8"},
		{[]string{"tune", "--format", "json"}, "--write"},
		{[]string{"coll", "--write", "table"}, "unknown flag"},
		{[]string{"am", "extra"}, "unexpected argument"},
		{[]string{"am", "--fly"}, "unknown flag"},
		{[]string{"capi", "-n", "4"}, "measures 2 ranks"},
		{[]string{"capi", "--samples", "0"}, "--samples 0"},
		{[]string{"sim", "--fly"}, "unknown flag"},
		{[]string{"sim", "--op", "fly"}, "unknown operation"},
		{[]string{"sim", "-n", "1"}, "-n [1]"},
		{[]string{"sim", "--samples", "0"}, "--samples 0"},
		{[]string{"schedule", "extra"}, "unexpected argument"},
		{[]string{"schedule", "--format", "fly"}, "unknown format"},
		{[]string{"schedule", "--op", "fly"}, "unknown operation"},
		{[]string{"schedule", "--op", "barrier", "--algorithm", "fly"}, "no algorithm"},
		{[]string{"schedule", "--cost", "fly"}, "no model"},
		{[]string{"schedule", "--sizes", "12"}, "multiples of 8"},
		{[]string{"schedule", "-n", "0"}, "-n [0]"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), c.args, &out, &errs); status != 2 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: status %d; want 2 and %q in %q", c.args, status, c.says, &errs)
		}
	}
}

// TestHelp wants help on standard output's side with status 0.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"am", "--help"}, {"rma", "--help"}, {"coll", "-h"}, {"tune", "-h"}, {"sim", "-h"}, {"schedule", "-h"}} {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), envSelf+"=1")
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "Usage: aqbench") {
			t.Errorf("%v: %v: %q", args, err, out)
		}
	}
}
