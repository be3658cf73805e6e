//go:build !race

package capi

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/internal/programs"
)

// TestMain lets the test program be the ranks in Go.
func TestMain(m *testing.M) {
	RankMain()
	os.Exit(m.Run())
}

// TestRun measures every operation a little, with this library in the place of GASNet's too.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: there is no C library")
	}
	cpus, err := bench.CPUs()
	if err != nil || len(cpus) < 2 {
		t.Skipf("two CPUs are needed; there are %v, %v", cpus, err)
	}
	dir := t.TempDir()
	p := Plan{Conduit: "sci", Ops: Ops(), Samples: 1, CPUs: cpus[:2], Prefix: filepath.Join(dir, "capi"), Aqrun: filepath.Join(dir, "aqrun"), GASNet: filepath.Join(dir, "gasnet")}
	built, err := filepath.Abs("../../bin/capi")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built, p.Prefix); err != nil {
		t.Fatal(err)
	}
	if err := programs.Build(dir, "./cmd/aqrun"); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"sh", "../../scripts/capi.sh", built},
		{"sh", "../../scripts/capi-install.sh", p.Prefix, p.GASNet},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
	}
	beside := make(map[string][]string)
	err = Run(t.Context(), p, func(s *bench.Series) error {
		for _, a := range s.Against {
			beside[s.Params[0].Value] = append(beside[s.Params[0].Value], a.Key)
		}
		if ns := s.Results[0].Values(bench.NsPerOp); len(ns) != 1 || !(ns[0] > 0) {
			t.Errorf("%s: %v ns", s.Title, ns)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if measured := slices.Sorted(maps.Keys(beside)); !slices.Equal(measured, slices.Sorted(slices.Values(Ops()))) {
		t.Errorf("measured are %v", measured)
	}
	for op, units := range beside {
		want := []string{"x-go", "x-crossing", "x-gasnet", "x-floor"}
		switch {
		case op == Poll:
			want = want[:3]
		case ofThreads(op):
			want = []string{"x-one", "x-mutex", "x-word", "x-cond"}
		}
		if !slices.Equal(units, want) {
			t.Errorf("%s is compared with %v", op, units)
		}
	}
}
