package am2

import "time"

// firstPackets is how many packets may be on their way to a peer before anything is known of the
// path (RFC 6928). A peer that never had as many has no path.
const firstPackets = 10

// The constants of BBR, and what differs from it.
const (
	startupGain = 2.885 // 2/ln 2: doubles what is under way in a round trip
	probeGain   = 1.25
	drainGain   = 0.75
	windowGain  = 2
	giveWay     = 0.7
	needed      = 1.35 // products under way fill a path whose round trips vary
	cyclePhases = 8

	fullGrowth = 1.25 // by which the bandwidth grows in a round trip of startup,
	fullRounds = 3    // or the pipe is full after so many

	filterRounds = 8                // the largest bandwidth of one or two times as many counts
	leastRTTFor  = 10 * time.Second // for how long the least round trip is believed
	probeRTTFor  = 200 * time.Millisecond

	// shortest is the round trip that a path is taken to have at least. What hosts need to notice
	// an arrival varies by as much, so a window for less would keep short paths idle.
	shortest = time.Millisecond
	// leastPackets is the least window, in packets.
	leastPackets = 4
	// leastBurst is what may be sent at once, in time at the path's rate; because the driver was
	// late with packets that waited for their time, a longer round trip may. If a driver looks but
	// every now and then, no round trip that it measures is shorter than the time between two looks.
	// If less could be caught up, each look would lose a part of the rate, and be measured as the
	// bandwidth, until none is left.
	leastBurst = time.Millisecond
	// quantum is for how long packets are held back together, so that one system call sends some.
	quantum = 250 * time.Microsecond
)

// mode is what a path is doing.
type mode uint8

const (
	startup  mode = iota // doubles the rate until the bandwidth does not grow any more
	drain                // has the queue emptied that startup has filled
	cruise               // probes for more bandwidth in one of eight round trips
	probeRTT             // has queues emptied to see the round trip without them
)

// path is the congestion control of what is under way to a peer: BBR (Cardwell, Cheng, Gunn,
// Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
// draft-cardwell-iccrg-bbr-congestion-control-00). It measures the bandwidth and the round trip,
// sends at that bandwidth and has the product of both under way. So a loss that has other causes
// than its own queue does not slow it down. Sizes are bytes of datagrams, rates bytes a nanosecond.
type path struct {
	window   int           // bytes that may be under way
	rate     float64       // at which they are sent; 0: without a limit
	next     time.Duration // when the next may be sent
	mode     mode
	phase    uint8 // of cruise
	full     bool  // startup has found the bandwidth
	rested   bool  // nothing was under way when the last packet was sent
	held     bool  // packets wait for their time
	lossy    bool  // something was lost in this phase
	reorders uint8 // quarters of the round trip beyond the first by which packets come out of order
	calm     uint8 // round trips with losses since one was found too early
	slow     uint8 // rounds of startup without growth
	rounds   uint8 // of the filters
	first    int   // the first window
	least    int   // bytes of leastPackets
	phaseAt  time.Duration

	delivered   uint64        // bytes the peer has had
	deliveredAt time.Duration // and when the last of them were acknowledged
	firstSent   time.Duration // when the packet of the last sample was sent
	limited     uint64        // until so much is delivered, samples show how little there was to send; 0: not
	roundEnd    uint64        // what is delivered when the round trip under way ends
	newly       int           // bytes delivered since the last update
	best        snapshot      // of the latest packet of them
	bestSent    time.Duration

	bandwidth [2]float64 // largest of this filter time and of the one before
	fullest   float64    // in startup
	minRTT    time.Duration
	minRTTAt  time.Duration
	probeEnd  time.Duration // of probeRTT; 0: the queues are not empty yet
	saved     int           // the window before time-outs; 0: no time-out
	ceiling   int           // of the window, since queues overflowed; 0: none
	reduced   time.Duration // when that was lowered last

	extra      [2]float64    // bytes acknowledged ahead of the bandwidth, largest, as bandwidth is
	epoch      time.Duration // since when acknowledgements are compared to the bandwidth
	epochAcked int

	lossRound time.Duration // when the last round trip with losses began
	earlyAt   time.Duration // when a loss was last found too early
}

// snapshot is what had been delivered when a packet was sent
// (draft-cheng-iccrg-delivery-rate-estimation-00).
type snapshot struct {
	delivered   uint64
	deliveredAt time.Duration
	firstSent   time.Duration
	taken       bool
	limited     bool // there was little to send
}

// newPath returns a path of which nothing is known. Packets may be under way.
func newPath(now time.Duration, window int) *path {
	return &path{
		window: window, first: window, least: window * leastPackets / firstPackets,
		deliveredAt: now, firstSent: now,
		minRTT: Never, minRTTAt: now, lossRound: -1, earlyAt: -1, reduced: -1,
	}
}

// most returns the bandwidth.
func (pa *path) most() float64 { return max(pa.bandwidth[0], pa.bandwidth[1]) }

