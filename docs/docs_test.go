//go:build !race

// Package docs_test holds the documentation to the code: what is quoted exists, and what can run runs. Programs are
// compiled without the race detector, which has only what starts them to look at here.
package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var bin string // where the programs are: aqrun, aqbench, the tutorial's, and those of snippets

var complete []snippet // that were built as programs

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds all programs and snippets at once.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aqueduct-docs-*")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = filepath.Join(dir, "bin")
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build compiles everything. Snippets are files that only the go command sees, by an overlay, in packages of
// this module.
func build(dir string) error {
	packages := []string{"../cmd/aqrun", "../cmd/aqbench", "../examples/tutorial/..."}
	overlay := map[string]string{}
	for _, file := range pages() {
		all, err := snippetsOf(file)
		if err != nil {
			return err
		}
		for i, s := range all {
			source := filepath.Join(dir, fmt.Sprintf("%s-%d.go", filepath.Base(file), i))
			if err := os.WriteFile(source, []byte(s.source), 0o644); err != nil {
				return err
			}
			path, err := filepath.Abs(s.dir())
			if err != nil {
				return err
			}
			overlay[filepath.Join(path, fmt.Sprintf("snippet%d.go", i))] = source
			packages = append(packages, "./"+s.dir())
			if s.program {
				complete = append(complete, s)
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return err
	}
	replace := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replace, text, 0o644); err != nil {
		return err
	}
	// Debuggers need their tables, which GOFLAGS may leave out.
	args := append([]string{"build", "-ldflags=", "-overlay", replace, "-o", bin + "/"}, packages...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build of the programs and snippets: %w\n%s", err, out)
	}
	return nil
}

// pages are the documents that are held to the code.
func pages() []string {
	all, _ := filepath.Glob("*.md")
	return append([]string{"../README.md"}, all...)
}

// read returns a document.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fences are the blocks of code between lines of three backquotes; the language is the first group.
var fences = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// fenced returns the blocks of a language, and the line where each begins.
func fenced(text, language string) (blocks []string, lines []int) {
	for _, m := range fences.FindAllStringSubmatchIndex(text, -1) {
		if text[m[2]:m[3]] == language {
			blocks = append(blocks, text[m[4]:m[5]])
			lines = append(lines, 1+strings.Count(text[:m[4]], "\n"))
		}
	}
	return blocks, lines
}

// job runs a command line of the programs that were built, with aqrun in front if options are given, and returns
// what it prints.
func job(t *testing.T, options string, line ...string) string {
	t.Helper()
	line[0] = filepath.Join(bin, line[0])
	if options != "" {
		line = append(append([]string{filepath.Join(bin, "aqrun"), "--timeout", "60s"}, strings.Fields(options)...), line...)
	}
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v\n%s", line, err, out)
	}
	return string(out)
}
