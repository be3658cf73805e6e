package fabric

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Fabric is a network at work. It belongs, with its loop, to one logical thread.
type Fabric struct {
	loop      *vtime.Loop
	topology  *Topology
	constants *Constants
	memory    vtime.Time // for which streams are kept after they have passed
	slack     struct{ stop, resume int64 }

	channels []*channel
	inputs   [][]*channel // of each switch, by port; nil without a cable
	outputs  [][]*channel
	failures []int // of each switch, that have not been repaired
	ports    []*Port
	chance   *rand.Rand
	planned  map[crossing]Fault
	free     *worm
	counts   Counts
}

// New returns a fabric of a topology, which must not change any more.
func New(loop *vtime.Loop, t *Topology, c *Constants) (*Fabric, error) {
	if err := c.CheckFor(t); err != nil {
		return nil, err
	}
	f := &Fabric{loop: loop, topology: t, constants: c, chance: loop.Rand("myrinet/fabric: errors")}
	f.slack.stop, f.slack.resume = int64(c.Slack.Stop), int64(c.Slack.Go)
	f.failures = make([]int, len(t.Switches))
	for i := range t.Switches {
		n := len(t.Switches[i].Ports)
		f.inputs = append(f.inputs, make([]*channel, n))
		f.outputs = append(f.outputs, make([]*channel, n))
	}
	for h := range t.Hosts {
		f.ports = append(f.ports, &Port{f: f, host: h})
	}
	channels := make([]channel, 2*len(t.Links)) // side by side in memory
	for i := range t.Links {
		l := &t.Links[i]
		f.addChannel(&channels[2*i], l, 0)
		f.addChannel(&channels[2*i+1], l, 1)
		f.memory = max(f.memory, 3*c.delay(l)+8*c.rate(l).Time(1))
	}
	return f, nil
}

// addChannel adds a link in the direction from one of its ends.
func (f *Fabric) addChannel(c *channel, l *Link, end int) {
	from, to, rate := l.Ends[end], l.Ends[1-end], f.constants.rate(l)
	*c = channel{index: len(f.channels), ends: [2]End{from, to}, delay: f.constants.delay(l), rate: rate, period: rate.Time(1), last: -1, next: never, due: never}
	c.round = c.delay + c.period
	c.pump = pump{f: f, step: c.period, to: c}
	c.out.before = c.store[0][:0]
	c.timer.Init(f.loop, c, uint64(c.index), senderEvent)
	c.sink = pump{f: f, step: c.period}
	c.sink.out.before = c.store[1][:0]
	c.sink.timer.Init(f.loop, c, uint64(c.index), sinkEvent)
	c.head.Init(f.loop, c, uint64(c.index), headEvent)
	c.timeout.Init(f.loop, c, uint64(c.index), limitEvent)
	for i, e := range c.ends {
		if !e.Host {
			c.kinds[i] = f.topology.Switches[e.Index].Ports[e.Port]
		}
	}
	f.channels = append(f.channels, c)
	if from.Host {
		p := f.ports[from.Index]
		p.out = c
		c.host = p
	} else {
		f.outputs[from.Index][from.Port] = c
		c.inputs = f.inputs[from.Index]
	}
	if to.Host {
		p := f.ports[to.Index]
		p.in, c.port = c, p
	} else {
		f.inputs[to.Index][to.Port] = c
		c.input, c.outputs = to.Port, f.outputs[to.Index]
	}
}

// Topology returns the topology, which is not to be changed.
func (f *Fabric) Topology() *Topology { return f.topology }

// Constants returns the constants, which are not to be changed.
func (f *Fabric) Constants() *Constants { return f.constants }

// Loop returns the loop that the fabric works on.
func (f *Fabric) Loop() *vtime.Loop { return f.loop }

// Port returns the port of a host.
func (f *Fabric) Port(host int) *Port { return f.ports[host] }

