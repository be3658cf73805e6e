package hardware

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// landing is the writes that have crossed the bus of a host, linked by behind. They land in that order.
//
// Only who looks at the memory can tell when bytes are put there: the rank that runs on the host, before each look, the
// adapter when it reads, and events of the host's driver. All of them call Look, so that a landing needs an event only if it
// is to tell a proc, or nobody runs on the host, or many packets wait for somebody to look.
type landing struct {
	first, last *packet
	waiting     int // so many
}

// mostLandings is how many packets may wait for somebody to look.
const mostLandings = 64

// land has a write, which has crossed the bus last, land in memory.
func (n *Node) land(p *packet) {
	l := &n.landing
	p.lands = n.landed
	if l.first == nil {
		l.first, l.last = p, p
	} else {
		l.last.behind, l.last = p, p
	}
	if l.waiting++; p.told != nil || l.waiting > mostLandings || n.proc == nil || n.proc.Ended() {
		n.m.kernel.At(p.lands, (*landed)(n), 0, 0)
	}
}

// Look implements vtime.Looker: it puts in memory what has landed by the kernel's time.
func (n *Node) Look() {
	if n.landing.first != nil {
		n.put(n.m.kernel.Now())
	}
}

func (n *Node) put(now vtime.Time) {
	l := &n.landing
	for p := l.first; p != nil && p.lands <= now; p = l.first {
		l.first, p.behind = p.behind, nil
		l.waiting--
		p.put(n)
		p.over() // a store's answer may be on its way still
	}
}

// landed is the event of a landing.
type landed Node

// Fire implements vtime.Target.
func (n *landed) Fire(_, _ uint64) { (*Node)(n).Look() }

// Label implements vtime.Labelled.
func (n *landed) Label(_, _ uint64) string {
	if p := n.landing.first; p != nil {
		return p.Label(uint64(land), 0)
	}
	return "nothing" // who has looked at this very time has put it there
}
