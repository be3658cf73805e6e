//go:build !race

package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A snippet is Go code of a document, made into a file that compiles by itself.
type snippet struct {
	file    string // of the document
	line    int
	source  string
	program bool
}

// dir returns the folder of the package, below this one, that the snippet is.
func (s snippet) dir() string {
	return fmt.Sprintf("%s-line-%d", strings.TrimSuffix(filepath.Base(s.file), ".md"), s.line)
}

// what documents leave out: statements, and elements of what is in braces.
var leftOut = regexp.MustCompile(`(?m)^\s*\.\.\.$|\{ \.\.\. \}`)

// preludes are what the fragments of a document take for granted: the parameters of a function that statements are
// in, or declarations beside others.
var preludes = map[string]struct{ params, decls string }{
	"extended.md": {params: "job *core.Job, ep *extended.Endpoint, c *extended.Context, world *extended.Team, " +
		"lock, visits *extended.Atomic[uint64], mine, all, sums, terms []float64, lens []int"},
	"impair.md": {params: "settings impair.Settings, seed uint64, from, to int, datagram []byte, timer time.Duration, " +
		"receive func(now time.Duration, from, to int, b []byte), expired func(time.Duration) time.Duration"},
	"adding-a-conduit.md": {decls: "type params struct{ depth int }\ntype conduit struct{ core.Conduit }\nvar check func(core.Bootstrap, []core.Rank) error\n" +
		"type room struct { path, why string; imports, tests []string }"},
}

// imported are the packages that fragments may use.
var imported = map[string]string{
	"aqueduct": "", "core": "/core", "extended": "/extended", "pgas": "/extended/pgas", "settings": "/core/settings",
	"impair": "/conduits/udp/impair",
}

const module = "github.com/aqueduct-go/aqueduct"

// snippetsOf returns the snippets of a document but for the tutorial's, which are parts of programs.
func snippetsOf(file string) ([]snippet, error) {
	text, err := os.ReadFile(file)
	if err != nil || filepath.Base(file) == "tutorial.md" {
		return nil, err
	}
	blocks, lines := fenced(string(text), "go")
	var all []snippet
	for i, block := range blocks {
		s := snippet{file: file, line: lines[i]}
		if s.source, err = compilable(filepath.Base(file), block); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, s.line, err)
		}
		s.program = strings.HasPrefix(block, "package main\n")
		all = append(all, s)
	}
	return all, nil
}

// compilable makes a file of a block: of a whole file, declarations, statements or an element of a list.
func compilable(document, block string) (string, error) {
	block = leftOut.ReplaceAllStringFunc(block, func(s string) string {
		if strings.HasPrefix(s, "{") {
			return "{}"
		}
		return `panic("left out")`
	})
	if strings.HasPrefix(block, "package ") {
		return strings.ReplaceAll(block, "\t_ \""+module+"/conduits/mine\"\n", ""), nil // there is no such conduit
	}
	p := preludes[document]
	head := "package snippet\n"
	for name, path := range imported {
		if regexp.MustCompile(`(^|[^.\w])` + name + `\.[A-Z]`).MatchString(block + p.params + p.decls) {
			head += fmt.Sprintf("import %q\n", module+path)
		}
	}
	for _, name := range []string{"fmt", "time"} {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(block + p.params) {
			head += fmt.Sprintf("import %q\n", name)
		}
	}
	var first error
	for _, text := range []string{
		head + p.decls + "\n" + block,
		head + "func _(" + p.params + ") error {\n{\n" + block + "\n}\npanic(0)\n}",
		head + p.decls + "\nvar _ = []room{\n" + block + "\n}",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
		if err == nil {
			f.Comments = nil // they would move
			useAll(f)
			var out bytes.Buffer
			err := format.Node(&out, fset, f)
			return out.String(), err
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// useAll uses what is declared within functions, since fragments need not.
func useAll(f *ast.File) {
	use := func(exprs ...ast.Expr) ast.Stmt {
		s := &ast.AssignStmt{Tok: token.ASSIGN}
		for _, x := range exprs {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
				s.Lhs, s.Rhs = append(s.Lhs, ast.NewIdent("_")), append(s.Rhs, ast.NewIdent(id.Name))
			}
		}
		return s
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok && r.Tok == token.DEFINE {
			r.Body.List = append([]ast.Stmt{use(r.Key, r.Value)}, r.Body.List...)
		}
		b, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		var list []ast.Stmt
		for _, s := range b.List {
			list = append(list, s)
			if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
				list = append(list, use(a.Lhs...))
			}
		}
		b.List = list
		return true
	})
}

// TestPrograms runs the programs that stand in documents whole. A document quotes what its program prints.
func TestPrograms(t *testing.T) {
	if len(complete) == 0 {
		t.Error("no document has a program")
	}
	for _, s := range complete {
		for _, options := range []string{"-n 4", "-n 4 --goroutines", "-n 4 --model loopback", "-n 4 --conduit sci --profile paper"} {
			out := strings.TrimSpace(job(t, options, s.dir()))
			if out == "" || !strings.Contains(read(t, s.file), "`"+out+"`") {
				t.Errorf("%s:%d, aqrun %s: the document does not quote what the program prints: %s", s.file, s.line, options, out)
			}
		}
	}
}

// TestSnippetsRefuse shows that code that does not fit the library is found: it does not parse here, or is handed to the
// compiler as it is.
func TestSnippetsRefuse(t *testing.T) {
	if _, err := compilable("extended.md", "err := ep.Put(\n"); err == nil {
		t.Error("what cannot be parsed was accepted")
	}
	got, err := compilable("extended.md", "v, err := ep.NoSuchCall(1)\n...\n")
	if err != nil || !strings.Contains(got, "ep.NoSuchCall(1)") || !strings.Contains(got, module+"/extended") {
		t.Errorf("%v; the compiler gets\n%s", err, got)
	}
}
