package compare

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// A Subject is what is measured: a conduit with a profile, a model of one, or what they are compared with.
type Subject struct {
	Name string // CONDUIT, or CONDUIT:PROFILE where that is not the default; of references what they are
	runner.Plan

	references bool // floors, and programs of other projects, over the network of the plan's conduit
	peers      bool // of the references only other projects' programs
}

// Mode returns "live" or "modelled".
func (s *Subject) Mode() string {
	if s.Modelled() {
		return "modelled"
	}
	return "live"
}

// Measured reports whether a line is a result of the subject.
func (s *Subject) Measured(l *bench.Line) bool {
	return l.Peer == "" && l.Mode == s.Mode() && l.Params["conduit"] == s.Name
}

// References reports whether it is what conduits are compared with.
func (s *Subject) References() bool { return s.references }

// network names what carries the messages, in the names of references.
func (s *Subject) network() string {
	if against.NetworkOf(s.Conduit) == against.Loopback {
		return "loopback-interface"
	}
	return "shared-memory"
}

// Find returns what can be measured here, live before modelled, and says of the rest why not. Without all, each conduit has its default
// profile and model alone; libraries of MPI are conduits of their own. Ranks are pinned to the CPUs, unless there are none.
func Find(cpus []int, all bool) (subjects []Subject, missing []string) {
	var models []Subject
	for _, d := range core.Drivers() {
		live, launcher := d.Profiles, core.LauncherOf(d.Name)
		if launcher != nil { // the first profile stands for one of the others
			live = live[1:]
		}
		if len(d.Profiles) == 0 && len(d.Models) == 0 {
			live = []string{""}
		}
		for i, profile := range live {
			if i > 0 && !all && launcher == nil {
				break
			}
			if err := usable(&d, profile, launcher); err != nil {
				missing = append(missing, fmt.Sprintf("live %s: %v", name(&d, profile, live), err))
				continue
			}
			p := runner.Plan{Conduit: d.Name, Profile: profile, CPUs: cpus, Threads: core.Single}
			if d.Name == "loopback" { // within a process
				p.Mode, p.CPUs = spawner.Goroutines, nil
			}
			subjects = append(subjects, Subject{Name: name(&d, profile, live), Plan: p})
		}
		for i, model := range d.Models {
			if i > 0 && !all {
				break
			}
			p := runner.Plan{Conduit: d.Name, Profile: model, Mode: spawner.Modelled, Threads: core.Single}
			models = append(models, Subject{Name: name(&d, model, d.Models), Plan: p})
		}
	}
	return append(subjects, models...), missing
}

// Beside returns what live subjects are compared with, by their networks. There is nothing without CPUs to pin it to.
func Beside(subjects []Subject, cpus []int) (references []Subject) {
	if len(cpus) < 2 {
		return nil
	}
	for _, s := range subjects {
		r := Subject{Plan: runner.Plan{Conduit: "sci", CPUs: cpus}, references: true}
		if s.Conduit == "udp" {
			r.Conduit = "udp"
		}
		r.Name = "floors and peers over " + r.network()
		if s.Plan.Mode == spawner.Processes && !slices.ContainsFunc(references, func(o Subject) bool { return o.Name == r.Name }) {
			references = append(references, r)
		}
	}
	if slices.ContainsFunc(references, func(s Subject) bool { return s.Conduit == "sci" }) {
		for _, p := range mpipeer.Found() {
			if p.Missing == "" && p.Library != "" && !p.Multiple {
				references = append(references, Subject{
					Name: p.Name, Plan: runner.Plan{Conduit: "mpi", Profile: p.Library, CPUs: cpus}, references: true, peers: true,
				})
			}
		}
	}
	return references
}

// usable returns why a profile cannot be used here, or nil.
func usable(d *core.Driver, profile string, launcher *core.Launcher) error {
	if launcher != nil {
		_, err := launcher.Starter(profile, 2, false)
		return err
	}
	if d.Check != nil {
		return d.Check(nil, nil)
	}
	return nil
}

// name names a profile of a conduit. That of MPI says which library it is.
func name(d *core.Driver, profile string, profiles []string) string {
	if len(profiles) == 0 || slices.Index(profiles, profile) == 0 && core.LauncherOf(d.Name) == nil {
		return d.Name
	}
	return d.Name + ":" + profile
}
