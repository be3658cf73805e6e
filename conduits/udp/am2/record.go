package am2

import (
	"encoding/binary"
	"errors"
	"math"
)

// A record is one message of a packet; it begins at a multiple of 8 bytes. The arguments are
// in the order of the hosts' bytes, all else is little-endian.
//
//	0  header (32)    the word of the layer above
//	4  kind (8)
//	5  arguments (8)  how many
//	6  length (16)    of the payload
//	8  offset (64)    Long only
//	   arguments, padded to 8 bytes, then the payload, padded likewise
//
// The record of a fragment stands in its head, without the payload:
//
//	 0  header, kind, arguments, as above; 0 (16)
//	 8  total (32)     payload bytes of the message
//	12  index (32)     number of the fragment, counted from 0
//	16  at (32)        where in the payload the fragment begins
//	20  count (32)     of the message's fragments
//	24  offset (64)
//	32  arguments, padded to 8 bytes
const (
	shortHeader    = 8
	longHeader     = 16
	fragmentHeader = 32

	atKindOfFragment = 4

	// MessageHead is what a packet with one message has beside the payload, at most.
	MessageHead = FixedHead + longHeader + 4*MaxArgs
	// FragmentHead is the length of the head of a fragment at most.
	FragmentHead = fragmentHead + fragmentHeader + 4*MaxArgs
)

var errRecord = errors.New("am2: a record that its packet does not hold")

// padded rounds n up to where a record may begin.
func padded(n int) int { return (n + unit - 1) &^ (unit - 1) }

// headerSize returns the bytes of a record before its arguments.
func headerSize(k Kind) int {
	if k == Long {
		return longHeader
	}
	return shortHeader
}

// recordSize returns the bytes of a record.
func recordSize(k Kind, nargs, n int) int { return headerSize(k) + padded(4*nargs) + padded(n) }

// putRecord writes the header of a record for op at the beginning of b.
func putRecord(b []byte, op *Op) {
	word := uint64(op.Header) | uint64(op.Kind)<<32 | uint64(uint8(op.NArgs))<<40 | uint64(uint16(op.Len))<<48
	binary.LittleEndian.PutUint64(b, word)
	if op.Kind == Long {
		binary.LittleEndian.PutUint64(b[8:], op.Offset)
	}
}

// parseRecord fills m from the record at the beginning of b, which is a part of a packet with
// blockSlack behind it, and returns the record's length.
func parseRecord(m *Message, b []byte) (size int, err error) {
	if len(b) < shortHeader {
		return 0, errRecord
	}
	word := binary.LittleEndian.Uint64(b)
	m.Header = uint32(word)
	m.Kind = Kind(word >> 32 & math.MaxUint8)
	m.NArgs = int(word >> 40 & math.MaxUint8)
	m.Len = int(word >> 48)
	size = shortHeader
	m.Offset = 0
	if m.Kind == Long {
		if len(b) < longHeader {
			return 0, errRecord
		}
		m.Offset = binary.LittleEndian.Uint64(b[8:])
		size = longHeader
	}
	data := size + padded(4*m.NArgs)
	if m.Kind >= kinds || m.NArgs > MaxArgs || m.Kind == Short && m.Len != 0 || data+padded(m.Len) > len(b) {
		return 0, errRecord
	}
	m.Args = arguments(b, size)
	m.Data = b[data : data+m.Len : data+m.Len]
	return data + padded(m.Len), nil
}

// fragment is what the head of a fragment says of its message.
type fragment struct {
	header           uint32
	kind             Kind
	nargs            int
	total            int
	index, at, count uint32
	offset           uint64
	args             []byte // padded
}

// putFragment writes the record of a fragment at the beginning of b.
func putFragment(b []byte, k *bulk, index, at int) {
	binary.LittleEndian.PutUint32(b, k.header)
	b[4], b[5], b[6], b[7] = byte(k.kind), byte(k.nargs), 0, 0
	binary.LittleEndian.PutUint32(b[8:], uint32(len(k.payload)))
	binary.LittleEndian.PutUint32(b[12:], uint32(index))
	binary.LittleEndian.PutUint32(b[16:], uint32(at))
	binary.LittleEndian.PutUint32(b[20:], uint32(k.count))
	binary.LittleEndian.PutUint64(b[24:], k.offset)
	copy(b[fragmentHeader:], words(&k.args)[:padded(4*k.nargs)])
}

// parseFragment reads the record in the head of a fragment with size bytes of payload.
func parseFragment(b []byte, size int) (f fragment, err error) {
	if len(b) < fragmentHeader {
		return f, errRecord
	}
	f.header = binary.LittleEndian.Uint32(b)
	f.kind, f.nargs = Kind(b[4]), int(b[5])
	total := binary.LittleEndian.Uint32(b[8:])
	f.index = binary.LittleEndian.Uint32(b[12:])
	f.at = binary.LittleEndian.Uint32(b[16:])
	f.count = binary.LittleEndian.Uint32(b[20:])
	f.offset = binary.LittleEndian.Uint64(b[24:])
	f.args = b[fragmentHeader:]
	switch {
	case f.kind != Medium && f.kind != Long, f.nargs > MaxArgs, len(f.args) != padded(4*f.nargs),
		total > math.MaxInt32, uint64(f.at)+uint64(size) > uint64(total), size == 0,
		f.index >= f.count, uint64(f.count) > uint64(total):
		return f, errRecord
	}
	f.total = int(total)
	return f, nil
}
