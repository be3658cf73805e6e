//go:build !race

package clients_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// wellness runs a program as two ranks over sci and wants each to say that it is well.
func wellness(t *testing.T, program string, args ...string) {
	t.Helper()
	out, status := job(t, 2, "sci", program, args...)
	if status != 0 || strings.Count(out, "is well") != 2 {
		t.Errorf("status %d; want 0, and both ranks well:\n%s", status, out)
	}
}

// TestLinked has programs linked with the library in every way.
func TestLinked(t *testing.T) {
	for m, mode := range modes {
		for name, c := range map[string]client{
			"archive":            {flags: nil},
			"shared":             {shared: true},
			"static":             {flags: []string{"-static"}},
			"constructor":        {flags: []string{"-DEARLY"}},
			"constructor-shared": {flags: []string{"-DEARLY"}, shared: true},
			"constructor-static": {flags: []string{"-DEARLY", "-static"}},
			"no-pie":             {flags: []string{"-no-pie", "-fno-pie"}},
			"musl":               {flags: []string{"-static"}, musl: true},
			"constructor-musl":   {flags: []string{"-DEARLY", "-static"}, musl: true},
		} {
			if !coretest.InTurn(t, name, m, len(modes)) {
				continue
			}
			t.Run(mode+"/"+name, func(t *testing.T) {
				c.source, c.mode = "hello", mode
				wellness(t, c.build(t))
			})
		}
	}
}

// TestOpened has a program open the library when it runs.
func TestOpened(t *testing.T) {
	c := client{source: "loader", mode: "seq", flags: []string{"-Wno-pedantic"}}
	wellness(t, c.build(t), filepath.Join(prefix, "lib", "libaqueduct-par.so"))
}

// TestMismatch links programs with the shell for another thread mode: the linker must refuse, and say why.
func TestMismatch(t *testing.T) {
	cc := compiler(t)
	for _, mode := range modes {
		for _, other := range modes {
			if mode == other {
				continue
			}
			macro := strings.ToUpper(mode)
			out, err := exec.Command(cc, "-DGASNET_"+macro, "-I"+prefix+"/include", "-o", filepath.Join(t.TempDir(), "p"),
				"../testdata/hello.c", "-L"+prefix+"/lib", "-l:libaqueduct-"+other+".a", "-l:libaqueduct.a", "-lpthread").CombinedOutput()
			want := "gasneti_this_object_was_compiled_for_GASNET_" + macro
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("a program for %s with the library for %s: %v; want an error that names %s:\n%s", mode, other, err, want, out)
			}
		}
	}
}

// TestExports wants the shared objects to export the interface's names, and no others.
func TestExports(t *testing.T) {
	compiler(t)
	for _, lib := range []string{"libaqueduct", "libaqueduct-seq", "libaqueduct-par", "libaqueduct-parsync"} {
		out, err := exec.Command("nm", "-D", "--defined-only", "--format=posix", filepath.Join(prefix, "lib", lib+".so")).Output()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(out)) {
			n++
			if name := strings.Fields(line)[0]; !strings.HasPrefix(name, "gasnet") && !strings.HasPrefix(name, "gex_") && !strings.HasPrefix(name, "aqueduct_") {
				t.Errorf("%s exports %s", lib, name)
			}
		}
		if n == 0 {
			t.Errorf("%s exports nothing", lib)
		}
	}
}
