package paper

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// change is a constant with another value.
type change struct{ name, value, unit string }

// count is a constant that is a number.
func count(name string, n int) change { return change{name, fmt.Sprint(n), "count"} }

// byteSize is a constant that is a size.
func byteSize(name string, n int) change { return change{name, fmt.Sprint(n), "B"} }

// grimProfile returns the machine's constants, with some changed.
func (s *Setting) grimProfile(changes ...change) (*grim.Profile, error) {
	file := s.Machine
	for _, c := range changes {
		var err error
		if file, err = file.With(c.name, c.value, c.unit); err != nil {
			return nil, err
		}
	}
	return grim.NewProfile(file)
}

// grimPair is two hosts at a switch, with an endpoint each. Nothing has been sent: messages are numbered from 0 on.
type grimPair struct {
	*grim.Cluster
	ends    [2]*grim.Endpoint
	handler grim.HandlerID
}

// newGRIMPair returns a pair whose first endpoint has a channel and options. Both have the handler.
func newGRIMPair(p *grim.Profile, seed uint64, image grim.Image, channel int, o grim.EndpointOptions, h grim.Handler) (*grimPair, error) {
	return newGRIMPairOf(p, seed, image, [2]int{channel}, [2]grim.EndpointOptions{o}, h)
}

// newGRIMPairOf returns a pair whose endpoints have channels and options. Both have the handler.
func newGRIMPairOf(p *grim.Profile, seed uint64, image grim.Image, channels [2]int, options [2]grim.EndpointOptions, h grim.Handler) (*grimPair, error) {
	c, err := grim.NewStar(p, image, 2, seed)
	if err != nil {
		return nil, err
	}
	pair := &grimPair{Cluster: c}
	for i := range pair.ends {
		e, err := c.Hosts[i].Open(channels[i], options[i])
		if err != nil {
			return nil, err
		}
		// Each is its own server: their lists are equal, and no messages come before those that are looked at.
		e.SetServer(e.ID())
		if err := e.Register("handler", h); err != nil {
			return nil, err
		}
		if err := e.Synchronize(func(got error) { err = got }); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		pair.ends[i] = e
	}
	pair.handler, _ = pair.ends[1].Lookup("handler")
	return pair, nil
}

// send sends a message of a number from one end to the other.
func (p *grimPair) send(from int, number int, payload []byte) error {
	return p.ends[from].Send(p.ends[1-from].ID(), p.handler, [4]uint32{uint32(number)}, payload)
}

// grimStep is what a NIC has done with a message.
type grimStep struct {
	step            grim.Step
	sequence, token uint8
}

// String returns a step as claims show it.
func (g grimStep) String() string { return fmt.Sprintf("%v %d/%d", g.step, g.sequence, g.token) }

