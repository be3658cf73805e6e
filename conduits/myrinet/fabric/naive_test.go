package fabric_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// naive is the model written down once more, as simply as can be: an event for each byte, and no arithmetic of streams.
// What happens at one time happens in the order of the phases.
type naive struct {
	c        *fabric.Constants
	topo     *fabric.Topology
	queue    vtime.Queue[naiveEvent]
	now      vtime.Time
	pumps    []*naivePump // senders of channels, in the order of the fabric's channels; then sinks
	channels int
	log      [][]event // of each host
	ended    int       // packets that had been stopped for too long
	tied     bool      // two packets asked for a port at once: who gets it is not said
}

type naiveEvent struct {
	phase int
	p     *naivePump
}

const (
	naiveLeave  = iota // a byte has left a pump
	naiveArrive        // it is at the end of the cable
	naiveFail          // the channel fails
	naiveRepair        // and is repaired
	naiveCrash         // the switch at the end of the channel fails, and with it all in the buffer
	naiveSignal        // STOP or GO is at the sender
	naiveLimit         // a packet has waited for as long as it may
	naiveStuck         // or has been stopped for twice as long
	naiveHead          // the switch or the host looks
	naiveAccept        // the host takes the packet in
	naiveStart         // a host starts its next packet
)

type naiveWorm struct {
	route  []int // ports that are still to be asked for
	length int
	come   int // bytes that have come to this buffer
	gone   int // bytes that have left it
	state  int // 0: coming, 1: looked at soon, 2: waiting, 3: passing
	noise  bool
	cut    bool       // its end is missing
	looked vtime.Time // when the switch or the host looks
	waits  vtime.Time // when it began to wait
}

// naivePump is a channel and the pump at its beginning, or a sink, which is no channel.
type naivePump struct {
	id          int
	from, to    fabric.End
	delay, step vtime.Time
	host        naiveHost  // at the end
	period      vtime.Time // of a byte of the link
	sink        *naivePump // at the end of the channel; for a sink nil
	near        *naivePump // channel whose buffer is drained; nil: memory
	worm        *naiveWorm // that is drained
	left        int        // bytes of the packet that have not begun
	under       bool       // a byte is under way
	busy, held  bool
	stuck       bool        // it is held, and has more of a packet in a switch to send
	since       vtime.Time  // when that began
	dead        int         // failures
	sent        int         // packets
	cuts        map[int]int // before which byte packets end, by their number

	buffer  []*naiveWorm
	level   int
	stopped bool
	signals []bool
	queue   []*naivePump // channels whose first worm waits
	asked   vtime.Time
	freed   vtime.Time
	last    int
	stops   uint64

	packets []naivePacket // of a host, to be sent
}

// naiveHost says how a host receives.
type naiveHost struct {
	take  vtime.Time // of a byte, at least
	late  vtime.Time // from the head until the packet is accepted
	watch int        // bytes of which the host is told; 0: of none
}

type naivePacket struct {
	wait   vtime.Time // after the one before has left
	route  []int
	length int
}

func newNaive(topo *fabric.Topology, c *fabric.Constants, hosts []naiveHost) *naive {
	n := &naive{c: c, topo: topo, log: make([][]event, len(topo.Hosts))}
	for _, l := range topo.Links {
		for d := range 2 {
			p := &naivePump{id: len(n.pumps), from: l.Ends[d], to: l.Ends[1-d], period: c.Link.Rate.Time(1),
				delay: vtime.Time(l.Length) * c.Link.Metre / 100, asked: -1, freed: -1, last: -1}
			if l.Rate != 0 {
				p.period = l.Rate.Time(1)
			}
			if l.Delay != 0 {
				p.delay = l.Delay
			}
			p.step = p.period
			p.sink = &naivePump{near: p}
			if p.to.Host {
				p.host = hosts[p.to.Index]
			}
			n.pumps = append(n.pumps, p)
		}
	}
	n.channels = len(n.pumps)
	for _, p := range n.pumps[:n.channels] {
		p.sink.id = len(n.pumps)
		n.pumps = append(n.pumps, p.sink)
	}
	return n
}

