//go:build !race

package docs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTutorial compares the code of the tutorial with its programs, and what it says that they print with what they
// do. The lines of ranks come in any order.
func TestTutorial(t *testing.T) {
	text := read(t, "tutorial.md")
	sources, _ := filepath.Glob("../examples/tutorial/*/main.go")
	var programs []string
	for _, file := range sources {
		programs = append(programs, read(t, file))
	}
	blocks, lines := fenced(text, "go")
	for i, block := range blocks {
		if !slices.ContainsFunc(programs, func(p string) bool { return strings.Contains(p, "\n"+block) }) {
			t.Errorf("tutorial.md:%d: no program of the tutorial has this code:\n%s", lines[i], block)
		}
	}
	sorted := func(out string) string {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	shown := 0
	for _, file := range sources {
		name := filepath.Base(filepath.Dir(file))
		_, after, said := strings.Cut(text, "    bin/aqrun -n 4 bin/"+name+"\n\n```text\n")
		want, _, ended := strings.Cut(after, "```\n")
		if !said || !ended {
			t.Errorf("the tutorial does not show what bin/aqrun -n 4 bin/%s prints", name)
			continue
		}
		shown++
		for _, options := range []string{"-n 4", "-n 4 --conduit udp", "-n 4 --goroutines", "-n 4 --model sci/d339"} {
			if got := job(t, options, name); sorted(got) != sorted(want) {
				t.Errorf("aqrun %s %s prints\n%s\nand the tutorial says\n%s", options, name, got, want)
			}
		}
	}
	if shown < 6 || len(blocks) < 10 {
		t.Errorf("%d programs and %d pieces of code were found", shown, len(blocks))
	}
}

// TestTutorialAlone runs each program as a job of one.
func TestTutorialAlone(t *testing.T) {
	sources, _ := filepath.Glob("../examples/tutorial/*/main.go")
	for _, file := range sources {
		if out := job(t, "", filepath.Base(filepath.Dir(file))); out == "" {
			t.Errorf("%s prints nothing as a job of one rank", file)
		}
	}
}
