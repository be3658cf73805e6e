package exttest_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// scaleRanks is the number of modelled ranks of TestScale; AQ_SCALE_RANKS sets another.
func scaleRanks(t *testing.T) int {
	text := os.Getenv("AQ_SCALE_RANKS")
	switch {
	case text == "" && shm.RaceEnabled:
		return 512 // many times slower
	case text == "":
		return 4096
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 {
		t.Fatalf("AQ_SCALE_RANKS=%q is no number of ranks", text)
	}
	return n
}

// maxBytesPerRank bounds what a modelled rank of TestScale may take of this process: its heap
// and its stack, which has a power of two of bytes, without the pages of segments.
const maxBytesPerRank = 35 << 10

// TestScale runs a modelled job of thousands of ranks through attach, barrier, broadcast,
// reduction and puts, and measures its memory when all ranks have done so.
func TestScale(t *testing.T) {
	n := scaleRanks(t)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cfg := core.Config{Conduit: "loopback"}
	err := core.RunModel(n, cfg, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{})
		if err != nil {
			return err
		}
		if err := atScale(t, ep); err != nil {
			return err
		}
		if ep.Rank() == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
		return ep.Barrier()
	})
	if err != nil {
		t.Fatal(err)
	}
	heap, stack := after.HeapAlloc-before.HeapAlloc, after.StackInuse-before.StackInuse
	t.Logf("%d ranks: %d bytes of heap and %d of stack each", n, heap/uint64(n), stack/uint64(n))
	// The race detector has frames of its own size.
	if each := (heap + stack) / uint64(n); each > maxBytesPerRank && !shm.RaceEnabled {
		t.Errorf("a rank takes %d bytes, more than %d", each, maxBytesPerRank)
	}
}

// atScale is one rank's part.
func atScale(t *testing.T, ep *extended.Endpoint) error {
	c, world := &ep.Context, ep.World()
	n := ep.Size()
	if err := ep.Barrier(); err != nil {
		return err
	}
	word := make([]byte, 8)
	if ep.Rank() == 0 {
		binary.NativeEndian.PutUint64(word, 42)
	}
	if err := world.Broadcast(c, 0, word, word); err != nil {
		return err
	}
	if v := binary.NativeEndian.Uint64(word); v != 42 {
		t.Errorf("rank %d: %d was broadcast", ep.Rank(), v)
	}
	binary.NativeEndian.PutUint64(word, uint64(ep.Rank()))
	if err := world.AllReduce(c, word, word, extended.Reduction{Type: extended.Uint64, Op: extended.Add}); err != nil {
		return err
	}
	if v := binary.NativeEndian.Uint64(word); v != uint64(n)*uint64(n-1)/2 {
		t.Errorf("rank %d: the sum of all ranks is %d", ep.Rank(), v)
	}
	const puts, stride = 4, 12345
	for i := range puts {
		to := (int(ep.Rank()) + 1 + i*stride) % n
		binary.NativeEndian.PutUint64(word, uint64(ep.Rank())+1)
		if err := ep.Put(core.Rank(to), uint64(8*i), word); err != nil {
			return err
		}
	}
	if err := ep.Barrier(); err != nil {
		return err
	}
	for i := range puts {
		from := (int(ep.Rank()) - 1 - i*stride%n + 2*n) % n
		if v := binary.NativeEndian.Uint64(ep.Segment()[8*i:]); v != uint64(from)+1 {
			t.Errorf("rank %d: put %d brought %d, not %d", ep.Rank(), i, v, from+1)
		}
	}
	return nil
}