func (n *naive) at(t vtime.Time, phase int, p *naivePump) { n.queue.Push(t, naiveEvent{phase, p}) }

func (n *naive) note(host int, what string) {
	n.log[host] = append(n.log[host], event{n.now, what})
}

// run runs until nothing more happens.
func (n *naive) run() {
	for n.queue.Len() > 0 {
		n.now, _ = n.queue.First()
		var all []naiveEvent
		for n.queue.Len() > 0 {
			if t, _ := n.queue.First(); t != n.now {
				break
			}
			_, e := n.queue.Pop()
			all = append(all, e)
		}
		slices.SortStableFunc(all, func(a, b naiveEvent) int { return a.phase - b.phase })
		var finished []*naivePump
		for _, e := range all {
			if e.phase == naiveLeave {
				if n.leave(e.p) {
					finished = append(finished, e.p)
				}
			} else if e.phase == naiveArrive {
				n.arrive(e.p)
			}
		}
		for _, e := range all {
			if e.phase == naiveFail {
				finished = append(finished, n.fail(e.p)...)
			} else if e.phase == naiveRepair {
				e.p.dead--
			} else if e.phase == naiveCrash {
				n.crash(e.p)
			}
		}
		n.thresholds()
		for _, e := range all {
			if e.phase == naiveSignal {
				e.p.held, e.p.signals = e.p.signals[0], e.p.signals[1:]
			}
		}
		for _, p := range finished {
			n.finish(p)
		}
		for _, e := range all {
			if e.phase == naiveLimit {
				n.expire(e.p)
			} else if e.phase == naiveStuck {
				n.unstick(e.p)
			} else if e.phase == naiveHead {
				n.look(e.p)
			} else if e.phase == naiveAccept {
				n.take(e.p.sink, e.p, e.p.buffer[0], 0)
			} else if e.phase == naiveStart {
				n.inject(e.p)
			}
		}
		n.thresholds()
		for _, p := range n.pumps {
			n.begin(p)
			n.stick(p)
		}
		for _, p := range n.pumps[:n.channels] {
			n.head(p)
		}
	}
}

func (n *naive) leave(p *naivePump) (last bool) {
	p.under = false
	if p.near != nil {
		p.near.level--
		p.worm.gone++
		if p.sink == nil && p.near.to.Host && !p.worm.noise && p.worm.gone == p.near.host.watch {
			n.note(p.near.to.Index, "received")
		}
	}
	if p.sink != nil {
		n.at(n.now+p.delay, naiveArrive, p)
	}
	return p.left == 0
}

func (n *naive) arrive(p *naivePump) {
	p.level++
	for _, w := range p.buffer {
		if w.come < w.length {
			w.come++
			return
		}
	}
}

func (n *naive) thresholds() {
	for _, p := range n.pumps[:n.channels] {
		if !p.stopped && p.level >= n.c.Slack.Stop || p.stopped && p.level <= n.c.Slack.Go {
			p.stopped = !p.stopped
			if p.stopped {
				p.stops++
			}
			p.signals = append(p.signals, p.stopped)
			n.at(n.now+p.delay+p.period, naiveSignal, p)
		}
		if p.level > n.c.Slack.Size {
			panic(fmt.Sprintf("naive: %d bytes in a slack buffer", p.level))
		}
	}
}

func (n *naive) begin(p *naivePump) {
	if !p.busy || p.under || p.left == 0 || p.held || p.near != nil && p.worm.come == p.worm.gone {
		return
	}
	p.under = true
	p.left--
	n.at(n.now+p.step, naiveLeave, p)
}

// put has a channel carry a packet, with what happens to it there.
func (n *naive) put(p *naivePump, w *naiveWorm) {
	p.buffer = append(p.buffer, w)
	if w.noise = p.dead > 0; !w.noise {
		if at := p.cuts[p.sent]; at > 0 && at < w.length {
			n.split(p, len(p.buffer)-1, at)
		}
	}
	p.sent++
}

