package sci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// The paper profile's layout (Su et al., "Memory layout"; the header's fields after the
// conduit's published source).
const (
	pairs       = 2 // requests under way per peer, each with a place for its reply
	perPeer     = 2 * pairs
	commandSize = 1024
	headerSize  = 80
	paperMedium = commandSize - headerSize // 944 bytes
	stagingSize = 1 << 20                  // bytes of a Long: the segment limit of the paper's driver
	dmaUnit     = 8                        // DMA needs this alignment of offsets and sizes
)

// Message ready flags: the value says what arrived. Zero is none.
const (
	flagNone    uint8 = 0
	flagShort   uint8 = 10
	flagMedium  uint8 = 11
	flagLong    uint8 = 12
	flagControl uint8 = 13 // a reply without a message: the request's place is free
)

// command is a message in a command segment. The header ends with eight bytes that belong
// to the receiver: the token, and the link of its work queue, which is kept elsewhere here.
// The token, which follows from where a message lies, carries the upper half of a Long's
// size in transit, for which the published 16 bits do not do.
type command struct {
	hdr     core.Header
	size    uint16
	pointer uint32 // Long: offset in the receiver's segment
	args    [core.MaxArgs]uint32
	more    uint16 // Long: the size's upper half
	_       uint16
	_       uint32
	payload [paperMedium]byte
}

const (
	_ = uint(unsafe.Offsetof(command{}.payload) - headerSize) // the layout is the published one
	_ = uint(headerSize - unsafe.Offsetof(command{}.payload))
)

// flagOf returns the ready flag of a message.
func flagOf(k core.Kind) uint8 { return flagShort + uint8(k) }

// mrf returns the offset of a message ready flag in the control segment.
func mrf(sender, number int) int { return sender*perPeer + number }

// ragged splits a Long's payload into what DMA can carry and the unaligned bytes before
// and after it, which travel in the command.
func ragged(off uint64, n int) (head, tail int) {
	head = int(-off & (dmaUnit - 1))
	tail = int((off + uint64(n)) & (dmaUnit - 1))
	return head, tail
}

// Payloads up to paperMedium go by programmed I/O, Longs too; longer ones by DMA.
func byDMA(n int) bool { return n > paperMedium }
