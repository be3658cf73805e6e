package fabric

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// pump moves the bytes of one packet after the other, as fast as they come but at most one each step: the
// sender of a channel, the receive DMA of a port, or what absorbs a packet that cannot go on.
type pump struct {
	timer  vtime.Timer // for the next thing that happens here
	out    stream      // bytes by when they have left the pump
	clear  vtime.Time  // when the last byte has left, or will
	end    int64       // of the packet
	begun  int64       // number of its first byte
	supply *stream     // byte n of the pump is byte n+shift of the supply, and can leave from lag after that has passed
	shift  int64
	lag    vtime.Time
	step   vtime.Time // of a byte
	to     *channel   // whose sender this is; nil: none
	near   *channel   // the buffer that is drained; nil: a host's memory
	watch  int64      // number of the first byte after a mark; 0: none
	held   bool       // no byte may begin
	busy   bool       // a packet is being moved
	armed  bool       // the timer is what it should be
	late   bool       // the timer is to be set when the switch or the host has looked at the packet
	news   change     // of what leaves, that nobody has been told yet

	f        *Fabric
	follower *pump      // supplied by out, besides the receiver of a channel
	host     *Port      // which sends the packet, or takes it in; nil: none
	cutAt    vtime.Time // when it was cut short; 0: never
	old      []stretch  // what was planned before
}

// remembered is how many stretches of a stream there is room for beside it, which is enough for most.
const remembered = 4

// begin takes up a packet of n bytes.
func (p *pump) begin(supply *stream, first int64, lag vtime.Time, near *channel, n int64) {
	p.busy, p.news, p.cutAt = true, longer, 0
	p.begun = p.out.end
	p.end = p.begun + n
	p.supply, p.shift, p.lag, p.near = supply, first-p.begun, lag, near
}

// change is what has become of a stream since it was looked at before; what is more comes later.
type change uint8

const (
	same   change = iota
	longer        // bytes have been added, or a packet to whom they will belong
	other
)

// start is replan for a packet that has just been taken up.
func (p *pump) start(now vtime.Time) {
	p.news, p.armed = same, false
	if !p.held {
		p.extend(now)
	} else {
		p.heed()
	}
	p.forget(now)
	if p.near != nil {
		p.near.drains(now)
	}
	if c := p.to; c != nil {
		c.await(now)
		c.foresee(now)
	}
	if !p.armed {
		p.arm(now)
	}
}

// replan works out anew what leaves, from now on, after something has changed, and tells those that it concerns.
func (p *pump) replan() { p.follow(other) }

// follow is replan after the supply has changed. It reports what has become of what leaves.
func (p *pump) follow(supply change) change {
	now := p.f.loop.Now()
	if p.near != nil {
		p.near.settle(now)
	}
	if p.to != nil {
		p.to.settle(now)
	}
	how := p.plan(now, supply)
	p.armed = false
	if how != same {
		p.tell(now, how)
	}
	if !p.armed {
		p.arm(now)
	}
	return how
}

// tell has those follow who depend on what leaves.
func (p *pump) tell(now vtime.Time, how change) {
	if p.near != nil {
		p.near.drains(now)
	}
	p.tellOn(now, how)
}

// tellOn has those follow who get what leaves.
func (p *pump) tellOn(now vtime.Time, how change) {
	if c := p.to; c != nil {
		if c.reader == nil || c.first != c.final {
			c.await(now)
		}
		switch r := c.reader; {
		case r == nil || how == longer && (r.held || r.out.end == r.end): // what comes later is nothing to r yet, or none of its packet
			c.foresee(now)
		case how == longer && r.advance(now):
			if c.stopping {
				c.foresee(now)
			}
		case r.follow(how) == same: // else it has told the channel
			c.foresee(now)
		}
	}
	if p.follower != nil {
		p.follower.follow(how)
	}
}

// advance is follow for a pump that takes all that comes at its own pace, and goes on so with what is known now besides; else it
// reports false. The level of the buffer that is drained does not rise then.
func (p *pump) advance(now vtime.Time) bool {
	s, k := &p.supply.stretch, &p.out.stretch
	n := k.end + p.shift
	if p.clear < now || k.first == k.end || k.at > now || k.step != p.step || s.step != p.step || n < s.first || n >= s.end || s.time(n)+p.lag > p.clear {
		return false
	}
	// The first byte of a stretch may come sooner than a step after the one before it, which is forgotten only if it came long ago.
	if n == s.first {
		gap := p.f.memory
		if last := len(p.supply.before) - 1; last >= 0 {
			gap = s.at - p.supply.before[last].last()
		}
		if gap < p.step {
			return false
		}
	}
	p.near.settle(now)
	if p.to != nil {
		p.to.settle(now)
	}
	k.end = min(p.end, s.end-p.shift)
	p.clear = k.last()
	p.tellOn(now, longer)
	tail := k.end == p.end
	if tail && p.near.first != p.near.final {
		p.near.await(now)
	}
	if tail && p.awaited() || p.watch > 0 {
		p.arm(now)
	}
	return true
}

// plan works out what leaves from now on as far as the supply is known, and reports whether that is something else
// than before.
func (p *pump) plan(now vtime.Time, supply change) change {
	before, how := p.out.end, p.news
	p.news = same
	taken := p.clear > now && supply == other
	if taken {
		if !p.held { // else what is taken back does not come again
			p.old = p.out.copyTo(p.old[:0])
		}
		p.cut(now)
		taken = p.out.end < before
	}
	if p.busy && !p.held && p.out.end < p.end {
		p.extend(now)
	}
	switch {
	case taken && (p.held || !p.out.continues(p.old)):
		how = other
	case p.out.end > before:
		how = max(how, longer)
	}
	p.forget(now)
	return how
}

