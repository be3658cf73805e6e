package programs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/programs"
)

// TestBuild has several tests build a program at the same time: each has one of its own, which runs, and nothing else.
func TestBuild(t *testing.T) {
	var tests sync.WaitGroup
	for range 3 {
		dir := t.TempDir()
		tests.Go(func() {
			if err := programs.Build(dir, "./examples/hashtable", "./internal/programs"); err != nil {
				t.Error(err)
				return
			}
			if out, err := exec.Command(filepath.Join(dir, "hashtable"), "--help").Output(); err != nil || !strings.Contains(string(out), "--keys") {
				t.Errorf("%v: %s", err, out)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
				t.Errorf("%v, %v; want one file", files, err)
			}
		})
	}
	tests.Wait()
}

// TestBuildFails wants to know why.
func TestBuildFails(t *testing.T) {
	if err := programs.Build(t.TempDir(), "./no-such-program"); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Error(err)
	}
}
