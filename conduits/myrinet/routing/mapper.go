package routing

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Settings are the constants of mappers, which all of a network share.
type Settings struct {
	Ports    int        // of a switch, at the most; 0: fabric.DefaultPorts
	Timeout  vtime.Time // for an answer; longer than any packet is under way; 0: 100 µs
	Tries    int        // of each question; more where packets are lost; 0: 2
	Interval vtime.Time // from the end of a round of the mapper to the next; 0: 1 s
	Patience vtime.Time // a host that has heard of no mapper for so long becomes one; 0: 3 s
	Options  Options    // of the routes; Root -1: the center
}

func (s *Settings) complete() {
	if s.Ports == 0 {
		s.Ports = fabric.DefaultPorts
	}
	if s.Tries == 0 {
		s.Tries = 2
	}
	for at, value := range map[*vtime.Time]vtime.Time{&s.Timeout: 100 * vtime.Microsecond, &s.Interval: vtime.Second, &s.Patience: 3 * vtime.Second} {
		if *at == 0 {
			*at = value
		}
	}
}

// Agent is the part of a host's control program that maps: it answers mappers, takes its routes from the one that is
// elected, and is that itself if no host with a lower name is there. It runs on events of a loop.
type Agent struct {
	loop     *vtime.Loop
	name     string
	settings Settings
	send     func(fabric.Packet)
	changed  func()

	timer   *vtime.Timer // for an answer, the next round, or patience
	mapper  string       // whom the routes are from; "" for nobody
	entries []Entry
	parts   []Entry // of a mapper that has not told all yet
	heard   int     // how many parts these are
	teller  string  // that mapper
	tells   uint32  // and Message.Round of the parts
	stopped bool

	// A round of this host as the mapper.
	round  *round
	serial uint32
	last   Report
}

// Report says how a round of a mapper has ended.
type Report struct {
	Rounds   int // complete ones, this included
	Topology *fabric.Topology
	Table    *Table
	Asked    int      // packets that were sent, with repetitions
	Missing  []string // hosts that have not acknowledged their routes
	Lost     []string // hosts on the map of the round before that are not on this one
	Err      error    // no table could be made; Table is nil then
}

// NewAgent returns the agent of a host, whose name no other has and which [fabric.CheckName] accepts. The agent sends
// packets by send, which may queue them but not call the agent. Changed is called when there are new routes; it may be
// nil.
func NewAgent(loop *vtime.Loop, name string, s Settings, send func(fabric.Packet), changed func()) (*Agent, error) {
	s.complete()
	if err := fabric.CheckName(name); err != nil {
		return nil, fmt.Errorf("routing: an agent of a host whose name is wrong: %w", err)
	}
	if s.Ports < 1 || s.Ports > fabric.MaxPorts {
		return nil, fmt.Errorf("routing: switches of %d ports; they have 1 to %d", s.Ports, fabric.MaxPorts)
	}
	a := &Agent{loop: loop, name: name, settings: s, send: send, changed: changed}
	a.timer = loop.NewTimer(a, 0, 0)
	return a, nil
}

// Label names the agent's events in traces.
func (a *Agent) Label(_, _ uint64) string { return "mapper " + a.name }

// Start has the host map the network, as far as no better one does.
func (a *Agent) Start() {
	a.stopped = false
	a.begin()
}

// Stop ends all that the agent does, until Start, as when the host is switched off: it does not answer either.
func (a *Agent) Stop() {
	a.stopped = true
	a.abandon()
	a.timer.Stop()
}

// Mapper returns the name of the host whose routes this one has, or "".
func (a *Agent) Mapper() string { return a.mapper }

// Entries returns the routes from this host to others, as the mapper gave them.
func (a *Agent) Entries() []Entry { return a.entries }

// Report returns how the last complete round of this host as the mapper has ended.
func (a *Agent) Report() Report { return a.last }

// Fire is what happens when the timer expires.
func (a *Agent) Fire(_, _ uint64) {
	if a.round != nil {
		a.late()
		return
	}
	a.begin()
}

