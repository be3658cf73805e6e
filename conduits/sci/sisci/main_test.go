package sisci

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// long bounds waits for another process. Tests of waking wait Forever: a wait whose wake-up
// was lost finds its condition true when the time is up, and nobody would notice.
const long = 30 * time.Second

// A test that needs a second process runs this binary again with the name of a role in
// the environment and descriptors 3 and up as its inheritance.
const roleVariable = "AQ_SISCI_TEST_ROLE"

var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		if err := roles[role](); err != nil {
			os.Stderr.WriteString(role + ": " + err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Walks long enough to fill an arena and its tables; -rapid.steps overrides it.
	if err := flag.Set("rapid.steps", "100"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// start runs a role in another process. The descriptors stay the caller's.
func start(t *testing.T, role string, fds ...int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	for _, fd := range fds {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(dup), "inherited")
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// page is the page size, for layouts.
var page = shm.PageSize

// small is an arena with little of everything.
var small = Layout{Memory: 6 * page, Segments: 4, Connections: 6, Interrupts: 2}

// How the nodes of a test, which are all in this process, reach each other's memory.
const (
	together = true  // one process: the same memory
	apart    = false // as processes do: by descriptors
)

// network is n nodes, numbered from 0, each with a bell.
type network struct {
	devs   []*Device
	arenas []*shm.Region
	open   func(i int) (*Device, error) // opens node i's device
}

func newNetwork(t testing.TB, n int, l Layout, inProcess bool, fault func(Fault) Status) *network {
	t.Helper()
	kind := shm.Shared
	if inProcess {
		kind = shm.Local
	}
	nw := &network{}
	var peers []Peer
	for i := range n {
		arena, err := NewArena(NodeID(i), l, kind)
		if err != nil {
			t.Fatal(err)
		}
		bell, err := shm.NewBell()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(bell); arena.Close() })
		nw.arenas = append(nw.arenas, arena)
		peers = append(peers, Peer{Node: NodeID(i), FD: arena.FD(), Bell: bell})
		if inProcess {
			peers[i].Arena = arena
		}
	}
	nw.open = func(i int) (*Device, error) {
		cfg := Config{Node: NodeID(i), Arena: nw.arenas[i], Bell: peers[i].Bell, Fault: fault}
		cfg.Peers = append(cfg.Peers, peers[:i]...)
		cfg.Peers = append(cfg.Peers, peers[i+1:]...)
		return Open(cfg)
	}
	for i := range n {
		d, err := nw.open(i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Terminate(); err != nil {
				t.Error(err)
			}
		})
		nw.devs = append(nw.devs, d)
	}
	return nw
}

// eachPlacement runs a test with nodes together and apart.
func eachPlacement(t *testing.T, test func(t *testing.T, inProcess bool)) {
	t.Run("together", func(t *testing.T) { test(t, together) })
	t.Run("apart", func(t *testing.T) { test(t, apart) })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
}

func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is fails the test unless err wraps exactly the Errno; 0 stands for no error.
func is(t tester, err error, want Errno) {
	t.Helper()
	if e := same(err, want); e != nil {
		t.Fatal(e)
	}
}

func same(err error, want Errno) error {
	var got Errno
	switch {
	case err == nil && want == 0:
		return nil
	case err != nil && errors.As(err, &got) && got == want:
		return nil
	case want == 0:
		return fmt.Errorf("unexpected error: %w", err)
	}
	return fmt.Errorf("error %v (%#x), want %v", err, uint32(got), want)
}

// export makes an available segment and returns it with its memory.
func export(t testing.TB, d *Device, id SegmentID, size int, callback LocalCallback) (*LocalSegment, []byte) {
	t.Helper()
	s, err := d.CreateSegment(id, size, 0, callback)
	ok(t, err)
	ok(t, s.Prepare(0))
	m, err := s.Map(0, size, 0)
	ok(t, err)
	ok(t, s.SetAvailable())
	return s, m.Bytes()
}

// attach connects to a segment and maps all of it.
func attach(t testing.TB, d *Device, node NodeID, id SegmentID) (*RemoteSegment, *RemoteMap) {
	t.Helper()
	r, err := d.Connect(node, id, long, nil)
	ok(t, err)
	m, err := r.Map(0, r.Size(), 0)
	ok(t, err)
	return r, m
}
