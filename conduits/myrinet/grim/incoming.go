package grim

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
)

// incoming is a channel's queue of messages that have come and for which the endpoint had no room: Image.Incoming. GRIM had such queues at first and
// dropped them: endpoints that keep up hardly use them, the NI has to look at them all the same, and they take SRAM from the outgoing ones.
type incoming struct {
	messages [][]byte
	bytes    int // of SRAM
}

// takesIn takes a message in for an endpoint, and reports false if it is to be refused. queued says that it stays in the NI.
func (p *Program) takesIn(e *Endpoint, packet fabric.Packet) (queued, ok bool) {
	q, size := &e.channel.incoming, packet.Len()-1
	if len(q.messages) == 0 && e.reserve(size) {
		return false, true
	}
	if !p.image.Incoming || q.bytes+size > int(p.profile.GRIM.Queue)/2 {
		return false, false
	}
	q.messages = append(q.messages, packet.Bytes())
	q.bytes += size
	p.counts.Incoming++
	return true, true
}

// hasRoom has messages of an incoming queue moved to the endpoint, which has given room back.
func (p *Program) hasRoom(c *channel) {
	if len(c.incoming.messages) > 0 {
		p.nic.CPU.Raise(evIncoming)
	}
}

// drain moves the first message of each incoming queue for which there is room now to the host.
func (p *Program) drain() {
	if p.store.Room() < p.profile.storeBlocks()/2 {
		return // the end of one of those before tries again
	}
	for i := range p.channels {
		c := &p.channels[i]
		q := &c.incoming
		if len(q.messages) == 0 || !c.owner.reserve(len(q.messages[0])) {
			continue
		}
		bytes := q.messages[0]
		q.messages = q.messages[1:]
		block := lanai.Block{Direction: lanai.ToHost, Host: c.owner.reserved(bytes), SRAM: bytes, Written: (*arrival)(c.owner)}
		p.deposit([]lanai.Block{block}, store{then: func() {
			q.bytes -= len(bytes)
			p.nic.CPU.Raise(evIncoming) // for the next
		}})
		return
	}
}
