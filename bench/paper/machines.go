package paper

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/machine"
)

// A Family is machines that the same experiments run on.
type Family struct {
	Name    string // of the conduit whose model runs
	library func() *machine.Library
	check   func(*machine.File) error // whether a file is a machine of the family
}

// The families.
var (
	SCI = &Family{"sci", hardware.Library, func(f *machine.File) error {
		_, err := hardware.NewProfile(f)
		return err
	}}
	Myrinet = &Family{"myrinet", gm.Library, func(f *machine.File) error {
		_, err := gm.NewProfile(f)
		return err
	}}
	GRIM = &Family{"grim", grim.Library, func(f *machine.File) error {
		_, err := grim.NewProfile(f)
		return err
	}}
	AMFamily = &Family{"amfamily", amLibrary, func(f *machine.File) error {
		_, err := newAMProfiles(f)
		return err
	}}
	AM2 = &Family{"am2", amii.Library, func(f *machine.File) error {
		_, err := amii.NewProfile(f)
		return err
	}}
	Component = &Family{"component", component.Library, func(f *machine.File) error {
		_, err := component.NewProfile(f)
		return err
	}}
)

// Families are all of them.
var Families = []*Family{SCI, Myrinet, GRIM, Component, AMFamily, AM2}

// Setting returns the setting for a machine of the family: a built-in one by its name, or a user's
// own by the path of its file. Seed and Full are the caller's to set.
func (f *Family) Setting(name string) (*Setting, error) {
	file, err := f.library().Load(name)
	if err != nil {
		return nil, err
	}
	if err := f.check(file); err != nil {
		return nil, err
	}
	return &Setting{Conduit: f.Name, Profile: name, Machine: file}, nil
}

// Machines returns the names of the family's built-in machines, sorted.
func (f *Family) Machines() []string { return f.library().Names() }

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
