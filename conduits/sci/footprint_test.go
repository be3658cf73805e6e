package sci_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// footprint returns what the conduit says that it takes.
func footprint(profile string, n int) (int, error) {
	drv, err := core.DriverByName("sci")
	if err != nil {
		return 0, err
	}
	p, err := drv.New(profile).Plan(&core.Attachment{Group: make([]core.Rank, n)})
	return p.Footprint, err
}

// footprintCase compares that with the shared memory that there is.
var footprintCase = &coretest.Case{
	Name:  "sci/footprint",
	Rule:  "the memory that a conduit makes is what it says beforehand",
	Ranks: []int{1, 3, 17},
	Needs: coretest.Processes,
	Body: func(t *coretest.T) error {
		const segment = 1 << 16
		if _, err := t.Attach(core.AttachSpec{Segment: fmt.Sprint(segment)}); err != nil {
			return err
		}
		each, err := footprint(t.Config().Profile, t.Size())
		if err != nil {
			return err
		}
		got, err := sharedMemory("/proc/self/fd/")
		if want := int64(t.Size() * (each + segment)); err != nil || got != want {
			t.Errorf("%d ranks have %d bytes of shared memory, want %d: %v", t.Size(), got, want, err)
		}
		return nil
	},
}

// sharedMemory sums the sizes of the memory files behind a process's descriptors.
func sharedMemory(dir string) (sum int64, err error) {
	fds, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	seen := map[uint64]bool{}
	for _, fd := range fds {
		name := dir + fd.Name()
		if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, "/memfd:aqueduct") {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			return 0, err
		}
		if !seen[st.Ino] {
			seen[st.Ino] = true
			sum += st.Size
		}
	}
	return sum, nil
}

func TestFootprint(t *testing.T) {
	for _, profile := range []string{"live", "paper"} {
		t.Run(profile, func(t *testing.T) {
			coretest.RunCase(t, spawntest.Processes, core.Config{Conduit: "sci", Profile: profile}, footprintCase)
		})
	}
}

// A job whose segments fit the host, but not with the command segments, is refused before
// anything is made.
func TestCommandSegmentsDoNotFit(t *testing.T) {
	const ranks = 128 // in profile live, 9.5 GB of command segments
	each, err := footprint("live", ranks)
	if err != nil {
		t.Fatal(err)
	}
	have, err := shm.Available()
	if err != nil {
		t.Fatal(err)
	}
	segment := max(0, int(have)/ranks-each/2) // half of what is then left is missing
	err = core.RunGoroutines(ranks, core.Config{Conduit: "sci", Profile: "live", Segment: fmt.Sprint(segment)}, func(j *core.Job) error {
		_, err := j.Attach(core.AttachSpec{})
		return err
	})
	for _, want := range []string{"this host's 128 ranks need", "conduit sci another", "are available; "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
