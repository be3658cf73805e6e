package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// usage returns what the machine's buses, adapters and links were used for, those apart that
// were not used at all.
func (m *Machine) usage() (all []vtime.Usage) {
	m.lookAll()
	add := func(r *vtime.Resource, format string, args ...any) {
		if r.Used() {
			all = append(all, r.Usage(fmt.Sprintf(format, args...)))
		}
	}
	for i, n := range m.nodes {
		if n != nil {
			add(&n.bus, "bus of node %d", i)
			add(&n.sending, "adapter of node %d, sending", i)
			add(&n.receives, "adapter of node %d, receiving", i)
		}
	}
	for i := range m.fabric.links {
		add(&m.fabric.links[i].Resource, "link %s", m.LinkName(i))
	}
	return all
}
