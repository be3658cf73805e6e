package spawner

import (
	"os"

	"github.com/aqueduct-go/aqueduct/spawner/binding"
)

// Binding says which CPUs a rank may use; package binding has the rules.
type Binding = binding.Kind

// The bindings. "" means the same as BindNone.
const (
	BindNone   = binding.None   // all that the launcher may use
	BindCore   = binding.Core   // the i-th rank of a host only the i-th core, with all its threads, counted round
	BindSocket = binding.Socket // those of a socket, each of which has as many ranks as its cores are due
	BindNUMA   = binding.NUMA   // those of a NUMA node, likewise
)

// bound reports whether ranks may not use all CPUs that the launcher may use.
func (s *Spec) bound() bool { return s.Bind != "" && s.Bind != BindNone }

// bindings are the CPUs of the ranks that are started on this host.
type bindings struct {
	machine binding.Machine
	kind    Binding
	ranks   int
}

// bindings returns those of so many ranks, nil if nobody wants to know them.
func (s *Spec) bindings(ranks int) (*bindings, error) {
	if !s.bound() && !s.ReportBindings {
		return nil, nil
	}
	allowed, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	m, err := binding.Read(os.DirFS("/sys/devices/system"), allowed)
	if err != nil {
		return nil, err
	}
	kind := BindNone
	if s.bound() {
		kind = s.Bind
	}
	return &bindings{m, kind, ranks}, nil
}

// of returns the CPUs that the i-th of the ranks is bound to, nil if it may use all.
func (b *bindings) of(i int) []int {
	if b == nil || b.kind == BindNone {
		return nil
	}
	return b.machine.CPUs(b.kind, i, b.ranks)
}

// describe says for people what the i-th of the ranks may use.
func (b *bindings) describe(i int) string {
	text := b.machine.Describe(b.machine.CPUs(b.kind, i, b.ranks))
	if b.kind == BindNone {
		return "is not bound, and may use " + text
	}
	return "is bound to " + text
}
