//go:build !race

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exported returns the exported names of the packages that programs use: "core.Job", "core.Job.Attach" and
// "core.AttachSpec.Group".
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{"..", "../core", "../extended", "../extended/pgas"} {
		files, _ := filepath.Glob(dir + "/*.go")
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				declared(names, f.Name.Name+".", d)
			}
		}
	}
	return names
}

// declared adds the names of a declaration.
func declared(names map[string]bool, prefix string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if g, ok := of.(*ast.IndexExpr); ok {
				of = g.X
			}
			prefix += of.(*ast.Ident).Name + "."
		}
		names[prefix+d.Name.Name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[prefix+n.Name] = true
				}
			case *ast.TypeSpec:
				names[prefix+s.Name.Name] = true
				if of, ok := s.Type.(*ast.StructType); ok {
					for _, field := range of.Fields.List {
						for _, n := range field.Names {
							names[prefix+s.Name.Name+"."+n.Name] = true
						}
					}
				}
			}
		}
	}
}

// inC are GASNet's names in the C library's headers.
func inC(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, pattern := range []string{"../capi/include/*.h", "../capi/include/gasneti/*.h", "../capi/gen/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			for _, name := range gasnetName.FindAllString(read(t, file), -1) {
				names[name] = true
			}
		}
	}
	return names
}

var (
	gasnetName = regexp.MustCompile(`\b(gasnet|GASNET|gex|GEX)_\w+`)
	goName     = regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Z]\\w*)*)`")
)

// TestMigration looks up the names of the tables: Go's, and those of GASNet, of which the C library has all.
func TestMigration(t *testing.T) {
	names, c, n := exported(t), inC(t), 0
	for i, line := range strings.Split(read(t, "migration.md"), "\n") {
		row := strings.Split(strings.Trim(line, "| "), " | ")
		if len(row) != 2 || row[0] == "---" {
			continue
		}
		for _, name := range gasnetName.FindAllString(row[0], -1) {
			if !c[name] {
				t.Errorf("migration.md:%d: the C library has no %s", i+1, name)
			}
		}
		for _, m := range goName.FindAllStringSubmatch(row[1], -1) {
			name := m[1]
			if strings.HasPrefix(name, "os.") || strings.HasPrefix(name, "aqrun") || strings.ToLower(name) == name {
				continue // not the library's
			}
			if n++; !names[name] && !names["extended."+name] {
				t.Errorf("migration.md:%d: there is no %s", i+1, name)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d names were found", n)
	}
	if names["core.Job.NoSuchMethod"] || !names["pgas.Ptr.PutNBI"] || !names["core.AttachSpec.SegmentLater"] {
		t.Error("names are not looked up as they should be")
	}
}
