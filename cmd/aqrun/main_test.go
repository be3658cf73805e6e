package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/programs"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// roleEnv makes the test program a rank: it names one of roles.
const roleEnv = "AQRUN_TEST_ROLE"

// aqrun is the program under test, built by TestMain.
var aqrun string

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		os.Exit(0)
	}
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqrun-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	aqrun = filepath.Join(dir, "aqrun")
	if err := programs.Build(dir, "./cmd/aqrun"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return libmpitest.Main(m)
}

var roles = map[string]func(){
	"ring": func() {
		boot := join()
		all, err := boot.Exchange([]byte{byte(boot.Rank())})
		check(err)
		for r, b := range all {
			if len(b) != 1 || int(b[0]) != r {
				check(fmt.Errorf("part %d is %v", r, b))
			}
		}
		check(boot.Close())
		fmt.Println("ring closed")
	},
	"where": func() { // rank 0 prints the hosts of all
		boot := join()
		if boot.Rank() == 0 {
			text := ""
			for r := range core.Rank(boot.Size()) {
				text += fmt.Sprint(" ", boot.Host(r))
			}
			fmt.Println(text[1:])
		}
		check(boot.Close())
	},
	"barrier": func() { // rank 0 prints the conduit, when all have met
		aqueduct.Run(func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err == nil {
				err = ep.Barrier()
			}
			if err == nil && job.Rank() == 0 {
				fmt.Println(job.Config().Conduit)
			}
			return err
		})
	},
	"idle": func() { // ranks wait for what never comes
		aqueduct.Run(func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{Segment: "64KB"})
			if err != nil {
				return err
			}
			fmt.Println("ready", os.Getpid())
			return ep.WaitUntil(func() bool { return false })
		})
	},
	"signals": func() {
		c := make(chan os.Signal, 8)
		signal.Notify(c, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
		boot := join()
		check(boot.Barrier())
		fmt.Println("ready", os.Getpid())
		for s := range c {
			fmt.Println("got", unix.SignalName(s.(syscall.Signal)))
			if s == unix.SIGUSR2 {
				check(boot.Close())
				return
			}
		}
	},
	"hang": func() {
		boot := join()
		check(boot.Barrier())
		hangHere()
	},
	"stuck": func() { // rank 0 waits for rank 1
		aqueduct.Run(func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			if job.Rank() == 1 {
				hangHere()
			}
			return ep.Barrier()
		})
	},
	"crowd": func() { // rank 1 has more goroutines than fit into a pipe
		boot := join()
		check(boot.Barrier())
		if boot.Rank() == 1 {
			for range crowd {
				go inCrowd()
			}
		}
		hangHere()
	},
	"input": func() { // rank 0 prints what each rank reads
		boot := join()
		text, err := io.ReadAll(os.Stdin)
		check(err)
		all, err := boot.Exchange(text)
		check(err)
		if boot.Rank() == 0 {
			fmt.Printf("%q\n", all)
		}
		check(boot.Close())
	},
	"traffic": func() { traffic(0) },
	"exchanges": func() { // for ever
		boot := join()
		for i := 0; ; i++ {
			_, err := boot.Exchange(make([]byte, 10_000))
			check(err)
			if i == 0 {
				fmt.Println("ready", os.Getpid())
			}
			time.Sleep(rest)
		}
	},
	"barriers": barriers,
	"messages": func() { traffic(rest) },
	"ending": func() { // all but the last rank have returned
		aqueduct.Run(func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
			fmt.Println("ready", os.Getpid())
			if int(job.Rank()) == job.Size()-1 {
				select {}
			}
			return nil
		})
	},
	"sum":     sum,
	"fill":    fill,
	"parcels": parcels,
	"wait": func() {
		boot := join()
		check(boot.Barrier())
		fmt.Println("ready", os.Getpid())
		<-boot.Done()
		os.Exit(98)
	},
}

// rest leaves the CPUs to others between the rounds of what goes on for ever.
const rest = 50 * time.Millisecond

func join() core.Bootstrap {
	boot, err := spawner.Connect()
	check(err)
	return boot
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(99)
	}
}

