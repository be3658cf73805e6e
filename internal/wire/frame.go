package wire

import "encoding/binary"

// FrameHeader is the length of a frame's header: the length of its body in 4 bytes.
const FrameHeader = 4

// BeginFrame appends the header of a frame whose body the caller appends next, and returns
// the position that EndFrame needs.
func BeginFrame(b []byte) (framed []byte, at int) {
	return append(b, 0, 0, 0, 0), len(b)
}

// EndFrame completes the frame begun at position at: everything behind its header is its
// body, which must be shorter than 4 GiB.
func EndFrame(b []byte, at int) []byte {
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-FrameHeader))
	return b
}

// NextFrame splits the first frame off b and returns its body and what follows it; both
// alias b. ErrShort means that more bytes are needed. ErrTooLong, for a body of more than
// limit bytes, comes as soon as the header is there.
func NextFrame(b []byte, limit int) (body, rest []byte, err error) {
	if len(b) < FrameHeader {
		return nil, b, ErrShort
	}
	n := binary.LittleEndian.Uint32(b)
	b2 := b[FrameHeader:]
	switch {
	case uint64(n) > uint64(max(limit, 0)):
		return nil, b, ErrTooLong
	case uint64(n) > uint64(len(b2)):
		return nil, b, ErrShort
	}
	return b2[:n:n], b2[n:], nil
}
