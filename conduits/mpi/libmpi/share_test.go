package libmpi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"github.com/aqueduct-go/aqueduct/core"
)

// reachEnv says what the ranks of roles "reach" and "large" set and expect: a value of setting rma, and yes or no.
const reachEnv = "LIBMPI_TEST_REACH"

func init() {
	roles["reach"] = reacher("0", "4096", "1MB", "64KB")
	roles["large"] = reacher("32MB")
}

// reacher is a rank of a job of mpiexec that calls reachAll.
func reacher(sizes ...string) func() {
	return func() {
		rma, want, _ := strings.Cut(os.Getenv(reachEnv), " ")
		cfg := config()
		if rma != "" {
			cfg.Settings = map[string]string{"rma": rma}
		}
		boot, err := libmpi.Connect()
		check(err)
		leave(boot, core.Main(boot, cfg, func(job *core.Job) error {
			return reachAll(job, sizes[int(job.Rank())%len(sizes)], want == "yes")
		}))
	}
}

// reachAll has every rank store to the segments of all, which have different sizes, if it can reach
// them, send Longs to the last, and look at what others have done.
func reachAll(job *core.Job, size string, want bool) error {
	me := job.Rank()
	got := 0
	ep, err := job.Attach(core.AttachSpec{Segment: size, Handlers: []core.HandlerEntry{
		{Index: 128, Func: func(tok *core.Token, _ []uint32, data []byte) {
			if string(data) == fmt.Sprintf("rank %3d", tok.Src()) {
				got++
			}
		}},
	}})
	if err != nil {
		return err
	}
	page := uintptr(os.Getpagesize())
	if s := ep.Segment(); len(s) != ep.SegmentSize(me) || len(s) > 0 && uintptr(unsafe.Pointer(&s[0]))%page != 0 {
		return errors.New("the segment has another size, or begins within a page")
	}
	for r := range core.Rank(job.Size()) {
		near, err := ep.Reach(r)
		switch size := ep.SegmentSize(r); {
		case err != nil:
			return err
		case (near != nil) != (want && size > 0), near != nil && len(near) != size:
			return errors.New("reach is not as expected")
		case near != nil:
			near[int(me)], near[size-1-int(me)] = byte(me)+1, byte(me)+1
		}
	}
	last := core.Rank(job.Size() - 1)
	if err := ep.RequestLong(last, 128, fmt.Appendf(nil, "rank %3d", me), 1024+8*uint64(me)); err != nil {
		return err
	}
	if err := ep.WaitUntil(func() bool { return me != last || got == job.Size() }); err != nil {
		return err
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	if s := ep.Segment(); want && len(s) > 0 {
		for r := range job.Size() {
			if s[r] != byte(r)+1 || s[len(s)-1-r] != byte(r)+1 {
				return errors.New("a peer's stores are not there")
			}
		}
	}
	_, err = os.Stdout.WriteString("good\n")
	return err
}

// TestReach wants the segments of a host's ranks to be memory of all, with every setting that says so.
func TestReach(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		for _, c := range []struct{ rma, want string }{{"", "yes"}, {"shared", "yes"}, {"off", "no"}} {
			t.Run(library+"/rma="+c.rma, func(t *testing.T) {
				t.Setenv(reachEnv, c.rma+" "+c.want)
				status, out := direct(t, library, 4, "reach")
				if status != 0 || strings.Count(out, "good") != 4 {
					t.Errorf("status %d\n%s", status, out)
				}
			})
		}
	}
}

// TestCrowdedShm has the host run out of shared memory: the default does without, and rma=shared is
// refused, before anything is touched that is not there.
func TestCrowdedShm(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm").CombinedOutput(); err != nil {
		t.Skipf("needs root that may mount: %s%v", out, err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range libmpitest.Libraries {
		for _, c := range []struct {
			rma, want, says string
			good            bool
		}{
			{"", "no", "put and get go by messages: the segments of this host's ranks take", true},
			{"shared", "yes", "the segments of this host's ranks take 64 MB of shared memory, but", false},
		} {
			t.Run(library+"/rma="+c.rma, func(t *testing.T) {
				libmpitest.Launcher(t, library)
				starter, err := libmpi.Starter(library, 2, false)
				if err != nil {
					t.Fatal(err)
				}
				argv := starter.Command
				for i := range argv {
					argv[i] = strings.ReplaceAll(argv[i], "{dir}", "/dev/shm")
				}
				small := []string{"-m", "sh", "-c", `mount -t tmpfs -o size=48m tmpfs /dev/shm && exec "$@"`, "sh"}
				cmd := exec.Command("unshare", slices.Concat(small, argv, []string{exe})...)
				cmd.Env = append(os.Environ(), roleEnv+"=large", libraryEnv+"="+libmpi.Auto, reachEnv+"="+c.rma+" "+c.want)
				out, err := cmd.CombinedOutput()
				if (err == nil) != c.good || !strings.Contains(string(out), c.says) {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
