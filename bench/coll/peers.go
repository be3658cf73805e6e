package coll

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// Peers returns the MPI libraries that the conduit of a plan is compared with: those whose messages take the
// same way as its own. If there are several hosts, that is Open MPI, which chooses the ways itself: MPICH 4.0.2 over UCX sometimes does
// not end there.
func Peers(plan *runner.Plan) []mpipeer.Peer {
	if len(plan.Hosts) > 0 {
		return slices.DeleteFunc(slices.Clone(mpipeer.Found()), func(p mpipeer.Peer) bool { return p.Library != "openmpi" || p.Multiple })
	}
	tcp := against.NetworkOf(plan.Conduit) == against.Loopback
	return slices.DeleteFunc(slices.Clone(mpipeer.Found()), func(p mpipeer.Peer) bool { return p.TCP != tcp || p.Multiple })
}

// Describe says in a line which peers of a plan are measured and which are missing.
func Describe(plan *runner.Plan) string {
	var peers []runner.Peer
	for _, p := range Peers(plan) {
		peers = append(peers, p.Peer)
	}
	return runner.Describe(peers)
}
