package myrinet

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/core"
)

// findWays prepares to find routes, each when it is needed.
func (s *site) findWays(t *fabric.Topology) (err error) {
	o := routing.Options{Scheme: s.routes, Spread: routing.Random, Root: routing.Center(t)}
	if s.ways, err = routing.NewWays(t, o); err != nil || s.routes == routing.UpDown {
		return err
	}
	o.Scheme = routing.UpDown
	s.legal, err = routing.NewWays(t, o)
	return err
}

// route returns the legs of the route from a host to another, or to itself. It makes the hosts between legs.
func (s *site) route(from, to int) ([][]byte, error) {
	if from == to {
		return [][]byte{{fabric.RouteByte(0)}}, nil // the switch sends it back
	}
	route := s.ways.Route(from, to)
	if len(route) > 1 {
		for _, node := range s.ways.Transit(route) {
			if _, err := s.host(node); err != nil {
				return nil, err
			}
		}
	}
	var legs [][]byte
	for _, leg := range route {
		legs = append(legs, s.ways.Bytes(leg))
	}
	return legs, nil
}

// detour has a host and another one, which does not answer it, talk to each other by up*/down* routes from now on, if they have done so by way of in-transit hosts: one of these
// may be lost. It reports whether there is hope. Else the job ends.
func (s *site) detour(h *host, to int) bool {
	from := h.ID()
	changed := false
	for _, way := range [][2]int{{from, to}, {to, from}} {
		if s.legal == nil || h.detoured[to] || len(s.ways.Route(way[0], way[1])) < 2 {
			continue
		}
		end, err := s.host(way[0])
		if err == nil {
			err = end.SetRoute(way[1], s.legal.Bytes(s.legal.Route(way[0], way[1])[0]))
		}
		if err != nil {
			s.port.Fail(err)
			return false
		}
		changed = true
	}
	if changed {
		h.detoured[to] = true
		return true
	}
	names := s.fabric.Topology().Hosts
	s.port.Fail(&core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("myrinet: host %s does not answer host %s: it is lost, or a cable on the way", names[to], names[from])})
	return false
}
