package amii_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestExchange has all nodes talk at once, also in a network that loses and spoils packets, and equal runs equal.
func TestExchange(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 16, 32, 33, 256, 257, 8192, 1}
	for name, changes := range map[string][]string{
		"reliable": nil,
		"lossy":    {"fabric.error.lose", "20000", "ppm", "fabric.error.corrupt", "20000", "ppm", "fabric.error.truncate", "10000", "ppm"},
		"one of everything": {"am2.sends", "2", "count", "am2.receives", "1", "count", "am2.depth", "1", "count", "am2.window", "1", "count",
			"am2.staging", "1", "count", "am2.buffers", "1", "count", "am2.frames", "1", "count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sums []uint64
			for range 2 {
				w := newWorld(t)
				w.star(profile(t, changes...), 4)
				digest := new(vtime.Digest)
				w.k.Trace(digest)
				w.run(func(e *amii.Endpoint) error {
					err := exchange(e, sizes...)
					e.Proc().Charge(300 * ms) // what is on its way still arrives
					e.Proc().Sync()
					return err
				})
				w.once(len(sizes) * 4 * 3)
				sums = append(sums, digest.Sum())
				c := w.sum()
				if spoilt := c.Corrupt > 0; spoilt != (name == "lossy") {
					t.Errorf("%+v", c)
				}
				for i, h := range w.Hosts {
					if e := w.all[i]; h.Buffers() > 0 || !e.Quiet() {
						t.Errorf("host %d: %d buffers are taken, or something of the endpoint is under way: %d packets", i, h.Buffers(), e.Unacknowledged())
					}
				}
			}
			if sums[0] != sums[1] {
				t.Error("equal runs differ")
			}
		})
	}
}

// TestBulk has data of many fragments go to segments, by requests and replies, and nothing outside of them.
func TestBulk(t *testing.T) {
	t.Parallel()
	const size, at = 300_000, 12_345
	w := newWorld(t)
	w.star(profile(t), 2)
	w.handler = func(n amfamily.Node, m *amfamily.Message) {
		if !bytes.Equal(m.Data, data(3, size)) || &m.Data[0] != &n.(*amii.Endpoint).Segment()[at] {
			t.Errorf("node %d has %d bytes, which are not the data in its segment", n.ID(), len(m.Data))
		}
		if err := n.(*amii.Endpoint).BulkReply(m, 1, args(4, size), data(4, size), 0); err != nil {
			t.Error(err)
		}
	}
	w.run(func(e *amii.Endpoint) error {
		if e.ID() == 1 {
			return nil
		}
		if err := e.Bulk(1, 0, args(3, size), data(3, size), at); err != nil {
			return err
		}
		if err := e.Bulk(1, 0, args(5, 100), data(5, 100), 1<<20-99); err != nil { // does not fit
			return err
		}
		if err := e.Bulk(1, 0, args(5, 9000), data(5, 9000), 1<<63); err != nil {
			return err
		}
		if err := e.Bulk(1, 0, args(5, 2<<20), data(5, 2<<20), 0); err == nil || !strings.Contains(err.Error(), "am2.bulk") {
			t.Errorf("2 MB: %v", err)
		}
		if err := replies(e, 1); err != nil {
			return err
		}
		e.Proc().Charge(100 * ms)
		e.Proc().Sync()
		return nil
	})
	if s := w.all[0].Segment(); !bytes.Equal(s[:size], data(4, size)) || s[size] != 0 {
		t.Error("the reply's data is not in the segment")
	}
	s := slices.Clone(w.all[1].Segment())
	clear(s[at:][:size])
	if !bytes.Equal(s, make([]byte, len(s))) {
		t.Error("something is in the segment beside the data")
	}
	if c := w.all[1].Counts(); c.Requests != 1 || c.Malformed != 2 {
		t.Errorf("%+v", c)
	}
	if c := w.all[0].Counts(); c.Copied != 2*size+9000+100 {
		t.Errorf("%d bytes copied by node 0, want those into its staging area and those of the reply out of it", c.Copied)
	}
}