// The events of a channel.
const (
	senderEvent uint64 = iota // of the pump at its beginning
	sinkEvent                 // of the pump that takes in, or absorbs, at its end
	headEvent                 // the switch or host at its end looks at a packet
	limitEvent                // the packet there has waited, or has been stopped, for as long as it may
)

var events = [...]string{"sender", "sink", "head", "limit"}

// Label names an event of a channel in traces.
func (c *channel) Label(_, event uint64) string {
	t := c.f.topology
	return fmt.Sprintf("%s>%s %s", t.EndName(c.ends[0]), t.EndName(c.ends[1]), events[event])
}

// Fire lets an event of a channel happen. The number of the channel is for traces alone.
func (c *channel) Fire(_, event uint64) {
	switch event {
	case senderEvent:
		c.fire()
	case sinkEvent:
		c.sink.fire()
	case headEvent:
		c.f.look(c)
		if c.late {
			c.arm(c.f.loop.Now())
		}
	case limitEvent:
		c.f.expire(c)
	}
}

// look shows the first packet of a buffer to the switch or the host that it has come to.
func (f *Fabric) look(c *channel) {
	if r := c.reader; r != nil && r.to != nil {
		if now := f.loop.Now(); !r.passed(now) {
			c.await(now)
			return
		}
		r.leave()
		r.done()
	}
	w := c.first
	switch {
	case w.ghost || w.len() == 0:
		c.absorb(w)
	case c.port != nil:
		c.port.offer(w)
	default:
		f.route(c, w)
	}
}

// route gives the first packet of a buffer the output that it asks for, or has it wait for that.
func (f *Fabric) route(c *channel, w *worm) {
	now := f.loop.Now()
	out := c.output(w)
	if out != nil {
		out.collect(now)
	}
	switch {
	case out == nil:
		*w.fault++
		c.absorb(w)
	case w.len() == 1: // it was cut off behind the route byte
		c.absorb(w)
	case out.busy:
		w.state = waiting
		c.since = now
		out.queue |= 1 << c.input
		out.expect(now)
		c.limit(1)
	default:
		f.grant(out, c)
	}
}

// output returns the channel that a packet at a switch asks for, or nil: w.fault then counts such packets.
func (c *channel) output(w *worm) *channel {
	if !w.looked {
		c.choose(w)
	}
	return w.out
}

// choose notes where a packet goes at a switch, and how long that takes to decide.
func (c *channel) choose(w *worm) {
	w.looked = true
	b, there := w.packet.at(0)
	delta, ok := RouteDelta(b)
	kind := c.kinds[1]
	switch port := c.input + delta; {
	case !there || !ok:
		w.fault = &c.f.counts.NoRoute
	case port < 0 || port >= len(c.outputs) || c.outputs[port] == nil:
		w.fault = &c.f.counts.NoPort
	default:
		w.out = c.outputs[port]
		kind = w.out.kinds[0]
	}
	w.decision = c.f.constants.through(c.kinds[1], kind)
}

// grant gives an output to the first packet of a buffer.
func (f *Fabric) grant(out, c *channel) {
	now := f.loop.Now()
	w := c.first
	if w.state == waiting {
		out.stats.wait(now - c.since)
		c.timeout.Stop()
	}
	w.state = passing
	out.last = c.input
	out.obey(now)
	c.drain(&out.pump, w, 1)
	out.send(f.worm(w.packet.Skip(1), w.verdict))
}

// release gives an output, which is free again, to the next of the inputs that wait for it: round robin.
func (f *Fabric) release(out *channel) {
	next := out.queue &^ (2<<out.last - 1)
	if next == 0 {
		next = out.queue
	}
	port := bits.TrailingZeros32(next)
	out.queue &^= 1 << port
	f.grant(out, out.inputs[port])
}

// worm returns a record for a packet.
func (f *Fabric) worm(p Packet, v Verdict) *worm {
	w := f.free
	if w == nil {
		return &worm{packet: p, verdict: v}
	}
	f.free = w.next
	*w = worm{packet: p, verdict: v}
	return w
}