// grimRollback repeats the example of the go-back-N protocol: figure 4.3c.
func grimRollback(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.grimProfile(byteSize("grim.receive", 64))
	if err != nil {
		return nil, err
	}
	var order []uint32
	pair, err := newGRIMPair(p, s.Seed, grim.Image{}, 0, grim.EndpointOptions{}, func(_ *grim.Endpoint, m *grim.Message) { order = append(order, m.Args[0]) })
	if err != nil {
		return nil, err
	}
	var traces [2][]grimStep
	points := map[grim.Step][]plot.Point{}
	for i, h := range pair.Hosts {
		h.Observe(func(step grim.Step, sequence, token uint8) {
			traces[i] = append(traces[i], grimStep{step, sequence, token})
			points[step] = append(points[step], plot.Point{X: micros(pair.Now()), Y: float64(sequence)})
			if step == grim.Drops {
				pair.ends[1].Attend(true) // it takes the first message out of its queue, which makes room
			}
		})
	}
	pair.ends[1].Attend(false)
	for i, size := range []int{32, 0, 0} { // the first fills the receiver's queue
		if err := pair.send(0, i, make([]byte, size)); err != nil {
			return nil, err
		}
	}
	pair.RunUntil(vtime.Millisecond)
	const published = "GRIM, figure 4.3c"
	sender := slices.DeleteFunc(slices.Clone(traces[0]), func(e grimStep) bool { return e.step > grim.SendsAgain })
	heard := slices.DeleteFunc(slices.Clone(traces[0]), func(e grimStep) bool { return e.step <= grim.SendsAgain })
	o.claim("the sender sends 0, 1, 2, and then 1 and 2 again", published,
		slices.Equal(sender, []grimStep{{grim.Sends, 0, 0}, {grim.Sends, 1, 1}, {grim.Sends, 2, 2}, {grim.SendsAgain, 1, 1}, {grim.SendsAgain, 2, 2}}), "%v", sender)
	o.claim("the receiver accepts 0, refuses 1, drops 2, and accepts 1 and 2", published,
		slices.Equal(traces[1], []grimStep{{grim.Accepts, 0, 0}, {grim.Refuses, 1, 1}, {grim.Drops, 2, 2}, {grim.Accepts, 1, 1}, {grim.Accepts, 2, 2}}), "%v", traces[1])
	o.claim("an ACK of 0, a NACK of 1, ACKs of 1 and 2 come back", published,
		slices.Equal(heard, []grimStep{{grim.Acknowledged, 0, 0}, {grim.RolledBack, 1, 1}, {grim.Acknowledged, 1, 1}, {grim.Acknowledged, 2, 2}}), "%v", heard)
	o.claim("each message is handled once, and in order", published, slices.Equal(order, []uint32{0, 1, 2}), "%v", order)
	o.note("The receiver's queue has room for the first message alone, until the third has been dropped. Messages are written sequence/token.")
	f := Figure{"trace", plot.Figure{
		Title: "GRIM: three messages, of which the second is refused", Note: s.reproduce("grim-rollback"),
		X: plot.Axis{Label: "time, µs"}, Y: plot.Axis{Label: "sequence number"},
	}}
	for step := grim.Sends; step <= grim.RolledBack; step++ {
		f.Series = append(f.Series, plot.Series{Name: step.String(), Points: points[step]})
	}
	o.Figures = append(o.Figures, f)
	return o, nil
}

// scanBudget is what a scan may take: half of 10 to 20 µs, which the table's figure for 8 channels is in.
const scanBudget = 5.5

// grimScan measures the scan of channels: figure 4.10.
func grimScan(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	var scans, receives []plot.Point
	numbers := []int{1, 4, 8, 16, 24, 32}
	if s.Full {
		numbers = []int{1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32}
	}
	most := 0
	for _, n := range numbers {
		scan, receive, err := s.scan(n)
		if err != nil {
			return nil, err
		}
		scans = append(scans, plot.Point{X: float64(n), Y: scan})
		receives = append(receives, plot.Point{X: float64(n), Y: receive})
		if n%8 == 0 && scan <= scanBudget {
			most = n
		}
		if slices.Contains([]int{1, 8, 16, 32}, n) {
			o.number(fmt.Sprint("grim-scan-", n), fmt.Sprintf("a scan of %d channels", n), scan, "us")
		}
	}
	o.number("grim-channels-most", fmt.Sprintf("the most channels, in eights, whose scan takes up to %g us", scanBudget), float64(most), "count")

	const channels = 32
	var latencies []plot.Point
	for k := range channels {
		if !s.Full && k%4 != 0 {
			continue
		}
		latency, err := s.fromChannel(channels, k)
		if err != nil {
			return nil, err
		}
		latencies = append(latencies, plot.Point{X: float64(k), Y: latency})
	}
	byLatency := func(a, b plot.Point) int { return compare(a.Y, b.Y) }
	spread := slices.MaxFunc(latencies, byLatency).Y - slices.MinFunc(latencies, byLatency).Y
	scan := valueAt(scans, channels)
	o.claim("what a message takes depends on where its channel is: up to a scan of all, from the nearest to the farthest", "", spread > 0.7*scan && spread < 1.1*scan,
		"%s µs between channels, a scan takes %s", figures(spread), figures(scan))
	one, all := valueAt(receives, 1), valueAt(receives, channels)
	o.claim("the receive side is hardly affected by the number of channels", "GRIM, 4.10", all < 1.05*one && all > 0.95*one,
		"%s µs of the receiving processor for a message with 1 channel, %s with %d", figures(one), figures(all), channels)
	marks := []plot.Series{{Name: "scan of all channels", Points: scans}, {Name: "receiving processor, a message", Points: receives}}
	for _, n := range []int{1, 8, 16, 32} {
		marks = append(marks, s.published(float64(n), fmt.Sprint("grim-scan-", n))...)
	}
	o.Figures = append(o.Figures,
		Figure{"scan", plot.Figure{Title: "GRIM: scan of the channels", Note: s.reproduce("grim-scan"),
			X: plot.Axis{Label: "channels"}, Y: plot.Axis{Label: "time, µs"}, Series: marks}},
		Figure{"position", plot.Figure{Title: fmt.Sprintf("GRIM: a null message from one of %d channels", channels), Note: s.reproduce("grim-scan"),
			X: plot.Axis{Label: "channel"}, Y: plot.Axis{Label: "µs to its handler"}, Series: []plot.Series{{Name: "one way", Points: latencies}}}})
	return o, nil
}

