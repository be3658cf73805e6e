package myrinet

import (
	"bytes"
	"fmt"
	"log/slog"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// device is a peripheral device on a host's bus, which has a channel of the NIC, and no process: what shares the NIC with ranks where cards stream to each other. It streams blocks to the
// memory of the device of that number on the next host, by RM-P, and tells that of each by a message on the same channel, which arrives behind the block. That device is busy with each
// block for a time, and answers. It has room for fewer messages than are under way, so that its NIC refuses some nearly always.
type device struct {
	endpoint *grim.Endpoint
	next     grim.EndpointID // the device that it streams to
	busy     vtime.Time      // with a block
	blocks   int             // that it streams
	fail     func(error)     // of the job
	memory   []byte          // a place for each block under way, by turns
	at       uint64          // and its physical address
	to       uint64          // that of the next device's memory
	block    []byte          // that is being sent, or that should have come
	sent     int             // blocks so far
	taken    int             // blocks that have come
}

// What devices are.
const (
	deviceBlock  = 4096 // bytes
	deviceWindow = 8    // blocks under way
	deviceRoom   = 2    // messages
)

// The messages of devices. A device knows no names, so these numbers are their own.
const (
	deviceAsks    grim.HandlerID = 1 + iota // where the memory is
	deviceHas                               // a block has come: its number
	deviceAnswers                           // both: where the memory is, in two words
)

// openDevices makes those of a host, which stream to the devices of another one, or their own. They begin with start.
func (s *site) openDevices(h *grim.Host, next int, fail func(error)) (all []*device, err error) {
	for i := range s.devices {
		d := &device{busy: vtime.FromDuration(s.deviceTime), blocks: s.deviceBlocks, fail: fail, memory: make([]byte, deviceWindow*deviceBlock), block: make([]byte, deviceBlock)}
		channel := s.rankChannels() + i
		d.next = grim.EndpointID(next*s.channels + channel)
		if d.at, err = h.Map(d.memory, nil); err != nil {
			return nil, err
		}
		if d.endpoint, err = h.OpenDevice(channel, deviceRoom*grim.HeaderSize, d.take); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// start has the device ask where to stream to. All hosts have their devices.
func (d *device) start() { d.tell(d.next, deviceAsks) }

// take takes a message, and returns how long the device is busy with it: GRIM's library calls it.
func (d *device) take(_ *grim.Endpoint, m *grim.Message) vtime.Time {
	switch m.Handler {
	case deviceAsks:
		d.tell(m.Source, deviceAnswers, uint32(d.at>>32), uint32(d.at))
		return 0
	case deviceHas:
		d.fill(d.taken)
		if place := d.memory[d.taken%deviceWindow*deviceBlock:][:deviceBlock]; int(m.Args[0]) != d.taken || !bytes.Equal(place, d.block) {
			d.fail(fmt.Errorf("myrinet: endpoint %d tells a device of block %d, and %d was due; or its bytes are not those that were sent", m.Source, m.Args[0], d.taken))
			return 0
		}
		d.taken++
		d.tell(m.Source, deviceAnswers, uint32(d.at>>32), uint32(d.at))
		return d.busy
	case deviceAnswers:
		d.to = uint64(m.Args[0])<<32 | uint64(m.Args[1])
		n := 1
		if d.sent == 0 {
			n = deviceWindow // nothing is under way
		}
		for range min(n, d.blocks-d.sent) {
			d.send()
		}
		return 0
	}
	d.fail(fmt.Errorf("myrinet: a message %d from endpoint %d to a device, which no device sends", m.Handler, m.Source))
	return 0
}

// send streams the next block.
func (d *device) send() {
	d.fill(d.sent)
	if err := d.endpoint.WritePhysical(d.next, d.to+uint64(d.sent%deviceWindow*deviceBlock), d.block, grim.RMOptions{}); err != nil {
		d.fail(err)
	}
	d.tell(d.next, deviceHas, uint32(d.sent))
	d.sent++
}

// fill makes the bytes of a block.
func (d *device) fill(number int) {
	for i := range d.block {
		d.block[i] = byte(number + i + i>>8)
	}
}

// tell sends a message.
func (d *device) tell(to grim.EndpointID, what grim.HandlerID, args ...uint32) {
	var all [4]uint32
	copy(all[:], args)
	if err := d.endpoint.Send(to, what, all, nil); err != nil {
		d.fail(err)
	}
}

// logDevices says what the devices of a host have done.
func logDevices(l *slog.Logger, host string, all []*device) {
	for i, d := range all {
		l.Warn("myrinet: device", "host", host, "device", i, "sent", d.sent, "taken", d.taken)
	}
}

// nextHost returns the next host that has ranks of a group, after the last the first again.
func (s *site) nextHost(group []core.Rank, node int) int {
	for _, r := range group {
		if n, _ := s.place(r); n > node {
			return n
		}
	}
	n, _ := s.place(group[0])
	return n
}
