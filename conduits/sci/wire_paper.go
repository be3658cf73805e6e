package sci

import (
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
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
	dmaLeast    = 4096                     // bytes: failed transfers are not halved below
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
// size in transit, for which the published 16 bits do not do; and the link the number that the
// receiver has among the sender's senders, where these connect at the first use.
type command struct {
	hdr     core.Header
	size    uint16
	pointer uint32 // Long: offset in the receiver's segment
	args    [core.MaxArgs]uint32
	more    uint16 // Long: the size's upper half
	_       uint16
	number  uint32 // see controlLayout
	payload [paperMedium]byte
}

const (
	_ = uint(unsafe.Offsetof(command{}.payload) - headerSize) // the layout is the published one
	_ = uint(headerSize - unsafe.Offsetof(command{}.payload))
)

// flagOf returns the ready flag of a message.
func flagOf(k core.Kind) uint8 { return flagShort + uint8(k) }

// controlLayout is a node's control segment. As published it has the message ready flags, four
// bytes for each sender, and then the message exist flag, and all that is to be imported is
// imported at the beginning.
//
// On machines with tens of thousands of nodes senders connect when they first send, and are
// numbered in that order. The control segment is then a page, with the flags of the first
// senders; those of further senders are in segments like it, made as senders come. In each, a
// summary flag for every bank of senders, behind the ready flags, says which banks to scan. It is
// stored between the ready flag and the exist flag, for the same reason as these two are in this
// order. A command segment ends with the number that its sender has been given, which the
// sender reads there; and every message says the number that the sender has given its receiver,
// so that who only answers need not connect to a command segment.
type controlLayout struct {
	firstUse bool // peers connect at the first use
	set      int  // senders whose flags are in one segment
	bank     int  // senders per summary flag; 0: there are none
	exist    int  // offset of the message exist flag, in the control segment
	size     int
}

// published returns the layout for n senders of the published conduit.
func published(n int) controlLayout {
	return controlLayout{set: n, exist: perPeer * n, size: perPeer*n + 1}
}

// setSize is the bytes of a segment of flags that is made on demand.
const setSize = 4096

// onDemand returns the layout of senders that connect at the first use.
func onDemand(bank int) controlLayout {
	const room = setSize - 1 // one is the exist flag
	if bank == 0 {
		return controlLayout{firstUse: true, set: room / perPeer, exist: room, size: setSize}
	}
	bank = min(bank, (room-1)/perPeer)
	banks := room / (perPeer*bank + 1) // a bank is in one segment
	return controlLayout{firstUse: true, set: banks * bank, bank: bank, exist: room, size: setSize}
}

// numberAt is where a command segment that is made on demand has the sender's number, and
// numbered its size.
const (
	numberAt = perPeer * commandSize
	numbered = numberAt + 4
)

const (
	_ = uint(commandSize - sisci.BlockSize) // a place that was never used takes no memory
	_ = uint(sisci.BlockSize - commandSize)
)

// mrf returns the offset in its segment of a sender's first message ready flag.
func (l *controlLayout) mrf(sender int) int { return sender % l.set * perPeer }

// summary returns the offset in the same segment of the summary flag of a sender's bank.
func (l *controlLayout) summary(sender int) int { return l.set*perPeer + sender%l.set/l.bank }

// ragged splits a Long's payload into what DMA can carry and the unaligned bytes before
// and after it, which travel in the command.
func ragged(off uint64, n int) (head, tail int) {
	head = int(-off & (dmaUnit - 1))
	tail = int((off + uint64(n)) & (dmaUnit - 1))
	return head, tail
}

// Payloads up to paperMedium go by programmed I/O, Longs too; longer ones by DMA.
func byDMA(n int) bool { return n > paperMedium }
