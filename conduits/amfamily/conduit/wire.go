package conduit

import (
	"encoding/binary"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/core"
)

// A message of the system has the header in its first word. Then come the words of the message of core: a Long's offset, the lower
// half first, and the arguments. As many as there is room for are words of the system; the others, big-endian, follow the
// payload in its data, so that the payload begins where the data does.
const (
	inWords   = amfamily.Args - 1
	moreBytes = 4 * (2 + core.MaxArgs - inWords) // of words after the payload, at most
)

// wordsOf returns how many words a message has.
func wordsOf(h core.Header) int {
	if h.Kind() == core.Long {
		return 2 + h.NArgs()
	}
	return h.NArgs()
}

// pack returns the words of a message, and its data: the payload, with what words are left appended to it.
func pack(h core.Header, off uint64, args *[core.MaxArgs]uint32, payload []byte) (words [amfamily.Args]uint32, data []byte) {
	words[0], data = uint32(h), payload
	offsets := wordsOf(h) - h.NArgs()
	for i := range wordsOf(h) {
		var w uint32
		if i < offsets {
			w = uint32(off >> (32 * i))
		} else {
			w = args[i-offsets]
		}
		if i < inWords {
			words[1+i] = w
		} else {
			data = binary.BigEndian.AppendUint32(data, w)
		}
	}
	return words, data
}

// unpack reads a message into args. It reports false if that is none.
func unpack(words *[amfamily.Args]uint32, data []byte, args *[core.MaxArgs]uint32) (h core.Header, off uint64, payload []byte, ok bool) {
	h = core.Header(words[0])
	n := wordsOf(h)
	end := len(data) - 4*max(0, n-inWords)
	if words[0]>>16 != 0 || h.NArgs() > core.MaxArgs || end < 0 || h.Kind() == core.Short && end > 0 {
		return h, 0, nil, false
	}
	offsets := n - h.NArgs()
	for i := range n {
		var w uint32
		if i < inWords {
			w = words[1+i]
		} else {
			w = binary.BigEndian.Uint32(data[end+4*(i-inWords):])
		}
		if i < offsets {
			off |= uint64(w) << (32 * i)
		} else {
			args[i-offsets] = w
		}
	}
	return h, off, data[:end], true
}
