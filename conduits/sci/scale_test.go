package sci_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// scaleRanks returns the number of ranks of a test, which is n unless AQ_SCALE_RANKS sets
// another.
func scaleRanks(t *testing.T, n int) int {
	text := os.Getenv("AQ_SCALE_RANKS")
	switch {
	case text == "" && shm.RaceEnabled:
		return min(n, 256) // many times slower
	case text == "":
		return n
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 {
		t.Fatalf("AQ_SCALE_RANKS=%q is no number of ranks", text)
	}
	return n
}

// What a rank may take of this process.
const (
	maxBytesIdle = 32 << 10 // before it has sent anything
	maxBytesPeer = 2 << 10  // for each peer with which it has exchanged messages

	// What of it lies outside of heap and stack: a page of flags, once somebody stores there.
	flagPage = 4 << 10
)

// taken returns the bytes of heap and stack in use.
func taken() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// scaleConfig returns the configuration of a job on the machine that is made for many ranks,
// with the largest segments that it has.
func scaleConfig() core.Config {
	cfg := on("scale")
	cfg.Segment = "1MB"
	cfg.Stall = time.Minute // rank 0 collects garbage
	return cfg
}

// TestIdleRanks measures the memory of a rank that has attached and sent nothing.
func TestIdleRanks(t *testing.T) {
	n := scaleRanks(t, 1<<12)
	before := taken()
	var each uint64
	err := core.RunModel(n, scaleConfig(), func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		switch {
		case err != nil:
			return err
		case ep.Rank() == 0:
			each = flagPage + (taken()-before)/uint64(n)
			return errors.New("all is measured")
		}
		return ep.WaitUntil(func() bool { return false })
	})
	if each == 0 {
		t.Fatal(err)
	}
	t.Logf("%d ranks: %d bytes for each that is idle", n, each)
	if each > maxBytesIdle && !shm.RaceEnabled { // the race detector makes every stack larger
		t.Errorf("an idle rank takes %d bytes, more than %d", each, maxBytesIdle)
	}
}

// TestScale runs a job of many ranks and measures the memory of connections, after barriers.
// The partners in these are the ranks at distances of powers of two, either way.
func TestScale(t *testing.T) {
	n := scaleRanks(t, 1<<10)
	var idle, busy uint64
	err := core.RunModel(n, scaleConfig(), func(j *core.Job) error {
		ep, err := j.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if ep.Rank() == 0 {
			idle = taken()
		}
		for range 2 {
			if err := ep.Barrier(); err != nil {
				return err
			}
		}
		if ep.Rank() == 0 {
			busy = taken()
		}
		return ep.Barrier()
	})
	if err != nil {
		t.Fatal(err)
	}
	peers := map[int]bool{}
	for d := 1; d < n; d *= 2 {
		peers[d], peers[n-d] = true, true
	}
	each := (busy - idle) / uint64(n*len(peers))
	t.Logf("%d ranks: %d bytes for each of a rank's %d peers", n, each, len(peers))
	if each > maxBytesPeer {
		t.Errorf("a peer takes %d bytes, more than %d", each, maxBytesPeer)
	}
}
