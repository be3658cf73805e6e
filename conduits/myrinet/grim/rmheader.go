package grim

import (
	"encoding/binary"
	"fmt"
)

// Key names registered memory of a host to all others. No memory has the key 0.
type Key uint32

// Remote is a place in the registered memory of a host. With a key, the offset counts from the beginning of that memory. With the key 0
// it is a virtual address of the host, of 32 bits: see [Region.Address].
type Remote struct {
	Key    Key
	Offset uint64
}

// plus returns the place n bytes on.
func (r Remote) plus(n int) Remote { return Remote{r.Key, r.Offset + uint64(n)} }

// short tells whether the place can be written as the paper does: as an address of 32 bits.
func (r Remote) short() bool { return r.Key == 0 && r.Offset>>32 == 0 }

// Where is the host in whose memory a notification is written.
type Where uint8

// The hosts.
const (
	Nowhere     Where = iota
	AtTarget          // the host whose memory the operation names
	AtInitiator       // the host whose endpoint has asked for it
)

// Notification is a word of 32 bits, in little-endian order, that the NI writes into registered memory when an operation has been carried out.
type Notification struct {
	Where Where
	At    Remote // its offset is a multiple of 4
	Value uint32
}

// Operation is what a message of remote memory asks for: RM-V, RM-P or RM-RV.
type Operation struct {
	Type   Type
	Wide   bool   // places have keys and offsets of 64 bits
	At     Remote // RM-P: the offset is a physical address, and there is no key
	Length int    // bytes that are written or read
	Local  Remote // RM-RV: where they go
	Notify Notification
}

// The flags of an operation. They are in the header where a message for a program names its handler.
const (
	flagWide = 1 << iota
	flagTarget
	flagInitiator
)

// placeSize is what a place takes of an extension, in bytes: the key, and the halves of the offset.
const placeSize = 3 * word

// maxExtension is the largest extension.
const maxExtension = 2 * placeSize

// extension returns how many bytes of the payload belong to the operation, and not to what is written.
func (o *Operation) extension() int {
	n := 0
	if o.Wide {
		if o.Type == RMRV {
			n += placeSize
		}
		if o.Notify.Where != Nowhere {
			n += placeSize
		}
	}
	return n
}

// flags returns the flags of the operation.
func (o *Operation) flags() HandlerID {
	f := [...]HandlerID{Nowhere: 0, AtTarget: flagTarget, AtInitiator: flagInitiator}[o.Notify.Where]
	if o.Wide {
		f |= flagWide
	}
	return f
}

// Encode writes the operation into a header, and appends its extension, which comes in front of the payload. The arguments of the
// header, by their number:
//
//	         RM-V, RM-P                              RM-RV
//	short    0 place, 1 notification, 2 its value    0 place, 1 local place, 2 length, 3 notification
//	wide     0 to 2 place, 3 value                   0 to 2 place, 3 length
//
// A place is an address of 32 bits in the short form, and in the wide form a key, the high, and the low half of the offset. The extension of
// the wide form has the local place of RM-RV, and the place of the notification. What is not there is 0. The value of RM-RV is 0.
func (o *Operation) Encode(h *Header, extension []byte) []byte {
	h.Type, h.Handler = o.Type, o.flags()
	extra := o.Notify.Value
	h.Length = o.extension()
	if o.Type == RMRV {
		extra = uint32(o.Length)
	} else {
		h.Length += o.Length
	}
	low := func(r Remote) uint32 { return uint32(r.Offset) }
	switch {
	case o.Wide:
		h.Args = [4]uint32{uint32(o.At.Key), uint32(o.At.Offset >> 32), low(o.At), extra}
		if o.Type == RMRV {
			extension = o.Local.append(extension)
		}
		if o.Notify.Where != Nowhere {
			extension = o.Notify.At.append(extension)
		}
	case o.Type == RMRV:
		h.Args = [4]uint32{low(o.At), low(o.Local), extra, low(o.Notify.At)}
	default:
		h.Args = [4]uint32{low(o.At), low(o.Notify.At), extra}
	}
	return extension
}

func (r Remote) append(to []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(r.Key))
	return binary.BigEndian.AppendUint64(to, r.Offset)
}

func placeOf(b []byte) Remote {
	return Remote{Key(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint64(b[word:])}
}

// DecodeOperation reads what a message asks for from its header, and from the beginning of its payload. It fails on what no NI sends.
func DecodeOperation(h *Header, payload []byte) (o Operation, err error) {
	bad := func(format string, args ...any) (Operation, error) {
		return Operation{}, fmt.Errorf("grim: %v %s", h.Type, fmt.Sprintf(format, args...))
	}
	if h.Type != RMV && h.Type != RMP && h.Type != RMRV {
		return bad("is no operation on remote memory")
	}
	o = Operation{Type: h.Type, Wide: h.Handler&flagWide != 0}
	switch h.Handler &^ flagWide {
	case 0:
	case flagTarget:
		o.Notify.Where = AtTarget
	case flagInitiator:
		o.Notify.Where = AtInitiator
	default:
		return bad("with flags %#x", uint16(h.Handler))
	}
	reads, notifies := o.Type == RMRV, o.Notify.Where != Nowhere
	n := o.extension()
	if h.Length < n || len(payload) < n || reads && h.Length != n {
		return bad("of %d B, %d of them places", h.Length, n)
	}
	o.Length = h.Length - n
	a := &h.Args
	extra := a[3]
	switch {
	case o.Wide:
		o.At = Remote{Key(a[0]), uint64(a[1])<<32 | uint64(a[2])}
		if reads {
			o.Local, payload = placeOf(payload), payload[placeSize:]
		}
		if notifies {
			o.Notify.At = placeOf(payload)
		}
	case reads:
		o.At.Offset, o.Local.Offset, extra, o.Notify.At.Offset = uint64(a[0]), uint64(a[1]), a[2], uint64(a[3])
	default:
		o.At.Offset, o.Notify.At.Offset, extra = uint64(a[0]), uint64(a[1]), a[2]
		if a[3] != 0 {
			return bad("with an argument 3")
		}
	}
	switch {
	case !reads:
		o.Notify.Value = extra
	case extra > MaxPayload:
		return bad("of %d B; there can be up to %d", extra, MaxPayload)
	default:
		o.Length = int(extra)
	}
	switch {
	case !notifies && o.Notify != (Notification{}):
		return bad("with half a notification")
	case reads && o.Notify.Where == AtTarget:
		return bad("with a notification at its target")
	case o.Notify.At.Offset%word != 0:
		return bad("with a notification at %#x, which is no multiple of %d", o.Notify.At.Offset, word)
	case o.Type == RMP && o.At.Key != 0:
		return bad("with a key")
	}
	return o, nil
}
