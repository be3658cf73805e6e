package spawner

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

// The handshake, challenge and response in both directions:
//
//	launcher → rank: magic, launcher nonce
//	rank → launcher: rank, rank nonce, proof("rank"), or proof("entry") if it only enters its process
//	launcher → rank: welcome frame with proof("launcher"), once the rank is let in
//
// A proof is HMAC-SHA256 under the job's secret of the protocol's name, the purpose, the
// rank and both nonces, so it is of no use for another connection, rank or direction. All
// that a stranger can make the launcher do is read helloSize bytes and compute two HMACs.
const (
	magic      = "AQUEDUCT bootstrap 1\n"
	secretSize = 32
	nonceSize  = 32
	proofSize  = sha256.Size
	helloSize  = 4 + nonceSize + proofSize

	purposeRank     = "rank"
	purposeEntry    = "entry"
	purposeLauncher = "launcher"
)

// dialogue is what both proofs of one handshake are about.
type dialogue struct {
	secret   []byte
	rank     int
	launcher []byte // the launcher's nonce
	client   []byte // the rank's nonce
}

// proof returns the proof of knowing the secret for a purpose.
func (d *dialogue) proof(purpose string) []byte {
	m := hmac.New(sha256.New, d.secret)
	b := wire.AppendText(wire.AppendText(nil, magic), purpose)
	b = wire.AppendUint32(b, uint32(d.rank))
	b = wire.AppendBytes(wire.AppendBytes(b, d.launcher), d.client)
	m.Write(b)
	return m.Sum(nil)
}

// fresh returns n random bytes.
func fresh(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// challenge is the launcher's side: it returns the rank that has proved itself on c, for
// which purpose, and the proof to welcome it with.
func challenge(c *net.UnixConn, secret []byte, size int) (rank int, purpose string, welcome []byte, err error) {
	d := dialogue{secret: secret, launcher: fresh(nonceSize)}
	if _, err := c.Write(append([]byte(magic), d.launcher...)); err != nil {
		return 0, "", nil, err
	}
	hello := make([]byte, helloSize)
	if _, err := io.ReadFull(c, hello); err != nil {
		return 0, "", nil, fmt.Errorf("no proof: %w", err)
	}
	r := wire.NewReader(hello)
	claimed := r.Uint32()
	d.rank, d.client = int(claimed), r.Next(nonceSize)
	proof := r.Next(proofSize)
	switch {
	case hmac.Equal(proof, d.proof(purposeRank)):
		purpose = purposeRank
	case hmac.Equal(proof, d.proof(purposeEntry)):
		purpose = purposeEntry
	default:
		return 0, "", nil, errors.New("wrong proof")
	}
	if claimed >= uint32(size) {
		return 0, "", nil, fmt.Errorf("rank %d of a job of %d", claimed, size)
	}
	return d.rank, purpose, d.proof(purposeLauncher), nil
}

// respond is the rank's side: it proves itself on c for a purpose and returns the proof that
// the launcher has to give in turn.
func respond(c *net.UnixConn, secret []byte, purpose string, rank int) (expect []byte, err error) {
	greeting := make([]byte, len(magic)+nonceSize)
	if _, err := io.ReadFull(c, greeting); err != nil {
		return nil, err
	}
	r := wire.NewReader(greeting)
	if string(r.Next(len(magic))) != magic {
		return nil, errors.New("it speaks another protocol or version")
	}
	d := dialogue{secret: secret, rank: rank, launcher: r.Rest(), client: fresh(nonceSize)}
	hello := append(wire.AppendUint32(nil, uint32(rank)), d.client...)
	_, err = c.Write(append(hello, d.proof(purpose)...))
	return d.proof(purposeLauncher), err
}

// peerOf returns who made the connection, as the kernel knows it.
func peerOf(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var opt error
	if err := raw.Control(func(fd uintptr) {
		cred, opt = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, opt
}
