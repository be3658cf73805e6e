package core

import (
	"math/bits"
	"slices"
)

// CollectiveOp is a collective operation of all ranks of a group, numbered in its order.
type CollectiveOp uint8

// The operations. Blocks have equal lengths and lie one behind the other, in the order of the group.
// A buffer that is not mentioned for a rank is empty there.
const (
	CollectiveBarrier   CollectiveOp = iota // there are no buffers
	CollectiveBroadcast                     // Dst becomes Src of the root, where both are as long
	CollectiveReduce                        // Dst of the root becomes all ranks' Src, combined; all are as long
	CollectiveAllReduce                     // Dst becomes all ranks' Src, combined; all are as long
	CollectiveAllGather                     // block i of Dst becomes Src of rank i, which is as long
	CollectiveAllToAll                      // block i of Dst becomes this rank's block of Src of rank i; Dst is as long as Src
)

// Collective describes a collective operation. All ranks give the same Op, Root, Type, Combine
// and lengths. Dst is undefined until completion, and Src stays as it is. They may be the same
// memory, in AllReduce on all ranks or on none; for AllGather Src may be this rank's block of Dst.
// Otherwise they do not overlap; those of AllToAll never do. It is owned as a Transfer is.
type Collective struct {
	Op       CollectiveOp
	Root     Rank // of Broadcast and Reduce: a rank of the group
	Dst, Src []byte
	Type     ElementType // of reductions: of the elements, of which the buffers are a whole number
	Combine  AtomicOp    // of reductions: x becomes x Combine a; And, Or, Xor, Add, Mult, Min or Max
	Done     *Completion // to be told of the completion
}

// Collectives is an optional power of a conduit whose network carries out collective operations
// of all ranks of the group itself. The layer above does by messages what a conduit has no power
// for, or declines. What is said with Putter of memory, completion, concurrency, failure and end
// holds here too, and besides:
//
// Order: all ranks of the group begin the same operations in the same order, that of the calls. A
// rank may begin them long before or after its peers, with messages and one-sided operations
// under way. An operation that has begun makes progress in every Poll, and is complete when this
// rank's part is. Completion says of the other ranks what the operation itself says, and no more.
//
// Room: Collective takes every operation that it does not decline, and keeps in their order those
// that the network has no room for yet. The conduit bounds how far ahead of its peers a rank can
// get, and what these keep for it meanwhile, by beginning no more.
//
// Results: integers are combined modulo 2ⁿ, so the result does not depend on the order. A conduit
// declines floating-point numbers, whose result does, unless it combines them in an order that is
// the same every time and for all ranks.
type Collectives interface {
	// Collective begins an operation. It answers Initiated, Completed or Declined, from the
	// operation, its lengths and the settings alone, so that all ranks answer the same. It neither
	// polls nor blocks.
	Collective(x *Collective) Result
	// MaxCollective returns the bytes of the longest buffer of an operation, at least 1, or 0 if all
	// are declined; the same on all ranks. It is called once, after Attach.
	MaxCollective() int
}

// MaxNativeCollective returns the bytes of the longest buffer of a collective operation that the
// conduit's network carries out itself, 0 if it carries out none (or Config.NoNative). A handler may
// call it.
func (ep *Endpoint) MaxNativeCollective() int { return ep.most.collective }

// CollectiveNative has the network carry out a collective operation of the group. It does not wait,
// and returns as PutNative does; the same on all ranks. Contexts of a rank that begin operations
// agree among each other on their order. Not allowed in a handler.
func (c *Context) CollectiveNative(x Collective) (Result, error) {
	const call = "CollectiveNative"
	ep := c.ep
	if c.restricted != 0 {
		return Declined, c.misplaced(call)
	}
	if what := x.wrong(ep.group, ep.Rank()); what != "" {
		return Declined, ep.Misuse(call, "%s", what)
	}
	if most := ep.most.collective; most == 0 || max(len(x.Dst), len(x.Src)) > most {
		return Declined, nil
	}
	c.collective = x
	r, err := c.initiate(nativeCollective, x.Done)
	c.collective = Collective{}
	return c.initiated(r, err)
}

// wrong says what is wrong with an operation that rank self of a group wants; "" if nothing is.
func (x *Collective) wrong(group []Rank, self Rank) string {
	n, dst, src := len(group), len(x.Dst), len(x.Src)
	fits := false
	switch rooted := self == x.Root; x.Op {
	case CollectiveBarrier:
		fits = dst == 0 && src == 0
	case CollectiveBroadcast:
		fits = src == dst || src == 0 && !rooted
	case CollectiveReduce:
		fits = dst == src || dst == 0 && !rooted
	case CollectiveAllReduce:
		fits = dst == src
	case CollectiveAllGather:
		fits = dst == n*src
	case CollectiveAllToAll:
		fits = dst == src && src%n == 0
	default:
		return "no such operation"
	}
	switch {
	case x.Done == nil:
		return "no completion to tell"
	case !fits:
		return "a destination of " + itoa(dst) + " bytes does not fit a source of " + itoa(src) + " among " + itoa(n) + " ranks"
	case x.Op == CollectiveBroadcast || x.Op == CollectiveReduce:
		if _, ok := slices.BinarySearch(group, x.Root); !ok {
			return "the root " + itoa(int(x.Root)) + " is no rank of the group"
		}
	}
	if x.Op != CollectiveReduce && x.Op != CollectiveAllReduce {
		return ""
	}
	const combining = AtomicAnd | AtomicOr | AtomicXor | AtomicAdd | AtomicMult | AtomicMin | AtomicMax
	switch size := x.Type.Size(); {
	case size == 0 || src%size != 0:
		return itoa(src) + " bytes are no whole number of elements"
	case x.Combine&combining == 0 || bits.OnesCount32(uint32(x.Combine)) != 1:
		return "no such operator of a reduction"
	}
	return ""
}
