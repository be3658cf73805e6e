package udp

import (
	"encoding/binary"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
)

// A path may drop what is too long for a place in it and say nothing: a black hole. A datagram is suspected
// of having met one when it was lost socket.Suspicion times, while short datagrams got through each time and none as
// long did. It is then sent in pieces that pass everywhere, and for the time narrowFor no datagram to that peer is
// longer than such a piece. RFC 8899 would have 600 s (section 5.1.1: PMTU_RAISE_TIMER). The time is shorter here
// because a bad path may be suspected wrongly, and finding a black hole again takes but a few time-outs. IP could
// divide datagrams too, but for IPv4 only into what this host's own device takes.
const narrowFor = 60 * time.Second

// pieceKind is the kind of a piece.
const pieceKind = socket.FarewellKind + 1

// A piece has, behind its kind, its number among the pieces, how many there are, 32 bits that
// tell the datagrams of a sender apart, and a part of the datagram. The datagram is authenticated
// when it is whole, the pieces are not.
const (
	atPiece    = am2.KindSize
	atPieces   = atPiece + 1
	atPieceOf  = atPieces + 1
	pieceHead  = atPieceOf + 4
	mostPieces = (socket.BlockSize + (socket.LeastMTUv4 - socket.HeaderIPv4 - pieceHead - socket.Alignment)) / (socket.LeastMTUv4 - socket.HeaderIPv4 - pieceHead - socket.Alignment)
)

// pieceSize returns the bytes of a datagram that a piece carries.
func pieceSize(v6 bool) int { return (socket.PayloadOf(v6, 0) - pieceHead) &^ (socket.Alignment - 1) }

// narrow has no long datagrams sent to a peer for some time, and says so the first time.
func (c *conduit) narrow(p *peer) {
	if !c.toldNarrow {
		c.toldNarrow = true
		c.port.Log().Warn("udp: long datagrams do not get through and go in pieces, which is slower; if you know what the path takes, say so by the setting datagram=BYTES",
			"rank", c.rank, "to", p.rank, "address", p.addr)
	}
	p.mtu = socket.PayloadOf(c.sock.V6, 0)
	p.widen = c.now() + narrowFor
}

// tear sends a sealed datagram in pieces. They stay in memory until the next flush.
func (c *conduit) tear(p *peer, head, body []byte) {
	size := pieceSize(c.sock.V6)
	total := len(head) + len(body)
	count := (total + size - 1) / size
	if need := total + count*pieceHead; cap(c.torn)-len(c.torn) < need {
		c.sock.Flush()
		if c.torn = c.torn[:0]; cap(c.torn) < need {
			c.torn = make([]byte, 0, socket.SealedSize)
		}
	}
	p.pieces++
	for i := range count {
		at := len(c.torn)
		c.torn = append(c.torn, make([]byte, pieceHead)...)
		h := c.torn[at:]
		am2.PutKind(h, pieceKind)
		h[atPiece], h[atPieces] = byte(i), byte(count)
		binary.LittleEndian.PutUint32(h[atPieceOf:], p.pieces)
		n := min(size, len(head))
		c.torn = append(append(c.torn, head[:n]...), body[:min(size-n, len(body))]...)
		head, body = head[n:], body[min(size-n, len(body)):]
		c.sock.Add(&p.sockaddr, c.torn[at:], nil, false)
	}
}

// assembly collects the pieces of a datagram.
type assembly struct {
	from  *peer
	of    uint32
	count int
	have  [(mostPieces + 63) / 64]uint64
	left  int // pieces
	size  int // bytes of the datagram, once the last piece is there
	data  []byte
}

// assemblies is how many datagrams are put together at once, of different peers. More pieces
// displace earlier ones, which come again.
const assemblies = 16

// isPiece recognises a piece.
func isPiece(datagram []byte) bool {
	kind, ok := am2.DriverKind(datagram)
	return ok && kind == pieceKind && len(datagram) > pieceHead
}

// assemble takes a piece and, if it was the last one missing, the datagram. It reports whether
// it did the latter.
func (c *conduit) assemble(now time.Duration, p *peer, piece []byte) bool {
	a := &c.pieces[int(p.rank)%assemblies]
	if a.from != p || a.of != binary.LittleEndian.Uint32(piece[atPieceOf:]) || a.count != int(piece[atPieces]) {
		*a = assembly{from: p, of: binary.LittleEndian.Uint32(piece[atPieceOf:]), count: int(piece[atPieces]), left: int(piece[atPieces]), data: a.data}
	}
	if !a.add(int(piece[atPiece]), piece[pieceHead:], pieceSize(c.sock.V6)) {
		c.counts.malformed++
		return false
	}
	if a.left > 0 || a.size == 0 {
		return false
	}
	block := c.bundle.Block()
	defer block.Release()
	datagram := append(block.Bytes()[:0], a.data[:a.size]...)
	a.from = nil
	return !isPiece(datagram) && c.accept(now, p, block, datagram)
}

// add takes piece i, all but the last being of the same size. It reports false if there can be
// no such piece.
func (a *assembly) add(i int, part []byte, size int) bool {
	last := i == a.count-1
	switch {
	case i >= a.count || a.count > mostPieces || len(part) > size || !last && len(part) != size || i*size+len(part) > socket.BlockSize:
		return false
	case a.have[i/64]>>(i%64)&1 != 0:
		return true
	}
	if a.data == nil {
		a.data = make([]byte, socket.BlockSize)
	}
	a.have[i/64] |= 1 << (i % 64)
	a.left--
	n := copy(a.data[i*size:], part)
	if last {
		a.size = i*size + n
	}
	return true
}

// widened learns the path to a peer anew when it has been taken for narrow for long enough.
func (c *conduit) widened(p *peer) {
	if c.now() >= p.widen {
		p.widen = 0
		p.mtu = socket.PathMTU(c.sock.Local.Addr(), p.addr)
	}
}
