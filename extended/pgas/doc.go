// Package pgas is the typed surface of the Extended API: global pointers, a symmetric heap,
// a distributed array, atomics and typed collectives.
//
//	heap, err := pgas.NewHeap(ep.World())
//	p, err := pgas.Alloc[float64](c, heap, 1000) // 1000 elements on every rank
//	err = p.On(next).Add(7).Put(c, 3.5)          // one of them on the next rank
//	v, err := p.On(next).Add(7).Get(c)
//	sum, err := pgas.AllReduceValue(c, ep.World(), v, pgas.Add[float64]())
//	ev, err := pgas.BroadcastNB(c, ep.World(), root, dst, src)
//
// # Element types
//
// Elements lie in segments, outside Go's heap, and travel as they lie in memory. So their
// type must have a fixed size and hold nothing that means something in one process only: no
// pointer, slice, string, map, channel, function, interface or uintptr, at any depth. Numbers,
// booleans, arrays and structs of these, and global pointers are fine; int and uint too,
// since all ranks run the same program. What makes a global pointer checks that, once per
// type; what uses one need not.
//
// # Access
//
// Where this process reaches the memory, and always on the caller's own rank, an access is a
// load, a store or a copy, with no more order among ranks than those have; values of 1, 2, 4
// and 8 bytes move by a single instruction. Elsewhere it is a get or a put by messages. All
// rules of package extended hold: barriers, messages and events order accesses.
//
// Nothing here may be called in a handler, unless its comment says so.
//
// # Ranks
//
// There are two kinds, which differ in type. A core.Rank is a rank of the job: pointers, puts
// and gets have those. An int is the rank of a member in its team: roots of collectives,
// owners of array elements and extended.Domain have those. Team.Jobrank and Team.RankOf
// convert; Atomic does so by itself.
package pgas
