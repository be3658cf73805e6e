package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/klauspost/cpuid/v2"
)

func TestPairsAvoidSiblings(t *testing.T) {
	sys := fstest.MapFS{
		"cpu0/topology/thread_siblings_list": {Data: []byte("0,2\n")},
		"cpu1/topology/thread_siblings_list": {Data: []byte("1\n")},
		"cpu2/topology/thread_siblings_list": {Data: []byte("0,2\n")},
	}
	want := [][2]int{{0, 1}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {0, 2}}
	if got := pairs(sys, []int{0, 1, 2, 3}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMachine(t *testing.T) {
	got := machine(fstest.MapFS{
		"proc/sys/kernel/osrelease":                            {Data: []byte("6.1.0-test\n")},
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": {Data: []byte("powersave\n")},
	})
	want := Header{Kernel: "6.1.0-test", Governor: "powersave"}
	if got != want {
		t.Errorf("got %+v", got)
	}
	if got := machine(fstest.MapFS{}); got != (Header{Kernel: unknown, Governor: unknown}) {
		t.Errorf("of an unreadable machine: %+v", got)
	}
}

func TestCaches(t *testing.T) {
	c := cpuid.CPUInfo{CacheLine: 64}
	c.Cache.L1D, c.Cache.L2, c.Cache.L3 = 32<<10, 2<<20, -1
	if got := caches(&c); got != "L1d 32 KiB, L2 2048 KiB, lines of 64 bytes" {
		t.Errorf("%q", got)
	}
	if got := caches(new(cpuid.CPUInfo)); got != unknown {
		t.Errorf("of a processor that does not tell: %q", got)
	}
}

func TestGitCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	run := func(args ...string) {
		t.Helper()
		if out, err := git(dir, args...); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when, pattern string) {
		t.Helper()
		if got := gitCommit(dir); !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			t.Errorf("%s: %q, want %s", when, got, pattern)
		}
	}
	expect("no repository", unknown)
	run("init", "-q")
	write("go.mod", "module example.com/other\n")
	expect("another module", unknown)
	write("go.mod", "module github.com/aqueduct-go/aqueduct\n")
	expect("no commit", unknown)
	run("add", "go.mod")
	run("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first")
	expect("clean", "[0-9a-f]{12}")
	write("more", "")
	expect("modified", `[0-9a-f]{12}\+`)
}
