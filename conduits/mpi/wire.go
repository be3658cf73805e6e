package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
)

// A packet is a header and records, one for each active message. All fields are
// little-endian, but for the arguments, which are in the order of the hosts; records begin
// at multiples of 8 bytes.
//
//	packet   0  credits (16)   requests of the receiver that are settled without a reply
//	         2  flags (16)     flagWelcome: the sender has posted receives for all credits
//	         4  length (32)    of the packet, this header included
//
//	record   0  header (16)    core.Header
//	         2  tag (16)       0: the payload follows the arguments; inPlace: it is in the
//	                           receiver's segment already; else the tag of its message
//	         4  length (32)    of the payload
//	         8  offset (64)    Long: where in the segment the payload goes; else 0
//	        16  arguments, padded to 8 bytes, then the payload, padded likewise
const (
	packetHeader = 8
	recordHeader = 16
	flagWelcome  = 1 << 0

	// Tags of payloads that are messages of their own; below are the lanes'.
	firstTag = int32(lanes)
	tags     = MaxTag + 1 - firstTag

	// inPlace, as the tag of a Long, says that its sender has stored the payload where it goes.
	inPlace = 1<<16 - 1
)

// record is one active message of a packet. args and data alias the packet.
type record struct {
	hdr  core.Header
	tag  int32 // 0: the payload is data; see above
	n    uint32
	off  uint64
	args []byte
	data []byte
}

// padded rounds n up to where a record may begin.
func padded(n int) int { return (n + unit - 1) &^ (unit - 1) }

// recordSize returns the bytes of a record with so many arguments and payload bytes in it.
func recordSize(nargs, n int) int { return recordHeader + padded(4*nargs) + padded(n) }

func putPacketHeader(b []byte, credits int, welcome bool, length int) {
	binary.LittleEndian.PutUint16(b, uint16(credits))
	flags := uint16(0)
	if welcome {
		flags = flagWelcome
	}
	binary.LittleEndian.PutUint16(b[2:], flags)
	binary.LittleEndian.PutUint32(b[4:], uint32(length))
}

// parsePacketHeader checks the header of a packet as it arrived.
func parsePacketHeader(b []byte) (credits int, welcome bool, err error) {
	if len(b) < packetHeader {
		return 0, false, fmt.Errorf("a packet of %d bytes", len(b))
	}
	flags := binary.LittleEndian.Uint16(b[2:])
	if n := binary.LittleEndian.Uint32(b[4:]); uint64(n) != uint64(len(b)) || flags&^flagWelcome != 0 {
		return 0, false, fmt.Errorf("a packet of %d bytes that says it has %d, flags %#x", len(b), n, flags)
	}
	return int(binary.LittleEndian.Uint16(b)), flags != 0, nil
}

// putRecordHeader writes the header of a record.
func putRecordHeader(b []byte, hdr core.Header, tag int32, n int, off uint64) {
	binary.LittleEndian.PutUint16(b, uint16(hdr))
	binary.LittleEndian.PutUint16(b[2:], uint16(tag))
	binary.LittleEndian.PutUint32(b[4:], uint32(n))
	binary.LittleEndian.PutUint64(b[8:], off)
}

var errRecord = errors.New("a record that its packet does not hold")

// parseRecord fills r, which is zero, from the first record of b, which is not empty, and returns how many bytes
// that takes. Of what the record says it checks what is needed to find its parts and the next record.
func parseRecord(r *record, b []byte) (size int, err error) {
	if len(b) < recordHeader {
		return 0, errRecord
	}
	r.hdr = core.Header(binary.LittleEndian.Uint16(b))
	r.tag = int32(binary.LittleEndian.Uint16(b[2:]))
	r.n = binary.LittleEndian.Uint32(b[4:])
	r.off = binary.LittleEndian.Uint64(b[8:])
	size = recordHeader + padded(4*r.hdr.NArgs())
	if r.hdr.NArgs() > core.MaxArgs || len(b) < size {
		return 0, errRecord
	}
	r.args = b[recordHeader:size]
	if r.tag != 0 {
		return size, nil
	}
	b = b[size:]
	if uint64(r.n) > uint64(len(b)) || padded(int(r.n)) > len(b) {
		return 0, errRecord
	}
	r.data = b[:r.n:r.n]
	return size + padded(int(r.n)), nil
}
