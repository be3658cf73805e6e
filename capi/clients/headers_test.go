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

// TestHeaders has compilers look at each header alone, at all two of them in both orders, and at programs that
// use every name: in every language, and in thread modes that chosen chooses.
func TestHeaders(t *testing.T) {
	compiler(t)
	headers, err := filepath.Glob("../include/*.h")
	if err != nil || len(headers) == 0 {
		t.Fatal(headers, err)
	}
	pairs := filepath.Join(t.TempDir(), "pairs")
	if err := os.Mkdir(pairs, 0o777); err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, a := range headers {
		for _, b := range headers {
			path := filepath.Join(pairs, filepath.Base(a)+"-"+filepath.Base(b)+".c")
			text := "#include <" + filepath.Base(a) + ">\n#include <" + filepath.Base(b) + ">\n"
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			sources = append(sources, path)
		}
	}
	for _, cc := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(cc); err != nil {
			continue // compiler has found another one
		}
		for _, l := range languages {
			for i, source := range sources {
				if edge := slices.Index(edges, l.standard); edge >= 0 && chosen(t, fmt.Sprint(cc, i), edge, len(edges)) {
					accepts(t, cc, l.flag, l.standard, "par", source, "-pedantic")
				}
			}
			for m, mode := range modes {
				if !chosen(t, cc+l.standard, m, len(modes)) {
					continue
				}
				for _, header := range headers {
					accepts(t, cc, l.flag, l.standard, mode, header, "-pedantic")
				}
				// In C23 there is no type for any function, and what a program does instead is pedantry's business.
				var pedantic []string
				if l.standard != "c2x" {
					pedantic = []string{"-pedantic"}
				}
				accepts(t, cc, l.flag, l.standard, mode, "../testdata/use.c", pedantic...)
				accepts(t, cc, l.flag, l.standard, mode, "../testdata/ex_use.c", pedantic...)
				accepts(t, cc, l.flag, l.standard, mode, "../testdata/use.c", "-DGASNET_DEBUG")
				accepts(t, cc, l.flag, l.standard, mode, "../testdata/ex_use.c", "-DGASNET_DEBUG")
			}
		}
	}
}
