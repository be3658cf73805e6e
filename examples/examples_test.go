//go:build !race

// Package examples_test builds the example programs and runs each as a job of every kind. The programs are
// compiled without the race detector, which has only what starts them to look at here.
package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/programs"
)

var bin string // where the programs are

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqueduct-examples-*")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = dir
		err = programs.Build(dir, "./examples/...", "./cmd/aqrun", "./cmd/aqimpair")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// lossy is a link in a bad state.
const lossy = "loss=10%,dup=2%,reorder=5%,corrupt=1%"

// kinds are the ways to run a job of four. Those with a link have it between network namespaces,
// one for each rank, or one for each host. Of the modelled machines and of the ways over links each program takes one, as
// coretest.InTurn has it.
var kinds = []struct {
	name string
	args []string
	link string
}{
	{"alone", nil, ""},
	{"processes", []string{"-n", "4"}, ""},
	{"processes-paper", []string{"-n", "3", "--profile", "paper"}, ""},
	{"goroutines", []string{"-n", "4", "--goroutines"}, ""},
	{"goroutines-loopback", []string{"-n", "4", "--goroutines", "--conduit", "loopback"}, ""},
	{"model", []string{"-n", "4", "--model", "loopback"}, ""},
	{"sci-d339", []string{"-n", "4", "--model", "sci/d339"}, ""},
	{"sci-scale", []string{"-n", "4", "--model", "sci/scale"}, ""},
	{"hpam", []string{"-n", "4", "--model", "hpam"}, ""},
	{"amii", []string{"-n", "4", "--model", "amii"}, ""},
	{"udp", []string{"-n", "4", "--conduit", "udp"}, ""},
	{"udp-goroutines", []string{"-n", "2", "--goroutines", "--conduit", "udp", "--udp-security", "encrypt"}, ""},
	{"udp-links", []string{"-n", "4", "--conduit", "udp", "--set", "address=10.77.0.0/16"}, lossy},
	{"hosts", []string{"--host", "0:2,1:2", "--set", "address=10.77.0.0/16"}, lossy},
	{"hosts-alone", []string{"--host", "0:2,1:2", "--set", "address=10.77.0.0/16", "-x", "AQUEDUCT_NEAR=off"}, lossy},
}

// modelled are the jobs of TestTraces, which a program takes in turn.
var modelled = []string{"loopback", "sci/d339", "am"}

// TestTraces has every program do the same twice in virtual time, to the picosecond.
func TestTraces(t *testing.T) {
	for _, prog := range []string{"ring", "wordcount core", "stencil --steps 20", "hashtable --keys 500", "samplesort --lines 5000", "cg", "gups --log2 10"} {
		for i, model := range modelled {
			if !coretest.InTurn(t, prog, i, len(modelled)) {
				continue
			}
			t.Run(strings.Fields(prog)[0]+"/"+model, func(t *testing.T) {
				t.Parallel()
				args := strings.Fields(prog)
				var traces [2][]byte
				for i := range traces {
					file := filepath.Join(t.TempDir(), "trace")
					cmd := exec.Command(filepath.Join(bin, "aqrun"), slices.Concat([]string{"-n", "4", "--model", model,
						"--trace", file, filepath.Join(bin, args[0])}, args[1:])...)
					cmd.Dir = ".."
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					if traces[i], err = os.ReadFile(file); err != nil {
						t.Fatal(err)
					}
				}
				if len(traces[0]) == 0 || !bytes.Equal(traces[0], traces[1]) {
					t.Errorf("traces of %d and %d bytes differ", len(traces[0]), len(traces[1]))
				}
			})
		}
	}
}

// needNetwork skips the test if no network can be made here.
func needNetwork(t *testing.T, impair string) {
	t.Helper()
	const cannot = 125 // aqimpair's own status
	var exit *exec.ExitError
	if out, err := exec.Command(impair, "-n", "1", "true").CombinedOutput(); errors.As(err, &exit) && exit.ExitCode() == cannot {
		t.Skipf("needs root that may make network namespaces and TUN devices: %s", out)
	}
}