// fewBytes are constants for many channels, of which one has messages.
func fewBytes(channels int) []change {
	return []change{count("grim.channels", channels), byteSize("grim.queue", 2048)}
}

// scan returns what a scan of n channels takes, and what the receiving NI's processor works for a message, both in µs. One
// channel has messages.
func (s *Setting) scan(n int) (scan, receive float64, err error) {
	p, err := s.grimProfile(fewBytes(n)...)
	if err != nil {
		return 0, 0, err
	}
	pair, err := newGRIMPair(p, s.Seed, grim.Image{}, 0, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	if err != nil {
		return 0, 0, err
	}
	// Messages come at times that scans have come to another channel at, until one scan has gone all round.
	const messages = 400
	for i := range messages {
		before := pair.Hosts[0].Counts()
		if err := pair.send(0, i, nil); err != nil {
			return 0, 0, err
		}
		pair.RunUntil(pair.Now() + 100*vtime.Microsecond + vtime.Time(i)*170*vtime.Nanosecond)
		after := pair.Hosts[0].Counts()
		if after.Looked-before.Looked == uint64(n) {
			scan = micros(after.Scanning - before.Scanning)
			return scan, micros(pair.Hosts[1].NIC().CPU.Counts().Busy) / float64(i+1), nil
		}
	}
	return 0, 0, fmt.Errorf("none of %d scans has looked at all of %d channels", messages, n)
}

// fromChannel returns how long a null message takes from the call to its handler, in µs, from one of n channels, when the NIC has
// had nothing to do.
func (s *Setting) fromChannel(n, channel int) (float64, error) {
	p, err := s.grimProfile(fewBytes(n)...)
	if err != nil {
		return 0, err
	}
	var pair *grimPair
	var came vtime.Time
	if pair, err = newGRIMPair(p, s.Seed, grim.Image{}, channel, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { came = pair.Now() }); err != nil {
		return 0, err
	}
	const at = 100 * vtime.Microsecond
	pair.RunUntil(at)
	if err := pair.send(0, 0, nil); err != nil {
		return 0, err
	}
	pair.RunUntil(at + vtime.Millisecond)
	if came == 0 {
		return 0, fmt.Errorf("the message from channel %d has not come", channel)
	}
	return micros(came - at), nil
}

// grimControl has two NIs send each other long messages when short ones from others come, which want ACKs, with the queue of control
// messages and without: section 4.3.
func grimControl(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.grimProfile(count("grim.channels", 1), byteSize("grim.pio", 64<<10))
	if err != nil {
		return nil, err
	}
	f := Figure{"progress", plot.Figure{
		Title: "GRIM: two NIs that send each other long messages, and get short ones", Note: s.reproduce("grim-control-deadlock"),
		X: plot.Axis{Label: "time, µs"}, Y: plot.Axis{Label: "messages handled"},
	}}
	const rounds, hosts = 20, 4
	const all = 6 * rounds
	for _, image := range []grim.Image{{}, {NoControlQueue: true}} {
		c, err := grim.NewStar(p, image, hosts, s.Seed)
		if err != nil {
			return nil, err
		}
		handled := 0
		ends, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"handler": func(*grim.Endpoint, *grim.Message) { handled++ }})
		if err != nil {
			return nil, err
		}
		id, _ := ends[0][0].Lookup("handler")
		send := func(from, to, size int) {
			if e := ends[from][0].Send(ends[to][0].ID(), id, [4]uint32{}, make([]byte, size)); e != nil && err == nil {
				err = e
			}
		}
		for range rounds {
			for k := range 2 {
				send(k, 1-k, 3000)
				send(2+k, k, 0)
				send(2+k, 1-k, 0)
			}
		}
		if err != nil {
			return nil, err
		}
		var points []plot.Point
		begin := c.Now()
		for range 40 {
			c.RunUntil(c.Now() + 250*vtime.Microsecond)
			points = append(points, plot.Point{X: micros(c.Now() - begin), Y: float64(handled)})
		}
		waits := len(c.Fabric.Waits())
		n := c.Hosts[0].Counts()
		if image.NoControlQueue {
			o.claim("an NI that refuses input until its control message is out deadlocks with another one, in a congested network", "GRIM, 4.3",
				handled < all && waits > 0 && points[len(points)/2].Y == float64(handled), "%d of %d messages handled, %d packets wait for ever", handled, all, waits)
			f.Series = append(f.Series, plot.Series{Name: "without the queue", Points: points})
		} else {
			o.claim("with a queue of control messages all messages are handled", "GRIM, 4.3", handled == all && waits == 0 && n.Queued > 0,
				"%d of %d messages handled; host 0 queued %d control messages, %d at once", handled, all, n.Queued, n.MostQueued)
			f.Series = append(f.Series, plot.Series{Name: "with the queue", Points: points})
		}
	}
	o.Figures = append(o.Figures, f)
	return o, nil
}

