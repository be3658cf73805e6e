package ssam

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Path is the way between a process and its card.
type Path uint8

// The paths.
const (
	Traps  Path = iota // SSAM: a trap for a send, and one for a poll
	User               // the FIFOs are mapped into the process
	Driver             // system calls and interrupts
	Vendor             // the same, below a stream
)

// String returns the path's name.
func (p Path) String() string { return [...]string{"traps", "user", "driver", "vendor"}[p] }

// kernel is the operating system of a workstation: it alone uses the card, unless the path is User.
type kernel struct {
	loop    *vtime.Loop
	p       *Profile
	path    Path
	card    *Card
	id      int            // of the workstation
	cpu     vtime.Resource // of interrupts and processes
	devices []*Device      // by program
	busy    bool           // an interrupt is under way
	taken   []cell         // by it
}

// Device is what the kernel has for a process that has opened the card: a ring of pinned buffers that are mapped into it,
// and the cells that have come for it. Its calls are for the process's proc.
type Device struct {
	k        *kernel
	program  int
	proc     func() *vtime.Proc
	buffers  []byte
	next     int // buffer
	received fifo.Queue[cell]
	half     int  // of the window of a partner
	asleep   bool // in a system call, until the kernel wakes it

	traps, interrupts, refused uint64
}

// open makes the device of a process.
func (k *kernel) open(program int, proc func() *vtime.Proc) *Device {
	d := &Device{k: k, program: program, proc: proc, buffers: make([]byte, k.p.SSAM.Buffers*int(k.p.Card.Data))}
	k.devices = append(k.devices, d)
	return d
}

// Next returns the offset of the next buffer, and the buffer.
func (d *Device) Next() (offset int, buffer []byte) {
	size := int(d.k.p.Card.Data)
	offset = d.next * size
	d.next = (d.next + 1) % d.k.p.SSAM.Buffers
	return offset, d.buffers[offset : offset+size : offset+size]
}

// Refused counts traps that the kernel has refused.
func (d *Device) Refused() uint64 { return d.refused }

// Send is the trap that sends n bytes of a buffer, at an offset, on a connection to a workstation. The kernel waits while the
// output FIFO is full. It refuses offsets outside the device's buffers, and connections that are not the process's.
func (d *Device) Send(to, offset, n int, reply bool) error {
	return d.send(cell{to: to, reply: reply, last: true}, offset, n)
}

func (d *Device) send(x cell, offset, n int) error {
	k, size := d.k, int(d.k.p.Card.Data)
	d.traps++
	d.work(k.p.Trap.Time + k.p.Trap.Check)
	if offset < 0 || offset > len(d.buffers)-size || offset%size != 0 || n < 0 || n > size || x.to < 0 || x.to >= len(k.card.all) || x.to == k.id {
		d.refused++
		return fmt.Errorf("ssam: the kernel refuses %d bytes at offset %d to workstation %d: it has buffers of %d bytes up to %d, and workstations up to %d", n, offset, x.to, size, len(d.buffers), len(k.card.all)-1)
	}
	d.put(x, d.buffers[offset:offset+n])
	return nil
}

// put copies a cell into the output FIFO.
func (d *Device) put(x cell, data []byte) {
	for {
		d.proc().Sync()
		until := d.k.card.full()
		if until == 0 {
			break
		}
		d.proc().Charge(until - d.proc().Now())
	}
	d.work(d.k.p.write(d.k.p.Card.Words))
	x.from, x.program, x.data = d.k.id, d.program, append(d.k.card.memory(), data...)
	d.k.card.send(x)
}

// Poll is the trap that moves all cells of the input FIFO to the processes. What is for other processes wakes them.
func (d *Device) Poll() {
	d.traps++
	d.work(d.k.p.Trap.Time)
	d.drain(d.k.p.Trap.Check + d.k.p.copied(1))
}

// drain moves all cells of the input FIFO, each of which takes so long besides the bus.
func (d *Device) drain(each vtime.Time) {
	for {
		d.work(d.k.p.read(1)) // the card's status
		x, ok := d.k.card.input.Pop()
		if !ok {
			return
		}
		d.work(d.k.p.read(d.k.p.Card.Words) + each)
		d.k.deliver(x, d)
	}
}

// deliver puts a cell into the memory of its process. Who has asked for it needs no wake-up.
func (k *kernel) deliver(x cell, by *Device) {
	d := k.devices[x.program]
	d.received.Push(x)
	if d != by {
		d.proc().Arrive()
	}
}

// work has the process use the processor.
func (d *Device) work(t vtime.Time) {
	p := d.proc()
	p.Sync()
	p.Charge(d.k.cpu.Use(d.k.loop.Now(), t) - d.k.loop.Now())
	p.Sync()
}

// The events of the kernel.
const (
	drained uint64 = iota // an interrupt has moved what had come
	awake                 // a process runs on
)

var kernelEvents = [...]string{"drained", "awake"}

// Label implements vtime.Labelled.
func (k *kernel) Label(event, _ uint64) string { return "kernel " + kernelEvents[event] }

// come is told by the card that a cell has come.
func (k *kernel) come() {
	if k.path == Traps || k.path == User {
		for _, d := range k.devices {
			d.proc().Arrive()
		}
		return
	}
	if !k.busy {
		k.busy = true
		k.devices[0].interrupts++
		k.take(k.p.Driver.Interrupt)
	}
}

// take has the driver move what has come.
func (k *kernel) take(t vtime.Time) {
	for k.card.input.Len() > 0 {
		x, _ := k.card.input.Pop()
		k.taken = append(k.taken, x)
		t += k.p.read(k.p.Card.Words) + k.p.Driver.Cell + k.p.copied(1)
	}
	k.loop.At(k.cpu.Use(k.loop.Now(), t), k, drained, 0)
}

// Fire implements vtime.Target.
func (k *kernel) Fire(event, program uint64) {
	if event == awake {
		k.devices[program].proc().Arrive()
		return
	}
	for _, x := range k.taken {
		d := k.devices[x.program]
		d.received.Push(x)
		if d.asleep && (x.last || d.received.Len() >= d.half) {
			d.asleep = false
			k.loop.At(k.cpu.Use(k.loop.Now(), k.p.Driver.Wakeup), k, awake, uint64(x.program))
		}
	}
	k.taken = k.taken[:0]
	if k.busy = k.card.input.Len() > 0; k.busy {
		k.take(0)
	}
}
