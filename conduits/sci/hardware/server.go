package hardware

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// server is something that does one thing at a time, in the order in which it is asked: a bus,
// a link, the sending or the receiving half of an adapter. It is a vtime.Resource without a
// name, of which a machine has too many.
type server struct {
	free    vtime.Time // when it has done all that it was asked to
	busy    vtime.Time // how long it has worked
	waited  vtime.Time // how long those who asked waited, all together
	longest vtime.Time // how long one did
	uses    uint64     // how often it was asked
}

// use asks for d of its time from at on, and returns when that is over.
func (s *server) use(at, d vtime.Time) (end vtime.Time) {
	wait := max(0, s.free-at)
	s.free = at + wait + d
	s.busy += d
	s.waited += wait
	s.longest = max(s.longest, wait)
	s.uses++
	return s.free
}

// usage returns what the machine's buses, adapters and links were used for, those apart that
// were not used at all.
func (m *Machine) usage() (all []vtime.Usage) {
	add := func(s *server, format string, args ...any) {
		if s.uses > 0 {
			all = append(all, vtime.Usage{
				Name: fmt.Sprintf(format, args...), Servers: 1,
				Uses: s.uses, Busy: s.busy, Waited: s.waited, Longest: s.longest,
			})
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
		add(&m.fabric.links[i].server, "link %s", m.LinkName(i))
	}
	return all
}