// TestTags has an endpoint with each tag get messages with each: what does not match returns to its sender.
func TestTags(t *testing.T) {
	t.Parallel()
	tags := []am2.Tag{am2.NeverMatch, am2.Wildcard, 1, 2}
	for _, own := range tags {
		w := newWorld(t)
		w.star(profile(t), 2)
		w.all[1].SetTag(own)
		w.run(func(e *amii.Endpoint) error {
			for i, tag := range tags {
				if e.ID() == 1 {
					return nil
				}
				if err := e.Map(1, w.all[1].Name(), tag); err != nil {
					return err
				}
				before := len(w.lost)
				for j, size := range []int{0, 8000} {
					if err := e.Request(1, 0, args(2*i+j, size), data(2*i+j, size)); err != nil {
						return err
					}
				}
				matches := tag != am2.NeverMatch && (own == tag || own == am2.Wildcard)
				if err := amfamily.Wait(e, "what becomes of them", func() bool {
					return len(w.lost)-before == 2 || w.back[key(0, 1, uint32(2*i))]+w.back[key(0, 1, uint32(2*i+1))] == 2
				}); err != nil {
					return err
				}
				if back := w.lost[before:]; matches != (len(back) == 0) || !matches && back[0] != am2.TagMismatch {
					t.Errorf("tag %x to an endpoint of %x: %v", tag, own, back)
				}
			}
			return nil
		})
	}
}

// TestNobody has messages return from endpoints that are not there, and from one that has been closed.
func TestNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.star(profile(t), 2)
	w.run(func(e *amii.Endpoint) error {
		if e.ID() == 1 {
			return amfamily.Wait(e, "a request", func() bool {
				if len(w.came) > 0 {
					e.Close()
					return true
				}
				return false
			})
		}
		name := w.all[1].Name()
		name.Number = 99
		if err := e.Map(1, name, tag); err != nil {
			return err
		}
		if err := e.Request(1, 0, args(1, 0), nil); err != nil {
			return err
		}
		if err := amfamily.Wait(e, "it to return", func() bool { return len(w.lost) == 1 }); err != nil {
			return err
		}
		if err := w.Agent.Import(e, 1, "a/1"); err != nil {
			return err
		}
		for i := range 2 {
			if err := e.Request(1, 0, args(i, 0), nil); err != nil {
				return err
			}
			if err := amfamily.Wait(e, "it to return", func() bool { return len(w.lost)+len(w.back) == 2+i }); err != nil {
				return err
			}
		}
		return nil
	})
	if !slices.Equal(w.lost, []am2.Reason{am2.NoEndpoint, am2.NoEndpoint}) || len(w.back) != 1 {
		t.Errorf("%v, %d replies", w.lost, len(w.back))
	}
}

// TestDead has a message for a node that has no power return after am2.retries, and others arrive.
func TestDead(t *testing.T) {
	t.Parallel()
	for retries, changes := range map[int][]string{255: nil, 9: {"am2.retries", "9", "count"}} {
		w := newWorld(t)
		w.star(profile(t, changes...), 3)
		w.Hosts[1].Fail(w.Fabric)
		w.run(func(e *amii.Endpoint) error {
			if e.ID() != 0 {
				return nil
			}
			if err := e.Request(1, 0, args(1, 0), nil); err != nil {
				return err
			}
			if err := e.Request(2, 0, args(1, 0), nil); err != nil {
				return err
			}
			return amfamily.Wait(e, "it to return", func() bool { return len(w.lost) == 2 && len(w.back) == 1 })
		})
		if w.lost[0] != am2.Unreachable || w.all[0].Stats().Retransmissions != uint64(retries) {
			t.Errorf("%v after %d retries, want %d", w.lost, w.all[0].Stats().Retransmissions, retries)
		}
		if w.all[0].Unacknowledged() > 0 {
			t.Error("something of the message is left")
		}
	}
}

