package impair_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// header and payload of the datagrams of these tests: both begin with their number.
func header(i int) []byte { return binary.LittleEndian.AppendUint32([]byte("head"), uint32(i)) }

func payload(i, bytes int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(i))
	for len(b) < bytes {
		b = append(b, byte(len(b)*7+i))
	}
	return b
}

func newLink(t testing.TB, text string, seed uint64) *impair.Link {
	t.Helper()
	s, err := impair.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l, err := impair.NewLink(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// passed is a delivery with the number of the datagram that was sent.
type passed struct {
	impair.Delivery
	sent int
}

// pass sends n datagrams at even distances and returns what arrives, in the order of sending.
func pass(l *impair.Link, n, bytes int, distance time.Duration) (all []passed) {
	for i := range n {
		for _, d := range l.Pass(time.Duration(i)*distance, header(i), payload(i, bytes)) {
			all = append(all, passed{d, i})
		}
	}
	return all
}

// near fails unless a share of n trials is p, but for five standard deviations.
func near(t *testing.T, what string, count uint64, n int, p float64) {
	t.Helper()
	if got, most := float64(count)/float64(n), 5*math.Sqrt(p*(1-p)/float64(n)); math.Abs(got-p) > most {
		t.Errorf("%s: share %v, want %v ± %v", what, got, p, most)
	}
}

func TestPerfectLink(t *testing.T) {
	for _, d := range pass(newLink(t, "", 1), 100, 50, time.Millisecond) {
		if want := time.Duration(d.sent) * time.Millisecond; d.At != want || d.Altered ||
			!bytes.Equal(d.Datagram, append(header(d.sent), payload(d.sent, 50)...)) {
			t.Fatalf("datagram %d: %+v", d.sent, d.Delivery)
		}
	}
}

// Faults are as frequent as is asked for, and counted as what they are.
func TestRates(t *testing.T) {
	const n = 100_000
	l := newLink(t, "loss=10%,dup=3%,reorder=5%,corrupt=2%,truncate=4%", 7)
	all := pass(l, n, 100, time.Microsecond)
	st := l.Stats()
	copies := int(st.Delivered)
	near(t, "loss", st.Lost, n, .1)
	near(t, "duplication", st.Duplicated, n-int(st.Lost), .03)
	near(t, "reordering", st.Reordered, copies, .05)
	near(t, "corruption", st.Corrupted, copies, .02*(1-.04/100)) // some have no byte left
	near(t, "truncation", st.Truncated, copies, .04)
	if st.Sent != n || len(all) != copies || st.Delivered != st.Sent-st.Lost+st.Duplicated {
		t.Errorf("%d deliveries, %+v", len(all), st)
	}
	var seen impair.Stats
	for i, d := range all {
		if i > 0 && all[i-1].sent == d.sent {
			seen.Duplicated++
		}
		want := append(header(d.sent), payload(d.sent, 100)...)
		short := len(d.Datagram) < len(want)
		spoilt := !bytes.Equal(d.Datagram, want[:len(d.Datagram)])
		if d.Altered != (short || spoilt) || !bytes.HasPrefix(d.Datagram, header(d.sent)) {
			t.Fatalf("datagram %d: altered %v, %d bytes, header %q", d.sent, d.Altered, len(d.Datagram), d.Datagram[:8])
		}
		if d.At > time.Duration(d.sent)*time.Microsecond {
			seen.Reordered++
		}
		if short {
			seen.Truncated++
		}
		if spoilt {
			seen.Corrupted++
		}
	}
	if seen.Duplicated != st.Duplicated || seen.Reordered != st.Reordered || seen.Truncated != st.Truncated || seen.Corrupted != st.Corrupted {
		t.Errorf("counted %+v, seen %+v", st, seen)
	}
}

// Losses come in bursts of the mean length, and are as many as without.
func TestBursts(t *testing.T) {
	const n = 400_000
	for text, want := range map[string]float64{
		"loss=10%": 1 / .9, "loss=10%,burst=1": 1, "loss=10%,burst=4": 4, "loss=50%,burst=20": 20, "loss=80%,burst=5": 5,
	} {
		l := newLink(t, text, 3)
		var bursts, lost uint64
		before := false
		for range n {
			gone := len(l.Pass(0, nil, nil)) == 0
			if gone {
				lost++
				if !before {
					bursts++
				}
			}
			before = gone
		}
		// The variance of a geometric length b is b²−b, and so is that of gaps; 2b is a bound
		// on what correlation adds to the spread of the share.
		p := l.Settings().Loss
		if got, most := float64(lost)/n, 5*math.Sqrt(2*want*p*(1-p)/n); math.Abs(got-p) > most {
			t.Errorf("%s: share %v ± %v", text, got, most)
		}
		if got, most := float64(lost)/float64(bursts), 5*want/math.Sqrt(float64(bursts)); math.Abs(got-want) > most {
			t.Errorf("%s: mean burst %v, want %v ± %v", text, got, want, most)
		}
	}
}

// Delays are within their bounds and all over the jitter.
func TestJitter(t *testing.T) {
	const n = 10_000
	quarter := make([]uint64, 4)
	for _, d := range pass(newLink(t, "delay=5ms,jitter=400us", 5), n, 20, time.Millisecond) {
		late := d.At - time.Duration(d.sent)*time.Millisecond - 5*time.Millisecond
		if late < 0 || late > 400*time.Microsecond {
			t.Fatalf("datagram %d takes 5ms and %v", d.sent, late)
		}
		quarter[min(late/(100*time.Microsecond), 3)]++
	}
	for i, c := range quarter {
		near(t, "quarter "+string(rune('1'+i))+" of the jitter", c, n, .25)
	}
}

// What is held back is overtaken, by no more than its hold.
func TestReorder(t *testing.T) {
	l := newLink(t, "reorder=10%,hold=50us,delay=1ms", 9)
	all := pass(l, 10_000, 20, time.Microsecond)
	late := time.Duration(0)
	for _, d := range all {
		late = max(late, d.At-time.Millisecond-time.Duration(d.sent)*time.Microsecond)
	}
	if late < 45*time.Microsecond || late > 50*time.Microsecond {
		t.Errorf("the latest is %v late", late)
	}
	slices.SortStableFunc(all, func(a, b passed) int { return int(a.At - b.At) })
	overtaken, newest := uint64(0), -1
	for _, d := range all {
		if d.sent < newest {
			overtaken++
		}
		newest = max(newest, d.sent)
	}
	near(t, "overtaken", overtaken, len(all), .1*.98) // some are held for less than the distance
}

// A queue drops what finds it full, and nothing else.
func TestQueue(t *testing.T) {
	l := newLink(t, "rate=8mbit,queue=3", 1) // a byte takes a microsecond
	send := func(now time.Duration) (at time.Duration) {
		d := l.Pass(now*time.Microsecond, make([]byte, 40), make([]byte, 60))
		if len(d) == 0 {
			return -1
		}
		return d[0].At / time.Microsecond
	}
	for _, c := range []struct{ now, at time.Duration }{
		{0, 100}, {0, 200}, {1, 300}, {99, -1}, {100, 400}, {100, -1}, {350, 500}, {1000, 1100},
	} {
		if at := send(c.now); at != c.at {
			t.Errorf("sent at %d: arrives at %d, want %d", c.now, at, c.at)
		}
	}
	if st := l.Stats(); st.Dropped != 2 || st.Sent != 8 || st.Delivered != 6 {
		t.Errorf("%+v", st)
	}
}

func TestMTU(t *testing.T) {
	l := newLink(t, "mtu=100", 1)
	if got := len(l.Pass(0, make([]byte, 30), make([]byte, 70))); got != 1 {
		t.Errorf("of a datagram of 100 bytes %d arrive", got)
	}
	if got := len(l.Pass(0, make([]byte, 30), make([]byte, 71))); got != 0 {
		t.Errorf("of a datagram of 101 bytes %d arrive", got)
	}
	if st := l.Stats(); st.TooLong != 1 || st.Delivered != 1 {
		t.Errorf("%+v", st)
	}
}

// Another probability of one fault leaves the others what they were.
func TestFaultsAreIndependent(t *testing.T) {
	lost := func(text string) (gone []int) {
		l := newLink(t, text, 11)
		for i := range 1000 {
			if len(l.Pass(0, nil, payload(i, 30))) == 0 {
				gone = append(gone, i)
			}
		}
		return gone
	}
	if diff := cmp.Diff(lost("loss=10%"), lost("loss=10%,dup=50%,corrupt=20%,truncate=10%,reorder=30%,jitter=1ms")); diff != "" {
		t.Error(diff)
	}
}

func TestSet(t *testing.T) {
	l := newLink(t, "loss=100%", 1)
	if len(l.Pass(0, nil, nil)) != 0 {
		t.Error("a broken link delivers")
	}
	if err := l.Set(impair.Settings{Loss: 3}); err == nil {
		t.Error("Set takes a loss of 3")
	}
	if err := l.Set(impair.Settings{}); err != nil || len(l.Pass(0, nil, nil)) != 1 {
		t.Errorf("%v, or a mended link does not deliver", err)
	}
}

// drawSettings are any that can be.
func drawSettings(t *rapid.T) impair.Settings {
	span := rapid.Int64Range(0, int64(10*time.Millisecond))
	s := impair.Settings{
		Loss: rapid.Float64Range(0, 1).Draw(t, "loss"), Duplicate: rapid.Float64Range(0, 1).Draw(t, "dup"),
		Corrupt: rapid.Float64Range(0, 1).Draw(t, "corrupt"), Truncate: rapid.Float64Range(0, 1).Draw(t, "truncate"),
		Delay: time.Duration(span.Draw(t, "delay")), Jitter: time.Duration(span.Draw(t, "jitter")),
		MTU: rapid.IntRange(0, 2000).Draw(t, "mtu"),
	}
	if rapid.Bool().Draw(t, "paced") {
		s.Rate = rapid.Float64Range(1e3, 1e11).Draw(t, "rate")
		s.Queue = rapid.IntRange(0, 20).Draw(t, "queue")
	}
	return s
}

// oracle is a link that delays and loses nothing, written the slow way: it returns when each
// datagram has left, or −1.
func oracle(s impair.Settings, times []time.Duration, sizes []int) []time.Duration {
	queue := s.Queue
	if queue == 0 {
		queue = impair.DefaultQueue
	}
	ends := make([]time.Duration, len(times))
	for i, now := range times {
		waiting, last := 0, now
		for _, end := range ends[:i] {
			last = max(last, end)
			if end > now {
				waiting++
			}
		}
		switch {
		case s.MTU > 0 && sizes[i] > s.MTU, s.Rate > 0 && waiting >= queue:
			ends[i] = -1
		case s.Rate == 0:
			ends[i] = now
		default:
			ends[i] = last + time.Duration(math.Ceil(float64(sizes[i])*8e9/s.Rate))
		}
	}
	return ends
}

// For all settings: order is kept unless reordering is asked for; nothing arrives before it
// has left the line and been delayed, or later than the jitter allows; the rate is kept in
// every span of time; and the same again gives the same.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, 60).Draw(t, "n")
		times, sizes := make([]time.Duration, n), make([]int, n)
		now := time.Duration(0)
		for i := range n {
			now += time.Duration(rapid.Int64Range(0, int64(time.Millisecond)).Draw(t, "wait"))
			times[i], sizes[i] = now, rapid.IntRange(12, 2100).Draw(t, "bytes")
		}
		run := func() (all []passed) {
			l, err := impair.NewLink(s, seed)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for _, d := range l.Pass(times[i], header(i), payload(i, sizes[i]-8)) {
					all = append(all, passed{d, i})
				}
			}
			return all
		}
		all := run()
		left := oracle(s, times, sizes)
		floor := time.Duration(0)
		for _, d := range all {
			if left[d.sent] < 0 {
				t.Fatalf("datagram %d arrives, which the queue or the MTU drops", d.sent)
			}
			earliest := left[d.sent] + s.Delay
			if d.At < floor || d.At < earliest || d.At > max(floor, earliest+s.Jitter) {
				t.Fatalf("datagram %d arrives at %v, after one at %v; it has left at %v", d.sent, d.At, floor, left[d.sent])
			}
			floor = d.At
		}
		if diff := cmp.Diff(all, run(), cmp.AllowUnexported(passed{})); diff != "" {
			t.Fatalf("another run differs:\n%s", diff)
		}
		checkRate(t, s, left, sizes)
	})
}

// checkRate checks that of no two datagrams more leaves from one to the other than the rate allows.
func checkRate(t *rapid.T, s impair.Settings, left []time.Duration, sizes []int) {
	if s.Rate == 0 {
		return
	}
	for i := range left {
		sum := 0
		for j := i + 1; j < len(left); j++ {
			if left[i] < 0 || left[j] < 0 {
				continue
			}
			sum += sizes[j]
			if took := (left[j] - left[i]).Seconds(); float64(sum)*8 > s.Rate*took*(1+1e-9)+1e-6 {
				t.Fatalf("%d bytes in %v s at %v bit/s", sum, took, s.Rate)
			}
		}
	}
}

func BenchmarkPass(b *testing.B) {
	l := newLink(b, "loss=1%,dup=1%,corrupt=1%,delay=1ms,jitter=1ms,rate=100gbit,queue=100", 1)
	head, body := make([]byte, 28), make([]byte, 1400)
	b.ReportAllocs()
	now := time.Duration(0)
	for b.Loop() {
		now += time.Microsecond
		l.Pass(now, head, body)
	}
}
