//go:build !race

// Package clients_test builds programs in C with the library, and runs them as jobs. The library's code is compiled
// without the race detector.
package clients_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/programs"
)

var (
	dir    string // of what the tests build
	aqrun  string
	prefix string // where the library is, as it is installed
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// build makes the launcher, and the library where a C compiler is.
func build() (err error) {
	if dir, err = os.MkdirTemp("", "aqueduct-capi-*"); err != nil {
		return err
	}
	aqrun = filepath.Join(dir, "aqrun")
	if err := programs.Build(dir, "./cmd/aqrun"); err != nil {
		return err
	}
	if prefix, err = filepath.Abs("../../bin/capi"); err != nil {
		return err
	}
	if out, err := exec.Command("sh", "../../scripts/capi.sh", prefix).CombinedOutput(); err != nil {
		return fmt.Errorf("build the library: %w\n%s", err, out)
	}
	return nil
}

// compiler returns a C compiler, or skips.
func compiler(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no C compiler: nothing is built with the C library")
	return ""
}

// modes are the library's thread modes.
var modes = []string{"seq", "parsync", "par"}

// clients are those that were built already, by what they were built of.
var clients sync.Map

// client is a program of ../testdata in one thread mode.
type client struct {
	source string // without .c
	mode   string
	shared bool     // with shared objects
	musl   bool     // with another C library than the system's
	flags  []string // of the compiler, besides
}

// build compiles the client, with every warning an error, unless that was done already, and returns the program's path.
func (c client) build(t *testing.T) string {
	t.Helper()
	cc := compiler(t)
	if c.musl {
		var err error
		if cc, err = exec.LookPath("musl-gcc"); err != nil {
			t.Skip("no musl-gcc: nothing is built with musl")
		}
	}
	key := fmt.Sprint(c)
	once, _ := clients.LoadOrStore(key, sync.OnceValues(func() (string, error) {
		f, err := os.CreateTemp(dir, c.source+"-"+c.mode+"-*")
		if err != nil {
			return "", err
		}
		defer f.Close()
		args := append([]string{"-std=gnu99", "-O2", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror", "-DGASNET_" + strings.ToUpper(c.mode),
			"-I" + prefix + "/include", "-o", f.Name()}, c.flags...)
		args = append(args, "../testdata/"+c.source+".c", "-L"+prefix+"/lib")
		if c.shared {
			args = append(args, "-Wl,-rpath,"+prefix+"/lib", "-laqueduct-"+c.mode, "-laqueduct")
		} else {
			args = append(args, "-l:libaqueduct-"+c.mode+".a", "-l:libaqueduct.a", "-lpthread")
		}
		out, err := exec.Command(cc, args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s %s: %w\n%s", cc, strings.Join(args, " "), err, out)
		}
		return f.Name(), err
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// job runs a program as n ranks over a conduit and returns what it prints and its status.
func job(t *testing.T, n int, conduit, program string, args ...string) (out string, status int) {
	t.Helper()
	return launch(t, n, []string{"--conduit", conduit}, program, args...)
}

// launch is job with options of aqrun.
func launch(t *testing.T, n int, options []string, program string, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command(aqrun, slices.Concat([]string{"-n", strconv.Itoa(n), "--timeout", "5m"}, options, []string{program}, args)...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// conduits are those that clients run over.
var conduits = []string{"sci", "udp"}

// everywhere runs a client in every thread mode, with conduits and numbers of ranks in turn, and in the other combinations as AQ_TEST_PART
// says, or in one mode only, and wants a line from each rank that contains text.
func everywhere(t *testing.T, source, text string, ranks ...int) {
	for m, mode := range modes {
		if coretest.Few(t) && !coretest.InTurn(t, t.Name()+source, m, len(modes)) {
			continue
		}
		for c, conduit := range conduits {
			for i, n := range ranks {
				if (c != (m+len(source))%len(conduits) || i != m%len(ranks)) && !coretest.InPart(t, fmt.Sprintf("%s/%s/%s/%s/%d", t.Name(), source, mode, conduit, n)) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", mode, conduit, n), func(t *testing.T) {
					out, status := job(t, n, conduit, client{source: source, mode: mode}.build(t))
					if status != 0 || strings.Count(out, text) != n {
						t.Errorf("status %d; want 0 and a line %q of each of %d ranks:\n%s", status, text, n, out)
					}
				})
			}
		}
	}
}

func TestMessages(t *testing.T) {
	everywhere(t, "messages", "are right", 1, 2, 4, 3)
}

func TestTransfers(t *testing.T) {
	everywhere(t, "transfers", "are right", 1, 2, 4)
}

// TestThreads has threads that come and go use the library.
func TestThreads(t *testing.T) {
	for _, c := range []struct {
		conduit string
		ranks   int
		env     string // AQUEDUCT_C_FAST
		says    string // see ../testdata/threads.c
	}{
		{"sci", 1, "on", "fast"}, {"sci", 2, "on", "fast"}, {"sci", 4, "on", "fast"}, {"sci", 2, "off", "slow"},
		{"udp", 1, "on", "slow"}, {"udp", 2, "on", "slow"},
	} {
		if c.ranks != 2 && !coretest.InPart(t, fmt.Sprint(t.Name(), c.conduit, c.ranks)) {
			continue
		}
		t.Run(fmt.Sprintf("%s/%d/%s", c.conduit, c.ranks, c.env), func(t *testing.T) {
			t.Setenv("AQUEDUCT_C_FAST", c.env)
			program := client{source: "threads", mode: "par", flags: []string{"-D_GNU_SOURCE"}}.build(t)
			out, status := job(t, c.ranks, c.conduit, program, c.says)
			if status != 0 || strings.Count(out, "are well") != c.ranks {
				t.Errorf("status %d; want 0 and %d ranks well:\n%s", status, c.ranks, out)
			}
		})
	}
}
