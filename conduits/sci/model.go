package sci

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// model is a rank's part of a modelled machine. Live it is nil, and its methods, which charge
// what the conduit's software does to the rank's processor, do nothing.
type model struct {
	proc    *vtime.Proc
	profile *hardware.Profile
	host    *hardware.Node
	owed    vtime.Time // by the present scan, for what is not to be seen yet
}

// site is what the ranks of a modelled job share.
type site struct {
	machine *hardware.Machine
	network *sisci.Network
	hosts   *hosts
	err     error
}

// models are the machines that come with the project, the default first, and other names for
// them.
var models = []string{"d339-2003", "scale", "ntb", "d339"}

// They are read once.
var builtin sync.Map // name → *hardware.Profile

// loadMachine returns a machine: one that comes with the project by name, or a user's own by
// path.
func loadMachine(name string) (*hardware.Profile, error) {
	if p, ok := builtin.Load(name); ok {
		return p.(*hardware.Profile), nil
	}
	p, err := hardware.Load(name)
	if err != nil {
		return nil, fmt.Errorf("sci: %w", err)
	}
	if slices.Contains(models, name) {
		builtin.Store(name, p)
	}
	return p, nil
}

// openModel places the rank on the machine that all ranks of the job share, and opens its
// device.
func (b *base) openModel(a *core.Attachment, limits sisci.Layout) error {
	within, ok := a.Boot.(core.ProcessSharer)
	if !ok {
		return errors.New("sci: the ranks of a modelled job share a process; these do not")
	}
	p, err := b.load(a)
	if err != nil {
		return err
	}
	s := within.Share("sci machine", func() any { return b.newSite(a, p) }).(*site)
	if s.err != nil {
		return s.err
	}
	b.hosts = s.hosts
	limits.Memory = 2*limits.Memory + b.private + int(p.Limit.Segment) // limits cost nothing here, and there may be further sets of flags
	limits.Segments *= 2
	index, _ := s.hosts.place(a.Boot.Rank(), a.Boot.Size())
	b.model = &model{proc: a.Proc, profile: p, host: s.machine.Node(index)}
	b.dev, err = sisci.Open(sisci.Config{Node: b.hosts.node(a.Boot.Rank()), Place: &sisci.Place{
		Network: s.network, Index: index, Proc: a.Proc, Limits: limits, Provide: b.provide,
	}})
	if err != nil {
		return err
	}
	return a.Boot.Barrier() // every device is open before anybody connects
}

func (b *base) newSite(a *core.Attachment, p *hardware.Profile) *site {
	s := &site{}
	n := a.Boot.Size()
	if s.hosts, s.err = b.params.hosts(n); s.err != nil {
		return s
	}
	_, all := s.hosts.place(0, n)
	if s.machine, s.err = hardware.New(a.Proc.Kernel(), p, all); s.err == nil {
		s.network = sisci.NewNetwork(s.machine)
	}
	return s
}

// load returns the machine, which is read once for all ranks of a job.
func (b *base) load(a *core.Attachment) (*hardware.Profile, error) {
	read := sync.OnceValues(func() (*hardware.Profile, error) { return loadMachine(b.machine) })
	if within, ok := a.Boot.(core.ProcessSharer); ok {
		read = within.Share("sci machine file", func() any { return read }).(func() (*hardware.Profile, error))
	}
	return read()
}

// Lost implements core.LossDetector: this rank's node crashes.
func (c *paper) Lost() { c.model.host.Machine().Lose(c.model.host.ID()) }

// maxSegment returns the bytes of the largest segment.
func (c *paper) maxSegment(a *core.Attachment) (int, error) {
	if c.machine == "" {
		return 1 << 32, nil // what a header can address
	}
	p, err := c.load(a)
	if err != nil {
		return 0, err
	}
	return int(p.Limit.Segment), nil
}

