package hardware

import (
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// site is a place of the machine that packets come to, with what they ask for there: a host's, with its bus,
// its adapter and the links that leave it; or a port's of the switch, with the links of its ring, and the hosts there.
//
// A site serves packets in the order in which they come to it: by time, and those of one time by their
// stage, sender and target. That order does not depend on when the kernel has the site serve them. So
// it need not be at the very time of a packet: it is early enough before anything can follow from it
// elsewhere, as each packet's slack says. One event then serves all that have come meanwhile.
type site struct {
	first *packet    // of those that have not been served, linked by next, in the order in which they come
	last  *packet    // of them, if there is one
	until vtime.Time // when last comes, so that few need to look at it
	due   vtime.Time // of the event that is going to serve them; notYet if there is none
}

// come has a packet come to a site at a time, for a stage. It is known before that time.
func (s *site) come(p *packet, stage uint8, when vtime.Time) {
	p.stage, p.when = stage, when
	switch {
	case s.first == nil:
		s.first, s.last, s.until = p, p, when
	case when > s.until || when == s.until && !p.before(s.last): // mostly
		s.last.next, s.last, s.until = p, p, when
	default:
		at := &s.first
		for !p.before(*at) {
			at = &(*at).next
		}
		p.next, *at = *at, p
	}
	if s.due == serving { // it plans when it has served
		return
	}
	if deadline := p.deadline(); deadline < s.due {
		s.schedule(p.from.m, deadline)
	}
}

// schedule has an event serve the site at a time. One that was scheduled for later is void.
func (s *site) schedule(m *Machine, at vtime.Time) {
	s.due = at
	m.kernel.At(at, s, uint64(at), 0)
}

// before tells whether p is served before q, at one site.
func (p *packet) before(q *packet) bool {
	switch {
	case p.when != q.when:
		return p.when < q.when
	case p.stage != q.stage:
		return p.stage < q.stage
	case p.from != q.from:
		return p.from.id < q.from.id
	}
	return p.to.id < q.to.id
}

// Fire implements vtime.Target.
func (s *site) Fire(at, _ uint64) {
	if s.due == vtime.Time(at) {
		s.due = notYet
		s.serve(vtime.Time(at))
	}
}

// serve serves what has come up to now.
func (s *site) serve(now vtime.Time) {
	due := s.due
	s.due = serving
	for p := s.first; p != nil && p.when <= now; p = s.first {
		s.first, p.next = p.next, nil
		if s.first != nil {
			s.first.prefetch()
		}
		p.serve()
	}
	s.due = due
	s.plan()
}

// serving stands for the time of the event of a site that serves packets now, which may come to the site
// again: one event is scheduled afterwards.
const serving vtime.Time = -1

// plan schedules an event for what has not been served, unless there is one that is early enough. Who comes
// after the deadline of another has a later one itself, so plan looks at no more packets than one slack has, however
// many wait.
func (s *site) plan() {
	deadline := s.due
	for p := s.first; p != nil && p.when < deadline; p = p.next {
		deadline = min(deadline, p.deadline())
	}
	if deadline < s.due {
		m := s.first.from.m
		s.schedule(m, max(deadline, m.kernel.Now()))
	}
}

// look serves what has come to a site up to the kernel's time. A proc calls it that looks at what follows
// from that; it may be ahead of the kernel.
func (m *Machine) look(site int) {
	s, now := &m.sites[site], m.kernel.Now()
	if s.first != nil && s.first.when <= now {
		m.looking = true
		s.serve(now)
		m.looking = false
	}
}

// lookAll is look at all sites, and puts in memory what has landed up to now.
func (m *Machine) lookAll() {
	for i := range m.sites {
		m.look(i)
	}
	for _, n := range m.nodes {
		if n != nil {
			n.Look()
		}
	}
}

// rouse wakes a proc, at the kernel's time.
func (m *Machine) rouse(n *Node) {
	if m.looking { // Arrive by a proc that is ahead would be at its own time
		m.kernel.At(m.kernel.Now(), (*roused)(n), 0, 0)
		return
	}
	n.proc.Arrive()
}

// roused is the event that wakes a node's proc.
type roused Node

// Fire implements vtime.Target.
func (n *roused) Fire(_, _ uint64) { n.proc.Arrive() }

// Label implements vtime.Labelled.
func (s *site) Label(_, _ uint64) string {
	for p := s.first; p != nil; p = p.next {
		if p.deadline() <= s.due {
			return p.Label(uint64(p.stage), 0)
		}
	}
	return "nothing"
}

// deadline returns until when p must have been served: right before anything can follow from it at
// another site, or for the sender. So whatever comes to a site is known there before it comes, and the
// order of what comes at one time does not depend on that of events.
func (p *packet) deadline() vtime.Time {
	slack := p.slack()
	if slack == notYet {
		return notYet
	}
	return p.when + max(0, slack-1)
}

// slack returns how long after p has come to a site, for its present stage, something can follow from that
// at the earliest; notYet of an answer that nobody waits for. Of these there are no more than places in the sender's window.
func (p *packet) slack() vtime.Time {
	m := p.from.m
	t := &m.slack
	if t.none {
		return 0
	}
	switch p.stage {
	case inject:
		if p.from == p.to {
			return t.cross
		}
		return t.inject
	case accept:
		return t.accept + p.to.entering()
	case enter, board:
		return p.to.entering()
	}
	switch more, turn := p.route.ahead(); {
	case turn:
		return t.turn
	case more:
		return t.hop
	case !p.answering && t.home:
		return t.arrive + p.to.entering()
	case !p.answering:
		return t.arrive
	case p.kind == store && !p.from.stalled && (p.acct == nil || p.acct.last != nil && p.acct.last != p):
		return notYet // the last one's answer comes behind it, and all that wait for a place in the window serve the site
	}
	return t.answer
}

// entering is the slack of what enters the adapter of a node.
func (n *Node) entering() vtime.Time {
	if n.inward > 0 { // what the node stores into its own memory is answered at once when it has a buffer
		return 0
	}
	return n.m.slack.enter
}

// slacks are the slack of each stage, at least.
type slacks struct {
	none   bool       // tests: each packet is served at its time
	cross  vtime.Time // across the bus
	inject vtime.Time // and through the adapter, over the first link
	hop    vtime.Time // to the next link of a ring
	turn   vtime.Time // and on to another ring
	arrive vtime.Time // to the adapter, and through its receiving half unless that has a second link
	home   bool       // the last link on the way to a host leaves the host's own site
	accept vtime.Time // through the receiving half
	enter  vtime.Time // until the answer is at a second link, and data in memory
	answer vtime.Time // until the answer is taken in
}

func newSlacks(p *Profile, f *fabric) slacks {
	shortest := p.Link.Rate.Time(int(p.Packet.Header + p.Packet.CRC))
	cross := p.Bus.WriteTime(0)
	s := slacks{
		cross:  cross,
		home:   f.switched,
		hop:    p.Link.Hop,
		turn:   p.Link.Hop + f.turn,
		arrive: shortest + p.Link.Hop + p.Adapter.Accept,
		accept: p.Adapter.Receive,
		answer: shortest + p.Link.Hop + p.Adapter.Answer,
	}
	if f.oneWayIn() {
		s.arrive += p.Adapter.Receive
	}
	first, second := min(s.hop, s.arrive), s.hop
	if f.direct() {
		first, second = s.turn, s.turn
	}
	s.inject = cross + p.Adapter.Send + p.Adapter.Forward + first
	s.enter = min(second, cross+p.Memory.Visible, cross+p.Interrupt.Latency, p.Memory.Read+p.Bus.ReadTime(0))
	for _, t := range []*vtime.Time{&s.cross, &s.inject, &s.turn, &s.hop, &s.arrive, &s.accept, &s.enter, &s.answer} {
		*t = min(*t, p.Error.Timeout) // of what fails
	}
	return s
}
