package extended

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
)

// valueAt is place for a value that may be accessed at once; nil if that is not so, or the
// call is wrong.
func (ep *Endpoint) valueAt(rank core.Rank, off uint64, n int) unsafe.Pointer {
	if uint(n-1) >= maxValue {
		return nil
	}
	return place(ep.direct, rank, off, n)
}

// storeValue stores the low n bytes of v: by one machine store where size and alignment
// allow.
func storeValue(p unsafe.Pointer, v uint64, n int) {
	switch at := uintptr(p); {
	case n == 8 && at%8 == 0:
		*(*uint64)(p) = v
	case n == 4 && at%4 == 0:
		*(*uint32)(p) = uint32(v)
	case n == 2 && at%2 == 0:
		*(*uint16)(p) = uint16(v)
	case n == 1:
		*(*uint8)(p) = uint8(v)
	default:
		encodeValue(unsafe.Slice((*byte)(p), n), v)
	}
}

// loadValue loads n bytes: by one machine load where size and alignment allow.
func loadValue(p unsafe.Pointer, n int) uint64 {
	switch at := uintptr(p); {
	case n == 8 && at%8 == 0:
		return *(*uint64)(p)
	case n == 4 && at%4 == 0:
		return uint64(*(*uint32)(p))
	case n == 2 && at%2 == 0:
		return uint64(*(*uint16)(p))
	case n == 1:
		return uint64(*(*uint8)(p))
	}
	return decodeValue(unsafe.Slice((*byte)(p), n))
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// encodeValue writes the low bytes of v, as many as b has, in the machine's order.
func encodeValue(b []byte, v uint64) {
	if bigEndian {
		v <<= 64 - 8*len(b)
	}
	var w [maxValue]byte
	binary.NativeEndian.PutUint64(w[:], v)
	copy(b, w[:])
}

// decodeValue reads what encodeValue wrote; the other bytes of the result are 0.
func decodeValue(b []byte) uint64 {
	var w [maxValue]byte
	copy(w[:], b)
	v := binary.NativeEndian.Uint64(w[:])
	if bigEndian {
		v >>= 64 - 8*len(b)
	}
	return v
}

// counter returns the counter at a place of this rank's segment that the caller has
// checked, alignment included.
func (ep *Endpoint) counter(off uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&ep.Segment()[off]))
}