// paged runs programs whose endpoints take turns, on hosts with 2 frames.
func paged(t *testing.T, programs, rounds int, changes ...string) (w *world) {
	w = newWorld(t)
	w.star(profile(t, append(changes, "am2.frames", "2", "count")...), 2)
	for range programs - 1 {
		w.program(string(rune('a' + len(w.all)/2)))
	}
	w.run(func(e *amii.Endpoint) error {
		number := slices.Index(w.all, e) / 2
		for i := range rounds {
			id := number*rounds + i
			for _, size := range []int{0, 4000} {
				id := 2*id + size/4000
				if err := e.Request(1-e.ID(), 0, args(id, size), data(id, size)); err != nil {
					return err
				}
			}
			if err := replies(e, 2*(i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	w.once(programs * 2 * 2 * rounds)
	return w
}

// TestPaging has more endpoints than frames: all messages arrive, and endpoints come and go, each time for a use. With as many
// frames none does.
func TestPaging(t *testing.T) {
	t.Parallel()
	const rounds = 5
	c := paged(t, 2, rounds).sum()
	if c.PagedIn+c.PagedOut+c.Faults+c.Absent != 0 {
		t.Errorf("2 endpoints on each of 2 hosts with 2 frames: %+v", c)
	}
	w := paged(t, 5, rounds)
	c = w.sum()
	if c.PagedOut < 6 || c.PagedIn != c.PagedOut || c.Faults < 6 || c.PagedIn > c.Faults+c.Interrupts {
		t.Errorf("5 endpoints: %+v", c)
	}
	for i := range w.Hosts {
		in := 0
		for j, e := range w.all {
			if j%2 == i && e.Resident() {
				in++
			}
		}
		if in > 2 {
			t.Errorf("host %d has %d endpoints in 2 frames", i, in)
		}
	}
}

// TestLeastRecent pages out the endpoint that was used least recently. A packet that comes for it then is dropped, the NIC interrupts the
// host, and the packet comes again.
func TestLeastRecent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.star(profile(t, "am2.frames", "2", "count"), 2)
	w.program("b")
	w.program("c")
	a, b, c := w.all[0], w.all[2], w.all[4] // of host 0
	turn := 0
	check := func(in ...bool) {
		t.Helper()
		if a.Resident() != in[0] || b.Resident() != in[1] || c.Resident() != in[2] {
			t.Errorf("before turn %d, resident: a %v, b %v, c %v", turn, a.Resident(), b.Resident(), c.Resident())
		}
	}
	order := []*amii.Endpoint{a, b, a, c, a, w.all[3]} // the last is the end of b on host 1
	w.run(func(e *amii.Endpoint) error {
		for turn < len(order) {
			if order[turn] != e {
				if e.Proc().Charge(10 * us); turn == 5 && e == b || e.ID() == 1 { // a poll is a use
					if _, err := e.Poll(); err != nil {
						return err
					}
				}
				e.Proc().Sync()
				continue
			}
			switch turn {
			case 3:
				check(true, true, false)
			case 5:
				check(true, false, true)
			}
			if err := e.Request(1-e.ID(), 0, args(turn, 0), nil); err != nil {
				return err
			}
			if err := amfamily.Wait(e, "the reply", func() bool { return w.back[key(e.ID(), 1-e.ID(), uint32(turn))] == 1 }); err != nil {
				return err
			}
			e.Proc().Charge(ms)
			e.Proc().Sync()
			turn++
		}
		return nil
	})
	check(true, true, false)
	h := w.Hosts[0].Counts()
	if h.PagedIn != 2 || h.PagedOut != 2 || h.Faults != 1 || h.Absent == 0 || h.Interrupts != 1 {
		t.Errorf("%+v", h)
	}
}

// TestCrossed has two hosts with a frame each hold the wrong ends: that of one program at one host, that of the other program at the other host,
// and each sends to its own program. Frames whose endpoints waited for acknowledgements would stay so for ever, and so would
// hosts that change them at the same times.
func TestCrossed(t *testing.T) {
	t.Parallel()
	for _, later := range []vtime.Time{0, 100 * us, ms, 20 * ms} {
		w := newWorld(t)
		var err error
		if w.Cluster, err = amii.NewStar(&w.k.Loop, profile(t, "am2.frames", "1", "count"), 2); err != nil {
			t.Fatal(err)
		}
		for i := range 4 { // the first two have the frames; 0 and 3 are one program, 1 and 2 the other
			o := amii.Options{Tag: tag, Index: i % 2, Table: 2, Image: w.image()}
			w.options(i, &o)
			e, err := w.Hosts[i%2].Open(o)
			if err != nil {
				t.Fatal(err)
			}
			w.all = append(w.all, e)
		}
		const n = 20 // more than there is credit for
		w.run(func(e *amii.Endpoint) error {
			number := slices.Index(w.all, e)
			if err := e.Map(1-e.ID(), w.all[3-number].Name(), tag); err != nil {
				return err
			}
			if number >= 2 {
				return amfamily.Wait(e, "all messages", func() bool { return len(w.came) == 2*n })
			}
			e.Proc().Charge(ms + later*vtime.Time(number))
			e.Proc().Sync()
			for i := range n {
				if err := e.Request(1-e.ID(), 0, args(i, 10), data(i, 10)); err != nil {
					return err
				}
			}
			return replies(e, n)
		})
		w.once(2 * n)
		if w.k.Now() > vtime.Second {
			t.Errorf("after %v", w.k.Now())
		}
	}
}

// share returns how many of the messages that have come by a time are of the first of two endpoints that flood.
func share(t *testing.T, weights [2]int) float64 {
	w := newWorld(t)
	p := profile(t)
	var err error
	if w.Cluster, err = amii.NewStar(&w.k.Loop, p, 3); err != nil {
		t.Fatal(err)
	}
	var came [2]int
	for i, name := range []string{"a", "b"} {
		image := amfamily.Image{func(amfamily.Node, *amfamily.Message) { came[i]++ }}
		all, err := w.Program(name, tag, image, func(_ int, o *amii.Options) { o.Weight = weights[i] })
		if err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, all...)
	}
	w.run(func(e *amii.Endpoint) error {
		for e.ID() == 0 && e.Proc().Now() < 20*ms {
			if err := e.Request(1+slices.Index(w.all, e)/3, 0, [amfamily.Args]uint32{}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(came[0]) / float64(came[0]+came[1])
}

// TestWeights has the firmware serve endpoints by their weights.
func TestWeights(t *testing.T) {
	t.Parallel()
	if s := share(t, [2]int{1, 1}); s < 0.49 || s > 0.51 {
		t.Errorf("equal weights: a share of %.3f", s)
	}
	if s := share(t, [2]int{3, 1}); s < 0.7 || s > 0.8 {
		t.Errorf("weights 3 and 1: a share of %.3f", s)
	}
}

// TestStaging has fragments that find the staging area full dropped and sent again.
func TestStaging(t *testing.T) {
	t.Parallel()
	for staging, drops := range map[string]bool{"2": true, "8": false} {
		w := newWorld(t)
		w.star(profile(t, "am2.staging", staging, "count"), 3)
		w.run(func(e *amii.Endpoint) error {
			if e.ID() == 2 { // it computes while others send
				if err := amfamily.Wait(e, "the first", func() bool { return len(w.came) > 0 }); err != nil {
					return err
				}
				e.Proc().Charge(5 * ms)
				e.Proc().Sync()
				return nil
			}
			for i := range 4 {
				if err := e.Request(2, 0, args(i, 8000), data(i, 8000)); err != nil {
					return err
				}
			}
			return replies(e, 4)
		})
		w.once(8)
		if c := w.Hosts[2].Counts(); (c.NoStaging > 0) != drops {
			t.Errorf("staging of %s: %+v", staging, c)
		}
	}
}

// TestSleep has a process that sleeps be woken by an interrupt, which takes its time, and one that polls by none.
func TestSleep(t *testing.T) {
	t.Parallel()
	p := profile(t)
	took := func(sleeps bool) (vtime.Time, amfamily.Counts) {
		w := newWorld(t)
		w.star(p, 2)
		var took vtime.Time
		w.run(func(e *amii.Endpoint) error {
			e.Sleep(sleeps && e.ID() == 1)
			for i := range 5 {
				if e.ID() == 1 {
					return nil
				}
				e.Proc().Charge(ms)
				begin := e.Proc().Now()
				if err := e.Request(1, 0, args(i, 0), nil); err != nil {
					return err
				}
				if err := replies(e, i+1); err != nil {
					return err
				}
				took = e.Proc().Now() - begin
			}
			return nil
		})
		w.once(5)
		return took, w.all[1].Counts()
	}
	polling, none := took(false)
	sleeping, some := took(true)
	more := p.Driver.Interrupt + p.Driver.Wakeup
	if d := sleeping - polling; d < more-5*us || d > more+5*us {
		t.Errorf("a round trip takes %v with polling, %v with sleeping: an interrupt and a wake-up take %v", polling, sleeping, more)
	}
	if none.Interrupts != 0 || some.Interrupts != 5 {
		t.Errorf("%d interrupts with polling, %d with sleeping", none.Interrupts, some.Interrupts)
	}
}

// TestSleepOnce has messages close behind each other wake a process that sleeps no sooner than the first alone, and by one interrupt.
func TestSleepOnce(t *testing.T) {
	t.Parallel()
	p := profile(t)
	first := func(messages int) (at vtime.Time) {
		w := newWorld(t)
		w.star(p, 2)
		w.handler = func(n amfamily.Node, _ *amfamily.Message) {
			if at == 0 {
				at = n.Proc().Now()
			}
			w.came["all"]++
		}
		w.run(func(e *amii.Endpoint) error {
			if e.ID() == 1 {
				e.Sleep(true)
				return amfamily.Wait(e, "all messages", func() bool { return w.came["all"] == messages })
			}
			e.Proc().Charge(ms)
			for range messages {
				if err := e.Request(1, 0, args(0, 0), nil); err != nil {
					return err
				}
			}
			return nil
		})
		if n := w.all[1].Counts().Interrupts; n != 1 {
			t.Errorf("%d messages: %d interrupts", messages, n)
		}
		return at
	}
	if one, three := first(1), first(3); three < one {
		t.Errorf("the first handler runs at %v of one message, and at %v of three", one, three)
	}
}

// TestAwake has no interrupt come for a process that is to sleep while it waits, but polls in vain and computes then.
func TestAwake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.star(profile(t), 2)
	w.run(func(e *amii.Endpoint) error {
		if e.ID() == 0 {
			return e.Request(1, 0, args(0, 0), nil)
		}
		e.Sleep(true)
		if n, err := e.Poll(); n != 0 || err != nil {
			t.Errorf("the first poll takes %d messages, %v", n, err)
		}
		e.Proc().Charge(ms)
		e.Proc().Sync()
		n, err := e.Poll()
		if n != 1 || e.Counts().Interrupts != 0 {
			t.Errorf("the second poll takes %d messages, after %d interrupts", n, e.Counts().Interrupts)
		}
		e.Sleep(false)
		return err
	})
}

// TestLong has messages with a word and arguments of the program's own go to what the receiver exposes, and be replied to likewise. A place that
// is not there is told to the handler.
func TestLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	memory, came := make([]byte, 1<<16), 0
	var err error
	if w.Cluster, err = amii.NewStar(&w.k.Loop, profile(t), 2); err != nil {
		t.Fatal(err)
	}
	var full [amfamily.MaxLongArgs]uint32
	for i := range full {
		full[i] = uint32(100 + i)
	}
	longs := []amfamily.Long{
		{Header: 1 << 31, Offset: 5, Len: 3},
		{Header: 2, Args: full[:5], Offset: 100, Len: 200},
		{Header: 3, Args: full[:], Offset: 1000, Len: 30000},
		{Header: 4, Args: full[:], Offset: 1<<16 - 100, Len: 101},
		{Header: 5, Offset: 1 << 63, Len: 20000},
	}
	check := func(m *amfamily.Message) {
		want := longs[came/2]
		if l := m.Long; l == nil || l.Header != want.Header || !slices.Equal(l.Args, want.Args) || l.Offset != want.Offset || l.Len != want.Len {
			t.Errorf("message %d is %+v, want %+v", came, m.Long, want)
		}
		if fits := want.Offset <= 1<<16 && int(want.Offset)+want.Len <= 1<<16; fits && !bytes.Equal(m.Data, data(came/2, want.Len)) || !fits && m.Data != nil {
			t.Errorf("message %d has %d bytes of data", came, len(m.Data))
		}
		came++
	}
	w.all, err = w.Program("longs", tag, nil, func(_ int, o *amii.Options) {
		o.Long = func(n amfamily.Node, m *amfamily.Message) {
			if check(m); n.ID() == 1 {
				if err := n.(*amii.Endpoint).ReplyLong(m, m.Long, data((came-1)/2, m.Long.Len)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run(func(e *amii.Endpoint) error {
		e.Expose(memory) // the same, since replies are like their requests
		for i := range longs {
			if e.ID() == 1 {
				break
			}
			l := &longs[i]
			if err := amfamily.Wait(e, "room", func() bool { return e.ClaimLong(1, len(l.Args), l.Len) }); err != nil {
				return err
			}
			if err := e.SendLong(1, l, data(i, l.Len), l.Len+1); err == nil {
				t.Error("a message goes by room that was not claimed")
			}
			if err := e.SendLong(1, l, data(i, l.Len), l.Len); err != nil {
				return err
			}
			if err := replies(e, i+1); err != nil {
				return err
			}
		}
		return nil
	})
	if came != 2*len(longs) {
		t.Errorf("%d messages and replies, want %d each", came, len(longs))
	}
	// Of 16 words 4 do not fit a descriptor of 64 bytes, and are copied with the data.
	const sent, received = 200 + (16 + 30000) + (16 + 101) + 20000, 3 + 200 + 30000 + 101 + 20000
	if c := w.all[0].Counts().Copied; c != sent+received {
		t.Errorf("%d bytes copied, want %d and %d", c, sent, received)
	}
}

// TestCredit has a sender wait for credit when the receiver does not poll.
func TestCredit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.star(profile(t, "am2.depth", "3", "count"), 2)
	sent := 0
	w.run(func(e *amii.Endpoint) error {
		if e.ID() == 1 {
			e.Proc().Charge(ms)
			e.Proc().Sync()
			if sent != 3 {
				t.Errorf("%d requests have been sent, want 3", sent)
			}
			return nil
		}
		for i := range 10 {
			if err := e.Request(1, 0, args(i, 0), nil); err != nil {
				return err
			}
			sent++
		}
		return replies(e, 10)
	})
	w.once(10)
}

// TestDescriptor has small messages cross the bus by the processor, and others be copied and fetched.
func TestDescriptor(t *testing.T) {
	t.Parallel()
	for size, copied := range map[int]uint64{0: 0, 32: 0, 33: 33, 256: 256, 4000: 4000} {
		w := newWorld(t)
		w.star(profile(t), 2)
		w.run(func(e *amii.Endpoint) error {
			if e.ID() == 1 {
				return nil
			}
			return exchange(e, size)
		})
		if c := w.all[0].Counts(); c.Copied != copied {
			t.Errorf("%d bytes: %d copied", size, c.Copied)
		}
	}
}

// TestServer has clients that are in nobody's table talk to a server they know by the agent, with tags of their own for replies.
func TestServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var err error
	if w.Cluster, err = amii.NewStar(&w.k.Loop, profile(t), 3); err != nil {
		t.Fatal(err)
	}
	for i, h := range w.Hosts {
		e, err := h.Open(amii.Options{Tag: am2.Tag(100 + i), Index: 0, Table: 2, Image: w.image()})
		if err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, e)
	}
	if err := w.Agent.Register("server", w.all[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Agent.Register("server", w.all[1]); err == nil {
		t.Error("a name is taken twice")
	}
	if err := w.Agent.Import(w.all[1], 1, "nobody"); err == nil {
		t.Error("the agent knows nobody")
	}
	w.run(func(e *amii.Endpoint) error {
		if e == w.all[0] {
			return nil
		}
		if err := e.Request(1, 0, args(0, 0), nil); err == nil || !strings.Contains(err.Error(), "Map") {
			t.Errorf("an empty entry: %v", err)
		}
		if err := w.Agent.Import(e, 1, "server"); err != nil {
			return err
		}
		if err := e.Request(1, 0, args(0, 500), data(0, 500)); err != nil {
			return err
		}
		return replies(e, 1)
	})
	if w.came[key(-1, 0, 0)] != 2 {
		t.Errorf("%v", w.came)
	}
}

// TestCluster105 has all of 105 nodes, as many as AM-II ran on, ask all others, in an irregular network of switches with 8 ports.
func TestCluster105(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	t.Parallel()
	topo, err := fabric.Shape{Hosts: 3, Ports: 8}.Random(35, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	if w.Cluster, err = amii.NewCluster(&w.k.Loop, profile(t), topo); err != nil {
		t.Fatal(err)
	}
	w.program("a")
	w.run(func(e *amii.Endpoint) error { return exchange(e, 0) })
	w.once(105 * 104)
	t.Logf("%v, %+v", w.k.Now(), w.sum())
}

// TestRefused has what does not fit into the SRAM, or makes no sense, refused with what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	f, err := amii.Library().Load("now-lanai4")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][4]string{
		{"am2.receives", "100", "count", "am2.frame"},
		{"am2.fragment", "64", "B", "am2.fragment"},
		{"am2.window", "33", "count", "Window"},
		{"am2.frames", "0", "count", "am2.frames"},
		{"am2.descriptor", "8", "B", "am2.descriptor"},
	} {
		g, err := f.With(c[0], c[1], c[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := amii.NewProfile(g); err == nil || !strings.Contains(err.Error(), c[3]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	k := vtime.New(1)
	if _, err := amii.NewStar(&k.Loop, profile(t, "am2.frames", "40", "count"), 2); err == nil || !strings.Contains(err.Error(), "endpoint frames needs") {
		t.Errorf("40 frames of 8 KB in 256 KB: %v", err)
	}
	c, err := amii.NewStar(&k.Loop, profile(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hosts[0].Open(amii.Options{Index: 2, Table: 2}); err == nil {
		t.Error("an index outside the table")
	}
	e, err := c.Hosts[0].Open(amii.Options{Table: 2})
	if err != nil {
		t.Fatal(err)
	}
	name := e.Name()
	if e.Map(2, name, 1) == nil || e.Map(0, am2.Name{}, 1) == nil {
		t.Error("an index outside the table, or no address")
	}
}

// TestFragmentsAreTold has a stream of messages of more fragments than the staging area has places for come without a drop: the process
// is told of each fragment, and takes it out before the message is whole.
func TestFragmentsAreTold(t *testing.T) {
	t.Parallel()
	_, counts, err := amii.Bulk(profile(t), 1, 128<<10, 8)
	if err != nil || counts[1].NoStaging > 0 {
		t.Errorf("%+v, %v", counts[1], err)
	}
}

// TestClaim has a program that waits by itself take room before it sends, as a conduit does, with fewer frames than endpoints.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, frames := range []string{"1", "8"} {
		w := newWorld(t)
		w.star(profile(t, "am2.depth", "2", "count", "am2.frames", frames, "count"), 2)
		w.program("b")
		const n = 6
		w.run(func(e *amii.Endpoint) error {
			if err := e.Hold(9000); err == nil || !strings.Contains(err.Error(), "am2.fragment") {
				t.Errorf("replies of 9000 bytes: %v", err)
			}
			if err := e.Hold(8192); err != nil {
				return err
			}
			if err := e.Send(1-e.ID(), 0, args(0, 0), nil, 0); err == nil {
				t.Error("a request without a claim")
			}
			program := slices.Index(w.all, e) / 2
			for i := range n {
				length := 100 * i
				id := program*n + i
				claimed := func() bool { return e.Claim(1-e.ID(), length) }
				if err := amfamily.Wait(e, "room", claimed); err != nil {
					return err
				}
				if frames == "8" && i == 0 && (!claimed() || claimed()) {
					t.Error("there is room for 2 requests")
				} else if frames == "8" && i == 0 {
					if err := e.Send(1-e.ID(), 0, args(100+program, 0), nil, length); err != nil {
						return err
					}
				}
				if err := e.Send(1-e.ID(), 0, args(id, length/2), data(id, length/2), length); err != nil {
					return err
				}
			}
			want := n
			if frames == "8" {
				want++
			}
			return replies(e, want)
		})
		if faults := w.sum().Faults > 0; faults != (frames == "1") {
			t.Errorf("%s frames: %+v", frames, w.sum())
		}
		want := 4 * n
		if frames == "8" {
			want += 4
		}
		w.once(want)
	}
}

// garbage injects packets into the port of a NIC, as a NIC with other firmware does.
type garbage struct {
	port    *fabric.Port
	route   []byte
	packets [][]byte
}

func (g *garbage) Fire(_, _ uint64) {
	if !g.port.Idle() {
		g.port.NIC().(*idle).g = g
		return
	}
	if len(g.packets) > 0 {
		g.port.NIC().(*idle).g = g
		g.port.Inject(fabric.Packet{Head: append([]byte{}, g.route...), Body: g.packets[0]})
		g.packets = g.packets[1:]
	}
}

// idle is a NIC that takes in everything.
type idle struct {
	*fabric.Port
	g *garbage
}

func (n *idle) Head(a *fabric.Arrival)        { a.Accept(0) }
func (n *idle) Received(*fabric.Arrival, int) {}
func (n *idle) Tail(*fabric.Arrival)          {}
func (n *idle) Sent(*fabric.Sending, int)     {}
func (n *idle) Gone(*fabric.Sending)          { n.g.Fire(0, 0) }
func (n *idle) Reset(*fabric.Port)            {}

// inject has a NIC get packets, the last of them of AM-II, and returns what it has counted.
func inject(t testing.TB, packets ...[]byte) (amii.Counts, *amii.Endpoint) {
	k := vtime.New(1)
	c, err := amii.NewStar(&k.Loop, profile(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Program("a", tag, amfamily.Image{func(n amfamily.Node, m *amfamily.Message) {}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	port := c.Fabric.Port(0)
	n := &idle{Port: port}
	port.Attach(n)
	g := &garbage{port: port, route: []byte{fabric.RouteByte(1)}, packets: packets}
	k.At(0, g, 0, 0)
	if err := amfamily.Run(k, all, func(e *amii.Endpoint) error {
		e.Proc().Charge(10 * ms)
		e.Proc().Sync()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return c.Hosts[1].Counts(), all[1]
}

// TestMalformed has packets that no firmware sends dropped and counted.
func TestMalformed(t *testing.T) {
	t.Parallel()
	head := make([]byte, am2.FixedHead)
	head[16], head[17] = 99, 0 // a version that there is not
	frame := amii.AppendFrame(nil, 0, head, nil)
	far := amii.AppendFrame(nil, 77, validHead(), nil)
	c, e := inject(t, []byte{0, 0}, []byte{0, 8, 0, 0, 1, 2, 3}, []byte{0x0a, 2, 0, 0, 1}, frame, far, amii.AppendFrame(nil, 0, validHead(), nil))
	if c.Malformed != 4 || c.Foreign != 1 || c.Received != 1 || e.Counts() != (amfamily.Counts{}) {
		t.Errorf("%+v, %+v", c, e.Counts())
	}
}

// validHead returns a probe to endpoint 0.
func validHead() []byte {
	head := make([]byte, am2.FixedHead)
	head[16], head[17], head[24], head[28] = 2, 5, 1, 1
	return head
}

// FuzzNIC has a NIC get a packet of any bytes: nothing is delivered, and the NIC goes on. What it answers to a packet that
// says it comes from itself comes to it, too.
func FuzzNIC(f *testing.F) {
	f.Add([]byte("\n\x02\x00\x01\x02\x05\x00\x00\x00\x00\x00\x00\x01\x00\v!!!!!!! \xff \xff\xea\x00\x00\x03" + strings.Repeat("\x00", 43)))
	f.Add([]byte{0x0a, 2, 0, 0})
	f.Add(amii.AppendFrame(nil, 0, validHead(), nil))
	f.Add(append(amii.AppendFrame(nil, 0, validHead(), nil), make([]byte, 300)...))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) > 9000 || len(packet) > 0 && fabric.IsRoute(packet[0]) {
			return
		}
		c, _ := inject(t, packet, amii.AppendFrame(nil, 0, validHead(), nil))
		answers := uint64(0)
		if bytes.HasPrefix(packet, []byte{0x0a, 2, 0, 1}) {
			answers = c.Sent
		}
		if n := c.Malformed + c.Foreign + c.Received + c.NoStaging + c.Corrupt; n < 2 || n > 2+answers {
			t.Errorf("%d packets are accounted for: %+v", n, c)
		}
	})
}

// FuzzFrame takes any packet apart: what is taken is put together to the same packet again.
func FuzzFrame(f *testing.F) {
	f.Add(amii.AppendFrame(nil, 3, validHead(), nil))
	f.Add([]byte{0x0a, 2, 0, 0})
	memory := make([]byte, am2.BlockSize)
	f.Fuzz(func(t *testing.T, packet []byte) {
		node, datagram, ok := amii.DecodeFrame(memory, packet)
		if !ok {
			return
		}
		n, ok := am2.HeadLen(datagram)
		if !ok {
			t.Fatal("a datagram that is none")
		}
		if got := amii.AppendFrame(nil, node, datagram[:n], datagram[n:]); !bytes.Equal(got, packet) {
			t.Errorf("%x becomes %x", packet, got)
		}
	})
}
