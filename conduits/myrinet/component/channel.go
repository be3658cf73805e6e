package component

import (
	"errors"
	"fmt"
)

// Channel is the family of channels: how what a program writes is delivered over a [Link]. It is what all members together can
// do; a member refuses what it cannot ([ErrMember]).
type Channel interface {
	// Write sends bytes to the link's peer, and returns how many it has taken: all, or less with the error that
	// stopped it. They must not be changed until done is called, once for a Write that has taken all of them.
	Write(b []byte, done func(error)) (int, error)
	// Read returns the next bytes in b, and how many: of a Datagram a whole message, of a Stream what there is. 0 without an error
	// means that there is nothing yet.
	Read(b []byte) (int, error)
}

// ErrShort says that a datagram does not fit into what it was read into. It is still there.
var ErrShort = errors.New("component: the datagram is longer than what it is read into")

// Datagram keeps the boundaries of what is written, which fits into a frame: so no part of it can be missing. Empty ones are none.
type Datagram struct{ link *Link }

// NewDatagram returns a channel over a link, whose messages are the channel's from now on.
func NewDatagram(l *Link) *Datagram { return &Datagram{l} }

// Write implements Channel.
func (d *Datagram) Write(b []byte, done func(error)) (int, error) {
	if most := d.link.net.Unit(); len(b) > most || len(b) == 0 {
		return 0, fmt.Errorf("component: a datagram of %d B; there are 1 to %d", len(b), most)
	}
	if err := d.link.Send(0, b, done); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read implements Channel.
func (d *Datagram) Read(b []byte) (int, error) {
	q := &d.link.queue
	if q.Len() == 0 {
		return 0, nil
	}
	if (*q.At(0)).Len() > len(b) {
		return 0, ErrShort
	}
	m, _ := q.Pop()
	n := len(m.AppendTo(b[:0]))
	m.Release()
	return n, nil
}

// Stream keeps the order of bytes, and no boundaries. A message that has not been read as a whole keeps its sender's credits.
type Stream struct {
	link *Link
	at   int // bytes of the first message that have been read
}

// NewStream returns a channel over a link, whose messages are the channel's from now on. The network must deliver
// ([Network].Delivers): a stream has no other means to find out that bytes are missing.
func NewStream(l *Link) (*Stream, error) {
	if !l.net.Delivers() {
		return nil, errors.New("component: a stream over a network that may lose messages: use a composition with Reliability and Credits")
	}
	return &Stream{link: l}, nil
}

// Write implements Channel. Bytes are sent as messages of a frame each.
func (s *Stream) Write(b []byte, done func(error)) (n int, err error) {
	for n < len(b) {
		size := min(len(b)-n, s.link.net.Unit())
		var last func(error)
		if n+size == len(b) {
			last = done
		}
		if err := s.link.Send(0, b[n:n+size], last); err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

// Read implements Channel.
func (s *Stream) Read(b []byte) (n int, err error) {
	for q := &s.link.queue; n < len(b) && q.Len() > 0; {
		m := *q.At(0)
		skip := s.at
		for _, p := range m.Parts {
			k := min(skip, len(p))
			skip -= k
			got := copy(b[n:], p[k:])
			n, s.at = n+got, s.at+got
		}
		if s.at < m.Len() {
			break
		}
		q.Drop()
		m.Release()
		s.at = 0
	}
	return n, nil
}
