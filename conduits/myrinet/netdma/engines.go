// Package netdma joins a NIC with a LANai to its port of a fabric: the two DMA engines between network and SRAM, as control
// programs use them. The receive engine takes a packet in if it has been programmed for one, else the packet waits in the
// network; the send engine has one packet at a time. What a program does with packets is its own business. It gets them whole: a
// program that looks at the first bytes of a packet while the rest comes, as those do that send packets in transit on (gm, grim),
// has a reception of its own.
package netdma

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/lanai"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
)

// Engines are the send and the receive DMA engine of a NIC. Their methods are called by handlers of the control program.
type Engines struct {
	nic            *lanai.NIC
	port           *fabric.Port
	received, sent lanai.Event

	free    int  // receive buffers
	armed   bool // the receive engine is programmed for the next packet
	waiting *fabric.Arrival
	current fabric.Packet
	came    fifo.Queue[Received]
	held    uint64

	busy bool // the send engine works, or its end has not been noticed
}

// Received is a packet in a receive buffer, without route bytes and without the CRC byte.
type Received struct {
	Packet  fabric.Packet
	Verdict fabric.Verdict
}

// New attaches a NIC to a port. Its receive engine has so many buffers, whose memory the program has reserved. A packet that has come raises the
// event received, one that has left the event sent.
func New(nic *lanai.NIC, port *fabric.Port, buffers int, received, sent lanai.Event) (*Engines, error) {
	if buffers < 1 {
		return nil, fmt.Errorf("netdma: %d receive buffers", buffers)
	}
	e := &Engines{nic: nic, port: port, received: received, sent: sent, free: buffers}
	e.Arm()
	port.Attach(e)
	return e, nil
}

// Arm programs the receive engine for the next packet if a buffer is free, and reports whether it has.
func (e *Engines) Arm() bool {
	if e.armed || e.free == 0 {
		return false
	}
	e.free--
	e.armed = true
	if a := e.waiting; a != nil {
		e.waiting = nil
		e.take(a)
	}
	return true
}

// Armable reports whether Arm would program the receive engine.
func (e *Engines) Armable() bool { return !e.armed && e.free > 0 }

// Next takes the packet that came first; it reports false if there is none. If others wait, the event is raised again. Its
// buffer is taken until Release.
func (e *Engines) Next() (r Received, ok bool) {
	r, ok = e.came.Pop()
	if e.came.Len() > 0 {
		e.nic.CPU.Raise(e.received)
	}
	return r, ok
}

// Release frees a receive buffer, and programs the receive engine if it is not.
func (e *Engines) Release() {
	e.free++
	e.Arm()
}

// Held returns how many packets have had to wait in the network for a receive buffer.
func (e *Engines) Held() uint64 { return e.held }

// Idle reports whether a packet may be sent.
func (e *Engines) Idle() bool { return !e.busy && e.port.Idle() }

// Send has the send engine send a packet, route bytes first. The engine must be idle.
func (e *Engines) Send(p fabric.Packet) {
	e.busy = true
	e.nic.Works(lanai.Send, true)
	e.port.Inject(p)
}

// Ended notes that the program has noticed the event sent: the engine is idle then.
func (e *Engines) Ended() { e.busy = false }

// Head implements fabric.NIC.
func (e *Engines) Head(a *fabric.Arrival) {
	if !e.armed {
		e.held++
		e.waiting = a
		return
	}
	e.take(a)
}

// take has the receive engine take a packet in.
func (e *Engines) take(a *fabric.Arrival) {
	e.armed = false
	e.current = a.Packet()
	e.nic.Works(lanai.Receive, true)
	a.Accept(0)
}

// Received implements fabric.NIC; no mark is set.
func (e *Engines) Received(*fabric.Arrival, int) {}

// Tail implements fabric.NIC: the receive engine is through.
func (e *Engines) Tail(a *fabric.Arrival) {
	if e.waiting == a { // a time limit has ended it before it was taken in
		e.waiting = nil
		return
	}
	e.came.Push(Received{e.current.Cut(a.Len() - 1), a.Verdict()})
	e.current = fabric.Packet{}
	e.nic.Works(lanai.Receive, false)
	e.nic.CPU.Raise(e.received)
}

// Sent implements fabric.NIC; no mark is set.
func (e *Engines) Sent(*fabric.Sending, int) {}

// Gone implements fabric.NIC: the send engine is through.
func (e *Engines) Gone(*fabric.Sending) {
	e.nic.Works(lanai.Send, false)
	e.nic.CPU.Raise(e.sent)
}

// Reset implements fabric.NIC. The port has called Tail for what there was.
func (e *Engines) Reset(*fabric.Port) {}