// split makes noise of the end of a worm in a buffer. Pumps that have nothing more to do then are returned.
func (n *naive) split(p *naivePump, i, at int) []*naivePump {
	w := p.buffer[i]
	p.buffer = slices.Insert(p.buffer, i+1, &naiveWorm{length: w.length - at, come: max(0, w.come-at), noise: true})
	w.come = min(w.come, at)
	return n.shorten(w, w.length-at)
}

// shorten takes bytes from the end of a worm, wherever it has got to.
func (n *naive) shorten(w *naiveWorm, less int) (finished []*naivePump) {
	w.length -= less
	w.cut = true
	w.noise = w.noise || w.length == 0
	for _, r := range n.pumps {
		if !r.busy || r.worm != w {
			continue
		}
		if r.left -= less; r.left == 0 && !r.under {
			finished = append(finished, r)
		}
		for i := len(r.buffer) - 1; less > 0 && i >= 0; i-- {
			d := min(less, r.buffer[i].length)
			finished = append(finished, n.shorten(r.buffer[i], d)...)
			less -= d
		}
	}
	return finished
}

// fail has the packets on a channel end.
func (n *naive) fail(p *naivePump) (finished []*naivePump) {
	p.dead++
	for i := 0; i < len(p.buffer); i++ {
		switch w := p.buffer[i]; {
		case w.noise || w.come == w.length:
		case w.come == 0:
			w.noise = true
		default:
			finished = append(finished, n.split(p, i, w.come)...)
		}
	}
	return finished
}

// head notices that the first worm of a buffer has come.
func (n *naive) head(p *naivePump) {
	for len(p.buffer) > 0 && p.buffer[0].length == 0 && p.buffer[0].state == 0 {
		p.buffer = p.buffer[1:] // nothing is left of it
	}
	if len(p.buffer) == 0 || p.buffer[0].state != 0 || p.buffer[0].come == 0 {
		return
	}
	w := p.buffer[0]
	w.state = 1
	var look vtime.Time
	if !p.to.Host && !w.noise {
		look = n.c.Switch.SAN
	}
	w.looked = n.now + look
	n.at(w.looked, naiveHead, p)
}

// crash makes noise of all that does not leave a buffer.
func (n *naive) crash(p *naivePump) {
	for _, w := range p.buffer {
		switch {
		case w.noise || w.state == 3:
		case w.state == 2:
			n.withdraw(p)
		default:
			if w.noise = true; w.state == 1 {
				w.looked = n.now
				n.at(n.now, naiveHead, p)
			}
		}
	}
}

// expire ends a packet that has waited since the time limit before.
func (n *naive) expire(p *naivePump) {
	if len(p.buffer) == 0 || p.buffer[0].state != 2 || p.buffer[0].waits+n.c.Limit.Time != n.now {
		return
	}
	if n.c.Limit.Reset {
		for _, w := range p.buffer {
			w.noise = true
		}
	}
	n.withdraw(p)
}

// stick notices that a sender is stopped, or is no longer.
func (n *naive) stick(p *naivePump) {
	stuck := p.sink != nil && p.near != nil && p.busy && p.held && p.left > 0
	if stuck && !p.stuck && n.c.Limit.Time > 0 {
		p.since = n.now
		n.at(n.now+2*n.c.Limit.Time, naiveStuck, p)
	}
	p.stuck = stuck
}

// unstick ends a packet whose sender has been stopped since twice the time limit before.
func (n *naive) unstick(p *naivePump) {
	if !p.stuck || p.since+2*n.c.Limit.Time != n.now {
		return
	}
	n.ended++
	if n.c.Limit.Reset {
		for _, w := range p.near.buffer[1:] {
			w.noise = true
		}
	}
	if p.asked == n.now {
		n.tied = true
	}
	for _, f := range n.split(p.near, 0, p.worm.length-p.left) {
		n.finish(f)
	}
}

// withdraw has the first packet of a buffer wait for nothing any more.
func (n *naive) withdraw(p *naivePump) {
	w := p.buffer[0]
	out := n.output(p.to.Index, w.route[0])
	out.queue = slices.DeleteFunc(out.queue, func(q *naivePump) bool { return q == p })
	if out.freed == n.now {
		n.tied = true
	}
	w.noise = true
	n.take(p.sink, p, w, 0)
}

