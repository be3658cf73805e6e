package vtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// nic is a network adapter with its control program, which knows time by its loop alone: each event
// runs to its end. A message is fetched across the host's bus, goes over a wire that loses one
// frame in three, and stays until it is acknowledged; when a timer expires those of a window are sent
// again (go-back-N).
type nic struct {
	t     testing.TB
	loop  *vtime.Loop
	name  string
	peer  *nic
	bus   vtime.Resource
	wire  vtime.Resource
	retry *vtime.Timer

	oldest, fetched, posted uint64 // messages, counted from 0: not acknowledged, in the adapter, of the host
	loss                    *rand.Rand
	got                     uint64 // messages that have come in order
	came                    func() // the host is told of one

	due, now vtime.Time // of the last event
}

// What a nic does, in the low byte of an event's first word; the rest is the number of a message, and
// the second word is when the event is due.
const (
	doorbell = iota
	ready
	frame
	acknowledgement
	expired
)

var nicEvents = [...]string{"doorbell", "ready", "frame", "acknowledgement", "expired"}

const (
	storing = 200 * vtime.Nanosecond
	bursts  = 700 * vtime.Nanosecond
	length  = 500 * vtime.Nanosecond
	cable   = 1 * vtime.Microsecond
	patient = 10 * vtime.Microsecond
	window  = 8
)

// nics returns two that are joined.
func nics(t testing.TB, loop *vtime.Loop) (a, b *nic) {
	a, b = &nic{t: t, loop: loop, name: "a"}, &nic{t: t, loop: loop, name: "b"}
	a.peer, b.peer = b, a
	for _, n := range []*nic{a, b} {
		n.retry = loop.NewTimer(n, expired, 0)
		n.loss = loop.Rand("loss " + n.name)
		n.came = func() {}
	}
	return a, b
}

func (n *nic) at(t vtime.Time, what int, number uint64) {
	n.loop.At(t, n, number<<8|uint64(what), uint64(t))
}

// post is the host's call that sends a message.
func (n *nic) post() {
	n.at(n.loop.Now()+storing, doorbell, n.posted)
	n.posted++
}

func (n *nic) Label(a, _ uint64) string { return n.name + " " + nicEvents[a&0xff] }

func (n *nic) Fire(a, b uint64) {
	number, now, due := a>>8, n.loop.Now(), vtime.Time(b)
	if a&0xff == expired {
		due = n.due // a timer has no words of its own
	}
	if now < n.now || now < due || due < n.due {
		n.t.Errorf("%s, due at %v, fired at %v after one that was due at %v and fired at %v", n.Label(a, b), due, now, n.due, n.now)
	}
	n.due, n.now = due, now
	switch a & 0xff {
	case doorbell:
		n.at(n.bus.Use(now, bursts), ready, number)
	case ready:
		n.fetched++
		n.send(number)
	case frame:
		if number == n.got {
			n.got++
			n.came()
		}
		n.at(now+cable, acknowledgement, n.got)
	case acknowledgement:
		n.peer.acknowledged(number)
	case expired:
		for i := n.oldest; i < min(n.fetched, n.oldest+window); i++ {
			n.send(i)
		}
	}
}

func (n *nic) send(number uint64) {
	end := n.wire.Use(n.loop.Now(), length)
	if n.loss.IntN(3) > 0 {
		n.peer.at(end+cable, frame, number)
	}
	n.retry.Reset(end + patient)
}

func (n *nic) acknowledged(number uint64) {
	if n.oldest = max(n.oldest, number); n.oldest == n.fetched {
		n.retry.Stop()
	}
}

// golden is what happens to three messages of a, the first of which is lost at first.
const golden = `200000 a doorbell 0 200000
200000 a doorbell 256 200000
200000 a doorbell 512 200000
900000 a ready 1 900000
1600000 a ready 257 1600000
2300000 a ready 513 2300000
3100000 b frame 258 3100000
3800000 b frame 514 3800000
4100000 b acknowledgement 3 4100000
4800000 b acknowledgement 3 4800000
12800000 a expired 4 0
14300000 b frame 2 14300000
14800000 b frame 258 14800000
15300000 b frame 514 15300000
15300000 b acknowledgement 259 15300000
15800000 b acknowledgement 515 15800000
16300000 b acknowledgement 771 16300000
`

// TestNICAlone has a simulation run the adapters.
func TestNICAlone(t *testing.T) {
	t.Parallel()
	var trace bytes.Buffer
	s := vtime.NewSimulation(1)
	s.Trace(&trace)
	a, b := nics(t, &s.Loop)
	for range 3 {
		a.post()
	}
	const between = 15 * vtime.Microsecond
	s.RunUntil(between)
	if s.Now() != between || b.got != 2 {
		t.Errorf("at %v %d messages have come, want 2 at %v", s.Now(), b.got, between)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if want := golden + "# done at 16300000: 17 events\n"; trace.String() != want {
		t.Errorf("trace:\n%swant:\n%s", trace.String(), want)
	}
	s.RunUntil(2 * vtime.Second)
	if s.Now() > vtime.Second {
		t.Error("a closed simulation went on")
	}
}

// TestNICRanks has the coroutines of ranks run the adapters.
func TestNICRanks(t *testing.T) {
	t.Parallel()
	var trace bytes.Buffer
	k := vtime.New(1)
	k.Trace(&trace)
	a, b := nics(t, &k.Loop)
	k.Spawn("sender", func(p *vtime.Proc) {
		for range 3 {
			a.post()
		}
		for a.oldest < 3 {
			p.Charge(patient)
			p.Sync()
		}
	})
	receiver := k.Spawn("receiver", func(p *vtime.Proc) {
		for b.got < 3 {
			p.Park(0)
		}
	})
	b.came = receiver.Arrive
	run(t, k)
	events := slices.Collect(strings.Lines(trace.String()))
	events = slices.DeleteFunc(events, func(line string) bool { return strings.Contains(line, "wake") || line[0] == '#' })
	if got := strings.Join(events, ""); got != golden {
		t.Errorf("events:\n%swant:\n%s", got, golden)
	}
}

// TestNICLive has the host's clock run the adapters, by a goroutine, by polls, and by both. The nics
// watch over order and times.
func TestNICLive(t *testing.T) {
	t.Parallel()
	const messages = 200
	for _, drive := range []struct {
		goroutine bool
		pollers   int
	}{{true, 0}, {false, 1}, {false, 2}, {true, 2}} {
		t.Run(fmt.Sprintf("goroutine=%v,pollers=%d", drive.goroutine, drive.pollers), func(t *testing.T) {
			t.Parallel()
			v := vtime.NewLive(1)
			a, b := nics(t, &v.Loop)
			ctx, cancel := context.WithCancel(context.Background())
			b.came = func() {
				if b.got == messages {
					cancel()
				}
			}
			var users sync.WaitGroup
			if drive.goroutine {
				users.Go(func() { v.Run(ctx) })
			}
			for range drive.pollers {
				users.Go(func() {
					for ctx.Err() == nil {
						v.Poll()
					}
				})
			}
			for range messages {
				v.Do(a.post)
			}
			hang := time.AfterFunc(20*time.Second, cancel)
			users.Wait()
			hang.Stop()
			if b.got != messages || a.wire.Busy() < messages*length {
				t.Errorf("%d messages have come, want %d; the wire was busy for %v", b.got, messages, a.wire.Busy())
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
