package myrinet

import (
	"encoding/binary"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Live, a rank and the NIC of its host exchange records by rings of shared memory, as a program and a card do over a host's bus: the rank orders, by a ring for each of its channels, and the NIC
// reports.

// kind says what a record is.
type kind uint32

// The kinds.
const (
	orderSend   kind = 1 + iota // an active message: peer, handler, args, data
	orderWrite                  // bytes into remote memory: peer, op, at, data
	orderRead                   // bytes of remote memory into registered memory of the rank: peer, op, at, into, length
	reportAM                    // an active message has come: as orderSend, from peer
	reportDone                  // a part of a write, or a read, is done: op
	reportError                 // the NIC gives up: data is why
)

// record is an order or a report. What is not said of its kind is 0.
type record struct {
	kind    kind
	peer    grim.EndpointID
	handler uint32 // core's index
	op      uint32
	args    [inHeader]uint32
	at      grim.Remote
	into    grim.Remote
	length  int
	data    []byte
}

// recordHead is what a record has in front of its data. The words of args are also those of the keys of at and into, and length.
const recordHead = 48

// put writes a record, whose length is recordHead and that of the data, into b.
func (r *record) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, uint32(r.kind))
	le.PutUint32(b[4:], uint32(r.peer))
	le.PutUint32(b[8:], r.handler)
	le.PutUint32(b[12:], r.op)
	if r.kind == orderSend || r.kind == reportAM {
		for i, a := range r.args {
			le.PutUint32(b[16+4*i:], a)
		}
	} else {
		le.PutUint32(b[16:], uint32(r.at.Key))
		le.PutUint32(b[20:], uint32(r.into.Key))
		le.PutUint64(b[24:], uint64(r.length))
		le.PutUint64(b[32:], r.at.Offset)
		le.PutUint64(b[40:], r.into.Offset)
	}
	copy(b[recordHead:], r.data)
}

// get reads what put has written. The data is in b. It fails on what put does not write.
func (r *record) get(b []byte) error {
	if len(b) < recordHead {
		return fmt.Errorf("a record of %d B; it has %d at least", len(b), recordHead)
	}
	le := binary.LittleEndian
	*r = record{kind: kind(le.Uint32(b)), handler: le.Uint32(b[8:]), op: le.Uint32(b[12:]), data: b[recordHead:]}
	peer := le.Uint32(b[4:])
	r.peer = grim.EndpointID(peer)
	if r.kind < orderSend || r.kind > reportError || peer > 1<<16-1 || int(r.handler) >= len(names) {
		return fmt.Errorf("a record of kind %d with endpoint %d and handler %d", r.kind, peer, r.handler)
	}
	if r.kind == orderSend || r.kind == reportAM {
		for i := range r.args {
			r.args[i] = le.Uint32(b[16+4*i:])
		}
		return nil
	}
	n := le.Uint64(b[24:])
	if n > maxRead {
		return fmt.Errorf("a record of %d B to be read; there can be %d", n, maxRead)
	}
	r.at = grim.Remote{Key: grim.Key(le.Uint32(b[16:])), Offset: le.Uint64(b[32:])}
	r.into = grim.Remote{Key: grim.Key(le.Uint32(b[20:])), Offset: le.Uint64(b[40:])}
	r.length = int(n)
	return nil
}

// writeHead is no less than what a message of remote memory has in front of its bytes.
const writeHead = 64

// maxRead is more than any read has.
const maxRead = 1 << 31

// sender is an end of the bus that records leave by, in order. What finds the ring full waits in memory of the end's own.
type sender struct {
	ring    *link.Writer
	waiting fifo.Queue[[]byte]
}

// fits reports whether a record with so many bytes of data would leave at once.
func (s *sender) fits(n int) bool { return s.waiting.Len() == 0 && s.ring.Room(recordHead+n) }

// send sends a record. Its data may be changed afterwards.
func (s *sender) send(r *record) {
	n := recordHead + len(r.data)
	if s.waiting.Len() == 0 {
		if b := s.ring.Reserve(n); b != nil {
			r.put(b)
			s.ring.Commit(n)
			return
		}
	}
	b := make([]byte, n)
	r.put(b)
	s.waiting.Push(b)
}

// flush sends what waits, as far as there is room, and returns how much that was.
func (s *sender) flush() (n int) {
	for ; s.waiting.Len() > 0; n++ {
		first := *s.waiting.At(0)
		b := s.ring.Reserve(len(first))
		if b == nil {
			return n
		}
		copy(b, first)
		s.ring.Commit(len(first))
		s.waiting.Drop()
	}
	return n
}

// outlet is a sender that others are refused who want to send what would have to wait.
type outlet struct {
	sender
	refused bool // somebody has been, and flush has not counted that there is room
	wanted  int  // for so many bytes of data
}

// room reports whether a record with so many bytes of data would leave at once. If not, somebody is refused.
func (o *outlet) room(n int) bool {
	ok := o.fits(n)
	if !ok {
		o.refused, o.wanted = true, n
	}
	return ok
}

// waits reports whether flush is to be called, now and then.
func (o *outlet) waits() bool { return o.refused || o.waiting.Len() > 0 }

// ready reports whether flush would find room that somebody, or something, waits for.
func (o *outlet) ready() bool {
	if o.waiting.Len() > 0 {
		return o.ring.Room(len(*o.waiting.At(0)))
	}
	return o.refused && o.fits(o.wanted)
}

// flush sends what waits, as far as there is room, and returns how much that was; room for who has been refused counts too.
func (o *outlet) flush() (n int) {
	n = o.sender.flush()
	if o.refused && o.fits(o.wanted) {
		o.refused = false
		n++
	}
	return n
}
