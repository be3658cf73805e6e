package against

import (
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// loopback is for conduits whose messages are datagrams over the loopback interface.
type loopback struct{ *runner.Plan }

// word is the payload, in bytes, of datagrams that stand for a message without payload: a
// request for data, an acknowledgement.
const word = 8

// Operations of a sample of a floor are this many times fewer than those of the messages it
// is compared with, because one takes longer by about as much.
const (
	slowBlocking = 20 // a sleeping receiver, beside a spinning one
	slowCalls    = 10 // a system call for each message, beside one for many
)

// Tools take at most so many round trips or messages in a sample: each starts two processes
// anyway, and an operation takes them several times as long as it takes the floor.
const (
	toolTrips    = 1000
	toolMessages = 50_000
)

// beside returns a reference for information: if its own samples are uneven, the sample
// between them still counts.
func beside(ref runner.Ref) runner.Ref {
	ref.Peer = true
	return ref
}

// trip returns the round trip of there bytes answered by back bytes, spinning, and the same
// by TCP.
func (l loopback) trip(there, back, iters int) []runner.Ref {
	return []runner.Ref{
		runner.Placement(l.Pair()),
		pairFloor(l.Plan, xFloor, "C ping-pong over UDP, spinning, the same bytes in datagrams of at most 60 KiB",
			iters, floor.UDPTrip, there, back),
		beside(pairFloor(l.Plan, "x-tcp", "C ping-pong over TCP, spinning, the same bytes", iters, floor.TCPTrip, there, back)),
	}
}

// oneWay returns the stream of messages of a size: segments of large sends if at least two
// fit into one, else datagrams; and the same bytes by TCP.
func (l loopback) oneWay(size, iters int) []runner.Ref {
	datagrams := pairFloor(l.Plan, xFloor, "C one-way UDP in datagrams of at most 60 KiB, the same bytes", iters, floor.UDPStream, size)
	if 2*size <= floor.MaxSegment {
		datagrams = pairFloor(l.Plan, xFloor, "C one-way UDP with segmentation offload (GSO, GRO), per segment of the same bytes",
			iters, floor.UDPSegments, size)
		iters = max(1, iters/slowCalls)
	}
	return []runner.Ref{
		runner.Placement(l.Pair()),
		datagrams,
		beside(pairFloor(l.Plan, "x-tcp", "C one-way TCP, a call for each message of the same bytes", iters, floor.TCPStream, size)),
	}
}

// RoundTrip implements References: as many datagrams as a request and its reply need. Without
// payload they are compared with receivers that sleep, too.
func (l loopback) RoundTrip(size, iters int) []runner.Ref {
	refs := l.trip(max(size, word), max(size, word), iters)
	if size == 0 {
		refs = append(refs, beside(pairFloor(l.Plan, "x-shared", "C ping-pong over UDP, spinning, by sockets for several peers: not connected",
			iters, floor.UDPShared, word, word)))
		refs = append(refs, beside(pairFloor(l.Plan, "x-blocking", "C ping-pong over UDP, receivers sleep in the kernel",
			max(1, iters/slowBlocking), floor.UDPSleep, word, word)))
	}
	return append(refs, tools(l.Plan, roundTrip, max(size, word), min(iters, toolTrips))...)
}

// Flood implements References.
func (l loopback) Flood(iters int) []runner.Ref {
	refs := append(l.oneWay(word, iters), beside(pairFloor(l.Plan, "x-sendto", "C one-way UDP, a call for each datagram",
		max(1, iters/slowCalls), floor.UDPStream, word)))
	return append(refs, tools(l.Plan, stream, word, min(iters, toolMessages))...)
}

// Stream implements References.
func (l loopback) Stream(size, iters int) []runner.Ref {
	return append(l.oneWay(size, iters), tools(l.Plan, stream, size, min(iters, toolMessages))...)
}

// Bandwidth implements References.
func (l loopback) Bandwidth(size, iters int) []runner.Ref { return l.PutNB(size, iters) }

// Exchange implements References.
func (l loopback) Exchange(ranks, iters int) []runner.Ref { return l.Barrier(ranks, iters) }

// Put implements References: the bytes, and an acknowledgement.
func (l loopback) Put(size, iters int) []runner.Ref { return l.trip(size, word, iters) }

// PutNB implements References.
func (l loopback) PutNB(size, iters int) []runner.Ref {
	return append(l.oneWay(size, iters), tools(l.Plan, putStream, size, min(iters, toolMessages))...)
}

// Get implements References: a request, and the bytes.
func (l loopback) Get(size, iters int) []runner.Ref { return l.trip(word, size, iters) }

// GetNB implements References.
func (l loopback) GetNB(size, iters int) []runner.Ref { return l.oneWay(size, iters) }

// FetchAdd implements References.
func (l loopback) FetchAdd(iters int) []runner.Ref { return l.trip(word, word, iters) }

// PairBarrier implements References.
func (l loopback) PairBarrier(iters int) []runner.Ref { return l.trip(word, word, iters) }

// Barrier implements References.
func (l loopback) Barrier(ranks, iters int) []runner.Ref {
	return []runner.Ref{runner.Floor(xFloor, "C dissemination barrier over UDP of as many processes on the same CPUs, spin then sched_yield",
		iters, floor.UDPBarrier, l.Spread(ranks))}
}
