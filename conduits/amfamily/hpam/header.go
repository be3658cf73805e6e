package hpam

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
)

// A message begins with a header and its arguments; all is big-endian, as the processor is.
//
//	 0  4  key of the program
//	 4  4  number of the request in its buffer
//	 8  1  kind: request or reply     9  1  buffer
//	10  2  handler; none: a reply to a request whose handler has not replied
//	12  2  bytes of data             14  2  0
//	16 16  arguments
const (
	argBytes    = amfamily.ArgBytes
	fixedBytes  = 16
	headerBytes = fixedBytes + argBytes
	maxBuffers  = 256
	noHandler   = 1<<16 - 1
)

// The kinds of messages.
const (
	aRequest = 1
	aReply   = 2
)

// A header is what a message says besides its data.
type header struct {
	key, seq     uint32
	kind, buffer uint8
	handler      uint16
	args         [amfamily.Args]uint32
}

// encode writes a message into a buffer, which it returns.
func encode(b []byte, h *header, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b[:0], h.key)
	b = binary.BigEndian.AppendUint32(b, h.seq)
	b = append(b, h.kind, h.buffer)
	b = binary.BigEndian.AppendUint16(b, h.handler)
	b = binary.BigEndian.AppendUint16(b, uint16(len(data)))
	b = append(b, 0, 0)
	for _, a := range h.args {
		b = binary.BigEndian.AppendUint32(b, a)
	}
	return append(b, data...)
}

// keyOf returns the key of a message, or false if it is too short to have one.
func keyOf(b []byte) (key uint32, ok bool) {
	if len(b) < headerBytes {
		return 0, false
	}
	return binary.BigEndian.Uint32(b), true
}

// decode reads a message, whose data is part of b; it reports false if that is none.
func decode(b []byte) (h header, data []byte, ok bool) {
	if len(b) < headerBytes {
		return h, nil, false
	}
	h = header{
		key: binary.BigEndian.Uint32(b), seq: binary.BigEndian.Uint32(b[4:]),
		kind: b[8], buffer: b[9], handler: binary.BigEndian.Uint16(b[10:]),
	}
	for i := range h.args {
		h.args[i] = binary.BigEndian.Uint32(b[fixedBytes+4*i:])
	}
	data = b[headerBytes:]
	ok = (h.kind == aRequest || h.kind == aReply) && b[14] == 0 && b[15] == 0 &&
		int(binary.BigEndian.Uint16(b[12:])) == len(data) && (h.handler != noHandler || h.kind == aReply)
	return h, data, ok
}
