package links_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
)

const (
	onPing = core.ClientHandlers + iota
	onPayload
)

// own are the cases of this package.
var own = []*coretest.Case{&largeCase, &cutCase, &hostsCase}

// largeCase sends more than a narrow path takes in one piece.
var largeCase = coretest.Case{
	Name:  "links/large",
	Rule:  "a path that swallows long packets without a word is found and used",
	Ranks: []int{2},
	Body: func(t *coretest.T) error {
		got := 0
		ep, err := t.Attach(core.AttachSpec{Segment: "1MB", Handlers: []core.HandlerEntry{
			{Index: onPayload, Func: func(_ *core.Token, args []uint32, data []byte) {
				if !bytes.Equal(data, pattern(len(data), args[0])) {
					t.Errorf("payload %d of %d bytes is wrong", args[0], len(data))
				}
				got++
			}},
		}})
		if err != nil {
			return err
		}
		sizes := []int{1, 500, 900, 1300, 5000, 65000}
		for i, n := range sizes {
			if err := ep.RequestMedium(t.Next(), onPayload, pattern(n, uint32(i)), uint32(i)); err != nil {
				return err
			}
		}
		for i := range uint32(2) {
			if err := ep.RequestLong(t.Next(), onPayload, pattern(500000, i), 0, i); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return got == len(sizes)+int(i)+1 }); err != nil {
				return err
			}
			if err := ep.Barrier(); err != nil {
				return err
			}
		}
		return nil
	},
}

// pattern returns n bytes that depend on a number.
func pattern(n int, i uint32) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(k*7) ^ byte(k>>8) ^ byte(i)
	}
	return b
}

// TestBlackHole sends packets that the devices take and the links do not.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	for _, security := range []string{"auth", "encrypt"} {
		t.Run(security, func(t *testing.T) {
			tun, l := network(t, "mtu=1000")
			coretest.RunCase(t, l, config("security", security), &largeCase)
			if s := tun.Stats(); s.TooLong == 0 {
				t.Errorf("nothing was too long: %v", s)
			}
		})
	}
}

// cutCase has the ranks exchange messages until the job fails.
var cutCase = coretest.Case{
	Name:  "links/cut",
	Rule:  "a peer that cannot be reached any more ends the job",
	Ranks: []int{3},
	Body: func(t *coretest.T) error {
		pings := 0
		ep, err := t.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onPing, Func: func(*core.Token, []uint32, []byte) { pings++ }},
		}})
		if err != nil {
			return err
		}
		for n := 1; ; n++ {
			if err := t.Others(func(r core.Rank) error { return ep.RequestShort(r, onPing) }); err != nil {
				return err
			}
			if err := t.Wait(&ep.Context, func() bool { return pings >= n*(t.Size()-1) }); err != nil {
				return err
			}
			if n == 10 {
				t.Printf("%s%d", readyMark, t.Rank())
			}
		}
	},
}

// readyMark begins the line of a rank that has exchanged messages with all others; its rank
// follows.
const readyMark = "ready: "

// watcher collects the output of a job. ready is closed when all ranks say that they are.
type watcher struct {
	mu    sync.Mutex
	text  bytes.Buffer
	left  int
	ready chan struct{}
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := strings.Count(string(p), readyMark); n > 0 && w.left > 0 {
		if w.left -= n; w.left == 0 {
			close(w.ready)
		}
	}
	return w.text.Write(p)
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// ruin runs cutCase, has do happen when all ranks communicate, and returns how the job ended.
func ruin(t *testing.T, tun *tunnel.Tunnel, cfg core.Config, do func(*spawner.Job)) (status int, output string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ranks := cutCase.Ranks[0]
	launch := coretest.Launch{Case: &cutCase, Ranks: ranks, Config: cfg, Dir: t.TempDir()}
	w := &watcher{left: ranks, ready: make(chan struct{})}
	job, err := spawner.Start(context.Background(), spawner.Spec{
		N: ranks, Prog: self, Prefix: prefix(t, tun, nodes), Env: launch.Env(), Timeout: time.Minute, Stdout: w, Stderr: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		status, err = job.Wait()
		ended <- err
	}()
	select {
	case <-w.ready:
		do(job)
		<-ended // with the error that the output says, too
	case err := <-ended:
		t.Errorf("the job ended too early: %v", err)
	}
	return status, w.String()
}

// TestKilled loses a rank in another namespace: whoever starts it sees it at once.
func TestKilled(t *testing.T) {
	t.Parallel()
	tun, _ := network(t, "")
	status, out := ruin(t, tun, config(), func(j *spawner.Job) {
		if err := j.Kill(1); err != nil {
			t.Error(err)
		}
	})
	if status != 137 || !strings.Contains(out, "rank 1") {
		t.Errorf("status %d, want 137 and a message about rank 1:\n%s", status, out)
	}
}

// TestCut cuts the link between two ranks for good. Both live, and the third reaches them.
func TestCut(t *testing.T) {
	t.Parallel()
	tun, _ := network(t, "")
	status, out := ruin(t, tun, config(), func(*spawner.Job) {
		for _, way := range [][2]int{{0, 2}, {2, 0}} {
			if err := tun.Impair(way[0], way[1], impair.Settings{Loss: 1}); err != nil {
				t.Error(err)
			}
		}
	})
	says := func(r int) bool {
		return strings.Contains(out, fmt.Sprintf("udp: rank %d (%v:", r, tunnel.Address(r))) && strings.Contains(out, "unreachable after 10s")
	}
	if status != 1 || !says(0) && !says(2) {
		t.Errorf("status %d, want 1 and a message that rank 0 or 2 is unreachable:\n%s", status, out)
	}
}
