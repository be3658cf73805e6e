package component_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func profile(t testing.TB) *component.Profile {
	t.Helper()
	p, err := component.Load("epos-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// node is a component of any composition.
type node interface {
	component.Network
	component.Grouped
	Protocols() component.Protocol
	Counts() component.Counts
	NIC() *lanai.NIC
	Post([]byte) error
	Ask(node int, protocols component.Protocol, mtu int, done func(error)) error
	Carry(node, protocol int, unit []byte, done func(error)) error
	Evaluate(protocol int, f func(int, []byte)) error
	Activate(int, component.Protocol) error
	SetGroup(int, ...int) error
	SetMTU(int) error
	SetRoute(int, []byte) error
	Compute(vtime.Time)
	Trace(func(component.Point, component.Protocol))
}

// hosts are nodes at a switch.
type hosts struct {
	*vtime.Simulation
	f     *fabric.Fabric
	Nodes []node
}

// A composition makes nodes.
type composition func(p *component.Profile, traits component.Traits, n int) (*hosts, error)

// of returns the composition that S names.
func of[S any]() composition {
	return func(p *component.Profile, traits component.Traits, n int) (*hosts, error) {
		b, err := component.NewBed[S](p, traits, n, 1)
		if err != nil {
			return nil, err
		}
		h := &hosts{Simulation: b.Simulation, f: b.Fabric}
		for _, c := range b.Nodes {
			h.Nodes = append(h.Nodes, c)
		}
		return h, nil
	}
}

// The compositions that most tests are about.
var (
	baseline   = of[[0]byte]()
	reliable   = of[[component.Active | component.Reliability]byte]()
	credits    = of[[component.Credits]byte]()
	safe       = of[[component.Reliability | component.Credits]byte]()
	rendezvous = of[[component.Adaptive | component.Rendezvous]byte]()
	everything = of[[component.All]byte]()
)

// bed returns nodes of a composition.
func (c composition) bed(t testing.TB, p *component.Profile, traits component.Traits, n int) *hosts {
	t.Helper()
	b, err := c(p, traits, n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text returns n bytes that tell messages apart.
func text(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*3 + seed*11)
	}
	if n >= 4 {
		binary.BigEndian.PutUint32(b, uint32(seed))
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// small are traits with which messages of some hundred bytes have several frames, some by DMA, and rings go round.
func small() component.Traits {
	t := component.Defaults()
	t.MTU, t.Small, t.Long = 128, 64, 300
	t.Staging, t.RxFIFO = 32, 8
	t.Timeout, t.Tries = 200*vtime.Microsecond, 1000
	return t
}

// sizes are those of messages in turn: none, small, one frame, several.
var sizes = []int{4, 0, 128, 64, 500, 65, 1000, 129, 299, 300}

// flood is all nodes' messages to all others.
type flood struct {
	got  map[[2]int]int // messages from a node to another one
	done int
}

// start has each node send n messages to each other one, and checks what comes: byte by byte, in order, once.
func start(t *testing.T, b *hosts, n int) *flood {
	f := &flood{got: map[[2]int]int{}}
	for self, c := range b.Nodes {
		must(t, c.Handle(1, func(m *component.Message) {
			way := [2]int{m.From, self}
			i := f.got[way]
			if want := text(sizes[i%len(sizes)], i+100*m.From); !bytes.Equal(m.AppendTo(nil), want) {
				t.Errorf("%v: message %d of %v has come as %d B, want %d", c.Protocols(), i, way, m.Len(), len(want))
			}
			f.got[way]++
			if c.Protocols()&component.Rendezvous != 0 && m.Len() >= 129 && len(m.Parts) == 1 && cap(m.Parts[0]) == posted {
				must(t, c.Post(m.Parts[0][:posted]))
			}
		}))
		if c.Protocols()&component.Rendezvous != 0 {
			for range 4 {
				must(t, c.Post(make([]byte, posted)))
			}
		}
		for to := range b.Nodes {
			if to == self {
				continue
			}
			i := 0
			var next func(error)
			next = func(err error) {
				must(t, err)
				if i < n {
					i++
					must(t, c.Send(to, 1, text(sizes[(i-1)%len(sizes)], i-1+100*self), func(err error) { f.done++; next(err) }))
				}
			}
			next(nil)
			next(nil)
		}
	}
	return f
}

// posted is the size of posted buffers.
const posted = 1001

// all fails the test unless all messages have come.
func (f *flood) all(t *testing.T, nodes, n int) {
	t.Helper()
	if want := nodes * (nodes - 1) * n; f.done != want {
		t.Errorf("%d of %d messages are done", f.done, want)
	}
	for a := range nodes {
		for b := range nodes {
			if a != b && f.got[[2]int{a, b}] != n {
				t.Errorf("%d of %d messages from %d to %d", f.got[[2]int{a, b}], n, a, b)
			}
		}
	}
}

// delivery has a composition carry messages of all sizes between three nodes, and with Reliability over cables that lose and
// corrupt frames.
func (c composition) delivery(t *testing.T) {
	p := profile(t)
	b := c.bed(t, p, small(), 3)
	const n = 30
	set := b.Nodes[0].Protocols()
	if set&component.Reliability != 0 {
		p.Fabric.Error.Lose, p.Fabric.Error.Corrupt, p.Fabric.Error.Truncate = machine.Certain/30, machine.Certain/50, machine.Certain/50
	}
	f := start(t, b, n)
	b.RunUntil(2 * vtime.Second)
	f.all(t, 3, n)
	var resent, wrong uint64
	for _, c := range b.Nodes {
		k := c.Counts()
		resent += k.Resent
		wrong += k.Malformed + k.Foreign + k.Stray + k.NoCredit + k.BadBuffer + k.Unknown + k.Refused + k.Overwritten + k.NoPort
	}
	if wrong > 0 || (resent > 0) != (set&component.Reliability != 0) {
		t.Errorf("%v: %d frames were wrong, %d sent again", set, wrong, resent)
	}
}

// actors are the protocols that act at each point-cut.
var actors = map[component.Point]component.Protocol{
	component.Handed:    component.MTU | component.Adaptive | component.Rendezvous,
	component.Addressed: component.Multicast,
	component.Ready:     component.Active | component.Reliability | component.Credits,
	component.Leaving:   component.Active | component.Reliability | component.Credits,
	component.Arrived:   component.Active | component.Reliability | component.Credits,
	component.Placed:    component.Credits | component.Rendezvous,
	component.Taken:     component.Credits | component.Adaptive | component.Rendezvous,
	component.Released:  component.Credits,
}

// order has all protocols of a composition act, and compares who is called where, and in which order.
func (of composition) order(t *testing.T) {
	b := of.bed(t, profile(t), small(), 3)
	called, last := map[component.Point]component.Protocol{}, map[component.Point]component.Protocol{}
	c := b.Nodes[0]
	set := c.Protocols() &^ component.Traced
	c.Trace(func(at component.Point, p component.Protocol) {
		if p != 0 && p <= last[at] {
			t.Errorf("%v: at %v %v is called after %v", set, at, p, last[at])
		}
		last[at] = p
		called[at] |= p
	})
	f := start(t, b, 10)
	if set&component.Multicast != 0 {
		must(t, c.SendGroup(component.Everybody, 2, text(200, 1), nil))
	}
	if set&component.Active != 0 {
		must(t, c.Ask(1, 0, 0, nil))
	}
	b.RunUntil(vtime.Second)
	f.all(t, 3, 10)
	for at, who := range actors {
		if called[at] != who&set {
			t.Errorf("%v: at %v %v are called, want %v", set, at, called[at], who&set)
		}
	}
}

// TestPairs has each two protocols be in the compositions together, alone, and not at all.
func TestPairs(t *testing.T) {
	var have []component.Protocol
	for _, c := range compositions {
		have = append(have, c.bed(t, profile(t), small(), 2).Nodes[0].Protocols())
	}
	for a := component.Active; a < component.Traced; a <<= 1 {
		for b := a << 1; b < component.Traced; b <<= 1 {
			for _, want := range []component.Protocol{0, a, b, a | b} {
				if want == component.Adaptive && b == component.Rendezvous {
					continue // Adaptive needs it
				}
				if !slices.ContainsFunc(have, func(set component.Protocol) bool { return set&(a|b) == want }) {
					t.Errorf("of %v there is no composition with %v alone", a|b, want)
				}
			}
		}
	}
}

// TestCompositions has combinations of protocols keep the order of calls, and deliver each message once and in order.
func TestCompositions(t *testing.T) {
	for _, c := range compositions {
		set := c.bed(t, profile(t), small(), 2).Nodes[0].Protocols() &^ component.Traced
		t.Run(set.String(), func(t *testing.T) {
			t.Parallel()
			c.order(t)
			c.delivery(t)
		})
	}
}

// copies returns how often the bytes of a message of n bytes are copied on their way.
func (c composition) copies(t *testing.T, n int) float64 {
	b := c.bed(t, profile(t), component.Defaults(), 2)
	came := false
	must(t, b.Nodes[1].Handle(1, func(m *component.Message) { came = bytes.Equal(m.AppendTo(nil), text(n, 1)) }))
	if b.Nodes[1].Protocols()&component.Rendezvous != 0 {
		must(t, b.Nodes[1].Post(make([]byte, n)))
	}
	must(t, b.Nodes[0].Send(1, 1, text(n, 1), nil))
	b.RunUntil(vtime.Second)
	if !came {
		t.Fatal("it has not come")
	}
	s, r := b.Nodes[0].Counts(), b.Nodes[1].Counts()
	return float64(s.HostToNIC+r.NICToNIC+r.NICToHost+r.Staged) / float64(n)
}

// TestCopies has four copies with the staging buffer, and three where a protocol does without.
func TestCopies(t *testing.T) {
	for _, n := range []int{1, 100, 20000} {
		if got := baseline.copies(t, n); got != 4 {
			t.Errorf("%d B: %g copies with the staging buffer", n, got)
		}
		if got := credits.copies(t, n); got != 3 {
			t.Errorf("%d B: %g copies with credits", n, got)
		}
		want := 3.0
		if n < component.Defaults().Long {
			want = 4
		}
		if got := rendezvous.copies(t, n); got != want {
			t.Errorf("%d B: %g copies with rendezvous, want %g", n, got, want)
		}
	}
}

// slow has a node send many messages to one whose processor is busy, and returns its counts. Nothing that comes is torn.
func (c composition) slow(t *testing.T, n int) component.Counts {
	traits := small()
	traits.Staging, traits.RxFIFO = 6, 8
	b := c.bed(t, profile(t), traits, 2)
	to := b.Nodes[1]
	must(t, to.Handle(1, func(m *component.Message) {
		got := m.AppendTo(nil)
		if want := text(len(got), int(binary.BigEndian.Uint32(got))); !bytes.Equal(got, want) {
			t.Errorf("message %d is torn", binary.BigEndian.Uint32(got))
		}
		to.Compute(20 * vtime.Microsecond)
	}))
	i := 0
	var next func(error)
	next = func(error) {
		if i < n {
			i++
			must(t, b.Nodes[0].Send(1, 1, text(300, i), next))
		}
	}
	for range 8 {
		next(nil)
	}
	b.RunUntil(vtime.Second)
	return to.Counts()
}

// TestOverwritten has the baseline refuse messages that are overwritten in the staging buffer, as a whole, and none where a protocol
// guards it.
func TestOverwritten(t *testing.T) {
	const n = 200
	if k := baseline.slow(t, n); k.Overwritten == 0 || k.Messages == 0 || k.Messages+k.Refused != n {
		t.Errorf("baseline: %+v", k)
	}
	if k := credits.slow(t, n); k.Overwritten+k.Refused+k.NoCredit != 0 || k.Messages != n {
		t.Errorf("credits: %+v", k)
	}
}

// TestSmall has the processor write frames up to Traits.Small, and the host DMA fetch larger ones. A small frame leaves at once: how
// long a DMA takes does not matter to it.
func TestSmall(t *testing.T) {
	took := func(size int, start vtime.Time) (vtime.Time, component.Counts) {
		p := profile(t)
		p.DMA.Start = start
		b := baseline.bed(t, p, component.Defaults(), 2)
		var gone vtime.Time
		must(t, b.Nodes[0].Send(1, 1, text(size, 1), func(error) { gone = b.Now() }))
		b.RunUntil(vtime.Second)
		return gone, b.Nodes[0].Counts()
	}
	const late = 50 * vtime.Microsecond
	limit := component.Defaults().Small
	for size, fetched := range map[int]uint64{0: 0, 1: 0, limit: 0, limit + 1: 1, 4096: 1, 4097: 1} {
		soon, k := took(size, 0)
		after, _ := took(size, late)
		if d := after - soon; k.Fetched != fetched || fetched == 0 && d != 0 || fetched > 0 && d < late-vtime.Microsecond {
			t.Errorf("%d B: %d frames by DMA, want %d; %v later if a DMA begins %v later", size, k.Fetched, fetched, d, late)
		}
	}
}

// TestSmallest has one of everything.
func TestSmallest(t *testing.T) {
	t.Run("all", func(t *testing.T) { everything.smallest(t, 2) })
	t.Run("staging", func(t *testing.T) { reliable.smallest(t, 32) })
}

func (c composition) smallest(t *testing.T, staging int) {
	p, traits := profile(t), small()
	traits.SendRing, traits.ReceiveRing, traits.TxRequests, traits.RxRequests, traits.TxFIFO, traits.RxFIFO = 1, 1, 1, 1, 1, 1
	traits.Staging, traits.Window, traits.Posted = staging, 1, 4
	p.Fabric.Error.Lose = machine.Certain / 50
	b := c.bed(t, p, traits, 3)
	f := start(t, b, 20)
	b.RunUntil(2 * vtime.Second)
	f.all(t, 3, 20)
}

// TestMemory compares what compositions have in the SRAM, and has too much refused.
func TestMemory(t *testing.T) {
	p := profile(t)
	base := used(baseline.bed(t, p, component.Defaults(), 4))
	for _, name := range []string{"Send Ring", "Receive Ring", "chain Tx DMA Requests", "chain Rx DMA Requests", "doorbell FIFO", "Rx FIFO Queue"} {
		if base[name] == 0 {
			t.Errorf("the baseline has no %s: %v", name, base)
		}
	}
	all := used(everything.bed(t, p, component.Defaults(), 4))
	for name := range base {
		delete(all, name)
	}
	for _, name := range []string{"Active", "Reliability", "Credits", "Multicast", "MTU", "Rendezvous"} {
		if all[name] == 0 || base[name] != 0 {
			t.Errorf("%s has %d B, and %d without it", name, all[name], base[name])
		}
		delete(all, name)
	}
	if len(all) > 0 {
		t.Errorf("protocols have %v besides", all)
	}
	traits := component.Defaults()
	traits.SendRing = 1000
	if _, err := baseline(p, traits, 2); err == nil || !strings.Contains(err.Error(), "Send Ring needs") {
		t.Errorf("1000 frames in the Send Ring: %v", err)
	}
}

// used returns what has how much of a node's SRAM.
func used(b *hosts) map[string]int {
	m := map[string]int{}
	for _, r := range b.Nodes[0].NIC().SRAM.Regions() {
		m[r.Name] = int(r.Size)
	}
	return m
}

// TestTraits has traits refused that make no sense, by name.
func TestTraits(t *testing.T) {
	for name, change := range map[string]func(*component.Traits){
		"SendRing": func(t *component.Traits) { t.SendRing = 0 }, "ReceiveRing": func(t *component.Traits) { t.ReceiveRing = -1 },
		"TxRequests": func(t *component.Traits) { t.TxRequests = 0 }, "RxRequests": func(t *component.Traits) { t.RxRequests = 0 },
		"TxFIFO": func(t *component.Traits) { t.TxFIFO = 0 }, "RxFIFO": func(t *component.Traits) { t.RxFIFO = 0 },
		"MTU": func(t *component.Traits) { t.MTU = 63 }, "Small": func(t *component.Traits) { t.Small = t.MTU + 1 },
		"Staging": func(t *component.Traits) { t.Staging = 2 }, "Messages": func(t *component.Traits) { t.Messages = 0 },
		"Window": func(t *component.Traits) { t.Window = 0 }, "Timeout": func(t *component.Traits) { t.Timeout = 0 },
		"Tries": func(t *component.Traits) { t.Tries = 0 }, "Groups": func(t *component.Traits) { t.Groups = -1 },
		"Posted": func(t *component.Traits) { t.Posted = 0 }, "Long": func(t *component.Traits) { t.Long = 0 },
		"Probe": func(t *component.Traits) { t.Probe = 1 },
	} {
		traits := component.Defaults()
		change(&traits)
		if _, err := everything(profile(t), traits, 4); err == nil || !strings.Contains(err.Error(), "Traits."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCalls has calls refused that make no sense.
func TestCalls(t *testing.T) {
	b := baseline.bed(t, profile(t), component.Defaults(), 2)
	c := b.Nodes[0]
	for what, err := range map[string]error{
		"node 2": c.Send(2, 1, nil, nil), "itself": c.Send(0, 1, nil, nil), "port": c.Send(1, 1<<16, nil, nil), "size": c.Send(1, 1, make([]byte, 4096<<16+1), nil),
		"handler": c.Handle(-1, nil), "MTU": c.SetMTU(100), "group": c.SendGroup(0, 1, nil, nil), "members": c.SetGroup(1, 1), "buffer": c.Post(make([]byte, 1)),
		"capsule": c.Carry(1, 1, nil, nil), "ask": c.Ask(1, 0, 0, nil), "evaluate": c.Evaluate(1, nil), "activate": c.Activate(1, 0),
		"route": c.SetRoute(1, []byte{1}), "route's length": c.SetRoute(1, bytes.Repeat([]byte{0x81}, 17)), "route's node": c.SetRoute(0, nil),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for range component.Defaults().Messages {
		must(t, c.Send(1, 1, nil, nil))
	}
	if err := c.Send(1, 1, nil, nil); err != component.ErrNoRoom {
		t.Error(err)
	}
	b.RunUntil(vtime.Second)
	must(t, c.Send(1, 1, nil, nil))
	if k := b.Nodes[1].Counts(); k.NoPort != uint64(component.Defaults().Messages) {
		t.Errorf("nobody listens: %+v", k)
	}
	all := everything.bed(t, profile(t), component.Defaults(), 2).Nodes[0]
	for what, err := range map[string]error{
		"MTU": all.SetMTU(4097), "least MTU": all.SetMTU(63), "group": all.SendGroup(1, 1, nil, nil), "members": all.SetGroup(1, 0), "twice": all.SetGroup(1, 1, 1),
		"buffer": all.Post(nil), "unit": all.Carry(1, 1, make([]byte, 4097), nil), "protocol": all.Carry(1, 0, nil, nil),
		"activate": all.Activate(1, component.Credits), "evaluate": all.Evaluate(0, nil), "ask": all.Ask(1, 0, -1, nil),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
