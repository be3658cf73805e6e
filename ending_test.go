package aqueduct_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/porttest"
)

// TestFailureIsToldOnce fails in every mode: one line says so.
func TestFailureIsToldOnce(t *testing.T) {
	aqrun := goBuild(t, "./cmd/aqrun")
	for _, mode := range []string{"", "--goroutines", "--model=loopback"} {
		launch := []string{aqrun, "-n", "2"}
		if mode != "" {
			launch = append(launch, mode)
		}
		status, out, errs := finish(t, under(program(t, "fails"), launch...))
		if status != 1 || out != "" || !strings.HasPrefix(errs, "aqueduct: rank ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "no luck") {
			t.Errorf("%q: status %d, output %q, messages %q; want one line", mode, status, out, errs)
		}
	}
}

// TestStragglersAreToldWithTheReason wants one line, with its prefix, for both.
func TestStragglersAreToldWithTheReason(t *testing.T) {
	cmd := program(t, "one fails, others compute", "AQUEDUCT_MODE=goroutines", "AQUEDUCT_RANKS=3", "AQUEDUCT_GRACE=50ms")
	_, _, errs := finish(t, cmd)
	if want := "aqueduct: rank 1 has had enough; still running "; !strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 1 {
		t.Errorf("messages %q; want one line that begins with %q", errs, want)
	}
}

// TestModelWantsOneGoroutine uses a rank from elsewhere than its body: here another rank's.
func TestModelWantsOneGoroutine(t *testing.T) {
	var first *core.Endpoint
	err := aqueduct.Launch(func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if job.Rank() == 0 {
			first = ep
		}
		if err := ep.Barrier(); err != nil || job.Rank() == 0 {
			return err
		}
		return first.WaitUntil(func() bool { return false })
	}, aqueduct.Model("loopback", 2))
	if core.StatusOf(err) != 2 || !strings.Contains(err.Error(), "under a model one goroutine per rank may use the job") {
		t.Errorf("the job ended with %v", err)
	}
}

// In a static job each process says how the job has ended, once, and has its status.
func TestFailureIsToldByEachStaticRank(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	root := porttest.Reserve(t)
	var all sync.WaitGroup
	for rank := range 2 {
		cmd := program(t, "fails", fmt.Sprint("AQUEDUCT_RANK=", rank), "AQUEDUCT_SIZE=2", "AQUEDUCT_ROOT="+root, "AQUEDUCT_KEY_FILE="+key)
		all.Go(func() {
			status, out, errs := finish(t, cmd)
			_, ending, waited := strings.Cut(errs, "connection refused\n")
			if !waited {
				ending = errs
			}
			if status != 1 || out != "" || !strings.HasPrefix(ending, "aqueduct: rank ") || strings.Count(ending, "\n") != 1 || !strings.Contains(ending, "no luck") {
				t.Errorf("rank %d: status %d, output %q, messages %q; want one line", rank, status, out, errs)
			}
		})
	}
	all.Wait()
}
