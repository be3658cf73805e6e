package aqueduct_test

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/aqueduct-go/aqueduct"

// rooms are the packages' layers, from the top downwards. A package may import packages of
// rooms further down only, and of its own room where that is said. Do not change this to
// mend a build: an import that it forbids means that code lies in the wrong room.
var rooms = []struct {
	name   string
	why    string
	prefix []string
	within bool // packages of the room may import each other
}{
	{"programs", "they use the library as anybody does", []string{"cmd/", "examples/", "scripts/"}, false},
	{"bench", "it measures through the front door", []string{"bench"}, true},
	{"front door", "it alone wires conduits, bootstrap and core together", []string{"."}, false},
	{"conduits", "a conduit is chosen at run time, so nothing below the front door knows one, and none knows another", []string{"conduits/"}, false},
	{"spawner", "no conduit and nothing in core knows what started the job", []string{"spawner"}, true},
	{"extended", "it is network-independent, on the Core API alone", []string{"extended"}, true},
	{"core", "the contract stands on nothing but internals", []string{"core"}, true},
	{"internal", "shared mechanisms know nobody", []string{"internal/"}, true},
}

// edges are imports within a room, or upwards, that are permitted all the same.
var edges = map[string]string{
	"conduits/mpi/libmpi/libmpitest -> conduits/mpi/libmpi": "it finds libraries for tests",
	"conduits/mpi/libmpi/libmpitest -> spawner/spawntest":   "and runs jobs over them",
	"conduits/mpi/libmpi -> conduits/mpi":                   "its networks are those of real libraries",
	"conduits/mpi -> conduits/mpi/matching":                 "they share a queue",
	"conduits/mpi/scampi -> conduits/mpi":                   "it is a network of the conduit",
	"conduits/mpi/scampi -> conduits/mpi/matching":          "and matches messages as MPI does",
	"conduits/mpi/scampi -> conduits/sci/sisci":             "a library on SCI is modelled on SCI's calls",
	"conduits/mpi/scampi -> conduits/sci/hardware":          "and reads what the machine's software costs",
	"conduits/mpi/mpitest -> conduits/mpi":                  "a network for the conduit's tests",
	"conduits/mpi/mpitest -> conduits/mpi/matching":         "and it matches messages as MPI does",
	"conduits/sci -> conduits/sci/sisci":                    "the conduit stands on its adapter",
	"conduits/sci -> conduits/sci/hardware":                 "it places its ranks on a modelled machine and charges that machine's software",
	"conduits/sci/sisci -> conduits/sci/hardware":           "the adapter stands on its hardware, which is modelled",
	"conduits/udp -> conduits/udp/am2":                      "it is the driver of the machine",
	"conduits/udp -> conduits/udp/seal":                     "and has datagrams protected",
	"conduits/udp/impair/tunnel -> conduits/udp/impair":     "it carries real packets over impaired links",
}

// testEdges are further imports that tests may have: prefix of the importer and import.
var testEdges = [][2]string{
	{"conduits/mpi", "conduits/mpi/mpitest"},
	{"conduits/mpi/libmpi", "conduits/mpi/libmpi/libmpitest"},
	{"extended/exttest/libmpi", "conduits/mpi/libmpi/libmpitest"},
	{"conduits/mpi/scampi", "conduits/sci"}, // its rival
	{"conduits/udp", "conduits/udp/impair"}, // what carries its datagrams must survive bad links
	{"conduits/", "spawner"},                // conduits are tested with real processes
	{"extended/", "spawner"},                // and so is what stands on them
	{"extended/", "conduits/"},
	{"conduits/nbrhd", "conduits/"}, // it stands on any two
}

// apart are rooms of which the upper does not know the lower: prefix of importer and import.
var apart = [][2]string{
	{"conduits/", "extended"}, // a conduit carries active messages, whatever they are for
	{"spawner", "extended"},
}

func TestArrows(t *testing.T) {
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "docs") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		from := filepath.ToSlash(dir)
		for _, path := range pkg.Imports {
			checkArrow(t, from, path, false)
		}
		for _, path := range slices.Concat(pkg.TestImports, pkg.XTestImports) {
			checkArrow(t, from, path, true)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkArrow(t *testing.T, from, path string, test bool) {
	t.Helper()
	to, ok := strings.CutPrefix(path, module)
	if !ok {
		return
	}
	if to = strings.TrimPrefix(to, "/"); to == "" {
		to = "."
	}
	a, b := roomOf(t, from), roomOf(t, to)
	for _, e := range apart {
		if strings.HasPrefix(from, e[0]) && strings.HasPrefix(to, e[1]) {
			t.Errorf("%s imports %s: the two rooms stand side by side", from, to)
		}
	}
	switch {
	case from == to, a < b, a == b && rooms[a].within, edges[from+" -> "+to] != "":
		return
	}
	for _, e := range testEdges {
		if test && strings.HasPrefix(from, e[0]) && strings.HasPrefix(to, e[1]) {
			return
		}
	}
	t.Errorf("%s imports %s: arrows run downwards only, and %s lies not below %s (%s: %s)",
		from, to, rooms[b].name, rooms[a].name, rooms[b].name, rooms[b].why)
}

func roomOf(t *testing.T, dir string) int {
	t.Helper()
	for i, r := range rooms {
		for _, p := range r.prefix {
			if dir == p || strings.HasSuffix(p, "/") && strings.HasPrefix(dir, p) || p != "." && strings.HasPrefix(dir, p+"/") {
				return i
			}
		}
	}
	t.Fatalf("%s is in no room; see rooms in this file and docs/design.md", dir)
	return -1
}

// TestPackageComments demands a package comment of every package.
func TestPackageComments(t *testing.T) {
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || strings.Contains(dir, "testdata") || strings.HasPrefix(dir, ".git") {
			return err
		}
		pkg, err := build.ImportDir(dir, 0)
		if err == nil && len(pkg.GoFiles) > 0 && strings.TrimSpace(pkg.Doc) == "" {
			t.Errorf("package %s has no package comment", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("docs/design.md"); err != nil {
		t.Error(err)
	}
}