// watched returns what is told of a connection to a peer: when it is lost, so is the job. A
// peer that has closed its device disconnects too, but that is told by its bootstrap.
func (b *base) watched(p *remote) sisci.RemoteCallback {
	return func(ev sisci.RemoteEvent) sisci.Action {
		switch {
		case ev.Reason == sisci.EventLost:
			b.failLost(p)
		case ev.Reason == sisci.EventDisconnect && !errors.Is(b.dev.Probe(p.node), sisci.ErrNodeNotResponding):
			b.unreached(p, "it has disconnected its segment")
		default:
			return sisci.Continue
		}
		return sisci.Cancel
	}
}

// lost asks for a peer's node when something has failed. It takes no longer than error.detect
// until the hosts know of a loss that is the reason.
func (b *base) lost(p *remote) bool {
	index, _ := b.hosts.place(p.rank, b.size)
	node := b.model.host.Machine().Node(index)
	if !node.Lost() {
		b.model.proc.Charge(b.model.profile.Error.Detect)
		b.model.proc.Sync()
	}
	return node.Lost()
}

// failLost ends the job because a peer's node is lost.
func (b *base) failLost(p *remote) {
	b.port.Fail(&core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("sci: rank %d: the node of rank %d is lost", b.group[b.me], p.rank)})
}

// layOut returns the layout of the control segment for the group.
func (c *paper) layOut(a *core.Attachment) (controlLayout, error) {
	n := len(a.Group)
	if c.machine == "" {
		return published(n), nil
	}
	p, err := c.load(a)
	if err != nil {
		return controlLayout{}, err
	}
	bank := 0
	if p.Layout.Flags == "summary" {
		bank = p.Layout.Bank
	}
	switch {
	case p.Layout.Connect == "first-use":
		return onDemand(bank), nil
	case bank > 0:
		return controlLayout{}, fmt.Errorf("sci: machine %s: layout.flags summary needs layout.connect first-use", c.machine)
	}
	return published(n), nil
}

// poll brings the kernel to the rank's time, so that it sees what has arrived, and charges the
// look at a flag.
func (m *model) poll() {
	m.proc.Charge(m.profile.Host.Call + m.profile.Host.Test)
	m.catchUp()
}

// slot charges the look for a free message location.
func (m *model) slot() {
	if m != nil {
		m.proc.Charge(m.profile.Host.Slot)
	}
}

// build charges the making of a header and the look-up of where it goes.
func (m *model) build() {
	if m != nil {
		h := &m.profile.Host
		m.proc.Charge(h.Build + h.LookUp)
	}
}

// copied charges a copy of n bytes in memory.
func (m *model) copied(n int) {
	if m != nil && n > 0 {
		m.proc.Charge(m.profile.Host.Copy + m.profile.Host.CopyRate.Time(n))
	}
}

// scans lets the time of a look at words of flags pass. A poll is no instant: what arrives in the
// meantime is there afterwards.
func (m *model) scans(words int) {
	if m != nil {
		m.step(vtime.Time(words) * m.profile.Host.Scan)
	}
}

// cleared lets the time pass that clearing a flag has taken, as scans does.
func (m *model) cleared() {
	if m != nil {
		m.step(m.profile.Host.Clear)
	}
}

// enqueued charges the queueing of a message that was found, with the next step or at the end.
func (m *model) enqueued() {
	if m != nil {
		m.owed += m.profile.Host.Enqueue
	}
}

// step lets the time of a step of a scan pass. The kernel is brought there only if something may have
// come until then: of all other steps scanned notes the last one.
func (m *model) step(d vtime.Time) {
	m.proc.Charge(m.owed + d)
	m.owed = 0
	m.catchUp()
}

// catchUp brings the kernel to the rank's time if something may have come until then.
func (m *model) catchUp() {
	if !m.host.Unchanged() {
		m.proc.Sync()
	}
}

// scanned brings the kernel to the last step of a scan.
func (m *model) scanned() {
	if m != nil {
		m.catchUp()
		m.proc.Charge(m.owed)
		m.owed = 0
	}
}

// dispatched charges the way from the work queue into a handler.
func (m *model) dispatched() {
	if m != nil {
		m.proc.Charge(m.profile.Host.Dispatch)
	}
}
