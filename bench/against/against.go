// Package against says what each operation of the benchmarks is compared with. That depends
// on what carries a conduit's messages: a message through shared memory is held against a
// flag or a copy in C, one through sockets against datagrams, TCP and the tools of other
// projects that measure networks.
//
//	refs := against.For(plan).RoundTrip(size, iters)
package against

import (
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// Network is what carries a conduit's messages between ranks of one host.
type Network uint8

// The networks.
const (
	SharedMemory Network = iota
	Loopback             // the loopback interface: datagrams and connections of the Internet protocols
)

// networks are those of the conduits that do not go through shared memory.
var networks = map[string]Network{"udp": Loopback}

// NetworkOf returns the network of a conduit.
func NetworkOf(conduit string) Network { return networks[conduit] }

// References returns what operations are compared with, iters of them at a time: one of the
// ratios is x-floor, where there is a floor. Sizes are payload bytes. Where ranks are not
// pinned to CPUs, as in a model, nothing of it starts (see runner.Floor).
type References interface {
	// RoundTrip is of a request and its reply, each with payload of that size, or without.
	RoundTrip(size, iters int) []runner.Ref
	// Flood is of messages without payload, one way.
	Flood(iters int) []runner.Ref
	// Stream is of messages with payload, one way.
	Stream(size, iters int) []runner.Ref
	// Bandwidth is of messages with payload, one way, many under way, which are not copied out.
	Bandwidth(size, iters int) []runner.Ref
	// Exchange is of a message from one rank to all and one back from each.
	Exchange(ranks, iters int) []runner.Ref

	// Put and Get are blocking, PutNB and GetNB many under way.
	Put(size, iters int) []runner.Ref
	PutNB(size, iters int) []runner.Ref
	Get(size, iters int) []runner.Ref
	GetNB(size, iters int) []runner.Ref
	// FetchAdd is of one word.
	FetchAdd(iters int) []runner.Ref

	// PairBarrier is of two ranks, Barrier of any number.
	PairBarrier(iters int) []runner.Ref
	Barrier(ranks, iters int) []runner.Ref
}

// For returns the references of a plan, by its conduit's network.
func For(p *runner.Plan) References {
	switch {
	case NetworkOf(p.Conduit) == Loopback:
		return loopback{p}
	case p.Conduit == "mpi" && !p.Modelled():
		return library{sharedMemory{p}}
	}
	return sharedMemory{p}
}

// xFloor is the unit of ratios to the floor that bounds an operation.
const xFloor = "x-floor"

// pairFloor returns a floor of two processes on the CPUs of ranks 0 and 1.
func pairFloor(p *runner.Plan, unit, what string, iters int, kind floor.Kind, sizes ...int) runner.Ref {
	return runner.Floor(unit, what, iters, kind, p.Pair(), sizes...)
}
