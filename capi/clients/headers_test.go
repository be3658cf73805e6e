//go:build !race

package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// languages are those that the headers are for, with names that older compilers know too.
var languages = []struct{ flag, standard string }{
	{"c", "c99"}, {"c", "c11"}, {"c", "c17"}, {"c", "c2x"}, {"c", "gnu99"},
	{"c++", "c++11"}, {"c++", "c++14"}, {"c++", "c++17"}, {"c++", "c++20"}, {"c++", "c++2b"},
}

// edges are the oldest and the newest of each language.
var edges = []string{"c99", "c2x", "c++11", "c++2b"}

// accepts has a compiler look at a source in a language and thread mode, with warnings as errors.
func accepts(t *testing.T, cc, language, standard, mode, source string, flags ...string) {
	t.Helper()
	args := slices.Concat([]string{"-x", language, "-std=" + standard, "-Wall", "-Wextra", "-Wunused", "-Werror", "-fsyntax-only",
		"-DGASNET_" + strings.ToUpper(mode), "-I../include"}, flags, []string{source})
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
}

// TestHeaders has compilers look at all two headers in both orders, the first of which nothing precedes, in one of the languages; and at all
// headers together and at programs that use every name, in every language. Compilers of pairs, thread modes, and where debugging is
// switched on, are as coretest.InTurn has them; where there are to be few, compilers of all else too.
func TestHeaders(t *testing.T) {
	compiler(t)
	headers, err := filepath.Glob("../include/*.h")
	if err != nil || len(headers) == 0 {
		t.Fatal(headers, err)
	}
	dir := t.TempDir()
	including := func(headers ...string) string {
		f, err := os.CreateTemp(dir, "*.c")
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			fmt.Fprintf(f, "#include <%s>\n", filepath.Base(h))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	var pairs []string
	for _, a := range headers {
		for _, b := range headers {
			pairs = append(pairs, including(a, b))
		}
	}
	sources := []string{including(headers...), "../testdata/use.c", "../testdata/ex_use.c"}
	var compilers []string // compiler has found another one if these are not there
	for _, cc := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(cc); err == nil {
			compilers = append(compilers, cc)
		}
	}
	for c, cc := range compilers {
		for i, l := range languages {
			if coretest.Few(t) && !coretest.InTurn(t, l.standard, c, len(compilers)) {
				continue
			}
			if edge := slices.Index(edges, l.standard); edge >= 0 {
				for p, source := range pairs {
					if coretest.InTurn(t, fmt.Sprint(p), c*len(edges)+edge, len(compilers)*len(edges)) {
						accepts(t, cc, l.flag, l.standard, "par", source, "-pedantic")
					}
				}
			}
			// In C23 there is no type for any function, and what a program does instead is pedantry's business.
			var pedantic []string
			if l.standard != "c2x" {
				pedantic = []string{"-pedantic"}
			}
			for m, mode := range modes {
				for _, source := range sources {
					if coretest.InTurn(t, cc+l.standard, m, len(modes)) {
						accepts(t, cc, l.flag, l.standard, mode, source, pedantic...)
					}
					if coretest.InTurn(t, cc+mode+source, i, len(languages)) {
						accepts(t, cc, l.flag, l.standard, mode, source, "-DGASNET_DEBUG")
					}
				}
			}
		}
	}
}