func (n *naive) look(p *naivePump) {
	if len(p.buffer) == 0 || p.buffer[0].state != 1 || p.buffer[0].looked != n.now { // it is noise by now
		return
	}
	w := p.buffer[0]
	p.sink.step = p.period
	if w.noise || !p.to.Host && w.length == 1 {
		w.noise = true
		n.take(p.sink, p, w, 0)
		return
	}
	if p.to.Host {
		n.note(p.to.Index, "head")
		p.sink.step = max(p.period, p.host.take)
		w.state = 2
		n.at(n.now+p.host.late, naiveAccept, p)
		return
	}
	out := n.output(p.to.Index, w.route[0])
	if out.asked == n.now || out.freed == n.now {
		n.tied = true
	}
	out.asked = n.now
	if out.busy {
		w.state, w.waits = 2, n.now
		out.queue = append(out.queue, p)
		if n.c.Limit.Time > 0 {
			n.at(n.now+n.c.Limit.Time, naiveLimit, p)
		}
		return
	}
	n.grant(out, p)
}

func (n *naive) output(s, port int) *naivePump {
	for _, p := range n.pumps[:n.channels] {
		if p.from == fabric.SwitchEnd(s, port) {
			return p
		}
	}
	panic("naive: no such port")
}

func (n *naive) grant(out, p *naivePump) {
	w := p.buffer[0]
	p.level--
	w.gone++
	out.last = p.to.Port
	n.take(out, p, w, 1)
	n.put(out, &naiveWorm{route: w.route[1:], length: w.length - 1, cut: w.cut})
	if out.left == 0 { // it was cut off while it waited
		n.finish(out)
	}
}

func (n *naive) take(p, near *naivePump, w *naiveWorm, skip int) {
	w.state = 3
	p.near, p.worm, p.left, p.busy, p.stuck = near, w, w.length-skip, true, false
}

func (n *naive) inject(p *naivePump) {
	k := p.packets[0]
	p.packets = p.packets[1:]
	p.left, p.busy = k.length, true
	n.put(p, &naiveWorm{route: k.route, length: k.length})
}

func (n *naive) finish(p *naivePump) {
	p.busy = false
	p.freed = n.now
	if p.near != nil {
		p.near.buffer = p.near.buffer[1:]
	}
	switch {
	case p.sink == nil:
		if p.near.to.Host && !p.worm.noise {
			n.note(p.near.to.Index, map[bool]string{false: "tail good", true: "tail truncated"}[p.worm.cut])
		}
	case p.from.Host:
		n.note(p.from.Index, "gone")
		if len(p.packets) > 0 {
			n.at(n.now+p.packets[0].wait, naiveStart, p)
		}
	case len(p.queue) > 0:
		best := 0
		turn := func(q *naivePump) int { return (q.to.Port - p.last - 1 + 64) % 64 }
		for i, q := range p.queue {
			if turn(q) < turn(p.queue[best]) {
				best = i
			}
		}
		q := p.queue[best]
		p.queue = slices.Delete(p.queue, best, best+1)
		if p.asked == n.now {
			n.tied = true
		}
		n.grant(p, q)
	}
}

