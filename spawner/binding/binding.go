// Package binding says which CPUs of a host the ranks there are bound to. It reads what Linux tells of the processors and
// computes sets of CPUs; whoever starts the ranks sets them.
//
// A CPU is what the kernel schedules on: a hardware thread of a core. A rank is bound to whole cores, sockets or NUMA
// nodes, as far as the launcher itself may use their CPUs.
package binding

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind is what a rank is bound to.
type Kind string

// The kinds.
const (
	None   Kind = "none"   // all CPUs that the launcher may use
	Core   Kind = "core"   // all hardware threads of a core
	Socket Kind = "socket" // all CPUs of a socket
	NUMA   Kind = "numa"   // all CPUs of a NUMA node
)

// ParseKind reads the value of --bind-to.
func ParseKind(text string) (Kind, error) {
	switch k := Kind(text); k {
	case None, Core, Socket, NUMA:
		return k, nil
	}
	return "", fmt.Errorf("--bind-to %q: want none, core, socket or numa", text)
}

// CPU is where a CPU lies in its host.
type CPU struct {
	Number int
	Core   int // the lowest number of the CPUs of its core
	Socket int
	Node   int // the NUMA node
}

// Machine is the CPUs of a host that ranks may use, by socket, NUMA node, core and number.
type Machine []CPU

// sort puts the CPUs in their order.
func (m Machine) sort() {
	slices.SortFunc(m, func(a, b CPU) int {
		return cmp.Or(cmp.Compare(a.Socket, b.Socket), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Core, b.Core), cmp.Compare(a.Number, b.Number))
	})
}

// cores returns the first CPU of each core.
func (m Machine) cores() (first []CPU) {
	for _, c := range m {
		if len(first) == 0 || first[len(first)-1].Core != c.Core {
			first = append(first, c)
		}
	}
	return first
}

// CPUs returns the numbers, ascending, of the CPUs of the i-th of k ranks of the host, 0 <= i < k:
//
//   - Core: of the i-th core, counted round if there are fewer. So neighbours among ranks are near each other.
//   - Socket, NUMA: ranks are divided evenly among the cores in their order, and each has the socket or node of the
//     first core of its share. So the ranks of each are consecutive, and as many as its cores are due.
//   - None: of all.
func (m Machine) CPUs(kind Kind, i, k int) []int {
	cores := m.cores()
	first := cores[i*len(cores)/k]
	if kind == Core {
		first = cores[i%len(cores)]
	}
	var all []int
	for _, c := range m {
		if kind == None || kind == Core && c.Core == first.Core || kind == Socket && c.Socket == first.Socket || kind == NUMA && c.Node == first.Node {
			all = append(all, c.Number)
		}
	}
	slices.Sort(all)
	return all
}

// Describe says for people what some of the CPUs are, as in "CPUs 0,4: core 0, socket 0, NUMA node 0".
func (m Machine) Describe(cpus []int) string {
	var cores, sockets, nodes []int
	for _, c := range m {
		if slices.Contains(cpus, c.Number) {
			cores, sockets, nodes = append(cores, c.Core), append(sockets, c.Socket), append(nodes, c.Node)
		}
	}
	text := named("CPU", cpus)
	if len(cpus) == len(m) {
		text = "all " + text
	}
	return fmt.Sprintf("%s: %s, %s, %s", text, named("core", cores), named("socket", sockets), named("NUMA node", nodes))
}

// named writes numbers with what they are.
func named(what string, numbers []int) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	if len(numbers) > 1 {
		what += "s"
	}
	return what + " " + FormatList(numbers)
}
