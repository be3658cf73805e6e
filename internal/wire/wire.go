// Package wire is the project's one codec: little-endian fields appended to and consumed
// from byte slices, and frames that carry their length.
//
// Encoding is a chain of Append calls on a []byte. Decoding goes through a Reader, whose
// first error sticks, so that a decoder reads all its fields and checks once at the end:
//
//	r := wire.NewReader(body)
//	rank, status, reason := r.Uint32(), r.Uint32(), r.Text()
//	if err := r.End(); err != nil { … }
//
// Nothing here panics on input from outside, and nothing is allocated in proportion to a
// length that the input claims but does not hold.
package wire

import (
	"encoding/binary"
	"errors"
)

var (
	// ErrShort reports input that ends before the field or frame does.
	ErrShort = errors.New("wire: input ends too early")
	// ErrTrailing reports bytes after the last field.
	ErrTrailing = errors.New("wire: bytes after the last field")
	// ErrTooLong reports a frame whose announced length is above the limit.
	ErrTooLong = errors.New("wire: frame is longer than the limit")
)

// AppendUint16 appends v in 2 bytes.
func AppendUint16(b []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(b, v) }

// AppendUint32 appends v in 4 bytes.
func AppendUint32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }

// AppendUint64 appends v in 8 bytes.
func AppendUint64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// AppendBytes appends p behind its length in 4 bytes; p must be shorter than 4 GiB.
func AppendBytes(b, p []byte) []byte {
	return append(AppendUint32(b, uint32(len(p))), p...)
}

// AppendText appends s as AppendBytes does.
func AppendText(b []byte, s string) []byte {
	return append(AppendUint32(b, uint32(len(s))), s...)
}

// Reader consumes fields from a byte slice. After the first error every call returns
// zero values and the error stays. The slices it returns alias the input.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a Reader that consumes b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Next consumes n bytes and returns them, or nil if fewer are left.
func (r *Reader) Next(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b) {
		r.err = ErrShort
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

// Uint8 consumes 1 byte.
func (r *Reader) Uint8() uint8 {
	if p := r.Next(1); p != nil {
		return p[0]
	}
	return 0
}

// Uint16 consumes 2 bytes.
func (r *Reader) Uint16() uint16 {
	if p := r.Next(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

// Uint32 consumes 4 bytes.
func (r *Reader) Uint32() uint32 {
	if p := r.Next(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

// Uint64 consumes 8 bytes.
func (r *Reader) Uint64() uint64 {
	if p := r.Next(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// Bytes consumes what AppendBytes wrote.
func (r *Reader) Bytes() []byte {
	n := r.Uint32()
	if uint64(n) > uint64(len(r.b)) { // before int(n), which may be negative on 32 bits
		if r.err == nil {
			r.err = ErrShort
		}
		return nil
	}
	return r.Next(int(n))
}

// Text consumes what AppendText wrote.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Rest consumes everything that is left.
func (r *Reader) Rest() []byte { return r.Next(len(r.b)) }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.b) }

// Err returns the first error so far.
func (r *Reader) Err() error { return r.err }

// End returns the first error, or ErrTrailing if bytes are left.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = ErrTrailing
	}
	return r.err
}