// grimChannels has two endpoints of a host send through one NIC, the first to an endpoint that takes nothing for a while: section 4.5.
func grimChannels(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	const (
		stall = vtime.Millisecond
		end   = 2 * vtime.Millisecond
		n     = 40
	)
	f := Figure{"progress", plot.Figure{
		Title: "GRIM: messages between two endpoints while two others of the same NICs stall", Note: s.reproduce("grim-channels"),
		X: plot.Axis{Label: "time, µs"}, Y: plot.Axis{Label: "messages handled"},
	}}
	var trips [2]float64
	var arrays [2]int
	for i, image := range []grim.Image{{}, {PerNI: true}} {
		name := [...]string{"any-to-any", "per NI"}[i]
		p, err := s.grimProfile(byteSize("grim.receive", 256))
		if err != nil {
			return nil, err
		}
		c, err := grim.NewStar(p, image, 2, s.Seed)
		if err != nil {
			return nil, err
		}
		handled := map[grim.EndpointID]int{}
		ends, err := c.OpenAll(2, grim.EndpointOptions{}, map[string]grim.Handler{"handler": func(e *grim.Endpoint, m *grim.Message) { handled[e.ID()]++ }})
		if err != nil {
			return nil, err
		}
		id, _ := ends[0][0].Lookup("handler")
		ends[1][0].Attend(false)
		begin := c.Now()
		for k := range n {
			for channel := range 2 {
				if err := ends[0][channel].Send(ends[1][channel].ID(), id, [4]uint32{uint32(k)}, nil); err != nil {
					return nil, err
				}
			}
		}
		free := ends[1][1].ID()
		var points []plot.Point
		for t := vtime.Time(0); t <= end; t += 50 * vtime.Microsecond {
			c.RunUntil(begin + t)
			points = append(points, plot.Point{X: micros(t), Y: float64(handled[free])})
			if t == stall {
				during := handled[free]
				if image.PerNI {
					o.claim("with sequencing per NI a congested channel holds up the others", "GRIM, 4.5", during < n/2, "%d of %d messages while the other endpoint stalls", during, n)
				} else {
					o.claim("with any-to-any sequencing it does not", "GRIM, 4.5", during == n, "%d of %d messages", during, n)
				}
				ends[1][0].Attend(true)
			}
		}
		if handled[free] != n || handled[ends[1][0].ID()] != n {
			return nil, fmt.Errorf("%s: %v messages in the end, want %d each", name, handled, n)
		}
		f.Series = append(f.Series, plot.Series{Name: name, Points: points})
		for _, r := range c.Hosts[0].NIC().SRAM.Regions() {
			if r.Name == "sequencing" {
				arrays[i] = int(r.Size)
			}
		}
		if trips[i], err = s.grimTrip(image); err != nil {
			return nil, err
		}
	}
	o.claim("any-to-any sequencing costs look-up time and state", "GRIM, 4.5", trips[0] > trips[1] && arrays[0] > arrays[1],
		"%s µs for a null message's half round trip against %s, %d B of arrays against %d for two hosts", figures(trips[0]), figures(trips[1]), arrays[0], arrays[1])
	o.number("grim-half-trip", "half round trip of null messages, any-to-any", trips[0], "us")
	o.number("grim-half-trip-per-ni", "the same with sequencing per NI", trips[1], "us")
	o.note("What the look-up costs is assumed (steps.sequence): the source says only that there is such a cost. Half round trips were not published.")
	o.Figures = append(o.Figures, f)
	return o, nil
}

