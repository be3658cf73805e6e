package extended

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

var errCutShort = errors.New("the payload is cut short")

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

// scatter copies the pieces of data from outside to where they belong in to.
func scatter(to, data []byte) error {
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

// gather carries out a request from outside to gather of from. It returns the size of the
// answer, which it writes to out unless that is nil.
func gather(out, from, request []byte) (size int, err error) {
	var end uint64
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