//go:noinline
func hangHere() {
	fmt.Println("hanging")
	select {}
}

const crowd = 2000

//go:noinline
func inCrowd() { select {} }

// command is aqrun with arguments, about to run.
func command(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(aqrun, args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

// output runs aqrun to its end.
func output(t *testing.T, role string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, role, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// started is an aqrun that runs, and what it writes.
type started struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, cmd *exec.Cmd) *started {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &started{cmd, bufio.NewScanner(out)}
}

// await reads n lines, which all begin with the text.
func (s *started) await(t *testing.T, text string, n int) (lines []string) {
	t.Helper()
	for len(lines) < n {
		if !s.lines.Scan() || !strings.HasPrefix(s.lines.Text(), text) {
			t.Fatalf("after %d lines with %q: %q", len(lines), text, s.lines.Text())
		}
		lines = append(lines, s.lines.Text())
	}
	return lines
}

// status waits for the end.
func (s *started) status() int {
	for s.lines.Scan() {
	}
	s.Wait()
	return s.ProcessState.ExitCode()
}

func TestJob(t *testing.T) {
	status, out, errs := output(t, "ring", "-n", "4", "--tag-output", "-v", self(t))
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for r := range 4 {
		if !strings.Contains(out, fmt.Sprintf("[%d] ring closed\n", r)) {
			t.Errorf("nothing from rank %d in\n%s", r, out)
		}
		for _, want := range []string{fmt.Sprintf("aqueduct: rank %d is process ", r), fmt.Sprintf("aqueduct: rank %d exited with status 0", r)} {
			if !strings.Contains(errs, want) {
				t.Errorf("no %q in\n%s", want, errs)
			}
		}
	}
}

// What follows the program is the program's, whatever it looks like.
func TestArgumentsArePassedUntouched(t *testing.T) {
	args := []string{"-n", "3", "--", "--np=9", "", "two words", "-x", "it's", "--help", "%N"}
	script := `for a in "$@"; do printf '<%s>' "$a"; done; echo`
	for _, dashes := range [][]string{nil, {"--"}} {
		cmd := append(append([]string{"-n", "1"}, dashes...), "sh", "-c", script, "sh")
		status, out, errs := output(t, "", append(cmd, args...)...)
		if want := "<" + strings.Join(args, "><") + ">\n"; status != 0 || out != want {
			t.Errorf("status %d, %q, want %q\n%s", status, out, want, errs)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 42"}, 42, "exited with status 42"},
		{[]string{"sh", "-c", "kill -SEGV $$"}, 139, "SIGSEGV"},
		{[]string{"no-such-program-here"}, 127, "aqrun: program no-such-program-here not found"},
		{[]string{"./none"}, 127, "no such file"},
		{[]string{"/"}, 126, "cannot be executed"},
		{[]string{"-x", "AQUEDUCT_RANK=1", "true"}, 2, "set by the launcher"},
		{[]string{"--wdir", "/no/such/place", "true"}, 125, "working directory"},
		{[]string{"--output-dir", "/dev/null/x", "true"}, 125, "output directory: mkdir /dev/null: not a directory"},
		{[]string{"--timeout", "0.05", "sleep", "1000"}, 124, "time limit of 50ms"},
	} {
		status, out, errs := output(t, "", append([]string{"-n", "2"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.err) || out != "" || c.err == "" && errs != "" {
			t.Errorf("%v: status %d, want %d\n%s%s", c.args, status, c.status, out, errs)
		}
	}
}

// At the time limit aqrun says where the ranks are, and then every rank prints its goroutines, without
// those by which it hears from aqrun.
func TestTimeout(t *testing.T) {
	status, _, errs := output(t, "hang", "-n", "2", "--timeout", "2s", self(t))
	if status != 124 {
		t.Errorf("status %d, want 124", status)
	}
	for r := range 2 {
		if want := fmt.Sprintf("[%d] github.com/aqueduct-go/aqueduct/cmd/aqrun.hangHere", r); !strings.Contains(errs, want) {
			t.Errorf("no stack of rank %d:\n%s", r, errs)
		}
		if want := fmt.Sprintf("\n  rank %d has joined the job\n", r); !strings.Contains(errs, want) {
			t.Errorf("nothing says %q:\n%s", want, errs)
		}
	}
	for _, own := range []string{"spawner.(*client)", "dumpOnQuit", "os/signal"} {
		if strings.Contains(errs, own) {
			t.Errorf("a goroutine of the launcher's, %s, is printed:\n%s", own, errs)
		}
	}
}

// Of ranks in calls of the library the table says what they wait for, whatever kind they are.
func TestTimeoutTable(t *testing.T) {
	for _, kind := range []string{"--conduit=sci", "--goroutines"} {
		status, _, errs := output(t, "stuck", "-n", "2", kind, "--timeout", "1s", self(t))
		if status != 124 {
			t.Errorf("%s: status %d, want 124", kind, status)
		}
		for _, want := range []string{
			"rank 0 waits for barrier 1 of the Core API since ", "rank 1 has not polled for ", "rank 0 with rank 1: 1 request and 0 replies sent, 0 messages received",
			"SIGQUIT: goroutines of ", "cmd/aqrun.hangHere",
		} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: nothing says %q:\n%s", kind, want, errs)
			}
		}
	}
}

func TestMisuse(t *testing.T) {
	for _, c := range []struct {
		args string
		says string
	}{
		{"", "number of ranks is missing"},
		{"true", "number of ranks is missing"},
		{"-n 2", "program is missing"},
		{"-n 2 --", "program is missing"},
		{"-n 0 true", "from 1 to 65536"},
		{"-n -1 true", "from 1 to 65536"},
		{"-n 65537 true", "from 1 to 65536"},
		{"-n two true", "from 1 to 65536"},
		{"-np 2 true", "--np or -n"},
		{"-n 2 -host a true", "-host is spelt --host"},
		{"-n 2 -hostfile=/f true", "-hostfile is spelt --hostfile"},
		{"-n 2 -ppn 2 true", "-ppn is spelt --ppn"},
		{"-n 1 true : -n 1 -wdir / true", "-wdir is spelt --wdir"},
		{"-n 2 -verbose true", "-verbose is spelt --verbose"},
		{"-n 2 --np 3 true", `given before as "2"`},
		{"-n 2 --conduit sci --conduit loopback true", "given before"},
		{"-n 2 --conduit nosuch true", `unknown conduit "nosuch"; known: `},
		{"-n 2 --model nosuch true", `unknown conduit "nosuch"; known: `},
		{"-n 2 --model sci/ true", `"sci/" is no conduit; a model is CONDUIT, CONDUIT/MODEL or CONDUIT/PATH`},
		{"-n 2 --model /d339 true", `"/d339" is no conduit`},
		{"-n 2 --conduit= true", "--conduit needs a value"},
		{"-n 2 --model= true", "--model needs a value"},
		{"-n 2 --conduit loopback --profile nosuch true", `no profile "nosuch"; it has [default native]`},
		{"-n 2 --model loopback/nosuch true", `no model "nosuch"; it has [default native]`},
		{"-n 2 --model sci/d33 true", `no machine is called "d33"; there are d339 (which is d339-2003), d339-2003, ntb, scale, or give`},
		{"-n 2 --model sci --conduit loopback true", "contradict"},
		{"-n 2 --segment 5IB true", "is not like 65536"},
		{"-n 2 --model loopback/default --profile other true", "contradict"},
		{"-n 2 --mpi= true", "--mpi needs a value"},
		{"-n 2 --verbose=maybe true", "want true or false"},
		{"-n 2 --bind-to= true", "--bind-to needs a value"},
		{"-n 2 --model loopback --seed -1 true", "want a whole number from 0 to 2^64-1"},
		{"-n 2 -x A=1 -x A=2 true", `-x A is given two values, "1" and "2"`},
		{"-n 2 -x PATH -x PATH=/bin true", "-x PATH is given two values"},
		{"-n 2 --seed 1 true", "--seed is for jobs in virtual time"},
		{"-n 2 --lose 1@1ms --goroutines true", "--lose is for jobs in virtual time"},
		{"-n 2 --trace t true", "--trace is for jobs in virtual time"},
		{"-n 2 --model-report true", "--model-report is for jobs in virtual time"},
		{"-n 2 --model loopback --lose 1 true", `--lose: loss "1"; want RANK@TIME, such as 3@1.5ms`},
		{"-n 2 --model loopback --lose 2@1ms true", "there are ranks 0 to 1"},
		{"-n 2 --model loopback --trace= true", "--trace needs a value"},
		{"-n 2 --set latency true", "want KEY=VALUE"},
		{"-n 2 --udp-security rot13 true", "want none, auth or encrypt"},
		{"-n 2 --udp-security= true", "--udp-security needs a value"},
		{"-n 2 --conduit sci --udp-security none true", "not for sci"},
		{"-n 2 --model loopback --insecure true", "runs live only"},
		{"-n 2 --mpi auto --insecure true", "--insecure is for conduit udp, not for mpi"},
		{"-n 2 --udp-security none --profile x true", `conduit udp has no profile "x"`},
		{"-n 2 --conduit udp --udp-security none --set security=auth true", "given two values"},
		{"-n 2 --set medium=1024 --set medium=2048 true", "given two values"},
		{"-n 2 --model udp true", `conduit "udp" has no model`},
		{"-n 2 --goroutines --model loopback true", "give one of them"},
		{"-n 2 --model loopback --conduit sci true", "contradict"},
		{"-n 2 --model loopback --bind-to core true", "process per rank"},
		{"-n 2 --goroutines --bind-to core true", "process per rank"},
		{"-n 2 --goroutines --tag-output true", "process per rank"},
		{"-n 2 --model loopback --output-dir d true", "process per rank"},
		{"-n 2 --goroutines --launch-prefix env true", "--launch-prefix needs a process per rank"},
		{"-n 2 --model loopback --launch-prefix env true", "--launch-prefix needs a process per rank"},
		{"-n 2 --launch-prefix= true", "--launch-prefix needs a value"},
		{"-n 2 --launch-prefix 'env true", "cannot be quoted; put into a script"},
		{"-n 2 --bind-to thread true", "want none, core, socket or numa"},
		{"-n 2 --model loopback --report-bindings true", "process per rank"},
		{"-n 2 --segment 64XB true", "is not like 65536"},
		{"-n 2 --timeout soon true", "want a time"},
		{"-n 2 --timeout -3s true", "want a time"},
		{"-n 2 --grace x true", "want a time"},
		{"-n 2 -x NOT_SET_ANYWHERE true", "it is not set here"},
		{"-n 2 -x =v true", "want VAR"},
		{"-n 2 -x AQUEDUCT_CONDUIT=sci --conduit loopback true", "choose it by Spec.Conduit or --conduit"},
		{"-n 2 -x AQUEDUCT_PROFILE=live true", "--profile"},
		{"-n 2 -x AQUEDUCT_SEGMENT=1MB true", "--segment"},
		{"-n 2 -x AQUEDUCT_GRACE=1h --dry-run true", "--grace"},
		{"-n 2 -x AQUEDUCT_MODE=model true", "--model"},
		{"-n 2 -x AQUEDUCT_SECRET=s true", "set by the launcher"},
		{"-n 2 -x AQUEDUCT_SOCKET=s --dry-run true", "set by the launcher"},
		{"-n 2 --no-such-option true", "unknown flag"},
		{"-n 1 true :", "program 2 of the job is missing"},
		{"-n 1 : -n 1 true", "program 1 of the job is missing"},
		{"-n 1 true : -n 1 : -n 1 true", "program 2 of the job is missing"},
		{"-n 1 true : true", "the number of ranks of true is missing"},
		{"a b : -n 1 true", "the number of ranks of a b is missing"},
		{"-n 1 true : -n 65536 true", "65537 ranks with those of true"},
		{"-n 1 true : -n 1 --conduit udp true", "--conduit is for the whole job"},
		{"-n 1 true : -n 1 --host a true", "--host is for the whole job"},
		{"-n 1 true : -n 1 -x NOT_SET_ANYWHERE true", "it is not set here"},
		{"-n 1 true : -n 1 --wdir= true", "--wdir needs a value"},
		{"-n 1 true : -n 1 --no-such-option true", "unknown flag"},
		{"-n 1 --goroutines true : -n 1 true", "several programs need a process per rank"},
		{"-n 1 --model loopback true : -n 1 true", "several programs need a process per rank"},
		{"-n 1 -x AQUEDUCT_RANK=1 true : -n 1 true", "set by the launcher"},
		{"conduits now", `unknown conduit "now"`},
		{"conduits sci now", "takes the name of one conduit"},
		{"conduits udp/now", "no profile \"now\""},
		{"-n 2 --conduit udp --set window=3 true", `udp: setting window="3": want a power of two, 1 to 131072`},
		{"-n 2 --conduit nbrhd --set far.window=3 true", `nbrhd: setting far.window="3": want a power of two, 1 to 131072`},
		{"-n 2 --model sci --set publish=fence true", `sci: setting publish="fence": modelled machines know no fences`},
		{"-n 4 --model myrinet --set channels=100 true", "see settings channels, one-sided, queue, pool and unlimited-sram"},
		{"-n 4 --conduit myrinet --set queue=64MB true", "see settings channels, one-sided, queue, pool and unlimited-sram"},
		{"-n 4 --conduit myrinet --set queue=100 true", "give settings queue and receive"},
		{"-n 4 --conduit myrinet --goroutines --set per-host=2 --set channels=1 true", "on a host need 4 channels; 1 are asked for"},
		{"-n 4 --model myrinet --set unplug=h9@1ms true", "no such host; there are h0 to h3"},
		{"-n 4 --model myrinet --set errors=5 --set time-outs=off true", "leave out time-outs=off"},
		{"-n 99 --model myrinet/grim-lanai4 --set topology=../../conduits/myrinet/testdata/ring.topology true", "hosts; 99 ranks, 1 on a host, need 99"},
		{"-n 4 --conduit nbrhd --profile sci+myrinet --set far.queue=64MB true", "nbrhd: the far conduit: "},
		{"-n 4 --conduit sci --set hosts=testdata/three-hosts true", "it has 3 hosts, and the job has 4 ranks"},
		{"-n 2 --conduit loopback --goroutines --set depht=3 true", `loopback: setting depht="3": unknown; there are depth,`},
	} {
		status, out, errs := output(t, "", strings.Fields(c.args)...)
		if status != 2 || out != "" || !strings.HasPrefix(errs, "aqrun: ") || !strings.Contains(errs, c.says) {
			t.Errorf("aqrun %s: status %d\n%s%s", c.args, status, out, errs)
		}
	}
}

func TestUnknownConduitInTheEnvironment(t *testing.T) {
	t.Setenv(spawner.EnvConduit, "nosuch")
	if status, _, errs := output(t, "", "-n", "2", "true"); status != 2 || !strings.Contains(errs, "unknown conduit") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-h", "Usage: aqrun [-n RANKS]"}, {"--help", "Usage: aqrun [-n RANKS]"}, {"-n 2 -h true", "Usage: aqrun"},
		{"conduits -h", "Usage: aqrun conduits"}, {"--version", "aqrun "}, {"version", "conduits: "},
		{"help", "Usage: aqrun [-n RANKS]"}, {"help conduits", "Usage: aqrun conduits"}, {"help hosts", "--hostfile FILE"}, {"help failure", "124"},
	} {
		status, out, errs := output(t, "", strings.Fields(c.args)...)
		if status != 0 || errs != "" || !strings.Contains(out, c.says) {
			t.Errorf("aqrun %s: status %d\n%s%s", c.args, status, out, errs)
		}
	}
}

// Every option is in the help text.
func TestHelpIsComplete(t *testing.T) {
	cmd := root()
	help := cli.Help(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if long := "--" + f.Name + " "; f.Name != "x" && !strings.Contains(help, long) {
			t.Errorf("the help does not mention %s", long)
		}
	})
}

func TestConduits(t *testing.T) {
	status, out, errs := output(t, "", "conduits")
	if status != 0 || errs != "" {
		t.Fatalf("status %d\n%s", status, errs)
	}
	for _, d := range core.Drivers() {
		var row string
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, d.Name+" ") {
				row = line
			}
		}
		if !strings.Contains(row, d.Summary) || !strings.Contains(row, strings.Join(d.Profiles, ", ")) {
			t.Errorf("conduit %s is listed as %q", d.Name, row)
		}
	}
	if len(core.Drivers()) < 2 {
		t.Errorf("only %d conduits", len(core.Drivers()))
	}
}