// grimTrip returns half of a round trip of null messages, in µs.
func (s *Setting) grimTrip(image grim.Image) (float64, error) {
	p, err := s.grimProfile()
	if err != nil {
		return 0, err
	}
	const trips = 20
	left, failed := 2*trips, error(nil)
	var pair *grimPair
	pair, err = newGRIMPair(p, s.Seed, image, 0, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
		if left--; left > 0 && failed == nil {
			failed = e.Send(m.Source, pair.handler, [4]uint32{}, nil)
		}
	})
	if err != nil {
		return 0, err
	}
	if err := pair.send(0, 0, nil); err != nil {
		return 0, err
	}
	var took vtime.Time
	for left > 0 && failed == nil && pair.Now() < vtime.Second {
		pair.RunUntil(pair.Now() + 100*vtime.Nanosecond)
		took = pair.Now()
	}
	if failed == nil && left > 0 {
		failed = fmt.Errorf("%d of %d messages are missing after a second", left, 2*trips)
	}
	return micros(took) / (2 * trips), failed
}

// grimInjection has an endpoint send a burst of null messages to another one, which returns each: figure 4.6.
func grimInjection(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	const boardQueue = 160 << 10 // of one channel: 5120 headers; chosen by the published number, as the source states no size
	bursts := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}
	limits := []int{4, 16, 64, 256, 0}
	f := Figure{"overhead", plot.Figure{
		Title: "GRIM: injection of a burst of null messages", Note: s.reproduce("grim-injection"),
		X: plot.Axis{Label: "messages of the burst", Scale: plot.Log2}, Y: plot.Axis{Label: "µs a message"},
	}}
	overhead := map[int][]plot.Point{}
	for _, w := range limits {
		name := fmt.Sprint("W = ", w)
		if w == 0 {
			name = "unbounded"
		}
		for _, n := range bursts {
			if !s.Full && n > 1024 && w > 0 {
				break
			}
			b, err := s.burst(boardQueue, w, n)
			if err != nil {
				return nil, fmt.Errorf("%s, %d messages: %w", name, n, err)
			}
			overhead[w] = append(overhead[w], plot.Point{X: float64(n), Y: b.each})
		}
		f.Series = append(f.Series, plot.Series{Name: name, Points: overhead[w]})
	}
	last := func(w int) float64 { return overhead[w][len(overhead[w])-1].Y }
	flat, rises, step, wider := true, true, false, true
	for i, w := range limits[:len(limits)-1] {
		flat = flat && valueAt(overhead[w], float64(w)) < 1.15*overhead[w][0].Y
		rises = rises && last(w) > 2*valueAt(overhead[w], float64(w))
		// The first burst beyond W has taken part of the rise.
		beyond := valueAt(overhead[w], float64(2*w))
		step = step || beyond >= last(w)
		wider = wider && (i == 0 || valueAt(overhead[w], float64(w)) < valueAt(overhead[limits[i-1]], float64(w)))
	}
	const source = "GRIM, figure 4.6"
	o.claim("bursts up to W are injected at a low and flat overhead", source, flat, "W = %v", limits[:len(limits)-1])
	o.claim("beyond W it rises sharply, and not as a step: to a steady state", source, rises && !step, "W = 16: %s µs at 16, %s at 32, %s at last", figures(valueAt(overhead[16], 16)), figures(valueAt(overhead[16], 32)), figures(last(16)))
	o.claim("a larger W allows for larger bursts before that", source, wider, "at 64 messages %s µs with W = 16, %s with W = 64", figures(valueAt(overhead[16], 64)), figures(valueAt(overhead[64], 64)))
	var knees []plot.Point
	for _, queue := range []int{boardQueue / 4, boardQueue / 2, boardQueue} {
		b, err := s.burst(queue, 0, 10000)
		if err != nil {
			return nil, err
		}
		knees = append(knees, plot.Point{X: float64(queue), Y: float64(b.full)})
	}
	knee := knees[len(knees)-1].Y
	o.number("grim-knee", "null messages that are injected until the NI's queue is full, unbounded", knee, "count")
	free := valueAt(overhead[0], 4096)
	o.claim("without a bound it is flat until the NI's buffers are full, and then rises", source, free < 1.3*valueAt(overhead[0], 64) && last(0) > 1.3*free,
		"%s µs at 64 messages, %s at 4096, %s at 8192", figures(valueAt(overhead[0], 64)), figures(free), figures(last(0)))
	half, quarter := knees[1].Y/knee, knees[0].Y/knee
	o.claim("that moves with the SRAM of the queue", "", half > 0.45 && half < 0.55 && quarter > 0.2 && quarter < 0.3, "half of it: %s messages, a quarter: %s", figures(knees[1].Y), figures(knees[0].Y))
	o.note("One channel with a queue of 160 KB in the machine's SRAM, which is chosen: it holds 5120 headers, about as many as were published. W is released by the message that comes back, not by the ACK.")
	o.Figures = append(o.Figures, f, Figure{"knee", plot.Figure{
		Title: "GRIM: null messages until the NI's queue is full", Note: s.reproduce("grim-injection"),
		X: plot.Axis{Label: "bytes of SRAM"}, Y: plot.Axis{Label: "messages"},
		Series: append([]plot.Series{{Name: "unbounded", Points: knees}}, s.published(boardQueue, "grim-knee")...),
	}})
	return o, nil
}

