package routing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// MappingType is the type of mapping packets (Myricom, gm_types.h): the two bytes behind the route.
const MappingType = 0x700f

// MessageKind is what a mapping packet is for; the two bytes behind the type.
type MessageKind uint16

// Kinds of mapping packets.
const (
	Probe  MessageKind = 1 + iota // comes back to its sender if there are the switches that its route leads through
	Scout                         // asks a host for its name
	Reply                         // answers a Scout
	Routes                        // tells a host its routes
	Taken                         // answers Routes
)

// Message is a mapping packet behind its route.
type Message struct {
	Kind    MessageKind
	Serial  uint32  // of the question, which its answer repeats
	From    string  // name of the host that sends it
	Back    []byte  // Scout, Routes: the route of the answer
	Entries []Entry // Routes
}

// Entry is the way from a host to another one: the route bytes of its legs, and the hosts between them.
type Entry struct {
	To      string
	Legs    [][]byte
	Transit []string // one less than legs
}

// Append appends the bytes of m to b. Names and routes are of up to 255 bytes, and so is the number of legs.
func (m *Message) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, MappingType)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Kind))
	b = binary.BigEndian.AppendUint32(b, m.Serial)
	b = appendShort(b, m.From)
	b = appendShort(b, m.Back)
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Entries)))
	for i := range m.Entries {
		e := &m.Entries[i]
		b = appendShort(b, e.To)
		b = append(b, byte(len(e.Legs)))
		for j, leg := range e.Legs {
			if j > 0 {
				b = appendShort(b, e.Transit[j-1])
			}
			b = appendShort(b, leg)
		}
	}
	return b
}

func appendShort[T string | []byte](b []byte, s T) []byte {
	return append(append(b, byte(len(s))), s...)
}

// errForeign says that a packet is of a type for others.
var errForeign = errors.New("routing: no mapping packet")

// Decode reads a mapping packet, behind its route. What it returns lies in the same memory. A packet of another type is an error too.
func Decode(b []byte) (Message, error) {
	d := decoder{wire.NewReader(b)}
	if d.uint16() != MappingType || d.Err() != nil {
		return Message{}, errForeign
	}
	m := Message{Kind: MessageKind(d.uint16()), Serial: uint32(d.uint16())<<16 | uint32(d.uint16())}
	m.From = string(d.bytes())
	m.Back = d.bytes()
	n := int(d.uint16())
	for range n {
		if d.Err() != nil {
			break
		}
		m.Entries = append(m.Entries, d.entry())
	}
	switch {
	case d.End() != nil:
		return Message{}, fmt.Errorf("routing: a mapping packet of %d bytes: %w", len(b), d.End())
	case m.Kind < Probe || m.Kind > Taken:
		return Message{}, fmt.Errorf("routing: a mapping packet of unknown kind %d", m.Kind)
	case n > 0 && m.Kind != Routes:
		return Message{}, fmt.Errorf("routing: a mapping packet of kind %d with routes", m.Kind)
	}
	if err := fabric.CheckName(m.From); err != nil {
		return Message{}, fmt.Errorf("routing: a mapping packet from a host whose name is wrong: %w", err)
	}
	return m, nil
}

// decoder takes a packet apart: its numbers have their high bytes first, and lengths are a byte.
type decoder struct{ *wire.Reader }

func (d decoder) uint16() uint16 { return bits.ReverseBytes16(d.Uint16()) }
func (d decoder) bytes() []byte  { return d.Next(int(d.Uint8())) }

func (d decoder) entry() (e Entry) {
	e.To = string(d.bytes())
	for i := range d.Uint8() {
		if d.Err() != nil {
			break
		}
		if i > 0 {
			e.Transit = append(e.Transit, string(d.bytes()))
		}
		e.Legs = append(e.Legs, d.bytes())
	}
	return e
}
