package pgas_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/extended"
)

// TestCollectiveNames holds the rule that makes the names predictable: every collective call
// of teams that moves or combines data is a function here, with an event and without.
func TestCollectiveNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && f.Name.Name == "pgas" {
				have[fn.Name.Name] = true
			}
		}
	}
	calls := 0
	for m := range reflect.TypeFor[*extended.Team]().Methods() {
		name, nb := strings.CutSuffix(m.Name, "NB")
		if !nb || name == "Barrier" {
			continue
		}
		calls++
		if !have[name] || !have[name+"NB"] {
			t.Errorf("extended.Team has %s and %sNB; of the functions here: %v, %v", name, name, have[name], have[name+"NB"])
		}
	}
	if calls < 13 {
		t.Errorf("found %d calls of teams", calls)
	}
}
