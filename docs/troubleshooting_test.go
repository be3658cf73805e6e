//go:build !race

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// texts returns every string of the code: literals, joined where the code joins them, and those of C.
func texts(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "docs" || name == "testdata" || name == "bin" || len(name) > 2 && name[0] == '.'):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".c"), strings.HasSuffix(name, ".h"):
			all = append(all, read(t, path))
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				text := joined(n)
				if text != "" {
					all = append(all, text)
				}
				return text == ""
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// joined returns what a literal, or a sum of some, has; other operands of a sum count as none. It is "" for what is neither.
func joined(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		if n.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD {
			return joined(n.X) + joined(n.Y)
		}
	}
	return ""
}

// says reports whether one of the texts has the pieces of a quotation, which "…" divides, in their order.
func says(texts []string, quotation string) bool {
	pieces := strings.Split(quotation, "…")
next:
	for _, text := range texts {
		for _, piece := range pieces {
			_, after, found := strings.Cut(text, strings.TrimRight(piece, " "))
			if !found {
				continue next
			}
			text = after
		}
		return true
	}
	return false
}

// TestTroubleshooting looks for the texts of the first column in the code.
func TestTroubleshooting(t *testing.T) {
	all, n := texts(t), 0
	for i, line := range strings.Split(read(t, "troubleshooting.md"), "\n") {
		row := strings.Split(line, " | ")
		if len(row) != 3 || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[0], -1) {
			quotation := m[1]
			if strings.HasPrefix(quotation, "AQUEDUCT_") || strings.HasPrefix(quotation, "--") || len(quotation) < 12 {
				continue // a variable, an option or a name
			}
			if n++; !says(all, quotation) {
				t.Errorf("troubleshooting.md:%d: nothing in the code says %q", i+1, quotation)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d quotations were found", n)
	}
	if says(all, "rank … was eaten by …") || says([]string{"a b c"}, "b…a") || !says([]string{"a b c"}, "a … c") {
		t.Error("quotations are not compared as they should be")
	}
}
