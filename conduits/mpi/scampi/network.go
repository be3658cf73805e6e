package scampi

import (
	"errors"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func init() { mpi.Register("mpi", network) }

// network is the profile of the mpi conduit.
var network = mpi.Network{
	Name:     "scampi",
	Summary:  "ScaMPI on SCI, modelled",
	Modelled: true,
	Settings: func() settings.Table { return table(new(string)) },
	Open:     func(s *mpi.Spec) (mpi.Transport, error) { return open(s) },
}

// site is what the ranks of a job share.
type site struct {
	profile *Profile
	network *sisci.Network
	err     error
}

// newSite reads the machine file and builds the machine.
func newSite(s *mpi.Spec, machine string) *site {
	p, err := Load(machine)
	if err != nil {
		return &site{err: &settings.Error{Conduit: "mpi", Key: "machine", Value: machine, Why: err.Error()}}
	}
	m, err := hardware.New(s.Proc.Kernel(), p.Hardware, s.Boot.Size())
	if err != nil {
		return &site{err: err}
	}
	return &site{profile: p, network: sisci.NewNetwork(m)}
}

const defaultMachine = "scampi"

// table returns the settings, bound to the name of the machine.
func table(name *string) settings.Table {
	*name = defaultMachine
	return settings.Table{settings.NameOrFile("machine", name, machine.IsPath, "the name of a machine, or the path of a machine file",
		"the machine with the library on it")}
}

// open makes a rank's end on the machine that all ranks of the job share.
func open(s *mpi.Spec) (*transport, error) {
	machine := defaultMachine
	if err := settings.Read("mpi", s.Settings, func() settings.Table { return table(&machine) }); err != nil {
		return nil, err
	}
	within, ok := s.Boot.(core.ProcessSharer)
	if !ok {
		return nil, errors.New("scampi: the ranks of a modelled job share a process; these do not")
	}
	at := within.Share("scampi site", func() any { return newSite(s, machine) }).(*site)
	if at.err != nil {
		return nil, at.err
	}
	t := &transport{
		profile: at.profile, layout: at.profile.layout(), proc: s.Proc,
		rank: s.Boot.Rank(), group: s.Group,
	}
	t.engine = matching.New(int32(t.rank), t.layout.eager)
	t.peers.Init(s.Boot.Size())
	var err error
	if t.dev, err = sisci.Open(sisci.Config{Node: node(t.rank), Place: &sisci.Place{
		Network: at.network, Index: int(t.rank), Proc: s.Proc, Limits: t.limits(), Provide: t.admit,
	}}); err != nil {
		return nil, err
	}
	if err := t.openDMA(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if err := s.Boot.Barrier(); err != nil { // every device is open before anybody connects
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// limits returns what the rank's node may have at most; nothing is made before it is used.
func (t *transport) limits() sisci.Layout {
	n := len(t.group)
	return sisci.Layout{
		Memory:      n*shm.RoundUp(t.layout.size) + shm.RoundUp(stages*t.layout.entry),
		Segments:    n,
		Connections: n,
	}
}

// inGroup tells whether the rank exchanges messages with this one.
func (t *transport) inGroup(r core.Rank) bool {
	_, ok := slices.BinarySearch(t.group, r)
	return ok
}