// harm plans cuts of packets, and failures of links, in both models. Links of hosts fail when a byte of the first packet comes
// to their end.
func (n *naive) harm(b *bed, packets [][]naivePacket, chance *rand.Rand, crashes bool) {
	for _, p := range n.pumps[:n.channels] {
		p.cuts = make(map[int]int)
		for k := range 20 {
			if chance.IntN(10) == 0 {
				p.cuts[k] = 1 + chance.IntN(40)
				b.f.Plan(p.from, uint64(k), fabric.Fault{Harm: fabric.Cut, Byte: p.cuts[k]})
			}
		}
	}
	for l := range n.topo.Links {
		if chance.IntN(3) > 0 {
			continue
		}
		end := n.topo.Links[l].Ends[0]
		fails := vtime.Time(chance.IntN(50_000)) * ns
		if end.Host {
			p, first := n.pumps[2*l], packets[end.Index][0]
			fails = first.wait + p.delay + vtime.Time(1+chance.IntN(first.length))*p.period
		}
		repaired := fails + vtime.Time(chance.IntN(5_000))*ns
		b.at(fails, func() { b.f.FailLink(end) })
		b.at(repaired, func() { b.f.RepairLink(end) })
		for _, p := range n.pumps[2*l : 2*l+2] {
			n.at(fails, naiveFail, p)
			n.at(repaired, naiveRepair, p)
		}
	}
	for s := range n.topo.Switches {
		if !crashes || chance.IntN(3) > 0 {
			continue
		}
		fails := vtime.Time(chance.IntN(50_000)) * ns
		repaired := fails + vtime.Time(chance.IntN(5_000))*ns
		b.at(fails, func() { b.f.FailSwitch(s) })
		b.at(repaired, func() { b.f.RepairSwitch(s) })
		for _, p := range n.pumps[:n.channels] {
			if from := !p.from.Host && p.from.Index == s; from || !p.to.Host && p.to.Index == s {
				n.at(fails, naiveFail, p)
				n.at(repaired, naiveRepair, p)
				if !from {
					n.at(fails, naiveCrash, p)
				}
			}
		}
	}
}

// walks returns packets for each host along random ways, which may well be stuck for ever.
func walks(topo *fabric.Topology, chance *rand.Rand, each, longest int) [][]naivePacket {
	cabling := topo.Cabling()
	all := make([][]naivePacket, len(topo.Hosts))
	for h := range topo.Hosts {
		for range each {
			var k naivePacket
			k.wait = vtime.Time(chance.IntN(2000)) * ns
			at := topo.Links[cabling.Link(fabric.HostEnd(h))].Other(fabric.HostEnd(h))
			for steps := chance.IntN(6); !at.Host; steps-- {
				var ends []fabric.End // of where it can go from here
				for port := range topo.Switches[at.Index].Ports {
					e := fabric.SwitchEnd(at.Index, port)
					if l := cabling.Link(e); l >= 0 && (steps > 0) != topo.Links[l].Other(e).Host {
						ends = append(ends, e)
					}
				}
				e := ends[chance.IntN(len(ends))]
				k.route = append(k.route, e.Port)
				at = topo.Links[cabling.Link(e)].Other(e)
			}
			k.length = len(k.route) + 5 + chance.IntN(longest)
			all[h] = append(all[h], k)
		}
	}
	return all
}