// each runs the program with its arguments as every kind of job, and checks its output.
func each(t *testing.T, want string, prog string, args ...string) {
	var machines, links []string // the kinds of these
	for _, k := range kinds {
		switch {
		case k.link != "":
			links = append(links, k.name)
		case slices.Contains(k.args, "--model") && k.name != "model":
			machines = append(machines, k.name)
		}
	}
	for _, k := range kinds {
		left := false
		for _, some := range [][]string{machines, links} {
			if i := slices.Index(some, k.name); i >= 0 && !coretest.InTurn(t, prog, i, len(some)) {
				left = true
			}
		}
		if left {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			line := append([]string{filepath.Join(bin, prog)}, args...)
			run, impair := filepath.Join(bin, "aqrun"), filepath.Join(bin, "aqimpair")
			switch {
			case k.link != "":
				needNetwork(t, impair)
				place := []string{"--launch-prefix", impair + " enter {rank}"}
				if k.args[0] == "--host" {
					place = []string{"--launcher", impair + " enter %H %C"}
				}
				line = slices.Concat([]string{impair, "-n", "4", "--mtu", "1400", "--link", k.link, "--",
					run, "--timeout", "5m"}, place, k.args, line)
			case k.args != nil:
				line = slices.Concat([]string{run, "--timeout", "5m"}, k.args, line)
			}
			out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%q: %v; want %q in the output:\n%s", line, err, want, out)
			}
		})
	}
}

func TestRing(t *testing.T) { each(t, "the token went round 100 times", "ring", "100") }

func TestWordcount(t *testing.T) {
	each(t, "the sequential count agrees", "wordcount", "--check", "../docs")
}

// TestWordcountFails loses a rank's file: the job ends with the reason.
func TestWordcountFails(t *testing.T) {
	out, err := exec.Command(filepath.Join(bin, "aqrun"), "-n", "2", filepath.Join(bin, "wordcount"), "no-such-folder").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such-folder") {
		t.Errorf("%v; want a failure that names the folder:\n%s", err, out)
	}
}

func TestStencil(t *testing.T) {
	each(t, "100 × 70 on", "stencil", "--rows", "100", "--cols", "70", "--steps", "30")
}

func TestHashtable(t *testing.T) {
	each(t, "every answer is right", "hashtable", "--keys", "300", "--load", "90")
}

func TestSamplesort(t *testing.T) { each(t, "they are sorted and complete", "samplesort") }

func TestSamplesortFiles(t *testing.T) {
	each(t, "they are sorted and complete", "samplesort", "../README.md", "../docs/design.md", "/dev/null")
}

func TestCG(t *testing.T) { each(t, "900 unknowns, 4380 entries", "cg") }

func TestGups(t *testing.T) { each(t, "every word is right", "gups", "--log2", "12") }

// TestUDPSettings runs one program over sockets with each protection, and with datagrams of the
// size of a network's, with and without the kernel's help to divide and join them.
func TestUDPSettings(t *testing.T) {
	for _, args := range []string{
		"--udp-security none",
		"--udp-security encrypt",
		"--udp-security auth --set datagram=1472",
		"--udp-security auth --set datagram=1472 --set gso=off --set gro=off",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			line := slices.Concat([]string{"--timeout", "5m", "-n", "3", "--conduit", "udp"}, strings.Fields(args), []string{filepath.Join(bin, "samplesort")})
			out, err := exec.Command(filepath.Join(bin, "aqrun"), line...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "they are sorted and complete") {
				t.Errorf("%v\n%s", err, out)
			}
			if says := strings.Contains(string(out), "security=none"); says != strings.Contains(args, "none") {
				t.Errorf("that nothing is protected is announced: %v\n%s", says, out)
			}
		})
	}
}

// more are the examples that have options.
var more = []string{"stencil", "hashtable", "samplesort", "cg", "gups"}

