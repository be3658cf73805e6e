package against

import (
	"github.com/aqueduct-go/aqueduct/bench/mpipeer"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// library is for the conduit over a real MPI library: besides the floors of shared memory there
// is the library itself, called by a C program.
type library struct{ sharedMemory }

// raw returns the peers that are the plan's library, doing an operation between two ranks.
func (l library) raw(op string, size int) []runner.Ref {
	var refs []runner.Ref
	if len(l.CPUs) < 2 {
		return nil
	}
	for _, p := range mpipeer.Found() {
		if p.Missing == "" && p.Library != "" && p.Library == l.Profile {
			refs = append(refs, p.Ref(op, size, l.Pair(), false))
		}
	}
	return refs
}

// least is the payload of a message of MPI that is compared with a message without payload.
const least = 8

// RoundTrip implements References.
func (l library) RoundTrip(size, iters int) []runner.Ref {
	return append(l.sharedMemory.RoundTrip(size, iters), l.raw("pingpong", max(size, least))...)
}

// Flood implements References.
func (l library) Flood(iters int) []runner.Ref {
	return append(l.sharedMemory.Flood(iters), l.raw("stream", least)...)
}

// Stream implements References.
func (l library) Stream(size, iters int) []runner.Ref {
	return append(l.sharedMemory.Stream(size, iters), l.raw("stream", size)...)
}

// Bandwidth implements References.
func (l library) Bandwidth(size, iters int) []runner.Ref {
	return append(l.sharedMemory.Bandwidth(size, iters), l.raw("stream", size)...)
}

// Put implements References.
func (l library) Put(size, iters int) []runner.Ref {
	return append(l.sharedMemory.Put(size, iters), l.raw("put", size)...)
}

// Get implements References.
func (l library) Get(size, iters int) []runner.Ref {
	return append(l.sharedMemory.Get(size, iters), l.raw("get", size)...)
}

// PutNB implements References.
func (l library) PutNB(size, iters int) []runner.Ref {
	return append(l.sharedMemory.PutNB(size, iters), l.raw("putnb", size)...)
}

// GetNB implements References.
func (l library) GetNB(size, iters int) []runner.Ref {
	return append(l.sharedMemory.GetNB(size, iters), l.raw("getnb", size)...)
}

// FetchAdd implements References.
func (l library) FetchAdd(iters int) []runner.Ref {
	return append(l.sharedMemory.FetchAdd(iters), l.raw("fetchadd", least)...)
}

// PairBarrier implements References.
func (l library) PairBarrier(iters int) []runner.Ref {
	return append(l.sharedMemory.PairBarrier(iters), l.raw("barrier", 0)...)
}