func TestInProcessModes(t *testing.T) {
	const script = `echo $AQUEDUCT_MODE $AQUEDUCT_RANKS $AQUEDUCT_CONDUIT [$AQUEDUCT_RANK]`
	for args, want := range map[string]string{
		"--goroutines":                        "goroutines 3 []\n",
		"--goroutines --conduit loopback":     "goroutines 3 loopback []\n",
		"--model loopback":                    "model 3 loopback []\n",
		"--model loopback --conduit loopback": "model 3 loopback []\n",
		"--model loopback/default":            "model 3 loopback []\n",
	} {
		status, out, errs := output(t, "", append(append([]string{"-n", "3"}, strings.Fields(args)...), "sh", "-c", script)...)
		if status != 0 || out != want {
			t.Errorf("%s: status %d, %q, want %q\n%s", args, status, out, want, errs)
		}
	}
}

// TestModelOptions looks at what a program is told of the options of a model.
func TestModelOptions(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AQUEDUCT_SEED", "5")
	status, out, errs := output(t, "", "-n", "4", "--model", "loopback/default", "--seed", "0", "--lose", "3@1.5ms", "--lose", "0@2s",
		"--trace", "x.trace", "--model-report", "--set", "latency=5us", "--set", "rate=1e8", "--wdir", t.TempDir(), "sh", "-c",
		`echo $AQUEDUCT_CONDUIT $AQUEDUCT_PROFILE $AQUEDUCT_SEED $AQUEDUCT_LOSE $AQUEDUCT_TRACE $AQUEDUCT_MODEL_REPORT $AQUEDUCT_SETTINGS`)
	if want := "loopback default 0 3@1.5ms,0@2s " + dir + "/x.trace 1 latency=5us,rate=1e8\n"; status != 0 || out != want {
		t.Errorf("status %d, %q, want %q\n%s", status, out, want, errs)
	}
}

