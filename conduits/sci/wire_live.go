package sci

import (
	"github.com/aqueduct-go/aqueduct/core"
)

// The live profile's command segment: what one sender writes into one receiver's memory.
//
//	credits   64 bytes   how much of the receiver's own messages the sender has consumed
//	requests  depth slots
//	replies   depth slots
//	request payloads, reply payloads: rings of payloadRing bytes
//
// The rings begin at an offset that differs from segment to segment by slotSize, so that
// the slots polled for many senders do not all fall into the same cache sets.
const (
	slotSize    = 128 // two cache lines: no false sharing, no adjacent-line prefetch conflict
	slotShift   = 7
	depthShift  = 8
	depth       = 1 << depthShift // slots per ring
	payloadRing = 256 << 10       // bytes of payload under way per ring
	payloadUnit = 64              // payloads begin on cache lines
	maxMedium   = 64 << 10        // bytes; a quarter of the ring, so that one always fits
	creditEvery = depth / 4       // consumed slots are returned in quarters
	payEvery    = payloadRing / 4 // and payload bytes likewise
	pageStagger = 4096 / slotSize

	// Slots are prefetched so far ahead, found by trial: a sender's, which the receiver's
	// core must give up; a receiver's when so many have come in one poll that the sender is
	// well ahead, for else the prefetch takes the line from the sender who fills it.
	prefetchOut = 8
	prefetchIn  = 4
	backlog     = 8
)

// lane tells the two rings of a pair apart: replies need one of their own, since they must
// pass requests that cannot be taken yet.
type lane uint8

const (
	requests lane = iota
	replies
	lanes
)

func (l lane) String() string {
	if l == replies {
		return "replies"
	}
	return "requests"
}

// slot is one message. The word is written last and says that the rest is there: length
// (32), header (16), flags (8), lap (8, low). A lap counts how often the ring has gone
// round, and is never 0, so slots need not be cleared.
type slot struct {
	word uint64
	aux  uint64 // Long: destination offset; Medium in the payload ring: position, and bytes taken << 32
	args [core.MaxArgs]uint32
	_    [slotSize - 16 - 4*core.MaxArgs]byte // inline payload, which begins after the last argument
}

const flagInline = 1 << 8 // in slot.word: the payload lies in the slot

// slotWord packs the word of slot number head.
func slotWord(head uint32, hdr core.Header, n int, flags uint64) uint64 {
	return uint64(n)<<32 | uint64(hdr)<<16 | flags | uint64(lapOf(head))
}

// lapOf returns the lap in which slot number head lies.
func lapOf(head uint32) uint8 { return uint8(head>>depthShift) | 1<<7 }

// inlineAt returns where the inline payload of a message with nargs arguments begins in
// its slot; it may take the rest of it.
func inlineAt(nargs int) int { return 16 + (4*nargs+7)&^7 }

// liveLayout gives the offsets within the command segment of the given sender.
type liveLayout struct {
	ring    [lanes]int
	payload [lanes]int
	size    int
}

func layoutFor(sender int) liveLayout {
	var l liveLayout
	at := slotSize + sender%pageStagger*slotSize
	for i := range l.ring {
		l.ring[i] = at
		at += depth * slotSize
	}
	for i := range l.payload {
		l.payload[i] = at
		at += payloadRing
	}
	l.size = at
	return l
}

// creditOffset returns where a lane's credit lies.
func creditOffset(l lane) int { return 8 * int(l) }

// A credit tells how many slots (low half) and payload bytes (high half) have been
// consumed since the start, modulo 2³² each.
func credit(slots, pay uint32) uint64 { return uint64(pay)<<32 | uint64(slots) }

func creditParts(c uint64) (slots, pay uint32) { return uint32(c), uint32(c >> 32) }
