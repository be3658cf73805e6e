package scampi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func init() { mpi.Register("mpi", network) }

// network is the profile of the mpi conduit.
var network = mpi.Network{
	Name:        "scampi",
	Summary:     "ScaMPI on SCI, modelled",
	Modelled:    true,
	FileSetting: func(key, value string) bool { return key == "machine" && machine.IsPath(value) },
	Open:        func(s *mpi.Spec) (mpi.Transport, error) { return open(s) },
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
		return &site{err: fmt.Errorf("scampi: %w", err)}
	}
	m, err := hardware.New(s.Proc.Kernel(), p.Hardware, s.Boot.Size())
	if err != nil {
		return &site{err: err}
	}
	return &site{profile: p, network: sisci.NewNetwork(m)}
}

// parseSettings returns the machine that the settings name.
func parseSettings(settings map[string]string) (machine string, err error) {
	machine = "scampi"
	for key, v := range settings {
		switch {
		case key != "machine":
			return "", mpi.UnknownSetting(key, v, "machine")
		case v == "":
			return "", errors.New(`scampi: setting machine="": want a name, or the path of a machine file`)
		}
		machine = v
	}
	return machine, nil
}

// open makes a rank's end on the machine that all ranks of the job share.
func open(s *mpi.Spec) (*transport, error) {
	machine, err := parseSettings(s.Settings)
	if err != nil {
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
