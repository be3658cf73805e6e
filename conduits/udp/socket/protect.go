package socket

import (
	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
)

// Authenticate writes the tags of a datagram that goes to a peer (mode Auth).
func Authenticate(p *seal.Peer, head, body []byte) {
	var tag []byte
	if len(body) > 0 {
		tag = am2.BodyTag(head)
	}
	p.Tag(am2.Number(head), head, tag, body)
}

// Encrypt returns an encrypted copy of a datagram that goes to a peer (mode Encrypt). It lies in
// *to, which flush empties, and stays until then.
func Encrypt(to *[]byte, flush func(), p *seal.Peer, head, body []byte) []byte {
	n := len(head) + len(body) + seal.TagSize
	if cap(*to)-len(*to) < n {
		flush()
		if cap(*to) < n {
			*to = make([]byte, 0, SealedSize)
		}
	}
	at := len(*to)
	*to = (*to)[:at+n]
	dst := (*to)[at:]
	return dst[:p.Encrypt(dst, am2.Number(head), head, body)]
}

// SealedSize is room for some of the largest datagrams.
const SealedSize = 4 * BlockSize

// Unseal checks a datagram from a peer, whose head has n bytes, and makes it readable.
func Unseal(mode seal.Mode, p *seal.Peer, datagram []byte, n int) error {
	number := am2.Number(datagram)
	switch mode {
	case seal.Auth:
		head, body := datagram[:n], datagram[n:]
		var tag []byte
		if len(body) > 0 {
			tag = am2.BodyTag(head)
		}
		return p.Check(number, head, tag, body)
	case seal.Encrypt:
		return p.Decrypt(number, datagram)
	}
	return nil
}
