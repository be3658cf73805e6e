package hardware

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Machine is a modelled installation: hosts with their adapters, and the links between them,
// on one kernel. All of it belongs to the kernel's one logical thread.
type Machine struct {
	kernel   *vtime.Kernel
	profile  *Profile
	fabric   fabric
	sites    []site
	slack    slacks
	stores   []cost     // of a store by its bytes
	other    cost       // of the packet that was asked about last, if it is no store
	bare     vtime.Time // that an answer without data takes up a link
	fallible bool       // errors happen
	looking  bool       // a proc has a site serve
	nodes    []*Node
	watchers []func(Event)
	idle     []*packet
	specials []*special
	foreseen vtime.Time // for so long a node knows what it will see of others, see Unchanged
	expected int        // what is going to change something at any node, see Expect
}

// maxNodes is how many nodes SCI can address: 16 bits (IEEE 1596).
const maxNodes = 1 << 16

// New returns a machine of nodes hosts, and enters its buses, adapters and links into the
// kernel's report. Hosts that nothing is done with cost a few bytes.
func New(k *vtime.Kernel, p *Profile, nodes int) (*Machine, error) {
	if nodes < 1 || nodes > maxNodes {
		return nil, fmt.Errorf("hardware: a machine of %d nodes; there can be 1 to %d", nodes, maxNodes)
	}
	m := &Machine{
		kernel:  k,
		profile: p,
		fabric:  newFabric(p, nodes),
		nodes:   make([]*Node, nodes),

		foreseen: min(p.Memory.Visible, p.Interrupt.Latency, p.Error.Detect, p.Call.Connect, p.Call.Disconnect),
	}
	m.slack = newSlacks(p, &m.fabric)
	m.stores = make([]cost, p.PIO.Block+1)
	for n := range m.stores {
		m.stores[n] = m.cost(store, n)
	}
	m.bare = p.Link.Rate.Time(m.wire(store, 0))
	m.fallible = p.Error.Lost > 0 || p.Error.Busy > 0
	m.sites = make([]site, m.fabric.sites())
	for i := range m.sites {
		m.sites[i].due = notYet
	}
	k.CountUsage(m.usage)
	return m, nil
}

// Profile returns the machine's constants, which are not to be changed.
func (m *Machine) Profile() *Profile { return m.profile }

// Nodes returns how many hosts the machine has.
func (m *Machine) Nodes() int { return len(m.nodes) }

// Node returns host i.
func (m *Machine) Node(i int) *Node {
	if m.nodes[i] == nil {
		m.nodes[i] = newNode(m, i)
	}
	return m.nodes[i]
}

// Node is a host with its adapter.
type Node struct {
	m    *Machine
	id   int
	spot spot
	site int
	proc *vtime.Proc

	lost      bool
	knownLost bool // to the other hosts

	bus      vtime.Resource // I/O bus
	sending  vtime.Resource // half of the adapter
	receives vtime.Resource // the other half

	window   []vtime.Time // ring: when the last transactions are answered, or notYet
	oldest   int          // place in window that is taken next
	buffers  buffers      // for bursts that come in
	landed   vtime.Time   // when all that has come in so far is in memory
	landing  landing      // what has come in and has not been put there
	inward   int          // packets from the node to itself
	expected int          // what is going to change something here besides the landing of stores, see Expect
	chance   *rand.Rand   // of errors of what comes in; nil before the first
	channels []hw.Channel // of the DMA engine; made with the first queue
	queues   int          // made so far

	awaited *Account // what the proc waits for, if it does
	stalled bool     // the proc waits for window[oldest]
	counts  Counts
}

// notYet stands for a time that is not known.
const notYet vtime.Time = math.MaxInt64

func newNode(m *Machine, id int) *Node {
	p := m.profile
	return &Node{
		m:       m,
		id:      id,
		spot:    m.fabric.spot(id),
		site:    m.fabric.home(id),
		window:  make([]vtime.Time, p.PIO.Outstanding),
		buffers: buffers{free: make([]vtime.Time, p.Adapter.Buffers)},
	}
}

// Unchanged tells whether flags that others store here, and all that this node's driver knows, are at the
// proc's own time as they are at the kernel's, so that the proc may look at them without a Sync. That
// is known if nothing is on its way from the bus into memory, as what crosses the bus from now on takes
// memory.visible to get there; and if nothing else is expected, as all of that takes longer than a node looks ahead, from
// the Expect that announces it.
func (n *Node) Unchanged() bool {
	now := n.m.kernel.Now()
	if n.landed > now || n.expected > 0 || n.m.expected > 0 || n.proc.Now()-now >= n.m.foreseen {
		return false
	}
	n.m.look(n.site)
	return n.landed <= now
}

// Expect says that something is going to change what this node's driver knows: another node begins a call of its driver
// that takes call.connect or call.disconnect before it changes tables here, or an event of this node's driver is due.
func (n *Node) Expect() { n.expected++ }

// Came says that what was expected has come.
func (n *Node) Came() { n.expected-- }

// Expect is Node.Expect for all nodes: when hosts are going to learn of a change of the machine, or one that retracts a
// segment tells whoever is connected.
func (m *Machine) Expect() { m.expected++ }

// Came says that what was expected has come.
func (m *Machine) Came() { m.expected-- }

// ID returns the node's number in the machine.
func (n *Node) ID() int { return n.id }

// Machine returns the machine that the node is part of.
func (n *Node) Machine() *Machine { return n.m }

// Run says which rank runs on the host. What the host's CPU does is charged to it.
func (n *Node) Run(p *vtime.Proc) {
	n.proc = p
	p.BeforeLook(n)
}

// Proc returns the rank that runs on the host.
func (n *Node) Proc() *vtime.Proc { return n.proc }

// Counts is what a node has done so far.
type Counts struct {
	Bursts   int64      // bursts sent: stores, and chunks of DMA
	Packets  int64      // packets that they were cut into
	Bytes    int64      // bytes moved, either way, that have arrived
	Loads    int64      // round trips of loads and of fetch-and-add
	Refused  int64      // bursts that the other side refused
	Dropped  int64      // bursts, or answers, that were lost
	Stalls   int64      // times the CPU lost time because too many transactions were outstanding
	Bus      vtime.Time // how long the I/O bus worked
	Sending  vtime.Time // how long the adapter's sending half worked
	Receives vtime.Time // how long its receiving half worked
}

// Counts returns what the node has done so far.
func (n *Node) Counts() Counts {
	n.m.lookAll()
	c := n.counts
	c.Bus, c.Sending, c.Receives = n.bus.Busy(), n.sending.Busy(), n.receives.Busy()
	return c
}

// LinkBusy returns how long link i has carried packets.
func (m *Machine) LinkBusy(i int) vtime.Time {
	m.lookAll()
	return m.fabric.links[i].Busy()
}

// next returns the place after i in a ring of n.
func next(i, n int) int {
	if i++; i == n {
		return 0
	}
	return i
}

// strikes tells whether something of that chance happens to what the node takes in now. Each node has chances of its
// own, which are drawn in the order in which packets come to it.
func (n *Node) strikes(c machine.Chance) bool {
	if c <= 0 {
		return false
	}
	if n.chance == nil {
		n.chance = n.m.kernel.Rand(fmt.Sprintf("sci/hardware: errors at node %d", n.id))
	}
	return n.chance.Int64N(int64(machine.Certain)) < int64(c)
}
