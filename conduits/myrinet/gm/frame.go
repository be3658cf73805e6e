package gm

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// The types of packets: the first two of the four bytes after the route (Myricom, packet types; gm_types.h).
const (
	TypeGM       uint16 = 0x0008
	TypeEthernet uint16 = 0x0009 // ethernet over GM
	TypeMapping  uint16 = 0x700f
)

// HeaderSize is the size of the header of a GM packet, the type included, in bytes.
const HeaderSize = 24

// Kind is what a GM packet is for.
type Kind uint8

// The kinds. Those after ACK refuse a packet.
const (
	Data         Kind = iota + 1
	ACK               // all packets before Sequence have been accepted
	NACK              // Sequence is expected, and something else came; with Last, it came, and there is no buffer for it
	NACKDown          // the port that Sequence is for is closed
	NACKReject        // the message that begins with Sequence is of a size that the port does not accept
	NACKOpen          // the target's number is another one, SenderConn: open a session with that
	NACKClose         // no more packets come of sessions before this
	NACKNoBuffer      // the message that begins with Sequence has found no receive buffer for gm.patience
)

var kindNames = [...]string{"?", "DATA", "ACK", "NACK", "NACK_DOWN", "NACK_REJECT", "NACK_OPEN_CONNECTION", "NACK_CLOSE_CONNECTION", "NACK_NO_BUFFER"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Header is the header of a GM packet: type, subtype, and what gm_types.h of GM 2 has behind them. The bits of the
// subtype are ours: kind (8), first and last packet of a message (1 each), size class of the buffer that it is for
// (5, low).
type Header struct {
	Kind        Kind
	First, Last bool
	Class       uint8  // of the receive buffer; less than Classes
	Target      uint32 // node
	Session     uint16
	Sequence    uint16
	Length      uint16 // of the payload in this packet, in bytes
	TargetPort  uint8  // subport: port and priority
	SenderPort  uint8
	Sender      uint32 // node
	TargetConn  uint16 // Data: the number that the target has given to the sender's program, 0 if none; answers: SenderConn of the data
	SenderConn  uint16 // Data: tells the sender's program from those that were on its NIC before; answers: the number given to it
}

const (
	firstBit  = 1 << 7
	lastBit   = 1 << 6
	classMask = Classes - 1
)

// Classes is how many size classes of buffers there are. A buffer of class c has up to 2^c bytes.
const Classes = 32

// Append appends the header as it is on the wire, big endian.
func (h *Header) Append(to []byte) []byte {
	sub := uint16(h.Kind)<<8 | uint16(h.Class&classMask)
	if h.First {
		sub |= firstBit
	}
	if h.Last {
		sub |= lastBit
	}
	be := binary.BigEndian
	to = be.AppendUint16(to, TypeGM)
	to = be.AppendUint16(to, sub)
	to = be.AppendUint32(to, h.Target)
	to = be.AppendUint16(to, h.Session)
	to = be.AppendUint16(to, h.Sequence)
	to = be.AppendUint16(to, h.Length)
	to = append(to, h.TargetPort, h.SenderPort)
	to = be.AppendUint32(to, h.Sender)
	to = be.AppendUint16(to, h.TargetConn)
	return be.AppendUint16(to, h.SenderConn)
}

// DecodeHeader reads the header of a GM packet, of which payload bytes follow. It fails on what no sender makes.
func DecodeHeader(b []byte, payload int) (h Header, err error) {
	if t, ok := fabric.PacketType(b); !ok || t != TypeGM {
		return h, fmt.Errorf("gm: no packet of GM")
	}
	if len(b) < HeaderSize {
		return h, fmt.Errorf("gm: a packet of %d B; the header has %d", len(b), HeaderSize)
	}
	be := binary.BigEndian
	sub := be.Uint16(b[2:])
	h = Header{
		Kind: Kind(sub >> 8), First: sub&firstBit != 0, Last: sub&lastBit != 0, Class: uint8(sub & classMask),
		Target: be.Uint32(b[4:]), Session: be.Uint16(b[8:]), Sequence: be.Uint16(b[10:]), Length: be.Uint16(b[12:]),
		TargetPort: b[14], SenderPort: b[15], Sender: be.Uint32(b[16:]), TargetConn: be.Uint16(b[20:]), SenderConn: be.Uint16(b[22:]),
	}
	switch {
	case h.Kind < Data || h.Kind > NACKNoBuffer:
		return h, fmt.Errorf("gm: a packet of %v", h.Kind)
	case sub&0x20 != 0:
		return h, fmt.Errorf("gm: subtype %#04x", sub)
	case int(h.Length) != payload:
		return h, fmt.Errorf("gm: a packet says %d B of payload, and has %d", h.Length, payload)
	case h.Kind != Data && (payload > 0 || h.First || h.Class != 0 || h.Last && h.Kind != NACK):
		return h, fmt.Errorf("gm: %v with a message", h.Kind)
	case h.Kind == Data && !h.Last && payload == 0:
		return h, fmt.Errorf("gm: an empty packet in the middle of a message")
	}
	return h, nil
}