// trip returns the round trip that the window is made for.
func (pa *path) trip() time.Duration {
	if pa.minRTT == Never {
		return shortest
	}
	return max(pa.minRTT, shortest)
}

// product returns the bandwidth-delay product.
func (pa *path) product() float64 { return pa.most() * float64(pa.trip()) }

// sending notes that a packet is sent while so many bytes are under way.
func (pa *path) sending(now time.Duration, p *packet, size, inFlight int) {
	if inFlight == 0 {
		pa.firstSent, pa.deliveredAt = now, now
		pa.rested = pa.limited > 0
	}
	p.snapshot = snapshot{pa.delivered, pa.deliveredAt, pa.firstSent, true, pa.limited > 0}
	if pa.rate > 0 {
		late := leastBurst
		if pa.held {
			late = max(late, pa.trip())
		}
		pa.next = max(pa.next, now-late) + time.Duration(float64(size)/pa.rate)
	}
	if pa.next > now-leastBurst {
		pa.held = false // it has caught up
	}
}

// idle notes that all is sent that there was, or that the peer has room for, though the path would take
// more.
func (pa *path) idle(inFlight int) {
	pa.held = false
	if inFlight < pa.window {
		pa.limited = max(pa.delivered+uint64(inFlight), 1)
	}
}

// acked notes that the peer has a packet.
func (pa *path) acked(now time.Duration, p *packet, size int) {
	pa.delivered += uint64(size)
	pa.deliveredAt = now
	pa.newly += size
	if s := &p.snapshot; s.taken && s.delivered <= pa.delivered && (!pa.best.taken || s.delivered >= pa.best.delivered) {
		pa.best, pa.bestSent = *s, p.sent
	}
}

// sampleRTT takes a round trip.
func (pa *path) sampleRTT(now, d time.Duration) {
	if d <= pa.minRTT {
		pa.minRTT, pa.minRTTAt = d, now
	}
}

// update draws the conclusions from packets that were acknowledged.
func (pa *path) update(now time.Duration, pr *peer) {
	if pa.newly == 0 {
		return
	}
	inFlight := pr.inFlight
	if pa.limited > 0 && pa.delivered > pa.limited {
		pa.limited = 0
	}
	s := pa.best
	round := s.taken && s.delivered >= pa.roundEnd
	if round {
		pa.roundEnd = pa.delivered
		if pa.saved > 0 {
			pa.window, pa.saved = max(pa.window, pa.saved), 0
		}
		if pa.ceiling > 0 {
			pa.ceiling += pa.least / leastPackets
		}
	}
	if s.taken {
		pa.sample(now, s, round)
	}
	pa.aggregate(now)
	if round && !pa.full && !s.limited {
		pa.grown()
	}
	pa.step(now, inFlight)
	pa.probe(now, pr.rtt.latest, inFlight)
	pa.limit(pr.rtt.smoothed)
	pa.newly, pa.best.taken, pa.rested = 0, false, false
}

// sample measures the bandwidth by what was delivered since a packet was sent.
func (pa *path) sample(now time.Duration, s snapshot, round bool) {
	pa.firstSent = pa.bestSent
	if round && !s.limited {
		if pa.rounds++; pa.rounds >= filterRounds {
			pa.rounds = 0
			pa.bandwidth[0], pa.bandwidth[1] = pa.bandwidth[1], 0
			pa.extra[0], pa.extra[1] = pa.extra[1], 0
		}
	}
	d := max(pa.bestSent-s.firstSent, now-s.deliveredAt)
	if d < pa.minRTT && pa.minRTT != Never || d <= 0 {
		return // acknowledgements came compressed
	}
	if bw := float64(pa.delivered-s.delivered) / float64(d); !s.limited || bw > pa.most() {
		pa.bandwidth[1] = max(pa.bandwidth[1], bw)
	}
}

// aggregate measures by how much acknowledgements run ahead of the bandwidth, because they come
// in bunches: the window must have as much more.
func (pa *path) aggregate(now time.Duration) {
	expected := pa.most() * float64(now-pa.epoch)
	if float64(pa.epochAcked) <= expected {
		pa.epoch, pa.epochAcked, expected = now, 0, 0
	}
	pa.epochAcked += pa.newly
	pa.extra[1] = max(pa.extra[1], min(float64(pa.epochAcked)-expected, float64(pa.window)))
}

// grown looks at the end of a round trip of startup whether the bandwidth has grown.
func (pa *path) grown() {
	if bw := pa.most(); bw >= fullGrowth*pa.fullest {
		pa.fullest, pa.slow = bw, 0
		return
	}
	if pa.slow++; pa.slow >= fullRounds {
		pa.full = true
	}
}

// step goes on to the next mode or phase when it is time.
func (pa *path) step(now time.Duration, inFlight int) {
	product := pa.product()
	if pa.mode == startup && pa.full {
		pa.mode = drain
	}
	if pa.mode == drain && float64(inFlight) <= product {
		pa.cruise(now)
	}
	if pa.mode != cruise {
		return
	}
	over := now-pa.phaseAt > pa.trip()
	switch pa.phase {
	case 0:
		over = over && (pa.lossy || float64(inFlight) >= probeGain*product)
	case 1:
		over = over || float64(inFlight) <= product
	}
	if over {
		pa.phase = (pa.phase + 1) % cyclePhases
		pa.phaseAt, pa.lossy = now, false
	}
}

