package hpam_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
)

// TestRing has the token go around: what is sent after a station's frames is of the next one that has any.
func TestRing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, profile(t), 4, 7)
	var order []int
	w.Ring.Lose = func(from, _ int, _ []byte) bool { order = append(order, from); return false }
	w.run(8, w.exchange(8))
	turns := 0
	for i := 1; i < len(order); i++ {
		if order[i] == order[i-1] {
			continue
		}
		if turns++; order[i] != (order[i-1]+1)%4 {
			t.Errorf("station %d after station %d", order[i], order[i-1])
		}
	}
	if w.Ring.Frames != uint64(len(order)) || w.Ring.Frames != 2*8*4*3 || turns < 8 {
		t.Errorf("%d frames, %d seen; the token went on %d times", w.Ring.Frames, len(order), turns)
	}
}

// TestHold has a station give the token back when its time is over: two stations that always have something to send take
// turns by the frame if it is short, and by what their buffers hold if it is long.
func TestHold(t *testing.T) {
	t.Parallel()
	longest := func(hold string) (run int) {
		w := newWorld(t, profile(t, "ring.hold", hold, "us"), 2, 7)
		last, n := -1, 0
		w.Ring.Lose = func(from, _ int, data []byte) bool {
			if from != last {
				last, n = from, 0
			}
			n++
			run = max(run, n)
			return false
		}
		w.run(20, func(p *hpam.Process) error {
			until(p, ms)
			return w.exchange(20)(p)
		})
		return run
	}
	if short, long := longest("0"), longest("4000"); short != 1 || long < 2 {
		t.Errorf("frames in a row: %d if a station may send one, %d if it may send for 4 ms", short, long)
	}
}

// TestWire wants a stream limited by the wire: frames, replies, and the token that passes in between.
func TestWire(t *testing.T) {
	t.Parallel()
	p := profile(t)
	const messages = 60
	full, err := amfamily.Stream(hpam.Build(p), 1, p.Most(), messages)
	if err != nil {
		t.Fatal(err)
	}
	wire := p.Ring.Rate.Time(p.Most() + 32 + 32 + 2*int(p.Ring.Overhead))
	if full.Time < wire || full.Time > wire+wire/20 {
		t.Errorf("a message each %v; the frames of a message and its reply take %v", full.Time, wire)
	}
}

// TestTCP has the same exchange by TCP: slower, by traps, interrupts, and copies that HPAM does not have.
func TestTCP(t *testing.T) {
	t.Parallel()
	p := profile(t)
	const size, trips = 1024, 10
	user, err := amfamily.RoundTrip(hpam.Build(p), 1, size, trips)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := amfamily.RoundTrip(hpam.BuildTCP(p), 1, size, trips)
	if err != nil {
		t.Fatal(err)
	}
	u, k := user.Counts[0], kernel.Counts[0]
	if u.Traps+u.Interrupts > 0 || k.Traps != 2*(trips+1) || k.Interrupts != trips+1 || k.Copied != 2*u.Copied || kernel.Time < 2*user.Time {
		t.Errorf("HPAM %v %+v, TCP %v %+v", user.Time, u, kernel.Time, k)
	}
	// A stream is acknowledged by every second segment, and never has more under way than the window.
	stream, err := amfamily.Stream(hpam.BuildTCP(p), 1, size, 20)
	if err != nil {
		t.Fatal(err)
	}
	if acks := stream.Counts[0].Interrupts; acks != 50 {
		t.Errorf("%d acknowledgements of 100 segments", acks)
	}
	if _, err := amfamily.RoundTrip(hpam.BuildTCP(profile(t, "ring.lose", "1", "ppm")), 1, size, trips); err == nil {
		t.Error("TCP over a ring that loses frames")
	}
}
