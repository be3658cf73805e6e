package vtime_test

import (
	"bytes"
	"errors"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// named is a target with a name for traces.
type named struct{ box }

func (x *named) Label(a, _ uint64) string { return "letter" + strings.Repeat("!", int(a)) }

func TestTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	k := vtime.New(1)
	k.Trace(&out)
	var in named
	in.proc = k.Spawn("rank 0", func(p *vtime.Proc) {
		in.await(p, 1, 3)
		p.Charge(5)
		p.Sync() // nothing is due
	})
	k.Spawn("rank 1", func(p *vtime.Proc) {
		p.Charge(4)
		k.At(p.Now(), &in, 1, 7)
		k.Disturb("the weather")
		k.Disturb("politics")
		p.Charge(96)
		in.proc.Arrive() // put off
	})
	k.At(2, &note{k: k}, 3, 4)
	x := k.NewTimer(&in, 0, 8)
	x.Reset(1)
	x.Reset(3)
	run(t, k)
	want := `0 wake rank 0
0 wake rank 1
# not deterministic from 0 on: the weather
2 *vtime_test.note 3 4
3 letter 0 8
3 wake rank 0
4 letter! 1 7
6 wake rank 0
100 arrival at rank 0 0 0
100 wake rank 1
# done at 100: 9 events
`
	if out.String() != want {
		t.Errorf("trace:\n%swant:\n%s", out.String(), want)
	}
	if k.Disturbed() != "the weather" {
		t.Errorf("disturbed by %q", k.Disturbed())
	}
}

// traceOf runs a busy kernel and returns a hash of its trace.
func traceOf(t *testing.T, seed uint64) uint64 {
	k := vtime.New(seed)
	h := fnv.New64a()
	k.Trace(h)
	random := k.Rand("load")
	boxes := make([]box, 5)
	for i := range boxes {
		boxes[i].proc = k.Spawn("rank", func(p *vtime.Proc) {
			for round := range uint64(50) {
				p.Charge(vtime.Time(random.IntN(100)))
				p.Sync()
				k.At(p.Now()+vtime.Time(random.IntN(100)), &boxes[(i+1)%len(boxes)], 1, round)
				boxes[i].await(p, round+1, 3)
			}
		})
	}
	run(t, k)
	return h.Sum64()
}

func TestTraceDigest(t *testing.T) {
	t.Parallel()
	one := traceOf(t, 1)
	if traceOf(t, 1) != one {
		t.Error("two equal runs have different traces")
	}
	if traceOf(t, 2) == one {
		t.Error("runs of different seeds have the same trace")
	}
}

// full is a writer without room.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestTraceError wants the run to end when its trace cannot be written, also if
// it is only seen at the end.
func TestTraceError(t *testing.T) {
	t.Parallel()
	for _, events := range []int{1, 100_000} {
		k := vtime.New(1)
		k.Trace(&full{100})
		fired := 0
		var step do
		step = func() {
			if fired++; fired < events {
				k.At(k.Now()+1, step, 0, 0)
			}
		}
		k.At(0, step, 0, 0)
		k.Trace(&full{10})
		if err := k.Run(); !errors.Is(err, errFull) {
			t.Errorf("%d events: Run = %v, want the writer's error", events, err)
		}
		if events > 1 && fired == events {
			t.Error("the run went on without its trace")
		}
	}
}