// burst is how a burst was injected.
type burst struct {
	each float64 // µs for a message, from the first call until the processor is free after the last
	full int     // messages that were injected before the queue was full for the first time
}

// injector sends a burst, one message after the other, as fast as its processor and the channel allow.
type injector struct {
	*grimPair
	left, sent, full int
	end              vtime.Time
	err              error
}

// Fire implements vtime.Target: the processor is free.
func (j *injector) Fire(_, _ uint64) {
	switch err := j.send(0, 0, nil); {
	case errors.Is(err, grim.ErrFull):
		if j.full == 0 {
			j.full = j.sent
		}
		return // until there is room
	case err != nil:
		j.err = err
		return
	}
	j.sent++
	j.end = j.ends[0].Free()
	if j.left--; j.left > 0 {
		j.At(j.end, j, 0, 0)
	}
}

// burst injects n null messages into a channel with a queue of so many bytes; at most w of them are not returned, unless that is 0.
func (s *Setting) burst(queue, w, n int) (*burst, error) {
	p, err := s.grimProfile(count("grim.channels", 1), byteSize("grim.queue", queue))
	if err != nil {
		return nil, err
	}
	var pair *grimPair
	var failed error
	pair, err = newGRIMPair(p, s.Seed, grim.Image{}, 0, grim.EndpointOptions{NoOverflow: true, Limit: w}, func(e *grim.Endpoint, m *grim.Message) {
		if e == pair.ends[1] {
			failed = errors.Join(failed, e.Send(m.Source, pair.handler, [4]uint32{}, nil))
		}
	})
	if err != nil {
		return nil, err
	}
	j := &injector{grimPair: pair, left: n}
	pair.ends[0].OnRoom(func() { j.At(pair.ends[0].Free(), j, 0, 0) })
	begin := pair.Now()
	j.At(begin, j, 0, 0)
	for step := vtime.Millisecond; j.left > 0 && j.err == nil && pair.Now() < vtime.Second; {
		pair.RunUntil(pair.Now() + step)
	}
	if err := errors.Join(j.err, failed); err != nil {
		return nil, err
	}
	if j.left > 0 {
		return nil, fmt.Errorf("%d of %d messages have not been injected within a second", j.left, n)
	}
	return &burst{micros(j.end-begin) / float64(n), j.full}, nil
}

