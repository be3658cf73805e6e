package myrinet

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// usage returns what cables, in each direction, and the buses and processors of NICs have been used for. A processor is used by each event, one after the other.
func (s *site) usage() (all []vtime.Usage) {
	t := s.fabric.Topology()
	for _, l := range s.fabric.Traffic() {
		if l.Packets > 0 {
			all = append(all, vtime.Usage{Name: "cable from " + t.EndName(l.From) + " to " + t.EndName(l.To), Uses: l.Packets, Busy: l.Busy, Waited: l.Waited, Longest: l.Longest})
		}
	}
	for i, h := range s.hosts {
		if h == nil {
			continue
		}
		nic, name := h.NIC(), t.Hosts[i]
		if c := nic.CPU.Counts(); c.Handled > 0 {
			all = append(all, vtime.Usage{Name: "NIC's processor of " + name, Uses: c.Handled, Busy: c.Busy, Waited: c.Waited, Longest: c.Longest})
		}
		if nic.Bus.Used() {
			all = append(all, nic.Bus.Usage("bus of "+name))
		}
	}
	return all
}