// TestNaive compares the fabric with the naive one on random topologies with cables of random lengths, and random
// traffic: when heads and tails come, when packets have left, and how many STOPs are sent. Some hosts are slow, and
// thresholds are far apart or next to each other. In half of the runs each link has a rate of its own, and some
// have a delay of their own: packets go from slow links to fast ones and back. In most runs packets are cut off, and
// links fail and are repaired. In every fourth run hosts accept packets late, in another fourth switches fail and are repaired,
// and in another the time limit ends packets that wait in switches, or are stopped.
func TestNaive(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	t.Parallel()
	tied, stops, cut, failed := 0, uint64(0), uint64(0), uint64(0)
	expired, stopped := uint64(0), 0
	seeds := []uint64{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		41,  // a buffer that fills from a fast stretch, then a slow one that follows close, while it drains at the rate of that
		59,  // and at a rate between
		185, // packets that are stopped for too long
	}
	for _, seed := range seeds {
		chance := rand.New(rand.NewPCG(seed, 1))
		topo, err := fabric.Shape{Hosts: 1 + int(seed%3)}.Random(3+int(seed%5), seed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range topo.Links {
			topo.Links[i].Length = 1 + chance.IntN(1000)
		}
		c := constants(t)
		if seed%2 == 1 {
			c.Slack.Size = 200 // for the fastest links
			for i := range topo.Links {
				l := &topo.Links[i]
				l.Rate = machine.Rate(1000 * (2000 + chance.IntN(15_000))) // 500 to 59 MB/s
				if chance.IntN(3) == 0 {
					l.Delay = vtime.Time(1 + chance.IntN(60_000))
				}
			}
		}
		switch seed / 2 % 4 {
		case 0:
			c.Slack.Stop, c.Slack.Go = 20, 3 // senders run dry
		case 2:
			c.Slack.Stop, c.Slack.Go = 20, 19 // each byte may bring a signal
		case 3:
			c.Slack.Stop, c.Slack.Go = 2, 1
		}
		hosts := make([]naiveHost, len(topo.Hosts))
		for i := range hosts {
			if i%2 == 0 {
				hosts[i].watch = 1 + 7*i
			}
			if chance.IntN(3) == 0 {
				hosts[i].take = c.Link.Rate.Time(1) + vtime.Time(chance.IntN(20_000))
			}
			if seed%4 == 0 {
				hosts[i].late = vtime.Time(chance.IntN(3000)) * ns
			}
		}
		if seed%4 == 1 {
			c.Limit.Time, c.Limit.Reset = vtime.Time(5000+chance.IntN(20_000))*ns, seed%8 == 1
		}
		packets := walks(topo, chance, 12, []int{30, 300, 2000}[seed%3])

		n := newNaive(topo, c, hosts)
		b := newBed(t, topo, c)
		if seed%3 > 0 {
			n.harm(b, packets, chance, seed%4 == 2)
		}
		for h, nic := range b.nics {
			p := n.pumps[slices.IndexFunc(n.pumps, func(p *naivePump) bool { return p.from == fabric.HostEnd(h) })]
			p.packets = packets[h]
			n.at(p.packets[0].wait, naiveStart, p)
			nic.head = func(a *fabric.Arrival) {
				b.at(b.Now()+hosts[h].late, func() {
					a.Accept(hosts[h].take)
					if hosts[h].watch > 0 {
						a.Watch(hosts[h].watch)
					}
				})
			}
			s := &source{bed: b, nic: nic, packets: packets[h]}
			nic.gone = s.again
			s.again()
		}
		n.run()
		if n.tied {
			tied++
			continue
		}
		b.RunUntil(n.now)
		for h, nic := range b.nics {
			for _, sent := range []bool{false, true} { // what is sent and what arrives know nothing of each other
				got, want := naivePart(nic.log, sent), naivePart(n.log[h], sent)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, %s, host %d:\n%v\nwant\n%v", seed, topo.About, h, got, want)
				}
			}
		}
		counts := b.f.Counts()
		cut += counts.Cut
		failed += counts.Failed
		expired += counts.Expired
		stopped += n.ended
		for i, load := range b.f.Traffic() {
			stops += load.Stops
			if load.Stops != n.pumps[i].stops {
				t.Errorf("seed %d: %d STOPs along %s, want %d", seed, load.Stops, topo.EndName(load.From), n.pumps[i].stops)
			}
		}
	}
	if tied > len(seeds)/4 || stops < 100 || cut < 100 || failed < 30 || expired < 10 || stopped < 3 {
		t.Errorf("%d of %d runs say nothing, as packets were tied; %d STOPs, %d cuts, %d packets on links that failed, %d that waited too long and %d that were stopped for too long in the others",
			tied, len(seeds), stops, cut, failed, expired-uint64(stopped), stopped)
	}
}

// source sends packets one after the other.
type source struct {
	*bed
	nic     *nic
	packets []naivePacket
}

func (s *source) again() {
	if len(s.packets) > 0 {
		s.At(s.Now()+s.packets[0].wait, s, 0, 0)
	}
}

func (s *source) Fire(_, _ uint64) {
	k := s.packets[0]
	s.packets = s.packets[1:]
	topo := s.f.Topology()
	cabling := topo.Cabling()
	e := fabric.HostEnd(s.nic.port.Host())
	var p fabric.Packet
	for _, port := range k.route {
		e = topo.Links[cabling.Link(e)].Other(e)
		p.Head = append(p.Head, fabric.RouteByte(port-e.Port))
		e.Port = port
	}
	p.Body = make([]byte, k.length-1-len(k.route))
	s.nic.port.Inject(p)
}

// naivePart returns what a host has noted of what it sends, or of what arrives.
func naivePart(log []event, sent bool) []event {
	return slices.DeleteFunc(slices.Clone(log), func(e event) bool { return (e.what == "gone") != sent })
}
