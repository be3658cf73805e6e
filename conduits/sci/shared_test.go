package sci_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
	"golang.org/x/sys/unix"
)

// sharedCases tell in which processes they run, and end in several ways.
var sharedCases = func() (cases []*coretest.Case) {
	for name, end := range map[string]func(*core.Endpoint) error{
		"well":  func(ep *core.Endpoint) error { return ep.Barrier() },
		"error": func(*core.Endpoint) error { return errors.New("no good") },
		"panic": func(*core.Endpoint) error { panic("no good") },
		"kill":  func(*core.Endpoint) error { return unix.Kill(os.Getpid(), unix.SIGKILL) },
		"hang":  func(ep *core.Endpoint) error { return ep.WaitUntil(func() bool { return false }) },
	} {
		cases = append(cases, &coretest.Case{
			Name: "shared/" + name, Rule: "cases share processes until one fails", Ranks: []int{2},
			Body: func(t *coretest.T) error {
				ep, err := t.Attach(core.AttachSpec{})
				if err != nil {
					return err
				}
				t.Printf("rank %d is process %d", t.Rank(), os.Getpid())
				if t.Rank() == 0 && name != "well" {
					return ep.Barrier()
				}
				return end(ep)
			},
		})
	}
	return cases
}()

// recorder notes failures instead of failing.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }

// TestShared has a case fail in processes that others have used and will ask for: it is named, and
// they get new ones.
func TestShared(t *testing.T) {
	l := spawntest.Processes.(coretest.Sharer).Share(t)
	launch := func(t testing.TB, name string, limit time.Duration) *coretest.Outcome {
		for _, c := range sharedCases {
			if c.Name == "shared/"+name {
				return l.Launch(t, &coretest.Launch{Case: c, Ranks: 2, Config: core.Config{Conduit: "sci"}, Dir: t.TempDir(), Timeout: limit})
			}
		}
		panic(name)
	}
	well := func() (processes string) {
		o := launch(t, "well", time.Minute)
		if o.Err != nil || o.Status != 0 || strings.Count(o.Output, "\n") != 2 {
			t.Fatalf("status %d, error: %v\n%s", o.Status, o.Err, o.Output)
		}
		for r := range 2 {
			_, after, _ := strings.Cut(o.Output, fmt.Sprintf("rank %d is ", r))
			line, _, _ := strings.Cut(after, "\n")
			processes += line + " "
		}
		return processes
	}
	first := well()
	if again := well(); again != first {
		t.Errorf("cases ran in %s and %s", first, again)
	}
	for name, want := range map[string]string{"error": "no good", "panic": "no good", "kill": "killed"} {
		o := launch(t, name, time.Minute)
		if o.Err == nil || o.Status == 0 || o.Says(want) != nil {
			t.Errorf("%s: status %d, error: %v\n%s", name, o.Status, o.Err, o.Output)
		}
		next := well()
		if next == first {
			t.Errorf("after %s a case ran in %s", name, next)
		}
		first = next
	}
	rec := &recorder{TB: t}
	if o := launch(rec, "hang", time.Second); o.Status == 0 || !strings.Contains(rec.said, "did not end within 1s") || !strings.Contains(rec.said, "goroutine ") {
		t.Errorf("a case that hangs: status %d\n%s", o.Status, rec.said)
	}
	well()
}
