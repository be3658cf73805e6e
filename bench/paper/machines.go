package paper

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
)

// SCI returns the setting for a modelled SCI machine: a built-in one by its name, or a user's
// own by the path of its file. Seed and Full are the caller's to set.
func SCI(name string) (*Setting, error) {
	p, err := hardware.Load(name)
	if err != nil {
		return nil, err
	}
	return &Setting{Conduit: "sci", Profile: name, Machine: p.File}, nil
}

// SCIMachines returns the names of the built-in SCI machines, sorted.
func SCIMachines() []string { return hardware.Library().Names() }

// The MPI conduit over the modelled ScaMPI is what the paper compares with.
const (
	mpiConduit = "mpi"
	mpiModel   = "scampi"
	mpiMachine = "d339-2003" // that mpiModel is based on
)

// overMPI returns the setting for the MPI conduit over the modelled ScaMPI, or nil, with a
// note, if this build has none, or if its hardware is not that of s.
func (s *Setting) overMPI(o *Outcome) *Setting {
	if s.Machine.Name != mpiMachine {
		o.note("the modelled ScaMPI is on %s: what the paper compares with is left out", mpiMachine)
		return nil
	}
	d, err := core.DriverByName(mpiConduit)
	if err != nil || !slices.Contains(d.Models, mpiModel) {
		o.note("the MPI conduit has no modelled ScaMPI in this build: what the paper compares with is left out")
		return nil
	}
	over := *s
	over.Conduit, over.Profile = mpiConduit, mpiModel
	return &over
}
