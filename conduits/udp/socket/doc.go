// Package socket is what the drivers of am2 stand on: a UDP socket that sends in batches and receives what the
// kernel has joined, addresses as the kernel has them, and the protection of datagrams by package seal. The
// conduit is one driver, package bundle the other.
package socket

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
)

// Bounds of what a call of a driver does, so that a flood of garbage costs others little.
const (
	PollReceives = 8  // system calls of a poll that bring nothing good
	MostErrors   = 64 // errors of the network that are looked at in one go
)

// Yield is what a system call brought.
type Yield uint8

const (
	Nothing   Yield = iota // there is nothing
	Fruitless              // something that is of no use
	Fruitful               // a datagram of a peer
)

// Alignment is that of a datagram in memory: payloads are delivered where they lie in it.
const Alignment = 8

// Kept is how many datagrams of the largest size the kernel of the receiver must be
// able to keep, at least: datagrams are made no larger than that.
const Kept = 8

// DefaultBuffer is how many bytes of the kernel's buffers drivers ask for.
const DefaultBuffer = 8 << 20

// KeysKept is how long the keys of a peer are kept that has no traffic, half of it at least.
const KeysKept = 2 * time.Second

// Suspicion is how often a datagram is lost before the path is taken to swallow what is so long.
const Suspicion = 6

// NewIncarnation returns a number that a socket with the same address did not have before, as
// far as chance can tell.
func NewIncarnation() uint32 {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint32(b[:])
}

// FarewellKind is the kind of a farewell, the first of those that am2 leaves to drivers.
const FarewellKind = am2.DriverKinds

// A farewell is the last datagram of its sender: a head of which only the tag, the kind, the
// incarnations and the number matter. The number is one that am2 never reaches.
const farewellNumber = math.MaxUint64

// Farewell returns a farewell between two incarnations, which is still to be authenticated.
func Farewell(from, to uint32) []byte {
	head := make([]byte, am2.FixedHead)
	am2.PutKind(head, FarewellKind)
	am2.PutNumber(head, farewellNumber)
	am2.PutIncarnations(head, from, to)
	return head
}

// IsFarewell recognises a farewell, which is still to be authenticated.
func IsFarewell(datagram []byte) bool {
	kind, ok := am2.DriverKind(datagram)
	return ok && kind == FarewellKind && len(datagram) == am2.FixedHead && am2.Number(datagram) == farewellNumber
}
