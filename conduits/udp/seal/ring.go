package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
)

// TagSize is the bytes of a tag. A datagram begins with the tag of what follows in its head.
const TagSize = 16

// Errors of Check and Decrypt. The datagram is to be dropped; nothing of it can be believed.
var (
	// ErrForged says that a tag does not fit: not sent by whom it claims, to this process, or
	// changed on its way.
	ErrForged = errors.New("seal: the tag does not fit")
	// ErrReplayed says that the number was received before, or is too old to tell.
	ErrReplayed = errors.New("seal: the number was received before")
	// ErrShort says that the datagram is too short to be one, or so long that there is no room
	// to open it.
	ErrShort = errors.New("seal: too short")
)

// Ring holds the keys of one process. Its methods, and those of its Peers, may not be called
// concurrently.
type Ring struct {
	mode  Mode
	key   Key
	self  string
	clear int
	live  []*Peer // those with keys
}

// NewRing returns the keys of the process called self. Names are any bytes that differ among
// the processes of the job, now and in future: a process that begins anew with a name counts
// its datagrams from the start. In mode Encrypt the first clear bytes of a head stay readable,
// at least TagSize of them.
func NewRing(mode Mode, key Key, self string, clear int) *Ring {
	return &Ring{mode: mode, key: key, self: self, clear: clear}
}

// Peer protects what goes to and comes from one other process. Until the first datagram, and
// some time after the last, it has no keys.
type Peer struct {
	ring   *Ring
	name   string
	out    cipher.AEAD // nil: not derived
	in     cipher.AEAD
	had    *window
	nonce  [12]byte
	recent bool // used since the last Sweep
}

// Peer returns what protects the traffic with the process called name. Ask once for each.
func (r *Ring) Peer(name string) *Peer { return &Peer{ring: r, name: name} }

// Sweep forgets the keys of peers that had no traffic since the last call: some 2 KB each,
// which their next datagram derives anew in some microseconds.
func (r *Ring) Sweep() {
	kept := r.live[:0]
	for _, p := range r.live {
		if p.recent {
			p.recent = false
			kept = append(kept, p)
		} else {
			p.out, p.in = nil, nil
		}
	}
	clear(r.live[len(kept):])
	r.live = kept
}

// Forget drops the keys of a peer at once, instead of by the second Sweep: those of a stranger,
// say, whose datagram was not authentic.
func (r *Ring) Forget(p *Peer) {
	if i := slices.Index(r.live, p); i >= 0 {
		r.live = slices.Delete(r.live, i, i+1)
	}
	p.out, p.in = nil, nil
}

// Keys returns how many peers have keys.
func (r *Ring) Keys() int { return len(r.live) }

// What a nonce is for; its other part is the number of the datagram.
const (
	ofHead = iota + 1
	ofBody
	ofAll
)

// nonceFor returns the nonce for a part of datagram number. It is valid until the next call.
func (p *Peer) nonceFor(part uint32, number uint64) []byte {
	binary.BigEndian.PutUint32(p.nonce[:4], part)
	binary.BigEndian.PutUint64(p.nonce[4:], number)
	return p.nonce[:]
}

// ready derives the keys if there are none.
func (p *Peer) ready() {
	p.recent = true
	if p.out == nil {
		p.out, p.in = p.ring.derive(p.ring.self, p.name), p.ring.derive(p.name, p.ring.self)
		p.ring.live = append(p.ring.live, p)
	}
}

// derive returns the cipher for datagrams between two processes, in one direction.
func (r *Ring) derive(from, to string) cipher.AEAD {
	info := []byte("aqueduct udp 1 ")
	info = binary.BigEndian.AppendUint32(info, uint32(len(from)))
	info = append(append(info, from...), to...)
	key, err := hkdf.Key(sha256.New, r.key[:], nil, string(info), aes.BlockSize)
	if err != nil {
		panic(err) // only for absurd lengths
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // only for wrong lengths
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for other ciphers
	}
	return aead
}