// TestWithoutReach has the programs' puts and gets travel in messages, under debug checks.
func TestWithoutReach(t *testing.T) {
	for _, prog := range more {
		t.Run(prog, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(filepath.Join(bin, "aqrun"), "--timeout", "5m", "-n", "3", filepath.Join(bin, prog))
			cmd.Env = append(os.Environ(), "AQUEDUCT_REACH=off", "AQUEDUCT_DEBUG=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, prog := range more {
		out, err := exec.Command(filepath.Join(bin, prog), "--help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "  --") {
			t.Errorf("%s --help: %v\n%s", prog, err, out)
		}
		if out, err := exec.Command(filepath.Join(bin, prog), "--no-such-option").CombinedOutput(); status(err) != 2 {
			t.Errorf("%s --no-such-option: %v, want status 2\n%s", prog, err, out)
		}
	}
}

// TestSamplesortOutput compares the file that the ranks write with one sorted here.
func TestSamplesortOutput(t *testing.T) {
	text, err := os.ReadFile("examples_test.go")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sorted")
	if err := os.WriteFile(file, append(text, text...), 0o666); err != nil { // something longer
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(bin, "aqrun"), "-n", "4", filepath.Join(bin, "samplesort"), "--output", file, "examples_test.go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Sort(want)
	if got, err := os.ReadFile(file); err != nil || string(got) != strings.Join(want, "\n")+"\n" {
		t.Errorf("%v; the file differs from the sorted lines", err)
	}
}

// TestExampleFailures has jobs fail with a reason and status 1.
func TestExampleFailures(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.mtx")
	if err := os.WriteFile(bad, []byte("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 -1\n2 2 -1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, says string }{
		{"stencil --rows 2", "raise --rows"},
		{"gups --log2 24", "raise --segment"},
		{"samplesort no-such-file", "no-such-file"},
		{"samplesort --lines 3000000 --seed 2", "raise --segment"},
		{"cg no-such-file", "no-such-file"},
		{"cg /dev/null", "the file is empty"},
		{"cg " + bad, "not positive definite"},
		{"cg --limit 3", "no solution after 3 steps"},
	} {
		args := strings.Fields(c.args)
		line := append([]string{"-n", "3", "--segment", "2MB", filepath.Join(bin, args[0])}, args[1:]...)
		out, err := exec.Command(filepath.Join(bin, "aqrun"), line...).CombinedOutput()
		if status(err) != 1 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v; want status 1 and %q:\n%s", c.args, err, c.says, out)
		}
	}
}

// TestExampleMisuse gives examples options that mean nothing, or more than a machine can hold.
func TestExampleMisuse(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"ring 0", "at least 1"},
		{"stencil --rows 9223372036854775807 --cols 2", "from 1 to 2^24"},
		{"cg --tolerance inf", "between 0 and 1"},
		{"samplesort --lines 100000000000", "from 0 to 2^32"},
		{"samplesort --lines 5 README.md", "leave them out, or the files"},
		{"samplesort --output=", "--output needs a value"},
	} {
		args := strings.Fields(c.args)
		out, err := exec.Command(filepath.Join(bin, args[0]), args[1:]...).CombinedOutput()
		if status(err) != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v; want status 2 and %q:\n%s", c.args, err, c.says, out)
		}
	}
}

// TestExampleOutputLost has examples that run by themselves write to a full disk.
func TestExampleOutputLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range []string{"ring 1", "wordcount ring", "stencil --steps 1", "hashtable --keys 10", "samplesort --lines 10", "cg", "gups --log2 4"} {
		words := strings.Fields(args)
		cmd := exec.Command(filepath.Join(bin, words[0]), words[1:]...)
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = full, &errs
		if err := cmd.Run(); status(err) != 1 || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%s: %v; want status 1:\n%s", args, err, &errs)
		}
	}
}

// status returns the exit status of a command that ended with err, -1 if it did not run.
func status(err error) int {
	var x *exec.ExitError
	if errors.As(err, &x) {
		return x.ExitCode()
	}
	return -1
}
