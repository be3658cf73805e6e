//go:build !race

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFigure makes the README's figure and table again: models give the same everywhere.
func TestFigure(t *testing.T) {
	readme := read(t, "../README.md")
	dir := t.TempDir()
	line := regexp.MustCompile(`(?m)^    bin/aqbench (paper .* --svg) bin/figures$`).FindStringSubmatch(readme)
	if line == nil {
		t.Fatal("the README has no command that makes its figure")
	}
	out, err := exec.Command(filepath.Join(bin, "aqbench"), append(strings.Fields(line[1]), dir)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	figure := regexp.MustCompile(`!\[[^\]]+\]\(docs/(\S+\.svg)\)`).FindStringSubmatch(readme)
	tables, _ := fenced(readme, "text")
	if figure == nil || len(tables) != 1 {
		t.Fatalf("the README has figure %q and %d tables", figure, len(tables))
	}
	if !strings.Contains(string(out), tables[0]) {
		t.Errorf("the README's table is not what %q prints:\n%s", line[1], out)
	}
	if read(t, figure[1]) != read(t, filepath.Join(dir, figure[1])) {
		t.Errorf("docs/%s is not what %q makes; make figures", figure[1], line[1])
	}
}

// TestLinks looks for the files that documents link to, and for the documents in the index.
func TestLinks(t *testing.T) {
	for _, file := range append(pages(), "../CONTRIBUTING.md") {
		for _, m := range regexp.MustCompile(`\]\(([\w./-]+)(#[^)]*)?\)`).FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	index := read(t, "README.md")
	for _, file := range pages()[1:] {
		if file != "README.md" && !strings.Contains(index, "]("+file+")") {
			t.Errorf("docs/README.md does not list %s", file)
		}
	}
}