// Receive takes a packet that has come to the host, behind its route and without its CRC. It returns an error for
// one that it does not understand, which is to be dropped.
func (a *Agent) Receive(b []byte) error {
	m, err := Decode(b)
	if err != nil || a.stopped {
		return err
	}
	switch m.Kind {
	case Scout:
		a.reply(&m, Reply)
		a.meet(m.From)
	case Routes:
		if m.From > a.name {
			return nil // of a mapper that has not heard yet of this better one
		}
		if m.Part == 0 {
			a.parts, a.heard, a.teller, a.tells = nil, 0, m.From, m.Round
		}
		switch {
		case m.Part > a.heard, m.From != a.teller, m.Round != a.tells:
			return nil // a part before has not come, or others have come since
		case m.Part == a.heard:
			a.parts, a.heard = append(a.parts, m.Entries...), a.heard+1
			if m.More == 0 {
				a.install(m.From, a.parts)
			}
		}
		a.reply(&m, Taken)
		a.meet(m.From)
	default:
		a.answered(&m)
	}
	return nil
}

// install takes routes into use.
func (a *Agent) install(mapper string, entries []Entry) {
	a.mapper, a.entries = mapper, entries
	if a.changed != nil {
		a.changed()
	}
}

func (a *Agent) reply(m *Message, k MessageKind) {
	answer := Message{Kind: k, Serial: m.Serial, From: a.name}
	a.send(fabric.Packet{Head: answer.Append(slices.Clone(m.Back))})
}

// meet decides, of this host and another that maps, which one goes on.
func (a *Agent) meet(other string) {
	if other < a.name {
		a.abandon()
		a.timer.Reset(a.loop.Now().Plus(a.settings.Patience))
	} else if _, set := a.timer.Set(); !set {
		a.begin()
	}
}

// round is one round of a mapper: a coroutine that asks questions, as it is easier to read than a state machine.
type round struct {
	next   func() (request, bool)
	stop   func()
	asked  request
	tries  int
	result answer
	sent   int
	mine   []Entry
}

// request is a packet of a round, and what answers it.
type request struct {
	route   []byte
	message Message
	answer  MessageKind
}

// begin starts a round.
func (a *Agent) begin() {
	a.abandon()
	r := new(round)
	a.round = r
	r.next, r.stop = iter.Pull(func(yield func(request) bool) { a.work(r, yield) })
	a.step()
}

// abandon ends a round before its end.
func (a *Agent) abandon() {
	if r := a.round; r != nil {
		a.round = nil
		r.stop()
	}
}

// step goes on to the next question of the round.
func (a *Agent) step() {
	r := a.round
	q, ok := r.next()
	if !ok {
		a.round = nil
		a.timer.Reset(a.loop.Now().Plus(a.settings.Interval))
		if a.last.Err == nil {
			a.install(a.name, r.mine)
		}
		return
	}
	r.asked, r.tries = q, 0
	a.transmit()
}

// transmit sends the question of the round.
func (a *Agent) transmit() {
	r := a.round
	r.tries++
	r.sent++
	a.serial++ // a late answer to the packet before is none to this one
	r.asked.message.Serial = a.serial
	a.send(fabric.Packet{Head: r.asked.message.Append(slices.Clone(r.asked.route))})
	a.timer.Reset(a.loop.Now().Plus(a.settings.Timeout))
}

// late is called when no answer has come.
func (a *Agent) late() {
	if a.round.tries < a.settings.Tries {
		a.transmit()
		return
	}
	a.round.result = answer{}
	a.step()
}

// answered takes what may be the answer to the question of the round.
func (a *Agent) answered(m *Message) {
	r := a.round
	if r == nil || m.Serial != a.serial || m.Kind != r.asked.answer || (m.Kind == Probe) != (m.From == a.name) {
		return
	}
	if m.From < a.name { // that one is to map
		a.abandon()
		a.timer.Reset(a.loop.Now().Plus(a.settings.Patience))
		return
	}
	r.result = answer{true, m.From}
	a.step()
}

// stopped is what the coroutine of a round panics with when it is abandoned.
type stopped struct{}