// cruise begins at a phase without probing, which differs from path to path.
func (pa *path) cruise(now time.Duration) {
	pa.mode, pa.phaseAt, pa.lossy = cruise, now, false
	pa.phase = uint8(2 + pa.delivered/64%(cyclePhases-2))
}

// probe measures the round trip anew when that was long ago, with little under way.
func (pa *path) probe(now, rtt time.Duration, inFlight int) {
	if now-pa.minRTTAt > leastRTTFor && pa.mode != probeRTT && !pa.rested && pa.full {
		pa.mode, pa.probeEnd = probeRTT, 0
		pa.saved = max(pa.saved, pa.window)
	}
	if pa.mode != probeRTT {
		return
	}
	switch {
	case pa.probeEnd == 0 && inFlight <= pa.lowered():
		pa.probeEnd = now + min(probeRTTFor, 4*pa.trip())
		pa.minRTT = rtt // the least of this probe counts
	case pa.probeEnd != 0 && now >= pa.probeEnd:
		pa.minRTTAt = now
		pa.cruise(now)
	}
}

// lowered returns the window while the round trip is measured.
func (pa *path) lowered() int { return max(pa.least, int(pa.product()/2)) }

// limit sets the rate and the window.
func (pa *path) limit(rtt time.Duration) {
	gain, wide := 1.0, float64(windowGain)
	switch {
	case pa.mode == startup:
		gain, wide = startupGain, startupGain
	case pa.mode == drain:
		gain, wide = 1/startupGain, startupGain
	case pa.mode == cruise && pa.phase == 0:
		gain = probeGain
	case pa.mode == cruise && pa.phase == 1:
		gain = drainGain
	}
	bw := pa.most()
	if !pa.full { // what has been sent so far may have been little
		bw = max(bw, float64(pa.first)/float64(max(rtt, shortest)))
	}
	if rate := 0.99 * gain * bw; pa.full || rate > pa.rate {
		pa.rate = rate
	}
	target := int(wide*pa.product() + min(max(pa.extra[0], pa.extra[1]), pa.product()/4))
	if pa.ceiling > 0 && pa.full {
		target = min(target, max(pa.ceiling, int(needed*pa.product())))
	}
	switch {
	case pa.full:
		pa.window = min(pa.window+pa.newly, target)
	case pa.window < target || pa.delivered < uint64(pa.least):
		pa.window += pa.newly
	}
	pa.window = max(pa.window, pa.least)
	if pa.mode == probeRTT {
		pa.window = min(pa.window, pa.lowered())
	}
}

// lost notes that a packet was lost that was sent at a time, when round trips took as long as they
// do now. If that is long, queues overflow: then others may share them who give way, and so does
// this path, as CUBIC would (RFC 9438, section 4.6), but for what it needs with a short queue.
// What is lost while queues are short says nothing.
func (pa *path) lost(now, sent, rtt, latest time.Duration, inFlight int) {
	pa.lossy = true
	if pa.full && latest > 3*pa.trip()/2 && sent > pa.reduced {
		pa.reduced = now
		pa.ceiling = int(giveWay * float64(min(inFlight, pa.window)))
	}
	if now-pa.lossRound < rtt {
		return
	}
	pa.lossRound = now
	if pa.calm++; pa.calm >= calmRounds {
		pa.calm, pa.reorders = 0, 0
	}
}

// silentAfter is how many time-outs in a row may be bad luck (RFC 9002, section 7.6.1).
const silentAfter = 3

// silent notes that nothing has come from the peer for more time-outs: little is sent until
// something comes.
func (pa *path) silent() {
	pa.saved = max(pa.saved, pa.window)
	pa.window = pa.least
}

// How reordering is coped with (RFC 8985, section 6.2, step 4).
const (
	mostReorders = 3  // and the first make a whole round trip
	calmRounds   = 16 // round trips with losses after which no more is expected than at first
)

// premature notes that a packet was found lost and has arrived after all, though not as the copy
// that was sent then: packets come out of order by more than was waited for.
func (pr *peer) premature(now time.Duration) {
	pa := pr.path
	if pa == nil {
		return
	}
	pa.calm = 0
	if now-pa.earlyAt >= pr.rtt.smoothed {
		pa.earlyAt, pa.reorders = now, min(pa.reorders+1, mostReorders)
	}
}

// reordering returns by how much packets may come out of order.
func (pr *peer) reordering() time.Duration {
	if pa := pr.path; pa != nil && pa.minRTT != Never {
		return min(time.Duration(1+pa.reorders)*pa.minRTT/4, pr.rtt.smoothed)
	}
	return pr.rtt.smoothed / 4
}
