package myrinet

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
)

// An active message is one of GRIM's. The handler is that of the name that stands for the index in core's table, and the first four arguments are
// GRIM's. The payload, big endian as GRIM's header, has
//
//	word 0       category, direction and number of arguments: the low half of core's header
//	words from 1 the arguments from the fifth on
//	8 bytes      a Long alone, from the next multiple of 8 on: where in the segment its payload is
//	8 bytes      and how long that is
//	the rest     a Medium alone, from the next multiple of 8 on: its payload
const (
	inHeader = 4 // arguments in GRIM's header
	word     = 4
	unit     = 8
	mostHead = (word*(1+core.MaxArgs-inHeader) + unit - 1) &^ (unit - 1) // bytes in front of a Medium's payload, at most
)

// headSize returns how many bytes of the payload are in front of a Medium's payload, or of what a Long says of its own.
func headSize(h core.Header) int {
	n := word * (1 + max(0, h.NArgs()-inHeader))
	if h.Kind() == core.Short {
		return n
	}
	return (n + unit - 1) &^ (unit - 1)
}

// wireSize returns how many bytes of payload a message has that carries n bytes.
func wireSize(h core.Header, n int) int {
	size := headSize(h)
	switch h.Kind() {
	case core.Medium:
		size += n
	case core.Long:
		size += 2 * unit
	}
	return size
}

// encode writes everything but a Medium's payload into b, and returns the arguments of GRIM's header.
func encode(b []byte, h core.Header, args *[core.MaxArgs]uint32, off uint64, n int) (first [inHeader]uint32) {
	be := binary.BigEndian
	be.PutUint32(b, uint32(h)&0xff)
	for i := range h.NArgs() {
		if i < inHeader {
			first[i] = args[i]
		} else {
			be.PutUint32(b[word*(1+i-inHeader):], args[i])
		}
	}
	if h.Kind() == core.Long {
		at := headSize(h)
		be.PutUint64(b[at:], off)
		be.PutUint64(b[at+unit:], uint64(n))
	}
	return first
}

// decode reads what encode has written for a handler into args, and returns the payload of a Medium, or where that of a Long is. It fails on what encode does
// not write.
func decode(m *grim.Message, handler int, args *[core.MaxArgs]uint32) (h core.Header, data []byte, off, n uint64, err error) {
	be, b := binary.BigEndian, m.Payload
	if len(b) < word {
		return 0, nil, 0, 0, fmt.Errorf("%d B; an active message has %d at least", len(b), word)
	}
	head := be.Uint32(b)
	h = core.Header(handler)<<8 | core.Header(head&0xff)
	if head>>8 != 0 || h.Kind() > core.Long || h.NArgs() > core.MaxArgs || len(b) < wireSize(h, 0) || h.Kind() != core.Medium && len(b) != wireSize(h, 0) {
		return 0, nil, 0, 0, fmt.Errorf("%d B that begin with %#x, which no rank sends", len(b), head)
	}
	for i := range h.NArgs() {
		if i < inHeader {
			args[i] = m.Args[i]
		} else {
			args[i] = be.Uint32(b[word*(1+i-inHeader):])
		}
	}
	switch at := headSize(h); h.Kind() {
	case core.Medium:
		data = b[at:]
	case core.Long:
		off, n = be.Uint64(b[at:]), be.Uint64(b[at+unit:])
	}
	return h, data, off, n, nil
}