// forget drops what nobody asks for any more.
func (p *pump) forget(now vtime.Time) {
	if len(p.out.before) >= remembered-2 {
		p.out.forget(now - p.f.memory)
	}
}

// cut takes back the bytes that have not begun, some of which there are, or one that has.
func (p *pump) cut(now vtime.Time) {
	keep := p.out.count(now)
	if p.out.when(keep)-p.step < now {
		keep++
	}
	p.out.cut(keep)
	p.clear = p.out.last()
}

// extend adds the bytes that leave at equal distances from now on.
func (p *pump) extend(now vtime.Time) {
	n := p.out.end
	if n+p.shift >= p.supply.end {
		return
	}
	i := p.supply.index(n + p.shift)
	start := max(now, p.clear)
	step, end := p.step, n
	if i < 0 { // all that is forgotten is there
		start = max(start, p.lag)
		end = p.supply.nth(0).first - p.shift
		i = 0
	} else {
		s := p.supply.nth(i)
		if ready := s.time(n+p.shift) + p.lag; ready >= start {
			if start = ready; s.step > step {
				p.add(start+step, s.step, min(p.end, s.end-p.shift))
				return
			}
		}
		if s.step <= step {
			end = s.end - p.shift
			i++
		}
	}
	for ; i <= len(p.supply.before) && end < p.end; i++ {
		s := p.supply.nth(i)
		late := s.time(end+p.shift) + p.lag - (start + vtime.Time(end-n)*step)
		if late > 0 {
			break
		}
		if s.step <= step {
			end = s.end - p.shift
			continue
		}
		// Each byte is by the difference of the steps less in time than the one before.
		end += int64(-late/(s.step-step)) + 1
		if end < s.end-p.shift {
			break
		}
		end = s.end - p.shift
	}
	p.add(start+step, step, min(p.end, end))
}

func (p *pump) add(at, step vtime.Time, end int64) {
	p.clear = at + vtime.Time(end-1-p.out.end)*step
	p.out.add(at, step, end)
}

// arm sets the timer to what happens next.
func (p *pump) arm(now vtime.Time) {
	p.armed, p.late = true, false
	if p.busy {
		c := p.to
		last, tail := never, p.out.end == p.end
		if tail || p.clear > now && p.supply.end > p.out.end+p.shift { // what comes late
			last = p.clear
		}
		at := last
		if c != nil {
			at = min(at, c.signalled())
		}
		if p.watch > 0 {
			at = min(at, p.out.when(p.watch-1))
		}
		if at < never && !(tail && at == last && !p.awaited()) {
			at = max(at, now)
			if c == nil || c.reader != nil || !c.looks(at) {
				if set, is := p.timer.Set(); !is || set != at {
					p.timer.Reset(at)
				}
				return
			}
			p.late = true
		}
	}
	p.timer.Stop()
}

// awaited reports whether anything waits for the tail. If nothing does there is no event for it: who looks next does what is to
// be done, by collect.
func (p *pump) awaited() bool { return p.near == nil || p.to == nil || p.to.queue != 0 }

// passed reports whether the last byte of the packet has left.
func (p *pump) passed(now vtime.Time) bool { return p.busy && p.out.end == p.end && p.clear <= now }

// left returns when the last byte of a packet leaves which is known to its end.
func (p *pump) left() vtime.Time { return max(p.clear, p.cutAt) }

// expect sets the timer for the tail if it is known, as somebody waits for it from now on.
func (p *pump) expect(now vtime.Time) {
	if p.out.end == p.end {
		p.arm(now)
	}
}

// collect lets go of a packet whose last byte has left without anybody waiting for that.
func (p *pump) collect(now vtime.Time) {
	if p.passed(now) {
		p.finish()
	}
}

// fire does what the timer was set for.
func (p *pump) fire() {
	now := p.f.loop.Now()
	held := p.held
	if p.to != nil {
		p.to.obey(now)
	}
	if p.watch > 0 && p.out.count(now) >= p.watch {
		p.watch = 0
		p.host.marked(p)
	}
	switch {
	case !p.busy:
	case p.clear > now && held == p.held:
		p.arm(now)
	case p.clear <= now && p.out.end == p.end:
		p.finish()
	default:
		p.replan()
		if held != p.held {
			p.heed()
		}
	}
}

// finish lets go of the packet, whose last byte has left.
func (p *pump) finish() {
	near := p.near
	p.leave()
	if near != nil && near.first != nil {
		near.await(p.f.loop.Now())
	}
	p.done()
}

// done is called when the packet has left.
func (p *pump) done() {
	switch {
	case p.to == nil:
		if p.host != nil {
			p.host.taken()
		}
	case p.host != nil:
		p.host.gone()
	case p.to.queue != 0:
		p.f.release(p.to)
	}
}

// leave takes the packet out of the buffer that was drained.
func (p *pump) leave() {
	p.busy = false
	p.timer.Stop()
	if near := p.near; near != nil {
		if p.held { // it was cut short
			near.timeout.Stop()
		}
		p.near = nil
		near.drainedAll(p)
	}
}

// moved returns how many bytes of the packet have left a pump.
func (p *pump) moved() int {
	return int(min(p.out.count(p.f.loop.Now()), p.end) - p.begun)
}

// setWatch sets a mark behind the first n bytes of the packet.
func (p *pump) setWatch(n int) {
	p.watch = p.begun + int64(n)
	p.arm(p.f.loop.Now())
}
