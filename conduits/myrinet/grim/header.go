package grim

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
)

// PacketType is GRIM's ID, which was registered with Myricom: the first two of the four bytes behind the route. NICs drop
// packets of other types.
const PacketType uint16 = 0x0636

// Sizes in bytes.
const (
	HeaderSize  = 32    // of a message: eight words of 32 bits
	ControlSize = 8     // of the header of a control message, which is all of it: the first two words
	MaxPayload  = 64572 // of a message
	word        = 4
)

// Type is what a message is for. The reference has the field and no values: these are ours.
type Type uint8

// The types.
const (
	AM   Type = iota + 1 // an active message
	ACK                  // the message of the token has been accepted
	NACK                 // there was no room for the message of the token
	DENY                 // the message of the token names memory that is not registered; it counts as acknowledged

	RMV     // remote memory: a write to a virtual address
	RMP     // a write to a physical address
	RMRV    // a read
	RMReply // what has been read

	Multicast // an active message on its way along a tree
)

var typeNames = [...]string{"type 0", "AM", "ACK", "NACK", "DENY", "RM-V", "RM-P", "RM-RV", "RM-RV reply", "multicast"}

// control tells whether packets of the type are control messages.
func (t Type) control() bool { return t >= ACK && t <= DENY }

// String returns the name of the type.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// EndpointID names an endpoint in the cluster. Endpoint i of host h is h·c + i, where each NIC has c channels, so that
// a NIC knows from it which NIC and which channel the endpoint is at.
type EndpointID uint16

// Header is the header of a message. The receiving NI needs words 0 to 3; words 4 to 7 are the user's arguments.
type Header struct {
	Token    uint8 // names the message while it is under way, to the NI that has sent it
	Sequence uint8 // set by the sending NI, within what Image.PerNI says
	Type     Type  // 6 bits

	Tree        uint8 // of a multicast message
	Source      EndpointID
	Destination EndpointID
	Channel     uint16    // of the sending NI: messages of one channel to one endpoint stay in order
	Handler     HandlerID // of remote memory: its flags, see Operation.Encode
	Args        [4]uint32

	Length int // of the payload, in bytes: 0 to MaxPayload
}

// Padded returns what a payload of n bytes takes of a message: it is padded to words.
func Padded(n int) int { return (n + word - 1) &^ (word - 1) }

// Append appends the header as it is on the wire, big endian:
//
//	0  GRIM ID (16), token (8), sequence (8)
//	1  type (6), payload correction (2), multicast tree (8), source endpoint (16)
//	2  payload length in words (16), destination endpoint (16)
//	3  logical channel (16), handler (16)
//	4  to 7: arguments
//
// The correction is what the padding of the payload adds. A Length that no message has is a bug of the caller's.
func (h *Header) Append(to []byte) []byte {
	if h.Length < 0 || h.Length > MaxPayload {
		panic(fmt.Sprintf("grim: a header of %d B of payload; there can be up to %d", h.Length, MaxPayload))
	}
	be := binary.BigEndian
	words := Padded(h.Length) / word
	to = appendControl(to, h.Token, h.Sequence, h.Type, uint8(words*word-h.Length), h.Tree, h.Source)
	to = be.AppendUint16(to, uint16(words))
	to = be.AppendUint16(to, uint16(h.Destination))
	to = be.AppendUint16(to, h.Channel)
	to = be.AppendUint16(to, uint16(h.Handler))
	for _, a := range h.Args {
		to = be.AppendUint32(to, a)
	}
	return to
}

// appendControl appends words 0 and 1.
func appendControl(to []byte, token, sequence uint8, t Type, correction, tree uint8, source EndpointID) []byte {
	be := binary.BigEndian
	to = be.AppendUint16(to, PacketType)
	to = append(to, token, sequence, uint8(t)<<2|correction, tree)
	return be.AppendUint16(to, uint16(source))
}

// stamp writes what the sending NI adds to a header: the token and the sequence number.
func stamp(header []byte, token, sequence uint8) {
	header[tokenByte], header[sequenceByte] = token, sequence
}

// Control is an ACK, a NACK or a DENY. The source is the endpoint that answers: the destination of the message.
type Control struct {
	Token    uint8
	Sequence uint8
	Type     Type
	Source   EndpointID
}

// Append appends the control message as it is on the wire: words 0 and 1 of a header, without correction and tree.
func (c *Control) Append(to []byte) []byte {
	return appendControl(to, c.Token, c.Sequence, c.Type, 0, 0, c.Source)
}

// TypeOf returns the type of a packet without its route, of which the first bytes are b. It fails on packets of others,
// and on those that are too short.
func TypeOf(b []byte) (Type, error) {
	if t, ok := fabric.PacketType(b); !ok || t != PacketType {
		return 0, fmt.Errorf("grim: no packet of GRIM")
	}
	if len(b) < ControlSize {
		return 0, fmt.Errorf("grim: a packet of %d B; the shortest has %d", len(b), ControlSize)
	}
	t := Type(b[4] >> 2)
	if t < AM || t > Multicast {
		return 0, fmt.Errorf("grim: a packet of %v", t)
	}
	return t, nil
}

// DecodeControl reads an ACK, a NACK or a DENY. b is all of the packet behind the route. It fails on what no NI sends.
func DecodeControl(b []byte) (c Control, err error) {
	t, err := TypeOf(b)
	switch {
	case err != nil:
		return c, err
	case !t.control():
		return c, fmt.Errorf("grim: %v is no control message", t)
	case len(b) != ControlSize:
		return c, fmt.Errorf("grim: %v of %d B; it has %d", t, len(b), ControlSize)
	case b[4]&3 != 0 || b[5] != 0:
		return c, fmt.Errorf("grim: %v with a payload or a tree", t)
	}
	return Control{Token: b[tokenByte], Sequence: b[sequenceByte], Type: t, Source: EndpointID(binary.BigEndian.Uint16(b[6:]))}, nil
}

// DecodeHeader reads the header of a message of which size bytes are behind the route: header, payload and padding. It
// fails on what no NI sends.
func DecodeHeader(b []byte, size int) (h Header, err error) {
	t, err := TypeOf(b)
	switch {
	case err != nil:
		return h, err
	case t.control():
		return h, fmt.Errorf("grim: %v is no message", t)
	case len(b) < HeaderSize:
		return h, fmt.Errorf("grim: a message of %d B; its header has %d", len(b), HeaderSize)
	}
	be := binary.BigEndian
	words, correction := int(be.Uint16(b[8:])), int(b[4]&3)
	h = Header{
		Token: b[tokenByte], Sequence: b[sequenceByte], Type: t, Tree: b[5], Source: EndpointID(be.Uint16(b[6:])),
		Destination: EndpointID(be.Uint16(b[10:])), Channel: be.Uint16(b[12:]), Handler: HandlerID(be.Uint16(b[14:])),
		Length: words*word - correction,
	}
	for i := range h.Args {
		h.Args[i] = be.Uint32(b[16+word*i:])
	}
	switch {
	case words == 0 && correction != 0:
		return h, fmt.Errorf("grim: %d bytes of padding and no payload", correction)
	case h.Length > MaxPayload:
		return h, fmt.Errorf("grim: a payload of %d B; there can be up to %d", h.Length, MaxPayload)
	case size != HeaderSize+words*word:
		return h, fmt.Errorf("grim: a message of %d B whose header says %d", size, HeaderSize+words*word)
	}
	return h, nil
}