// TestPaths looks at what a program started elsewhere is told of files that are named from here.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	err := errors.Join(os.WriteFile("my.machine", []byte("base d339\n"), 0o600), os.Mkdir("a", 0o700), os.WriteFile("a/h", []byte("h0 4\nh1 8\n"), 0o600), os.WriteFile("j", []byte("h0\nh1\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--model sci/./my.machine", "./my.machine"},
		{"--model sci/./my.machine --wdir /", dir + "/my.machine"},
		{"--model sci --profile my.machine --wdir /", dir + "/my.machine"},
		{"--model sci/d339 --wdir /", "d339"},
		{"--model sci --wdir /", ""},
		{"--model sci/d339 --set hosts=a/h --set job=j", "d339 hosts=a/h,job=j"},
		{"--model sci/d339 --set hosts=a/h --set medium=copy --set job=" + dir + "/j --wdir /", "d339 hosts=" + dir + "/a/h,medium=copy,job=" + dir + "/j"},
		{"--model mpi/scampi --set machine=my.machine --set depth=9 --wdir /", "scampi machine=" + dir + "/my.machine,depth=9"},
		{"--model mpi/scampi --set machine=scampi --wdir /", "scampi machine=scampi"},
		{"--model loopback --set latency=5us --wdir /", "latency=5us"},
	} {
		args := append([]string{"-n", "2"}, append(strings.Fields(c.args), "sh", "-c", "echo $AQUEDUCT_PROFILE $AQUEDUCT_SETTINGS")...)
		status, out, errs := output(t, "", args...)
		if status != 0 || out != c.want+"\n" {
			t.Errorf("%s: status %d, %q, want %q\n%s", c.args, status, out, c.want, errs)
		}
	}
}

