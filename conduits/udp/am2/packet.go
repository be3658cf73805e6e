package am2

import "encoding/binary"

// A datagram begins with a header of fixed size; all fields are little-endian.
//
//	 0  16  tag of all that follows in the head, for the driver
//	16   1  version               17   1  kind of packet
//	18   1  flags                 19   1  length of the head in 8 bytes, of a fragment; else 0
//	20   2  source endpoint       22   2  destination endpoint
//	24   4  source incarnation    28   4  destination incarnation
//	32   8  transmission number: counts the datagrams between two processes, one direction
//	40   8  AM tag
//	48   4  sequence number in the lane
//	52   4  cumulative acknowledgement of requests: the next one expected
//	56   4  the same of replies
//	60   4  echo: the stamp of the datagram with the largest transmission number received
//	64   4  how long ago that was, in ticks; all ones: too long
//	68   2  room: packets of requests that are taken beyond the cumulative acknowledgement
//	70   2  distance from the sequence number down to the oldest that is not settled; this
//	        and the room from coarse on in units (header.go), rounded to the safe side
//	72   4  requests of the channel that have been handled, cumulative
//	76   4  stamp: when it was sent, in ticks of the sender's clock, never 0
//
// A fragment has the tag of its body next, in 16 bytes. Records follow (record.go), or in an
// acknowledgement bitmaps (ack.go).
const (
	atTag       = 0
	atVersion   = 16
	atKind      = 17
	atFlags     = 18
	atHead      = 19
	atSource    = 20
	atDest      = 22
	atSourceInc = 24
	atDestInc   = 28
	atNumber    = 32
	atAMTag     = 40
	atSeq       = 48
	atAcks      = 52 // of requests, then of replies
	atEcho      = 60
	atEchoDelay = 64
	atRoom      = 68
	atBelow     = 70
	atSettled   = 72
	atStamp     = 76

	// FixedHead is the length of the header that every datagram begins with. A driver that
	// encrypts leaves it readable.
	FixedHead = 80
	// TagSize is the length of the tags that the driver writes.
	TagSize = 16
	// MinDatagram is how many bytes every path must carry.
	MinDatagram = 512

	version      = 2
	fragmentHead = FixedHead + TagSize
	unit         = 8 // records begin at multiples of it, and fragments have multiples of it
)

// DriverKinds and the kinds beyond are left to the driver, for datagrams of its own: a bundle
// neither sends them nor takes them. What they have in common with those of bundles is the place
// of the kind, and of the number if they have one; see PutKind and PutNumber.
const DriverKinds = 0xf0

// KindSize is how many bytes of a datagram PutKind needs; the bytes behind them are the driver's.
const KindSize = atKind + 1

// packetKind says what a datagram is.
type packetKind uint8

const (
	packRequests packetKind = iota // records of the requests lane
	packReplies                    // records of the replies lane
	fragRequest                    // a fragment of a request
	fragReply                      // a fragment of a reply
	packAck                        // an acknowledgement
	packProbe                      // asks for one
	packReturned                   // a packet of a lane was refused, for the reason in flags
	packetKinds
)

// Flags.
const (
	flagReplyAcks  = 1 << 7 // the sender works as Config.ReplyAcks says
	flagReply      = 1 << 6 // packReturned: of the replies lane
	flagGaps       = 1 << 5 // packets were received beyond the cumulative acknowledgements
	flagReasonMask = 1<<4 - 1
)

// HeadTag returns the place in the head of a datagram for the tag of what follows in the head.
func HeadTag(head []byte) []byte { return head[atTag : atTag+TagSize] }

// Number returns the transmission number of a datagram: it never repeats between two
// processes in one direction. Those of bundles count up from 1.
func Number(head []byte) uint64 { return binary.LittleEndian.Uint64(head[atNumber:]) }

// PutNumber writes the transmission number of a datagram of the driver, which has FixedHead bytes.
func PutNumber(head []byte, number uint64) { binary.LittleEndian.PutUint64(head[atNumber:], number) }

// PutKind makes a datagram one of the driver, of a kind from DriverKinds on. It writes to the
// KindSize first bytes.
func PutKind(datagram []byte, kind uint8) { datagram[atVersion], datagram[atKind] = version, kind }

// DriverKind returns the kind of a received datagram, or false if it is none of the driver.
func DriverKind(datagram []byte) (kind uint8, ok bool) {
	if len(datagram) < KindSize || datagram[atVersion] != version || datagram[atKind] < DriverKinds {
		return 0, false
	}
	return datagram[atKind], true
}

// Ends returns the numbers of the endpoints that a datagram comes from and goes to.
func Ends(head []byte) (source, dest uint16) {
	return binary.LittleEndian.Uint16(head[atSource:]), binary.LittleEndian.Uint16(head[atDest:])
}

// HeadLen returns how many bytes of a received datagram are its head; the rest is its body.
// It reports false if that cannot be a datagram of a bundle. The head of what it accepts has
// FixedHead bytes at least.
func HeadLen(datagram []byte) (n int, ok bool) {
	if len(datagram) < FixedHead || datagram[atVersion] != version {
		return 0, false
	}
	switch kind := packetKind(datagram[atKind]); {
	case kind >= packetKinds:
		return 0, false
	case kind != fragRequest && kind != fragReply:
		return len(datagram), datagram[atHead] == 0
	}
	n = unit * int(datagram[atHead])
	return n, n >= fragmentHead && n < len(datagram)
}

// FragmentKind returns the kind of the message of which a received datagram is a fragment. It reports false for a datagram
// that is none.
func FragmentKind(datagram []byte) (k Kind, ok bool) {
	n, ok := HeadLen(datagram)
	if !ok || n == len(datagram) || n < fragmentHead+fragmentHeader {
		return 0, false
	}
	return Kind(datagram[fragmentHead+atKindOfFragment]), true
}

// HasBody reports whether a datagram, the head of which has FixedHead bytes at least, has a body, and so the place for the
// tag of that.
func HasBody(head []byte) bool { return head[atHead] != 0 }

// BodyTag returns the place in the head of a fragment for the tag of its body, or nil if
// the datagram has no body.
func BodyTag(head []byte) []byte {
	if !HasBody(head) {
		return nil
	}
	return head[FixedHead:fragmentHead]
}
