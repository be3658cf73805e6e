package mpi

import (
	"encoding/binary"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// joiner is a transport whose collective operations end when the test says so, the oldest first.
type joiner struct {
	script
	begun []core.Collective
	ids   []uint64 // of those that have not ended
	end   int      // how many more are to end
}

func (*joiner) MaxCollective() int               { return 1 << 20 }
func (*joiner) Collects(x *core.Collective) bool { return x.Op != core.CollectiveAllToAll }

func (j *joiner) Collect(x *core.Collective, id uint64) error {
	j.begun, j.ids = append(j.begun, *x), append(j.ids, id)
	return nil
}

func (j *joiner) Progress(posts []Post, done []Completion) (int, error) {
	for ; j.end > 0 && len(j.ids) > 0; j.end-- {
		j.ended = append(j.ended, Completion{ID: j.ids[0]})
		j.ids = j.ids[1:]
	}
	return j.script.Progress(posts, done)
}

// joined runs a job of one rank over a joiner.
func joined(t *testing.T, body func(ep *core.Endpoint, j *joiner) error) {
	t.Helper()
	name, j := "mpi joined: "+t.Name(), new(joiner)
	Register(name, Network{Name: "joiner", Live: true, Open: func(*Spec) (Transport, error) { return j, nil }})
	err := core.RunGoroutines(1, core.Config{Conduit: name, Threads: core.Single, Segment: "4096"}, func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		return body(ep, j)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCollectivesAhead begins many operations and wants the transport to be given some at a time, in
// their order, with a meeting after so many with a root.
func TestCollectivesAhead(t *testing.T) {
	joined(t, func(ep *core.Endpoint, j *joiner) error {
		var done core.Completion
		const n = 3*together + maxCollectives + 10
		for i := range n {
			x := core.Collective{Op: core.CollectiveBroadcast, Dst: make([]byte, 1+i), Src: make([]byte, 1+i), Done: &done}
			if i >= 3*together {
				x.Op, x.Src = core.CollectiveAllGather, x.Dst
			}
			if r, err := ep.CollectiveNative(x); r != core.Initiated || err != nil {
				t.Fatalf("operation %d: %v, %v", i, r, err)
			}
		}
		began, told := 0, 0
		for ended := 0; done.Pending() > 0; ended++ {
			if len(j.ids) > maxCollectives {
				t.Errorf("%d operations are under way", len(j.ids))
			}
			for ; began < len(j.begun); began++ {
				x, at := &j.begun[began], began%(together+1)
				meeting := began < 3*(together+1) && at == together
				if meeting != (x.Op == core.CollectiveBarrier) {
					t.Errorf("operation %d that began is %d", began, x.Op)
				}
				if want := 1 + began - min(3, began/(together+1)); !meeting && len(x.Dst) != want {
					t.Errorf("operation %d that began has %d bytes, want %d", began, len(x.Dst), want)
				}
				if met := began / (together + 1) * (together + 1); began < 3*(together+1) && ended < met {
					t.Errorf("operation %d has begun when %d had ended, with a meeting of all before it", began, ended)
				}
			}
			before := done.Pending()
			j.end = 1
			if err := ep.Poll(); err != nil {
				return err
			}
			told += before - done.Pending()
		}
		if told != n || began != n+3 {
			t.Errorf("%d operations of %d have begun, and %d were told", began, n+3, told)
		}
		return nil
	})
}

// TestCollectivesUnaligned wants elements of reductions aligned for the transport, the result where it
// belongs, and other buffers as they are.
func TestCollectivesUnaligned(t *testing.T) {
	joined(t, func(ep *core.Endpoint, j *joiner) error {
		for i := range 18 {
			offset, inPlace := i/2, i%2 == 1
			src, dst := make([]byte, offset+32), make([]byte, offset+32)
			if inPlace {
				dst = src
			}
			binary.NativeEndian.PutUint64(src[offset+8:], 42)
			var done core.Completion
			x := core.Collective{Op: core.CollectiveAllReduce, Dst: dst[offset:], Src: src[offset:], Type: core.ElementUint64, Combine: core.AtomicAdd, Done: &done}
			if _, err := ep.CollectiveNative(x); err != nil {
				return err
			}
			got := j.begun[len(j.begun)-1]
			if !aligned(got.Dst, 8) || !aligned(got.Src, 8) || binary.NativeEndian.Uint64(got.Src[8:]) != 42 {
				t.Errorf("offset %d: source %v", offset, got.Src)
			}
			if same := &got.Dst[0] == &got.Src[0]; same != inPlace {
				t.Errorf("offset %d: in place: %v, want %v", offset, same, inPlace)
			}
			if copied := &got.Dst[0] != &x.Dst[0]; copied != (offset%8 != 0) {
				t.Errorf("offset %d: copied: %v", offset, copied)
			}
			copy(got.Dst, "the result")
			j.end = 1
			if err := ep.WaitUntil(func() bool { return done.Pending() == 0 }); err != nil {
				return err
			}
			if string(x.Dst[:10]) != "the result" {
				t.Errorf("offset %d: result %q", offset, x.Dst)
			}
		}
		return nil
	})
}

// TestCollectivesDeclined wants what a transport declines, and all over one that has none, declined.
func TestCollectivesDeclined(t *testing.T) {
	joined(t, func(ep *core.Endpoint, j *joiner) error {
		var done core.Completion
		r, err := ep.CollectiveNative(core.Collective{Op: core.CollectiveAllToAll, Dst: make([]byte, 8), Src: make([]byte, 8), Done: &done})
		if r != core.Declined || err != nil || len(j.begun) > 0 || done.Pending() > 0 {
			t.Errorf("%v, %v", r, err)
		}
		return nil
	})
}

// TestCollectivesLeft wants what was not begun when a rank leaves begun before its transport closes.
func TestCollectivesLeft(t *testing.T) {
	var j *joiner
	const n = maxCollectives + together
	joined(t, func(ep *core.Endpoint, transport *joiner) error {
		j = transport
		for range n {
			if _, err := ep.CollectiveNative(core.Collective{Op: core.CollectiveBarrier, Done: new(core.Completion)}); err != nil {
				return err
			}
		}
		return nil
	})
	if len(j.begun) != n {
		t.Errorf("%d operations of %d have begun", len(j.begun), n)
	}
}
