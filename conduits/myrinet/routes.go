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

// route returns the legs of the route from a host to another, or to itself. Where a host between legs cannot be passed, the route is the up*/down* one.
func (s *site) route(from, to int) ([][]byte, error) {
	if from == to {
		return [][]byte{{fabric.RouteByte(0)}}, nil // the switch sends it back
	}
	route := s.ways.Route(from, to)
	if len(route) > 1 {
		for _, node := range s.ways.Transit(route) {
			ok, err := s.passes(node)
			if err != nil {
				return nil, err
			}
			if !ok {
				return [][]byte{s.legal.Bytes(s.legal.Route(from, to)[0])}, nil
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
		leg := s.around(way[0], way[1])
		if leg == nil || h.detoured[to] {
			continue
		}
		end, err := s.host(way[0])
		if err == nil {
			err = end.SetRoute(way[1], leg)
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
	s.port.Fail(s.silent(from, to))
	return false
}

// around returns the up*/down* route from a host to another if the usual route has in-transit hosts; else nil.
func (s *site) around(from, to int) []byte {
	if s.legal == nil || len(s.ways.Route(from, to)) < 2 {
		return nil
	}
	return s.legal.Bytes(s.legal.Route(from, to)[0])
}

// silent is the failure of a host that does not answer another.
func (s *site) silent(from, to int) error {
	names := s.shape.Hosts
	return &core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("myrinet: host %s does not answer host %s: it is lost, or a cable on the way", names[to], names[from])}
}
