package grim

import (
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// idleMark is when a scan has begun, and what the processor had worked until then.
type idleMark struct{ at, busy vtime.Time }

// told takes note of what a host has written into a channel's back register.
func (p *Program) told(c *channel) {
	c.back++
	p.nic.CPU.Raise(evScan)
}

// scan looks for a channel with a message to be sent, from the one behind the last on. The firmware does so all the time while the
// link is free. No event is spent on scans that find nothing: where they have come to by now follows from the time.
func (p *Program) scan() {
	if p.busy || !p.port.Idle() {
		return // the end of what is leaving brings the next scan
	}
	if p.waiting() { // the link was busy with what is not the firmware's, or a route has been taken away
		p.sendNext()
		return
	}
	p.find()
}

// find begins to send a reply or a message, over the link, which is free. It reports false if there is none that can be sent.
func (p *Program) find() bool {
	if p.replies.Len() > 0 {
		p.spend(p.profile.Steps.Send, p.step.reply)
		return true
	}
	p.advance()
	n := len(p.channels)
	for looked := range n {
		at := (p.at + looked) % n
		if c := &p.channels[at]; c.sendable() != nil {
			p.counts.Scans++
			p.counts.Looked += uint64(looked + 1)
			p.found, p.at = c, (at+1)%n
			p.spend(p.profile.Steps.Scan+(looked+1)*p.profile.Steps.Channel, p.step.found)
			return true
		}
	}
	return false
}

// advance moves the scan to where it has come while the processor had nothing else to do. A scan of all channels takes the
// dispatcher's steps too.
func (p *Program) advance() {
	s, code := &p.profile.Steps, &p.profile.Code
	last := p.mark
	p.stand()
	idle := p.mark.at - last.at - (p.mark.busy - last.busy)
	if p.nic.CPU.Instruction() == 0 {
		return // where the next scan begins is where the last has ended
	}
	begin := int64(code.Poll + code.Dispatch + s.Scan)
	round := begin + int64(len(p.channels)*s.Channel)
	into := int64(max(0, idle)/p.nic.CPU.Instruction())%round - begin
	if s.Channel > 0 && into > 0 {
		p.at = (p.at + int(into/int64(s.Channel))) % len(p.channels)
	}
}

// stand notes that scans have come to where they are just now.
func (p *Program) stand() { p.mark = idleMark{p.loop.Now(), p.nic.CPU.Counts().Busy} }

// foundOne sends what the scan has found. What has become of it meanwhile is looked at again.
func (p *Program) foundOne() {
	p.counts.Scanning += p.loop.Now() - p.mark.at
	if p.leaving = p.found.sendable(); p.leaving == nil {
		if p.waiting() {
			p.sendNext()
		} else {
			p.nic.CPU.Raise(evScan)
		}
		return
	}
	if typeIn(p.leaving.bytes) == Multicast && p.leaving.branch == nil {
		p.spend(p.profile.Steps.Send+len(p.trees[p.leaving.bytes[treeByte]].children)*p.profile.Steps.Fork, p.step.fork)
		return
	}
	p.spend(p.profile.Steps.Send+p.pair(), p.step.transmit)
}

// transmit gives the message that has been found to the send DMA.
func (p *Program) transmit() {
	c, m := p.found, p.leaving
	p.leaving = nil
	c.leave(m)
	p.counts.Sent++
	step := Sends
	if m.again {
		p.counts.Resent++
		step = SendsAgain
	}
	m.again = true
	p.note(step, m.bytes[sequenceByte], m.bytes[tokenByte])
	node := p.node(m.to)
	route, _ := p.route(node) // the library has looked it up
	if p.timeOuts != nil {
		p.timeOuts.leaves(m)
		if route == nil {
			p.counts.NoRoute++
			p.free() // it counts as lost
			return
		}
	}
	packet := fabric.Packet{Head: route, Body: m.bytes}
	p.starts()
	if p.image.Queue != Hybrid || len(m.bytes) == HeaderSize {
		p.port.Inject(packet)
		return
	}
	// The DMA of the header; that of the payload follows when it is through.
	header := len(packet.Head) + HeaderSize
	p.sending, p.rest, p.headGone = p.paced.InjectPaced(packet), len(m.bytes)-HeaderSize, false
	p.sending.Watch(header)
	p.sending.Supply(header, 0)
	p.await()
}

// Sent implements fabric.NIC: the DMA of a header is through.
func (p *Program) Sent(*fabric.Sending, int) { p.headGone = true }

// await waits for the DMA of the header.
func (p *Program) await() {
	if p.headGone {
		p.spend(p.profile.Steps.Second, p.step.second)
	} else {
		p.spend(p.profile.Steps.Wait, p.step.await)
	}
}

// second starts the DMA of the payload.
func (p *Program) second() { p.sending.Supply(p.rest, 0) }

// starts notes that the send DMA begins to work.
func (p *Program) starts() {
	p.busy = true
	p.nic.Works(lanai.Send, true)
}

// Gone implements fabric.NIC: the send DMA is through.
func (p *Program) Gone(*fabric.Sending) {
	p.headGone = true // also of a packet that has been cut off
	p.nic.Works(lanai.Send, false)
	p.nic.CPU.Raise(evSent)
}

// free sends what comes next when the link is free.
func (p *Program) free() {
	p.busy = false
	p.slab.free(p.borrowed)
	p.borrowed = nil
	p.replied()
	p.stand()
	p.freeTransit(p.transit.Left())
	if p.timeOuts != nil {
		p.timeOuts.left()
	}
	if p.image.ITB {
		p.spend(p.profile.ITB.Test, p.step.next)
	} else {
		p.sendNext()
	}
}

// waiting tells whether packets in transit or control messages wait for the link.
func (p *Program) waiting() bool { return p.transit.Waiting()+p.controls.Len()+p.late.Len() > 0 }

// sendNext sends packets in transit first, which hold up what is to be received; then a control message, but not two in a row while
// there is something else. If packets wait to be looked at, which come before a scan, it looks for a message at once: else an NI that has to
// refuse what others send without a pause would send nothing of its own, and what it refuses may wait for that.
func (p *Program) sendNext() {
	last := p.controlled
	p.controlled = false
	switch {
	case p.transit.Waiting() > 0:
		p.transit.Next()
		p.spend(p.profile.ITB.Program, p.step.forward)
	case p.controls.Len()+p.late.Len() > 0:
		if !last || !p.find() {
			p.nextControl()
		}
	case p.nic.CPU.Pending(evRecv):
		p.find()
	default:
		p.nic.CPU.Raise(evScan)
	}
}

// nextControl begins to send the first control message that waits.
func (p *Program) nextControl() {
	p.controlled = true
	var ok bool
	if p.answer, ok = p.controls.Pop(); !ok {
		p.answer, _ = p.late.Pop()
		p.counts.NACKs++
	}
	p.spend(p.profile.Steps.Control, p.step.control)
}

// sendControl sends a control message over the link, which is free, and takes input again that was refused.
func (p *Program) sendControl() {
	m := &p.answer.message
	route, _ := p.route(p.answer.node)
	if route == nil { // it has been taken away
		p.counts.NoRoute++
		p.arm()
		p.nic.CPU.Raise(evScan)
		return
	}
	p.starts()
	p.borrowed = m.Append(append(p.slab.make(len(route) + ControlSize)[:0], route...))
	p.port.Inject(fabric.Packet{Head: p.borrowed})
	p.arm()
}

// respond sends a control message at once, or queues it: if the link is busy, or others wait already.
func (p *Program) respond() {
	switch p.answer.message.Type {
	case ACK:
		p.counts.ACKs++
	case NACK:
		p.counts.NACKs++
	}
	if !p.busy && p.controls.Len()+p.late.Len() == 0 {
		p.sendControl()
		return
	}
	p.controls.Push(p.answer)
	p.counts.Queued++
	p.counts.MostQueued = max(p.counts.MostQueued, p.controls.Len())
	if !p.busy {
		p.nic.CPU.Raise(evScan)
	}
}