// work is the coroutine of a round: it explores, makes a table, and tells everybody.
func (a *Agent) work(r *round, yield func(request) bool) {
	defer func() {
		if v := recover(); v != nil && v != any(stopped{}) {
			panic(v)
		}
	}()
	ask := func(q request) answer {
		if !yield(q) {
			panic(stopped{})
		}
		return r.result
	}
	x := &explorer{name: a.name, ports: a.settings.Ports, ask: func(q question) answer {
		m := Message{Kind: q.kind, From: a.name, Back: deltas(q.back)}
		return ask(request{deltas(q.route), m, map[MessageKind]MessageKind{Probe: Probe, Scout: Reply}[q.kind]})
	}}
	x.explore()
	report := Report{Rounds: a.last.Rounds + 1, Topology: x.topology()}
	o := a.settings.Options
	switch err := report.Topology.Check(); {
	case err != nil: // answers contradicted each other
		report.Err = fmt.Errorf("routing: %s has found what cannot be: %w; names of hosts must differ", a.name, err)
	case len(x.found) == 0:
		report.Table = cabled(report.Topology)
	default:
		if o.Root < 0 {
			o.Root = Center(report.Topology)
		}
		o.Root = min(o.Root, len(x.found)-1)
		report.Table, report.Err = NewTable(report.Topology, o)
	}
	if report.Err == nil {
		report.Missing = a.distribute(report.Table, ask)
	}
	report.Asked = r.sent
	if a.last.Topology != nil {
		for _, name := range a.last.Topology.Hosts {
			if _, there := report.Topology.Host(name); !there {
				report.Lost = append(report.Lost, name)
			}
		}
	}
	a.last = report
}

// cabled returns the table of a topology without switches.
func cabled(t *fabric.Topology) *Table {
	table := &Table{t: t, cabling: t.Cabling(), routes: make([][]Route, len(t.Hosts))}
	for h := range t.Hosts {
		table.routes[h] = make([]Route, len(t.Hosts))
	}
	table.direct()
	return table
}

// distribute tells all hosts their routes, and returns the names of those that have not answered.
func (a *Agent) distribute(t *Table, ask func(request) answer) (missing []string) {
	me, _ := t.t.Host(a.name)
	ways := t // by ways without a stop, as hosts in transit may not know yet what to do
	if len(t.t.Switches) > 0 {
		o := t.Options
		o.Scheme = UpDown
		var err error
		if ways, err = NewTable(t.t, o); err != nil {
			panic(err) // the topology has been checked for the other table
		}
	}
	for h, name := range t.t.Hosts {
		entries := t.entries(h)
		if h == me {
			a.round.mine = entries
			continue
		}
		there, back := ways.Route(me, h), ways.Route(h, me)
		if there == nil || back == nil {
			missing = append(missing, name)
			continue
		}
		parts, number := split(entries), a.serial // other routes have another number, since each part takes a serial
		for i, part := range parts {
			m := Message{Kind: Routes, From: a.name, Back: t.Bytes(back[0]), Round: number, Part: i, More: len(parts) - 1 - i, Entries: part}
			if got := ask(request{t.Bytes(there[0]), m, Taken}); !got.ok || got.from != name {
				missing = append(missing, name)
				break
			}
		}
	}
	slices.SortFunc(missing, strings.Compare)
	return missing
}

// partSize is about how many bytes of routes a message has, so that it fits into a NIC's buffer and is not long under way.
const partSize = 1024

// split divides the routes of a host among messages; there is one at least.
func split(entries []Entry) (parts [][]Entry) {
	size, first := 0, 0
	for i := range entries {
		n := len(entries[i].append(nil))
		if size += n; size > partSize && i > first {
			parts = append(parts, entries[first:i])
			first, size = i, n
		}
	}
	return append(parts, entries[first:])
}

// entries returns the routes of a host as they are told.
func (t *Table) entries(from int) (all []Entry) {
	for to, r := range t.routes[from] {
		if r == nil {
			continue
		}
		e := Entry{To: t.t.Hosts[to]}
		for _, leg := range r {
			e.Legs = append(e.Legs, t.Bytes(leg))
		}
		for _, h := range t.Transit(r) {
			e.Transit = append(e.Transit, t.t.Hosts[h])
		}
		all = append(all, e)
	}
	return all
}

// deltas returns route bytes.
func deltas(path []int) []byte {
	b := make([]byte, len(path))
	for i, d := range path {
		b[i] = fabric.RouteByte(d)
	}
	return b
}
