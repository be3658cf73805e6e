package scampi

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/matching"
)

// A slot is a flag, an envelope and the data of an eager message. All fields are little-endian.
//
//	 0  flag (64)     number of the message in the channel, from 1; set when the rest is there
//	 8  kind (16)     matching.Kind
//	10  entry (16)    Data: the transporter buffer with the payload
//	12  tag (32)      Eager, Request
//	16  size (64)     of the whole message
//	24  offset (64)   Data: where in the message the payload begins
//	32  length (32)   of the payload, in the slot or the transporter buffer
//	36  send (32)     the sender's number of the transfer
//	40  recv (32)     the receiver's number of it
//	48  data of an eager message
const (
	flagSize   = 8
	slotHeader = 48
	align      = 64 // of slots and transporter buffers: what the hardware gathers
)

// envelope is what a slot says of its message.
type envelope struct {
	kind   matching.Kind
	entry  int
	tag    int32
	size   int
	offset int
	length int
	send   uint32
	recv   uint32
}

// put writes the envelope to a slot, of which b is what follows the flag.
func (e *envelope) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint16(b[0:], uint16(e.kind))
	le.PutUint16(b[2:], uint16(e.entry))
	le.PutUint32(b[4:], uint32(e.tag))
	le.PutUint64(b[8:], uint64(e.size))
	le.PutUint64(b[16:], uint64(e.offset))
	le.PutUint32(b[24:], uint32(e.length))
	le.PutUint32(b[28:], e.send)
	le.PutUint32(b[32:], e.recv)
	le.PutUint32(b[36:], 0)
}

// parseEnvelope reads what follows the flag of a slot. It checks that the payload lies in the
// slot or in a transporter buffer; the rest is the matching engine's to check.
func parseEnvelope(b []byte, l *layout) (e envelope, err error) {
	if len(b) < slotHeader-flagSize {
		return e, fmt.Errorf("an envelope of %d bytes", len(b))
	}
	le := binary.LittleEndian
	kind, size, offset, length := le.Uint16(b), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint32(b[24:])
	if kind > uint16(matching.Data) || size > math.MaxInt64 || offset > math.MaxInt64 {
		return e, fmt.Errorf("an envelope of kind %d, %d bytes at %d", kind, size, offset)
	}
	e = envelope{
		kind: matching.Kind(kind), entry: int(le.Uint16(b[2:])), tag: int32(le.Uint32(b[4:])),
		size: int(size), offset: int(offset), length: int(length), send: le.Uint32(b[28:]), recv: le.Uint32(b[32:]),
	}
	room := 0
	switch e.kind {
	case matching.Eager:
		room = min(l.eager, len(b)-(slotHeader-flagSize))
	case matching.Data:
		room = l.entry
	}
	if e.length > room || e.entry >= l.entries {
		return e, fmt.Errorf("%v message with a payload of %d bytes in transporter buffer %d", e.kind, e.length, e.entry)
	}
	return e, nil
}
