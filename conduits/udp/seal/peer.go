package seal

// Tag authenticates a datagram that goes to the peer (mode Auth): it writes the tag of the
// body, if there is one, to bodyTag, which is TagSize bytes of head, and the tag of the rest
// of head to its beginning. number must never have been used for this peer.
func (p *Peer) Tag(number uint64, head, bodyTag, body []byte) {
	p.ready()
	if len(body) > 0 {
		p.out.Seal(bodyTag[:0], p.nonceFor(ofBody, number), nil, body)
	}
	p.out.Seal(head[:0], p.nonceFor(ofHead, number), nil, head[TagSize:])
}

// Check tells whether a datagram from the peer is what the peer sent to this process, and is
// not a replay (mode Auth). The arguments are as for Tag.
func (p *Peer) Check(number uint64, head, bodyTag, body []byte) error {
	if len(head) < TagSize || len(body) > 0 && len(bodyTag) != TagSize {
		return ErrShort
	}
	if p.had != nil && !p.had.fresh(number) {
		return ErrReplayed
	}
	p.ready()
	if _, err := p.in.Open(nil, p.nonceFor(ofHead, number), head[:TagSize], head[TagSize:]); err != nil {
		return ErrForged
	}
	if len(body) > 0 {
		if _, err := p.in.Open(nil, p.nonceFor(ofBody, number), bodyTag, body); err != nil {
			return ErrForged
		}
	}
	p.note(number)
	return nil
}

// Encrypt writes a datagram that goes to the peer to dst, encrypted and authenticated (mode
// Encrypt), and returns its length, which is that of head and body together. dst needs room
// for TagSize bytes more and must not overlap them. number must never have been used for this
// peer.
func (p *Peer) Encrypt(dst []byte, number uint64, head, body []byte) int {
	p.ready()
	c := p.ring.clear
	n := copy(dst, head)
	n += copy(dst[n:], body)
	p.out.Seal(dst[c:c], p.nonceFor(ofAll, number), dst[c:n], dst[TagSize:c])
	copy(dst, dst[n:n+TagSize])
	return n
}

// Decrypt makes a datagram from the peer readable where it lies, if it is what the peer sent
// to this process and no replay (mode Encrypt). The TagSize bytes of its capacity behind it are
// used and restored; without them it is refused.
func (p *Peer) Decrypt(number uint64, datagram []byte) error {
	c, n := p.ring.clear, len(datagram)
	if n < c || cap(datagram)-n < TagSize {
		return ErrShort
	}
	if p.had != nil && !p.had.fresh(number) {
		return ErrReplayed
	}
	p.ready()
	all := datagram[:n+TagSize]
	var behind [TagSize]byte
	copy(behind[:], all[n:])
	copy(all[n:], all[:TagSize])
	_, err := p.in.Open(all[c:c], p.nonceFor(ofAll, number), all[c:], all[TagSize:c])
	copy(all[n:], behind[:])
	if err != nil {
		return ErrForged
	}
	p.note(number)
	return nil
}

// note has the number refused from now on.
func (p *Peer) note(number uint64) {
	if p.had == nil {
		p.had = new(window)
	}
	p.had.mark(number)
}
