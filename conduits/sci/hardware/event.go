package hardware

// EventKind says what happened to the machine.
type EventKind uint8

const (
	LinkCut EventKind = iota // a link does not work any more
	LinkMended
	NodeLost
)

// Event is a change of the machine as hosts learn it.
type Event struct {
	Kind EventKind
	Link int // LinkCut, LinkMended: its number
	Node int // NodeLost: its number
}

// Watch has f called, by an event, for every change of the machine, as late as the hosts
// learn of it (error.detect after it happened).
func (m *Machine) Watch(f func(Event)) { m.watchers = append(m.watchers, f) }

// SetLink cuts link i, or mends it, at the kernel's present time. What is on it already
// arrives. Every transaction whose request or answer needs a cut link fails.
func (m *Machine) SetLink(i int, works bool) {
	m.lookAll()
	l, kind := &m.fabric.links[i], LinkCut
	if works {
		kind = LinkMended
	}
	if l.cut == works {
		l.cut = !works
		m.fabric.cuts++
		if works {
			m.fabric.cuts -= 2
		}
	}
	m.tell(kind, i)
}

// Lose crashes host i, at the kernel's present time: it answers nothing any more, and nothing
// that its adapter has not sent yet is sent. Its adapter still passes on what others send
// through it.
func (m *Machine) Lose(i int) {
	n := m.Node(i)
	if n.lost {
		return
	}
	m.lookAll()
	n.lost = true
	m.tell(NodeLost, i)
}

// Lost tells whether the host has been lost, as far as the others know.
func (n *Node) Lost() bool { return n.knownLost }

// Reaches tells whether stores of n to another node come through at present. Drivers learn
// that by probing, so they ask it when the probe's time has been charged.
func (n *Node) Reaches(to *Node) bool { return n.m.reaches(n, to) }

func (m *Machine) tell(kind EventKind, i int) {
	m.Expect()
	m.kernel.At(m.kernel.Now()+m.profile.Error.Detect, (*notice)(m), uint64(kind), uint64(i))
}

// notice tells the watchers of a change.
type notice Machine

// Fire implements vtime.Target.
func (n *notice) Fire(kind, i uint64) {
	(*Machine)(n).Came()
	e := Event{Kind: EventKind(kind), Link: int(i)}
	if e.Kind == NodeLost {
		e = Event{Kind: NodeLost, Node: int(i)}
		n.nodes[i].knownLost = true
	}
	for _, f := range n.watchers {
		f(e)
	}
}
