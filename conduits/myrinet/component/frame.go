package component

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// TypeFrame is the type of the component's packets, the first two bytes after the route. It is assigned here.
const TypeFrame uint16 = 0x000c

// Kind is what a frame is for.
type Kind uint8

// The kinds. All but Data belong to a protocol.
const (
	Data    Kind = iota + 1
	Ack          // Reliability: all frames before Sequence have been accepted
	Credit       // Credits: nothing but Freed
	Request      // Rendezvous: a message of Total bytes wants a buffer
	Grant        // Rendezvous: Buffer is for it; Total is what a byte's copy costs the receiver, in ps (0: not known)
	Capsule      // Active: the payload is a unit of protocol Port, which the receiver's NIC evaluates
)

var kindNames = [...]string{"?", "DATA", "ACK", "CREDIT", "REQUEST", "GRANT", "CAPSULE"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// of returns the protocol that a kind belongs to.
func (k Kind) of() Protocol {
	return [...]Protocol{Data: 0, Ack: Reliability, Credit: Credits, Request: Rendezvous, Grant: Rendezvous, Capsule: Active}[k]
}

// Header is the header of a frame: the baseline's, and that of each protocol. The latter are on the wire only if the protocol is
// in the composition; with Active only if it acts on this frame as well, which Flags says.
type Header struct {
	Kind    Kind
	Source  uint16 // node
	Target  uint16 // node
	Port    uint16 // at the target
	Message uint16 // number of the message, by its source
	Index   uint16 // of the frame in the message
	Length  uint16 // of the payload in this frame
	Total   uint32 // of the message

	Flags    Protocol // Active: the protocols that act on this frame
	Sequence uint32   // Reliability: number of the frame, from its source to its target; Ack: of the next that is expected
	Freed    uint32   // Credits: frames of the target that have left the staging buffer of the source, all so far
	Group    uint16   // Multicast: to which group the frame was sent, from 1 on; 0: to one node
	MTU      uint32   // MTU: payload of each frame of the message but the last
	Buffer   uint32   // Rendezvous: where the payload belongs, from 1 on; 0: in the staging buffer
}

// BaseHeader is the size of the baseline's header, and extension that of each protocol's, in bytes.
const (
	BaseHeader = 20
	extension  = 4
)

// inHeader are the protocols that have something in the header.
const inHeader = Active | Reliability | Credits | Multicast | MTU | Rendezvous

// inFrame tells whether a protocol's part is in the header of a frame with these flags.
func inFrame[S any](p, flags Protocol) bool {
	return has[S](p) && (!has[S](Active) || flags&p != 0)
}

// Append appends the header as it is on the wire, big endian.
func Append[S any](h *Header, to []byte) []byte {
	be := binary.BigEndian
	to = be.AppendUint16(to, TypeFrame)
	to = append(to, byte(h.Kind), 0)
	to = be.AppendUint16(to, h.Source)
	to = be.AppendUint16(to, h.Target)
	to = be.AppendUint16(to, h.Port)
	to = be.AppendUint16(to, h.Message)
	to = be.AppendUint16(to, h.Index)
	to = be.AppendUint16(to, h.Length)
	to = be.AppendUint32(to, h.Total)
	if has[S](Active) {
		to = append(to, byte(h.Flags), 0, 0, 0)
	}
	if inFrame[S](Reliability, h.Flags) {
		to = be.AppendUint32(to, h.Sequence)
	}
	if inFrame[S](Credits, h.Flags) {
		to = be.AppendUint32(to, h.Freed)
	}
	if inFrame[S](Multicast, h.Flags) {
		to = be.AppendUint32(to, uint32(h.Group))
	}
	if inFrame[S](MTU, h.Flags) {
		to = be.AppendUint32(to, h.MTU)
	}
	if inFrame[S](Rendezvous, h.Flags) {
		to = be.AppendUint32(to, h.Buffer)
	}
	return to
}

// errNoFrame says that a packet is none of the component's.
var errNoFrame = errors.New("component: no frame: another type, or bytes of a route")

// Decode reads a frame: its header, and the payload behind it, in the same memory. It fails on what no component of this
// composition makes.
func Decode[S any](b []byte) (h Header, payload []byte, err error) {
	be := binary.BigEndian
	if len(b) < BaseHeader {
		return h, nil, fmt.Errorf("component: a frame of %d B; the header has %d", len(b), BaseHeader)
	}
	if be.Uint16(b) != TypeFrame {
		return h, nil, errNoFrame
	}
	h = Header{
		Kind: Kind(b[2]), Source: be.Uint16(b[4:]), Target: be.Uint16(b[6:]), Port: be.Uint16(b[8:]),
		Message: be.Uint16(b[10:]), Index: be.Uint16(b[12:]), Length: be.Uint16(b[14:]), Total: be.Uint32(b[16:]),
	}
	rest, short, group := b[BaseHeader:], false, uint32(0)
	next := func() (v uint32) {
		if len(rest) < extension {
			short = true
			return 0
		}
		v, rest = be.Uint32(rest), rest[extension:]
		return v
	}
	if has[S](Active) {
		word := next()
		h.Flags = Protocol(word >> 24)
		if word<<8 != 0 || h.Flags&^(setOf[S]()&inHeader&^Active) != 0 {
			return h, nil, fmt.Errorf("component: flags %#08x", word)
		}
	}
	if inFrame[S](Reliability, h.Flags) {
		h.Sequence = next()
	}
	if inFrame[S](Credits, h.Flags) {
		h.Freed = next()
	}
	if inFrame[S](Multicast, h.Flags) {
		group = next()
		h.Group = uint16(group)
	}
	if inFrame[S](MTU, h.Flags) {
		h.MTU = next()
	}
	if inFrame[S](Rendezvous, h.Flags) {
		h.Buffer = next()
	}
	switch {
	case h.Kind < Data || h.Kind > Capsule || b[3] != 0:
		err = fmt.Errorf("component: a frame of %v", h.Kind)
	case h.Kind.of()&^setOf[S]() != 0:
		err = fmt.Errorf("component: %v, and %v is not in the composition", h.Kind, h.Kind.of())
	case short:
		err = fmt.Errorf("component: a frame of %d B ends in its header", len(b))
	case group > 1<<16-1:
		err = fmt.Errorf("component: group %d", group)
	case int(h.Length) != len(rest):
		err = fmt.Errorf("component: a frame says %d B of payload, and has %d", h.Length, len(rest))
	case h.Kind != Data && h.Kind != Capsule && h.Length > 0:
		err = fmt.Errorf("component: %v with %d B of payload", h.Kind, h.Length)
	case h.Kind == Data && (uint32(h.Length) > h.Total || h.Length == 0 && (h.Total > 0 || h.Index > 0)):
		err = fmt.Errorf("component: a frame of %d B, the %d. of a message of %d B", h.Length, h.Index, h.Total)
	case h.Kind == Data && inFrame[S](MTU, h.Flags) && (h.MTU < minMTU || h.MTU > maxMTU || uint32(h.Length) > h.MTU):
		err = fmt.Errorf("component: a frame of %d B of a message with an MTU of %d B", h.Length, h.MTU)
	case h.Kind == Ack && !inFrame[S](Reliability, h.Flags), h.Kind == Credit && !inFrame[S](Credits, h.Flags),
		h.Kind == Grant && (!inFrame[S](Rendezvous, h.Flags) || h.Buffer == 0):
		err = fmt.Errorf("component: %v without what it is for", h.Kind)
	}
	if err != nil {
		return Header{}, nil, err
	}
	return h, rest, nil
}
