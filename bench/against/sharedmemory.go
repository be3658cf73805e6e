package against

import (
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// sharedMemory is for conduits between processes that share memory.
type sharedMemory struct{ *runner.Plan }

// placing returns the flag ping-pong as a floor; its time is the placement, too.
func (m sharedMemory) placing(what string, iters int) runner.Ref {
	flag := pairFloor(m.Plan, xFloor, what, iters, floor.PingPong)
	flag.Places = true
	return flag
}

// RoundTrip implements References: without payload a flag, else an echo of the same size.
func (m sharedMemory) RoundTrip(size, iters int) []runner.Ref {
	if size > 0 {
		return []runner.Ref{
			runner.Placement(m.Pair()),
			pairFloor(m.Plan, xFloor, "C echo: the same bytes copied there and back", iters, floor.Echo, size),
		}
	}
	return []runner.Ref{
		m.placing("C flag ping-pong, a line for each direction", iters),
		pairFloor(m.Plan, "x-handoff", "C flag ping-pong in one line", iters, floor.Handoff),
	}
}

// Flood implements References.
func (m sharedMemory) Flood(iters int) []runner.Ref {
	return []runner.Ref{
		runner.Placement(m.Pair()),
		pairFloor(m.Plan, xFloor, "C ring of slots, one way", iters, floor.Ring),
	}
}

// Stream implements References.
func (m sharedMemory) Stream(size, iters int) []runner.Ref {
	return []runner.Ref{
		runner.Placement(m.Pair()),
		pairFloor(m.Plan, xFloor, "C copy in and copy out of the same size", iters, floor.Copy, size),
	}
}

// Bandwidth implements References: one copy.
func (m sharedMemory) Bandwidth(size, iters int) []runner.Ref { return m.Put(size, iters) }

// Exchange implements References.
func (m sharedMemory) Exchange(ranks, iters int) []runner.Ref { return m.Barrier(ranks, iters) }

// Put implements References.
func (m sharedMemory) Put(size, iters int) []runner.Ref {
	return []runner.Ref{runner.Floor(xFloor, "C memcpy into a mapping, the same size", iters, floor.Memcpy, m.home(), size)}
}

// PutNB implements References.
func (m sharedMemory) PutNB(size, iters int) []runner.Ref { return m.Put(size, iters) }

// Get implements References.
func (m sharedMemory) Get(size, iters int) []runner.Ref {
	return []runner.Ref{runner.Floor(xFloor, "C memcpy out of a mapping, the same size", iters, floor.Fetch, m.home(), size)}
}

// GetNB implements References.
func (m sharedMemory) GetNB(size, iters int) []runner.Ref { return m.Get(size, iters) }

// FetchAdd implements References.
func (m sharedMemory) FetchAdd(iters int) []runner.Ref {
	return []runner.Ref{runner.Floor(xFloor, "C fetch-and-add on a word of a mapping", iters, floor.FetchAdd, m.home())}
}

// PairBarrier implements References.
func (m sharedMemory) PairBarrier(iters int) []runner.Ref {
	return []runner.Ref{m.placing("C flag ping-pong, a round trip", iters)}
}

// Barrier implements References.
func (m sharedMemory) Barrier(ranks, iters int) []runner.Ref {
	return []runner.Ref{runner.Floor(xFloor, "C dissemination barrier of as many processes on the same CPUs, spin then sched_yield",
		iters, floor.Barrier, m.Spread(ranks))}
}

// home returns the CPU of rank 0, for floors of one process.
func (m sharedMemory) home() []int { return m.CPUs[:min(1, len(m.CPUs))] }
