package grim

import (
	"errors"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// OpenDevice makes an endpoint of a channel that is a peripheral device on the host's I/O bus: no process of the host has to do with it. The NIC's
// DMA moves messages into the device's memory, where it has room bytes for them; 0: grim.receive. A larger message is refused for ever. The device takes one after the other: take is called when a message's turn
// comes, and returns how long the device is busy with it; its room is free afterwards, by a write of the device to the NIC. take may send, and
// call the other methods of the endpoint. Whoever sends to a device uses a handler number as it likes: a device knows no names. Memory of the
// device that RM-P reaches is a window: see Host.Map.
func (h *Host) OpenDevice(channel, room int, take func(e *Endpoint, m *Message) vtime.Time) (*Endpoint, error) {
	if take == nil {
		return nil, errors.New("grim: a device that takes nothing")
	}
	e, err := h.Open(channel, EndpointOptions{})
	if err != nil {
		return nil, err
	}
	e.device = take
	if room > 0 {
		e.queue.size = room
	}
	return e, nil
}

// serveDevice has a device take the first message, if it is not busy. Attend does not concern it.
func (e *Endpoint) serveDevice() {
	if e.pumping || e.arrived.Len() == 0 {
		return
	}
	e.pumping = true
	m := e.next()
	e.counts.Received++
	e.cpu.Use(e.host.loop.Now(), e.device(e, m))
	e.host.loop.At(e.Free(), e, 0, eventServed)
}

// served ends what serveDevice has begun.
func (e *Endpoint) served() {
	e.host.nic.HostWrite(word, e, 1, eventFreed)
	e.pumping = false
	e.serveDevice()
}
