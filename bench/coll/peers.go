package coll

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/against"
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// Peers returns the MPI libraries that a conduit is compared with: those whose messages take the
// same way as its own.
func Peers(conduit string) []mpipeer.Peer {
	tcp := against.NetworkOf(conduit) == against.Loopback
	return slices.DeleteFunc(slices.Clone(mpipeer.Found()), func(p mpipeer.Peer) bool { return p.TCP != tcp || p.Multiple })
}

// Describe says in a line which peers of a conduit are measured and which are missing.
func Describe(conduit string) string {
	var peers []runner.Peer
	for _, p := range Peers(conduit) {
		peers = append(peers, p.Peer)
	}
	return runner.Describe(peers)
}
