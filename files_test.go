package aqueduct_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// conduitFiles says in which file of a conduit a part lies, so that it is found without a search: a method of
// the contract, or a type. The file may have a suffix, as in poll_live.go. The guide for authors of conduits
// (docs/adding-a-conduit.md) has the same table.
var conduitFiles = map[string]string{
	"Plan": "caps", "Powers": "caps",
	"Attach": "conduit", "AttachSegment": "conduit", "Close": "conduit",
	"Reserve": "send", "Commit": "send",
	"Poll": "poll", "Spin": "poll",
	"Sleeper": "sleep",
	"Reach":   "native", "MaxPut": "native", "Put": "native", "MaxGet": "native", "Get": "native",
	"AtomicOps": "native", "Atomic": "native", "MaxCollective": "native", "Collective": "native",
	"params": "params",
}

// misplaced returns what of a conduit's file lies in the wrong one. Methods count if their type has one of
// the contract's that no other type has, Reserve or Powers.
func misplaced(name string, file *ast.File, conduits map[string]bool) (wrong []string) {
	part, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
	for _, d := range file.Decls {
		what := ""
		switch d := d.(type) {
		case *ast.FuncDecl:
			if conduits[receiver(d)] {
				what = d.Name.Name
			}
		case *ast.GenDecl:
			if t, ok := d.Specs[0].(*ast.TypeSpec); ok {
				what = t.Name.Name
			}
		}
		if want := conduitFiles[what]; want != "" && want != part {
			wrong = append(wrong, what)
		}
	}
	return wrong
}

// receiver returns the name of the type that a function is a method of, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// parseFolder returns the files of a package by name, without tests.
func parseFolder(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	files := make(map[string]*ast.File)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = f
	}
	return files
}

// TestFiles holds conduits to the common names of files.
func TestFiles(t *testing.T) {
	for _, name := range []string{"loopback", "mpi", "myrinet", "nbrhd", "sci", "udp"} {
		dir := filepath.Join("conduits", name)
		files := parseFolder(t, dir)
		conduits := make(map[string]bool)
		for _, f := range files {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && (d.Name.Name == "Reserve" || d.Name.Name == "Powers") {
					conduits[receiver(d)] = true
				}
			}
		}
		if len(conduits) == 0 {
			t.Errorf("%s has no conduit", dir)
		}
		for file, f := range files {
			for _, what := range misplaced(file, f, conduits) {
				t.Errorf("%s: %s belongs into %s.go", filepath.Join(dir, file), what, conduitFiles[what])
			}
		}
	}
}

// TestFilesRefuse shows that the rule bites.
func TestFilesRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"func (c *conduit) Poll(int) int { return 0 }": "Poll",
		"type params struct{}":                         "params",
		"func (s *sleeper) Close() error":              "", // of another type
		"func (c *conduit) Reserve()":                  "", // where it belongs
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "send.go", "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(misplaced("send_live.go", f, map[string]bool{"conduit": true}), " "); got != want {
			t.Errorf("%s: %q is misplaced, want %q", text, got, want)
		}
	}
}
