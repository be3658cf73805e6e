package fabric

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// pump moves the bytes of one packet after the other, as fast as they come but at most one each step: the
// sender of a channel, the receive DMA of a port, or what absorbs a packet that cannot go on.
type pump struct {
	f      *Fabric
	timer  *vtime.Timer // for the next thing that happens here
	step   vtime.Time   // time of a byte
	out    stream       // bytes by when they have left the pump
	store  [4]stretch   // of out, as long as that is enough
	before []stretch    // what was planned before
	clear  vtime.Time   // when the last byte has left, or will
	held   bool         // no byte may begin
	armed  bool         // the timer is what it should be

	// The packet that is being moved. Byte n of the pump is byte n+shift of the supply, and can leave from
	// lag after that has passed.
	busy   bool
	news   change // of what leaves, that nobody has been told yet
	begun  int64  // number of the packet's first byte
	end    int64
	supply *stream
	shift  int64
	lag    vtime.Time
	near   *channel // the buffer that is drained; nil: a host's memory

	to       *channel // whose sender this is; nil: none
	follower *pump    // supplied by out, besides the receiver of a channel
	watch    int64    // number of the first byte after a mark; 0: none
	done     func()   // called when the packet has left
	marked   func()   // called when all bytes before the mark have left
}

// begin takes up a packet of n bytes.
func (p *pump) begin(supply *stream, first int64, lag vtime.Time, near *channel, n int64) {
	p.busy, p.news = true, longer
	p.begun = p.out.next
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
		p.near.foresee(now)
	}
	if c := p.to; c != nil {
		switch {
		case c.reader == nil:
			c.await(now)
			c.foresee(now)
		case how == longer && c.reader.out.next == c.reader.end: // what comes later is none of its packet
			c.foresee(now)
		case c.reader.follow(how) == same: // else it has told the channel
			c.foresee(now)
		}
	}
	if p.follower != nil {
		p.follower.follow(how)
	}
}

// plan works out what leaves from now on as far as the supply is known, and reports whether that is something else
// than before.
func (p *pump) plan(now vtime.Time, supply change) change {
	before, how := p.out.next, p.news
	p.news = same
	taken := p.clear > now && supply == other
	if taken {
		if !p.held { // else what is taken back does not come again
			p.before = append(p.before[:0], p.out.known...)
		}
		p.cut(now)
		taken = p.out.next < before
	}
	if p.busy && !p.held && p.out.next < p.end {
		p.extend(now)
	}
	switch {
	case taken && (p.held || !p.out.continues(p.before)):
		how = other
	case p.out.next > before:
		how = max(how, longer)
	}
	if len(p.out.known) >= len(p.store)-1 {
		p.out.forget(now - p.f.memory)
	}
	return how
}

// cut takes back the bytes that have not begun, some of which there are, or one that has.
func (p *pump) cut(now vtime.Time) {
	keep := p.out.count(now)
	if t, ok := p.out.when(keep); ok && t-p.step < now {
		keep++
	}
	p.out.cut(keep)
	p.clear = 0
	if n := len(p.out.known); n > 0 {
		p.clear = p.out.known[n-1].last()
	}
}

// extend adds the bytes that leave at equal distances from now on.
func (p *pump) extend(now vtime.Time) {
	n := p.out.next
	if n+p.shift >= p.supply.next {
		return
	}
	known := p.supply.known
	i := p.supply.find(n + p.shift)
	start := max(now, p.clear)
	step, end := p.step, n
	if i < 0 { // all that is forgotten is there
		start = max(start, p.lag)
		end = p.supply.next
		if len(known) > 0 {
			end = known[0].first
		}
		end -= p.shift
		i = 0
	} else {
		s := &known[i]
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
	for ; i < len(known) && end < p.end; i++ {
		s := &known[i]
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
	p.clear = at + vtime.Time(end-1-p.out.next)*step
	p.out.add(at, step, end)
}

// arm sets the timer to what happens next.
func (p *pump) arm(now vtime.Time) {
	p.armed = true
	at, ok := p.nextTime(now)
	if !ok {
		p.timer.Stop()
		return
	}
	at = max(at, now)
	if set, is := p.timer.Set(); !is || set != at {
		p.timer.Reset(at)
	}
}

func (p *pump) nextTime(now vtime.Time) (at vtime.Time, ok bool) {
	if !p.busy {
		return 0, false
	}
	switch {
	case p.out.next == p.end: // the tail
		at, ok = max(p.clear, now), true
	case p.clear > now && p.supply.next > p.out.next+p.shift: // what comes late
		at, ok = p.clear, true
	}
	if p.to != nil {
		if t, pending := p.to.signalled(); pending && (!ok || t < at) {
			at, ok = t, true
		}
	}
	if p.watch > 0 {
		if t, known := p.out.when(p.watch - 1); known && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
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
		p.marked()
	}
	switch {
	case !p.busy:
	case p.clear > now && held == p.held:
		p.arm(now)
	case p.clear <= now && p.out.next == p.end:
		p.finish()
	default:
		p.replan()
	}
}

// finish lets go of the packet, whose last byte has left.
func (p *pump) finish() {
	p.busy = false
	p.timer.Stop()
	near := p.near
	p.near = nil
	if near != nil {
		near.drainedAll(p)
	}
	p.done()
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
