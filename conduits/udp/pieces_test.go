package udp

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
)

// makePieces returns the pieces of a datagram, as tear sends them.
func makePieces(datagram []byte, size int) [][]byte {
	count := (len(datagram) + size - 1) / size
	var all [][]byte
	for i := range count {
		h := make([]byte, pieceHead)
		am2.PutKind(h, pieceKind)
		h[atPiece], h[atPieces] = byte(i), byte(count)
		all = append(all, append(h, datagram[i*size:min((i+1)*size, len(datagram))]...))
	}
	return all
}

// What is torn is the pieces that makePieces returns, for every split in head and body.
func TestTear(t *testing.T) {
	for _, addr := range addresses {
		a, from := open(t, addr)
		b, to := open(t, addr)
		c := &conduit{sock: a}
		p := &peer{sockaddr: to}
		size := pieceSize(a.V6)
		for _, n := range [][2]int{{80, 0}, {80, 1300}, {2*size - 100, 100}, {size, size}, {1400, 0}, {96, 60000}} {
			datagram := make([]byte, n[0]+n[1])
			for i := range datagram {
				datagram[i] = byte(i * 11)
			}
			c.tear(p, datagram[:n[0]], datagram[n[0]:])
			c.flush()
			for i, want := range makePieces(datagram, size) {
				binary.LittleEndian.PutUint32(want[atPieceOf:], p.pieces)
				if got := next(t, b, &from); !bytes.Equal(got, want) {
					t.Fatalf("%s: piece %d of %v is wrong", addr, i, n)
				}
			}
		}
	}
}

// Pieces in any order and repeated make the datagram, once the last one is there.
func TestAssembly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		size := pieceSize(r.IntN(2) == 0)
		datagram := make([]byte, 1+r.IntN(socket.LargestIPv4))
		for i := range datagram {
			datagram[i] = byte(r.Uint32())
		}
		parts := makePieces(datagram, size)
		a := assembly{count: len(parts), left: len(parts)}
		order := append(r.Perm(len(parts)), r.Perm(len(parts))...)
		seen := 0
		had := make([]bool, len(parts))
		for _, i := range order {
			if !a.add(i, parts[i][pieceHead:], size) {
				t.Fatalf("piece %d of %d is refused", i, len(parts))
			}
			if !had[i] {
				had[i] = true
				seen++
			}
			if a.left != len(parts)-seen {
				t.Fatalf("%d left after %d of %d", a.left, seen, len(parts))
			}
		}
		if !bytes.Equal(a.data[:a.size], datagram) {
			t.Fatal("the datagram is not what was torn")
		}
	}
}

// Whatever comes, an assembly stays within its bounds and tells what is whole.
func FuzzAssembly(f *testing.F) {
	f.Add(byte(3), []byte{0, 5, 1, 5, 2, 5}, uint16(524))
	f.Add(byte(126), []byte{125, 0}, uint16(1))
	f.Add(byte(0), []byte{0, 0}, uint16(0))
	f.Fuzz(func(t *testing.T, count byte, pieces []byte, last uint16) {
		size := pieceSize(false)
		a := assembly{count: int(count), left: int(count)}
		for ; len(pieces) >= 2; pieces = pieces[2:] {
			n := size
			if pieces[1]&1 != 0 {
				n = int(last)
			}
			a.add(int(pieces[0]), make([]byte, n), size)
		}
		if a.size > socket.BlockSize || a.left < 0 || a.size > 0 && a.left == 0 && (a.size <= (a.count-1)*size-1 || a.size > a.count*size) {
			t.Errorf("%d pieces, %d left, %d bytes", a.count, a.left, a.size)
		}
	})
}

// quiet is the way up of a conduit that has no job, and may only say something.
type quiet struct{ core.Upward }

func (quiet) Log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A path that was found narrow is looked at again after its time.
func TestWidened(t *testing.T) {
	for _, addr := range addresses {
		a, _ := open(t, addr)
		b, _ := open(t, addr)
		c := &conduit{sock: a, port: core.NewPort(quiet{})}
		c.start()
		p := &peer{entry: &entry{addr: b.Local}}
		c.narrow(p)
		c.widened(p)
		if least := socket.PayloadOf(a.V6, 0); p.mtu != least || p.widen == 0 {
			t.Errorf("%s: narrow: %d bytes, want %d", addr, p.mtu, least)
		}
		p.widen = 1
		c.widened(p)
		if want := socket.PathMTU(a.Local.Addr(), b.Local); p.mtu != want || p.widen != 0 {
			t.Errorf("%s: wide again: %d bytes, want %d", addr, p.mtu, want)
		}
	}
}