// grimQueues compares the organisations of a channel's queue: section 4.2.
func grimQueues(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	rooms := Figure{"room", plot.Figure{
		Title: "GRIM: messages that the queue of a channel has room for", Note: s.reproduce("grim-queues"),
		X: plot.Axis{Label: "bytes of payload", Scale: plot.Log2}, Y: plot.Axis{Label: "messages"},
	}}
	room := map[grim.Organisation][]plot.Point{}
	for _, org := range []grim.Organisation{grim.Append, grim.Slotted, grim.Hybrid} {
		for _, size := range []int{4, 64, 1024, 4096, 32 << 10} {
			n, err := s.roomFor(org, size)
			if err != nil {
				return nil, err
			}
			room[org] = append(room[org], plot.Point{X: float64(size), Y: float64(n)})
		}
		rooms.Series = append(rooms.Series, plot.Series{Name: org.String(), Points: room[org]})
	}
	appended, slotted := valueAt(room[grim.Append], 64), valueAt(room[grim.Slotted], 64)
	o.claim("slots waste memory for messages that are not of the largest size", "GRIM, 4.2", slotted < appended/100, "%s messages of 64 B, %s back to back", figures(slotted), figures(appended))

	progress := Figure{"progress", plot.Figure{
		Title: "GRIM: random messages between 24 hosts of an irregular network", Note: s.reproduce("grim-queues"),
		X: plot.Axis{Label: "time, µs"}, Y: plot.Axis{Label: "messages handled"},
	}}
	for _, org := range []grim.Organisation{grim.Append, grim.Hybrid} {
		points, sent, waits, err := s.randomMessages(org)
		if err != nil {
			return nil, err
		}
		progress.Series = append(progress.Series, plot.Series{Name: org.String(), Points: points})
		handled, before := points[len(points)-1].Y, points[len(points)/2].Y
		if org == grim.Append {
			o.claim("a message that leaves by one DMA does not deadlock", "GRIM, 4.2", handled == float64(sent) && waits == 0, "%s of %d messages handled", figures(handled), sent)
		} else {
			o.claim("blocking the DMA of the payload behind that of the header does", "GRIM, 4.2", handled < float64(sent) && handled == before && waits > 0,
				"%s of %d messages handled, and nothing after half of the time; %d packets wait for ever", figures(handled), sent, waits)
		}
	}
	o.Figures = append(o.Figures, rooms, progress)
	return o, nil
}

// roomFor returns how many messages with so many bytes of payload an empty queue has room for.
func (s *Setting) roomFor(org grim.Organisation, size int) (n int, err error) {
	p, err := s.grimProfile()
	if err != nil {
		return 0, err
	}
	pair, err := newGRIMPair(p, s.Seed, grim.Image{Queue: org}, 0, grim.EndpointOptions{NoOverflow: true}, func(*grim.Endpoint, *grim.Message) {})
	for ; err == nil; n++ {
		err = pair.send(0, n, make([]byte, size)) // none leaves before events fire
	}
	if !errors.Is(err, grim.ErrFull) {
		return 0, err
	}
	return n - 1, nil
}

// randomMessages has 24 hosts of an irregular network send each other messages at random. It returns how many were handled by
// when, how many there were, and how many packets wait in the end.
func (s *Setting) randomMessages(org grim.Organisation) (points []plot.Point, sent, waits int, err error) {
	p, err := s.grimProfile(count("grim.channels", 1), count("grim.buffers", 1), byteSize("grim.pio", 64<<10))
	if err != nil {
		return nil, 0, 0, err
	}
	topo, err := (fabric.Shape{Hosts: hostsEach}).Random(6, s.Seed+1)
	if err != nil {
		return nil, 0, 0, err
	}
	c, err := grim.NewCluster(p, grim.Image{Queue: org}, topo, s.Seed)
	if err != nil {
		return nil, 0, 0, err
	}
	handled := 0
	ends, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"handler": func(*grim.Endpoint, *grim.Message) { handled++ }})
	if err != nil {
		return nil, 0, 0, err
	}
	id, _ := ends[0][0].Lookup("handler")
	chance := c.Rand("random messages")
	for range 150 { // fewer may get through before a circle closes
		for from := range ends {
			if err := ends[from][0].Send(ends[chance.IntN(len(ends))][0].ID(), id, [4]uint32{}, make([]byte, chance.IntN(300))); err != nil {
				return nil, 0, 0, err
			}
			sent++
		}
	}
	begin := c.Now()
	for range 20 {
		c.RunUntil(c.Now() + vtime.Millisecond/2)
		points = append(points, plot.Point{X: micros(c.Now() - begin), Y: float64(handled)})
	}
	return points, sent, len(c.Fabric.Waits()), nil
}
