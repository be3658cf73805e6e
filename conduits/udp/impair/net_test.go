package impair_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
)

// place is an address of these tests.
func place(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7000)
}

func newNet(t testing.TB, text string, seed uint64) *impair.Net {
	t.Helper()
	s, err := impair.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := impair.NewNet(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// log lets everything arrive that is under way, and writes it down.
func log(n *impair.Net) (lines string) {
	for {
		a, ok := n.Until(n.Now() + time.Hour)
		if !ok {
			return lines
		}
		lines += fmt.Sprintf("%v %v %v %q\n", n.Now(), a.From, a.To, a.Datagram)
	}
}

// A message goes to and fro by the clock of the net alone: an answer 3 ms after each arrival,
// for which the user of the net keeps a timer.
func TestVirtualTime(t *testing.T) {
	n := newNet(t, "delay=10ms", 1)
	n.Send(place(1), place(2), nil, []byte("ping"))
	const never = time.Hour
	timer, turns := time.Duration(never), 0
	var last impair.Arrival
	for turns < 5 {
		a, ok := n.Until(timer)
		switch {
		case ok:
			last, timer = a, n.Now()+3*time.Millisecond
		default:
			if n.Now() != timer {
				t.Fatalf("the timer for %v is due at %v", timer, n.Now())
			}
			n.Send(last.To, last.From, nil, last.Datagram)
			turns++
			timer = never
		}
	}
	if n.Now() != 5*13*time.Millisecond || last.To != place(2) || string(last.Datagram) != "ping" {
		t.Errorf("at %v: %+v", n.Now(), last)
	}
	if at, ok := n.Next(); !ok || at != 75*time.Millisecond {
		t.Errorf("next arrival at %v, %v", at, ok)
	}
	if st := n.Stats(); st.Sent != 6 || st.Delivered != 6 {
		t.Errorf("%+v", st)
	}
}

// Time does not go backwards, and one time keeps the order of sending over all links.
func TestUntil(t *testing.T) {
	n := newNet(t, "", 1)
	if _, ok := n.Until(time.Second); ok || n.Now() != time.Second {
		t.Errorf("an empty net is at %v, %v", n.Now(), ok)
	}
	for i := range 5 {
		n.Send(place(9-i), place(i), nil, []byte{byte('a' + i)})
	}
	if a, ok := n.Until(time.Millisecond); ok || n.Now() != time.Second {
		t.Errorf("before its time arrives %+v", a)
	}
	for i := range 5 {
		if a, ok := n.Until(time.Minute); !ok || a.At != time.Second || a.To != place(i) || a.Datagram[0] != byte('a'+i) {
			t.Errorf("arrival %d is %+v", i, a)
		}
	}
	if at, ok := n.Next(); ok {
		t.Errorf("something is still to arrive at %v", at)
	}
}

// One seed gives one run, and what a link does does not depend on the others.
func TestSeeds(t *testing.T) {
	run := func(seed uint64, others bool) (toTwo string) {
		n := newNet(t, "loss=20%,dup=10%,reorder=20%,corrupt=10%,truncate=10%,delay=1ms,jitter=1ms", seed)
		for i := range 100 {
			if others {
				n.Send(place(4), place(3), nil, payload(i, 20))
			}
			n.Send(place(1), place(2), nil, payload(i, 20))
		}
		for line := range strings.Lines(log(n)) {
			if strings.Contains(line, place(2).String()) {
				toTwo += line
			}
		}
		return toTwo
	}
	first := run(1, false)
	if again := run(1, false); first != again {
		t.Error("two runs of one seed differ")
	}
	if first == run(2, false) {
		t.Error("two seeds give one run")
	}
	if first != run(1, true) {
		t.Error("another link makes a difference")
	}
}

// everySecond is a wire that loses every second datagram.
type everySecond struct{ sent int }

// Pass implements impair.Wire.
func (w *everySecond) Pass(now time.Duration, header, payload []byte) []impair.Delivery {
	if w.sent++; w.sent%2 == 0 {
		return nil
	}
	return []impair.Delivery{{At: now, Datagram: append(header, payload...)}}
}

// Links can be broken and mended, and replaced by wires of a test's own, per direction.
func TestImpairAndConnect(t *testing.T) {
	n := newNet(t, "delay=1ms", 1)
	there := func(from, to int) int {
		n.Send(place(from), place(to), nil, []byte("x"))
		return len(log(n))
	}
	if err := n.Impair(place(1), place(2), impair.Settings{Loss: 1}); err != nil {
		t.Fatal(err)
	}
	if there(1, 2) != 0 || there(2, 1) == 0 || there(1, 3) == 0 {
		t.Error("not one direction is broken")
	}
	if err := n.Impair(place(1), place(2), impair.Settings{Loss: 2}); err == nil {
		t.Error("a loss of 2 is taken")
	}
	if err := n.Impair(place(1), place(2), impair.Settings{}); err != nil || there(1, 2) == 0 {
		t.Errorf("%v, or nothing arrives", err)
	}
	n.Connect(place(1), place(2), new(everySecond))
	if there(1, 2) == 0 || there(1, 2) != 0 || there(1, 2) == 0 {
		t.Error("not every second datagram is lost")
	}
	if err := n.Impair(place(1), place(2), impair.Settings{}); err == nil {
		t.Error("a wire that is no Link is impaired")
	}
}
