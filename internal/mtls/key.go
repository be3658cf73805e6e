package mtls

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/secretfile"
)

// KeySize is the length of a Key, in bytes.
const KeySize = 32

// Key is what the processes share. It is random.
type Key [KeySize]byte

// NewKey returns a fresh key.
func NewKey() (k Key) {
	rand.Read(k[:]) // never fails
	return k
}

// maxFile bounds a key file.
const maxFile = 1024

// expires begins the second word of a key file.
const expires = "expires="

// ReadKey returns the key in a file, in which it is 64 hexadecimal digits, as `openssl rand -hex 32` writes them. Behind them
// expires=TIME (RFC 3339, such as 2030-01-31T12:00:00Z) may say until when it is good. It is an error if that has passed, by the clock of
// this host, or if others than the file's owner may know the key; see secretfile.Read.
func ReadKey(path string) (Key, error) {
	text, err := secretfile.Read(path, maxFile)
	if err == nil {
		var k Key
		if k, err = parseKey(string(text), time.Now()); err == nil {
			return k, nil
		}
		err = fmt.Errorf("%s: %w", path, err)
	}
	return Key{}, fmt.Errorf("key file: %w", err)
}

// parseKey reads what a key file holds. Its errors quote nothing of that: what is at a wrong place may be a key.
func parseKey(text string, now time.Time) (k Key, err error) {
	words := strings.Fields(text)
	if len(words) == 0 || len(words[0]) != hex.EncodedLen(KeySize) {
		return k, fmt.Errorf("it does not begin with %d hexadecimal digits; make one by `openssl rand -hex %d`", hex.EncodedLen(KeySize), KeySize)
	}
	b, err := hex.DecodeString(words[0])
	if err != nil {
		return k, fmt.Errorf("its first word has other characters than hexadecimal digits; make one by `openssl rand -hex %d`", KeySize)
	}
	switch {
	case len(words) == 2 && strings.HasPrefix(words[1], expires):
		until, err := time.Parse(time.RFC3339, words[1][len(expires):])
		if err != nil {
			return k, fmt.Errorf("what follows %s is no time such as 2030-01-31T12:00:00Z", expires)
		}
		if !now.Before(until) {
			return k, fmt.Errorf("the key has expired, at %s; make a new one", until.Format(time.RFC3339))
		}
	case len(words) > 1:
		return k, fmt.Errorf("behind the key it has something else than %sTIME; it holds one key", expires)
	}
	return Key(b), nil
}

// config returns how either end of a stream for a protocol speaks TLS.
func (k Key) config(protocol string) (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, k[:], nil, "aqueduct mtls 1 ed25519", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: private}},
		ClientAuth:   tls.RequireAnyClientCert, InsecureSkipVerify: true, // the names and times of certificates; keys VerifyConnection looks at
		VerifyConnection: func(s tls.ConnectionState) error {
			theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !bytes.Equal(theirs, public) {
				return ErrKey
			}
			return nil
		},
	}, nil
}

// ErrKey is the error of Dial if who listens has another key.
var ErrKey = errors.New("it has another key")
