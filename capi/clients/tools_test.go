//go:build !race

package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

func TestTools(t *testing.T) {
	everywhere(t, "tools", "are right", 2)
}

// TestToolsAlone builds a program that has no job with the library of the tools: in debug mode and not, unoptimised, and
// with another C library, and as makefiles do.
func TestToolsAlone(t *testing.T) {
	cc := compiler(t)
	to := install(t)
	archive := []string{"-I" + prefix + "/include", "-L" + prefix + "/lib", "-l:libaqueduct-tools.a", "-lpthread"}
	var fragment []string
	out, err := exec.Command("make", "-s", "--eval", "include "+to+"/include/gasnet_tools-par.mak", "--eval",
		"flags: ; @echo $(GASNETTOOLS_CPPFLAGS) $(GASNETTOOLS_CFLAGS) $(GASNETTOOLS_LIBS)", "flags").Output()
	if err != nil {
		t.Fatal(err)
	}
	fragment = strings.Fields(string(out))
	for name, c := range map[string]struct {
		cc    string
		flags []string
	}{
		"optimised": {cc, append([]string{"-O2"}, archive...)},
		"debug":     {cc, append([]string{"-O0", "-DGASNET_DEBUG"}, archive...)},
		"shared":    {cc, []string{"-I" + prefix + "/include", "-L" + prefix + "/lib", "-Wl,-rpath," + prefix + "/lib", "-laqueduct-tools", "-lpthread"}},
		"static":    {cc, append([]string{"-static"}, archive...)},
		"musl":      {"musl-gcc", append([]string{"-static"}, archive...)},
		"makefile":  {cc, fragment},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.cc); err != nil {
				t.Skip(err)
			}
			program := filepath.Join(t.TempDir(), "tools")
			args := append([]string{"-std=gnu99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-o", program, "../testdata/tools.c"}, c.flags...)
			if out, err := exec.Command(c.cc, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), "GASNET_VERBOSEENV=1")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "tools are right") || !strings.Contains(string(out), "TOOLS_INT = 1 B") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestToolsCompile has compilers look at the client of the tools in every language.
func TestToolsCompile(t *testing.T) {
	compiler(t)
	for _, cc := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(cc); err != nil {
			continue // compiler has found another one
		}
		for _, l := range languages {
			for m, mode := range modes {
				if !coretest.InTurn(t, cc+l.standard, m, len(modes)) {
					continue
				}
				accepts(t, cc, l.flag, l.standard, mode, "../testdata/tools.c", "-pedantic", "-D_GNU_SOURCE")
			}
		}
	}
}
