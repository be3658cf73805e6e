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
	Round   uint32  // Routes: tells messages that belong together from others of the mapper
	Part    int     // Routes: how many messages with routes of this host come before
	More    int     // Routes: how many come behind
	Entries []Entry // Routes
}

// Entry is the way from a host to another one: the route bytes of its legs, and the hosts between them.
type Entry struct {
	To      string
	Legs    [][]byte
	Transit []string // one less than legs
}

// Append appends the bytes of m to b. Names are of up to 255 bytes, ways of up to 65535, and so are numbers of legs and entries.
func (m *Message) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, MappingType)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Kind))
	b = binary.BigEndian.AppendUint32(b, m.Serial)
	b = appendName(b, m.From)
	b = appendWay(b, m.Back)
	if m.Kind != Routes {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, m.Round)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Part))
	b = binary.BigEndian.AppendUint16(b, uint16(m.More))
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.Entries)))
	for i := range m.Entries {
		b = m.Entries[i].append(b)
	}
	return b
}

func (e *Entry) append(b []byte) []byte {
	b = appendName(b, e.To)
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Legs)))
	for j, leg := range e.Legs {
		if j > 0 {
			b = appendName(b, e.Transit[j-1])
		}
		b = appendWay(b, leg)
	}
	return b
}

func appendName(b []byte, s string) []byte {
	return append(append(b, byte(len(s))), s...)
}

func appendWay(b, way []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(way))), way...)
}

// errForeign says that a packet is of a type for others.
var errForeign = errors.New("routing: no mapping packet")

// Decode reads a mapping packet, behind its route. What it returns lies in the same memory. A packet of another type is an error
// too, and one with a name that no host can have, or a way of other bytes than route bytes.
func Decode(b []byte) (Message, error) {
	d := decoder{wire.NewReader(b)}
	if d.uint16() != MappingType || d.Err() != nil {
		return Message{}, errForeign
	}
	m := Message{Kind: MessageKind(d.uint16()), Serial: d.uint32()}
	m.From = d.name()
	m.Back = d.way()
	if m.Kind == Routes {
		m.Round = d.uint32()
		m.Part, m.More = int(d.uint16()), int(d.uint16())
		for range d.uint16() {
			if d.Err() != nil {
				break
			}
			m.Entries = append(m.Entries, d.entry())
		}
	}
	switch {
	case d.End() != nil:
		return Message{}, fmt.Errorf("routing: a mapping packet of %d bytes: %w", len(b), d.End())
	case m.Kind < Probe || m.Kind > Taken:
		return Message{}, fmt.Errorf("routing: a mapping packet of unknown kind %d", m.Kind)
	}
	if err := m.check(); err != nil {
		return Message{}, fmt.Errorf("routing: a mapping packet of kind %d: %w", m.Kind, err)
	}
	return m, nil
}

// check refuses names and ways that no mapper sends.
func (m *Message) check() error {
	err := errors.Join(fabric.CheckName(m.From), checkWay(m.Back))
	for i := range m.Entries {
		err = errors.Join(err, m.Entries[i].check())
	}
	return err
}

// check refuses a way of no legs, and one with an empty leg, but for that of two hosts that are cabled to each other.
func (e *Entry) check() error {
	err := fabric.CheckName(e.To)
	if len(e.Legs) == 0 {
		err = errors.Join(err, fmt.Errorf("no way to %s", e.To))
	}
	for i, leg := range e.Legs {
		if err = errors.Join(err, checkWay(leg)); len(leg) == 0 && len(e.Legs) > 1 {
			err = errors.Join(err, fmt.Errorf("a way to %s with an empty leg", e.To))
		}
		if i > 0 {
			err = errors.Join(err, fabric.CheckName(e.Transit[i-1]))
		}
	}
	return err
}

func checkWay(way []byte) error {
	for _, b := range way {
		if _, ok := fabric.RouteDelta(b); !ok {
			return fmt.Errorf("%#02x in a way, which is no route byte", b)
		}
	}
	return nil
}

// decoder takes a packet apart: its numbers have their high bytes first.
type decoder struct{ *wire.Reader }

func (d decoder) uint16() uint16 { return bits.ReverseBytes16(d.Uint16()) }
func (d decoder) uint32() uint32 { return uint32(d.uint16())<<16 | uint32(d.uint16()) }
func (d decoder) name() string   { return string(d.Next(int(d.Uint8()))) }
func (d decoder) way() []byte    { return d.Next(int(d.uint16())) }

func (d decoder) entry() (e Entry) {
	e.To = d.name()
	for i := range d.uint16() {
		if d.Err() != nil {
			break
		}
		if i > 0 {
			e.Transit = append(e.Transit, d.name())
		}
		e.Legs = append(e.Legs, d.way())
	}
	return e
}
