package vis

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The payloads of messages that carry many small pieces.
//
// Data, to be scattered, is a sequence of pieces, each
//
//	gap varint, length uvarint, bytes
//
// where the gap, which may be negative, leads from the end of the piece before, at first
// from 0, to the offset of this one. A request to gather is a sequence of
//
//	gap varint in the memory to gather from, gap varint, length uvarint
//
// and its answer is the data, behind the same second gaps and lengths.

const (
	pieceHeader  = 2 * binary.MaxVarintLen64           // at most, of a piece of data
	gatherHeader = binary.MaxVarintLen64 + pieceHeader // at most, of a request to gather a piece
)

// LeastMessage is the size of the smallest message that half of it fits into as one piece.
const LeastMessage = 2 * gatherHeader

var errCutShort = errors.New("the payload is cut short")

// Packing is a message that is being filled with pieces: data to scatter or a request to gather, not both. The zero
// Packing has no room.
type Packing struct {
	buf       []byte
	used      int
	answer    int    // bytes of the answer to a request to gather
	far, near uint64 // where the last piece ended
}

// NewPacking returns an empty message in buf. If it becomes a request to gather, the answer has no more bytes than
// buf. An empty message of at least LeastMessage bytes has room for a piece of half of them.
func NewPacking(buf []byte) Packing { return Packing{buf: buf} }

// Len returns the bytes of the message.
func (m *Packing) Len() int { return m.used }

// Put packs a piece and its bytes, which are those of the near side; false if there is no room.
func (m *Packing) Put(p Piece, near []byte) bool {
	if len(m.buf)-m.used < pieceHeader+p.N {
		return false
	}
	m.used += putPieceHeader(m.buf[m.used:], p.Far-m.far, p.N)
	m.used += copy(m.buf[m.used:], near[p.Near:][:p.N])
	m.far = p.Far + uint64(p.N)
	return true
}

// Ask packs the request for a piece; false if there is no room, here or in the answer.
func (m *Packing) Ask(p Piece) bool {
	if len(m.buf)-m.used < gatherHeader || len(m.buf)-m.answer < pieceHeader+p.N {
		return false
	}
	m.used += binary.PutVarint(m.buf[m.used:], int64(p.Far-m.far))
	k := putPieceHeader(m.buf[m.used:], p.Near-m.near, p.N)
	m.used, m.answer = m.used+k, m.answer+k+p.N
	m.far, m.near = p.Far+uint64(p.N), p.Near+uint64(p.N)
	return true
}

// putPieceHeader writes the header of n bytes whose offset is gap behind the last piece. b
// has room for it.
func putPieceHeader(b []byte, gap uint64, n int) int {
	k := binary.PutVarint(b, int64(gap))
	return k + binary.PutUvarint(b[k:], uint64(n))
}

// pieceHeaderOf decodes a header and returns its own size, 0 if it is malformed.
func pieceHeaderOf(b []byte) (gap, n uint64, size int) {
	g, k := binary.Varint(b)
	if k <= 0 {
		return 0, 0, 0
	}
	n, l := binary.Uvarint(b[k:])
	if l <= 0 {
		return 0, 0, 0
	}
	return uint64(g), n, k + l
}

// Scatter copies the pieces of data from outside to where they belong in to. An error says what is wrong with the
// data, of which a part may have been copied.
func Scatter(to, data []byte) error {
	var end uint64
	for len(data) > 0 {
		gap, n, k := pieceHeaderOf(data)
		if k == 0 || n > uint64(len(data)-k) {
			return errCutShort
		}
		off := end + gap
		if err := checkPiece(off, n, to); err != nil {
			return err
		}
		copy(to[off:], data[k:][:n])
		data, end = data[k+int(n):], off+n
	}
	return nil
}

// Gather carries out a request from outside to gather of from. It returns the size of the
// answer, which it writes to out unless that is nil. An empty request is an error.
func Gather(out, from, request []byte) (size int, err error) {
	var end uint64
	if len(request) == 0 {
		return 0, errCutShort
	}
	for len(request) > 0 {
		gap, k := binary.Varint(request)
		if k <= 0 {
			return 0, errCutShort
		}
		request = request[k:]
		_, n, k := pieceHeaderOf(request)
		if k == 0 {
			return 0, errCutShort
		}
		off := end + uint64(gap)
		if err := checkPiece(off, n, from); err != nil {
			return 0, err
		}
		if out != nil {
			copy(out[size:], request[:k])
			copy(out[size+k:], from[off:][:n])
		}
		size += k + int(n)
		request, end = request[k:], off+n
	}
	return size, nil
}

// checkPiece checks that n bytes at off lie in mem.
func checkPiece(off, n uint64, mem []byte) error {
	if size := uint64(len(mem)); off > size || n > size-off {
		return fmt.Errorf("a piece of %d bytes at %d lies outside of %d bytes", n, off, size)
	}
	return nil
}