func TestUDPOptions(t *testing.T) {
	t.Setenv(spawner.EnvConduit, "sci") // which the options win over
	for args, want := range map[string]string{
		"--conduit udp --insecure --udp-security none --set depth=3": "udp depth=3,security=none,insecure=yes\n",
		"--udp-security encrypt":                                     "udp security=encrypt\n",
		"--insecure":                                                 "udp insecure=yes\n",
	} {
		status, out, errs := output(t, "", append(append([]string{"-n", "1"}, strings.Fields(args)...), "sh", "-c", "echo $AQUEDUCT_CONDUIT $AQUEDUCT_SETTINGS")...)
		if status != 0 || out != want {
			t.Errorf("%s: status %d, %q, want %q\n%s", args, status, out, want, errs)
		}
	}
}

func TestPathWithComma(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a,b")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "h"), []byte("h0 4\nh1 8\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	status, _, errs := output(t, "", "-n", "2", "--model", "sci", "--set", "hosts=h", "--wdir", "/", "true")
	if status != 2 || !strings.Contains(errs, "has a comma") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

func TestModelList(t *testing.T) {
	status, out, errs := output(t, "", "--model", "list")
	if status != 0 || !strings.Contains("\n"+out, "\nloopback/default (default)\n") {
		t.Errorf("status %d, %q\n%s", status, out, errs)
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("INHERITED", "yes")
	dir := t.TempDir()
	status, out, errs := output(t, "", "-n", "1", "-x", "A=b=c", "-x", "INHERITED", "-x", "EMPTY=", "--wdir", dir,
		"--segment", "1.5MB", "--profile", "default", "--conduit", "loopback", "--grace", "3",
		"sh", "-c", `echo "$A $INHERITED ${EMPTY-unset}. $AQUEDUCT_SEGMENT $AQUEDUCT_PROFILE $AQUEDUCT_CONDUIT $AQUEDUCT_GRACE $PWD"`)
	if want := "b=c yes . 1.5MB default loopback 3s " + dir + "\n"; status != 0 || out != want {
		t.Errorf("status %d, %q, want %q\n%s", status, out, want, errs)
	}
}

func TestDryRun(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	status, out, errs := output(t, "", "-n", "2", "--dry-run", "--verbose", "--conduit", "loopback", "touch", mark)
	if status != 0 || errs != "" || strings.Count(out, "\n") != 2 ||
		!strings.Contains(out, "AQUEDUCT_RANK=1 AQUEDUCT_SIZE=2") || !strings.Contains(out, "touch "+mark) ||
		!strings.Contains(out, "'AQUEDUCT_SECRET=********'") || !strings.Contains(out, " AQUEDUCT_VERBOSE=1 ") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the dry run ran the program")
	}
	if status, _, _ := output(t, "", "-n", "2", "--dry-run", "no-such-program-here"); status != 127 {
		t.Errorf("missing program: status %d", status)
	}
}

// Every rank is started through the prefix, which knows its rank; the dry run shows it.
func TestLaunchPrefix(t *testing.T) {
	args := []string{"-n", "2", "--tag-output", "--launch-prefix", "env  WRAPPED=node{rank}", "sh", "-c", "echo $WRAPPED $0", "{rank}"}
	status, out, errs := output(t, "", args...)
	if status != 0 || errs != "" || !strings.Contains(out, "[0] node0 {rank}\n") || !strings.Contains(out, "[1] node1 {rank}\n") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	status, out, errs = output(t, "", append([]string{"--dry-run"}, args...)...)
	if lines := strings.Split(out, "\n"); status != 0 || errs != "" || len(lines) != 3 || !strings.Contains(lines[1], " env WRAPPED=node1 /") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	// The program still has to be there, and so has the prefix.
	for _, missing := range [][]string{{"env", "no-such-program-here"}, {"no-such-program-here", "true"}} {
		if status, _, errs := output(t, "", "-n", "1", "--launch-prefix", missing[0], missing[1]); status != 127 || !strings.Contains(errs, "program no-such-program-here not found") {
			t.Errorf("%v: status %d\n%s", missing, status, errs)
		}
	}
}

func TestStdin(t *testing.T) {
	cmd := command(t, "", "-n", "2", "--tag-output", "cat")
	cmd.Stdin = strings.NewReader("to rank 0 only\n")
	if out, err := cmd.Output(); err != nil || string(out) != "[0] to rank 0 only\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestOutputDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if status, _, errs := output(t, "", "-n", "2", "--output-dir", dir, "sh", "-c", "echo out $AQUEDUCT_RANK; echo err >&2"); status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	for name, want := range map[string]string{"rank.0.out": "out 0\n", "rank.1.out": "out 1\n", "rank.1.err": "err\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestSignals(t *testing.T) {
	s := start(t, command(t, "signals", "-n", "3", self(t)))
	s.await(t, "ready", 3)
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if signal.Ignored(sig) { // these tests run under nohup, and aqrun too
			continue
		}
		s.Process.Signal(sig)
		s.await(t, "got "+unix.SignalName(sig), 3)
	}
	if status := s.status(); status != 0 {
		t.Errorf("status %d", status)
	}

	if !signal.Ignored(unix.SIGINT) { // by a shell script that runs these tests with &
		s = start(t, command(t, "signals", "-n", "2", self(t)))
		s.await(t, "ready", 2)
		s.Process.Signal(unix.SIGINT)
		s.await(t, "got SIGINT", 2)
		s.Process.Signal(unix.SIGINT)
		if status := s.status(); status != 130 {
			t.Errorf("two interrupts: status %d, want 130", status)
		}
	}

	s = start(t, command(t, "wait", "-n", "2", self(t)))
	s.await(t, "ready", 2)
	s.Process.Signal(unix.SIGTERM)
	if status := s.status(); status != 143 {
		t.Errorf("SIGTERM: status %d, want 143", status)
	}

	s = start(t, command(t, "wait", "-n", "2", self(t)))
	s.await(t, "ready", 2)
	s.Process.Signal(unix.SIGQUIT) // the ranks print their goroutines and exit
	if status := s.status(); status != 2 {
		t.Errorf("SIGQUIT: status %d, want 2", status)
	}
}

// Under nohup a hang-up is nobody's business.
func TestIgnoredSignalsAreNotPassedOn(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" -n 1 "$1"`, aqrun, self(t))
	cmd.Env = append(os.Environ(), roleEnv+"=signals")
	s := start(t, cmd)
	s.await(t, "ready", 1)
	s.Process.Signal(unix.SIGHUP)
	s.Process.Signal(unix.SIGUSR2)
	s.await(t, "got SIGUSR2", 1)
	if status := s.status(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// A reader that has had enough ends the job, and nothing is left.
func TestReaderGoesAway(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "", "-n", "2", "sh", "-c", "while :; do echo a line; done")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 128+int(unix.SIGPIPE) || errs.Len() > 0 {
		t.Errorf("status %d, want that of SIGPIPE and no message\n%s", got, errs.String())
	}
}

// Output that goes nowhere because its descriptor is closed is lost like any other.
func TestClosedOutput(t *testing.T) {
	const self = ": write /dev/stdout: bad file descriptor"
	for _, c := range []struct {
		args, says string
		status     int
	}{
		{"-n 2 echo hi >&-", "aqueduct: writing the job's output failed: standard output" + self, 125},
		{"-n 2 sh -c 'echo hi >&2' 2>&-", "", 125},
		{"-n 2 true >&- 2>&-", "", 0},
		{"-n 2 cat <&-", "", 0},
		{"conduits >&-", "aqrun" + self, 125},
		{"--version >&-", "aqrun" + self, 125},
	} {
		cmd := exec.Command("sh", "-c", `exec 3>&1; "$0" `+c.args+`; echo $? >&3`, aqrun)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.says) || !strings.HasSuffix("\n"+string(out), fmt.Sprintf("\n%d\n", c.status)) {
			t.Errorf("aqrun %s: %v, want %q and status %d:\n%s", c.args, err, c.says, c.status, out)
		}
	}
}

func TestLostOutput(t *testing.T) {
	for _, args := range [][]string{{"-n", "2", "echo", "hi"}, {"conduits"}, {"-h"}, {"--version"}, {"-n", "1", "--dry-run", "true"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		cmd := command(t, "", args...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != 125 || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%q: status %d\n%s", args, got, &errs)
		}
	}
}
