package seal

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// Mode is how datagrams are protected.
type Mode uint8

// The modes.
const (
	None    Mode = iota // not at all
	Auth                // authenticated; replays refused
	Encrypt             // authenticated and encrypted; replays refused
)

var modes = [...]string{"none", "auth", "encrypt"}

// String returns the name of the mode as users write it.
func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// KeySize is the bytes of a job's key.
const KeySize = 32

// Key is the secret of a job, from which all keys are derived.
type Key [KeySize]byte

// NewKey returns a random key.
func NewKey() (k Key) {
	rand.Read(k[:]) // never fails
	return k
}

// Public returns a value of 8 bytes that follows from the key and purpose, and may be known to
// anybody: it tells nothing of the key.
func (k *Key) Public(purpose string) []byte {
	b, err := hkdf.Key(sha256.New, k[:], nil, "aqueduct udp 1 public "+purpose, 8)
	if err != nil {
		panic(err) // only for absurd lengths
	}
	return b
}
