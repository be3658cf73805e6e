package stepped

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// attachment is what the model's process is told of a core.Attachment.
type attachment struct {
	Group    []core.Rank
	Segment  int
	Sizes    []int
	Settings map[string]string
}

// powers is what a rank is told of core.Powers.
type powers struct {
	Limits                             core.Limits
	To                                 []core.Limits // by rank; nil: Limits
	Put, Get, Collective               int           // bytes; 0: the conduit has no such power, or declines all
	Atomics                            map[core.ElementType]core.AtomicOp
	Putter, Getter, Collectives, Idler bool
}

// conduit is a rank's end: each call goes to the model's process, where the conduit of that number is.
type conduit struct {
	r       *Rank
	number  uint64
	powers  powers
	windows []*window // by the slot that a reserved message has in the model's process
	region  *shm.Region
}

// window is where a message is written until it is committed.
type window struct {
	args [core.MaxArgs]uint32
	data []byte
	open bool // for a payload
}

// attach sends a call about an attachment.
func (c *conduit) attach(w word, a *core.Attachment) (*wire.Reader, error) {
	if a.Memory != nil {
		return nil, core.ErrOwnSegment
	}
	text, err := json.Marshal(attachment{a.Group, a.Segment, a.Sizes, a.Settings})
	if err != nil {
		return nil, err
	}
	return c.r.call(w, func(b []byte) []byte { return append(wire.AppendUint64(b, c.number), text...) })
}

// Plan implements core.Conduit.
func (c *conduit) Plan(a *core.Attachment) (p core.Plan, err error) {
	in, err := c.attach(callPlan, a)
	if err == nil {
		err = json.Unmarshal(in.Rest(), &p)
	}
	return p, err
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) error {
	c.r.port = a.Port
	in, err := c.attach(callAttach, a)
	if err != nil {
		return err
	}
	return json.Unmarshal(in.Rest(), &c.powers)
}

// Powers implements core.Conduit.
func (c *conduit) Powers() core.Powers {
	x := &c.powers
	p := core.Powers{Limits: x.Limits}
	if x.To != nil {
		p.LimitsTo = func(r core.Rank) *core.Limits { return &x.To[r] }
	}
	if x.Putter {
		p.Putter = c
	}
	if x.Getter {
		p.Getter = c
	}
	if x.Atomics != nil {
		p.Atomics = c
	}
	if x.Collectives {
		p.Collectives = c
	}
	if x.Idler {
		p.Idler = c
	}
	return p
}

// AttachSegment implements core.Conduit. The segment is the conduit's, which this process maps too.
func (c *conduit) AttachSegment(a *core.Attachment) ([]byte, error) {
	in, err := c.attach(callSegment, a)
	if err != nil {
		return nil, err
	}
	n, fd := int(in.Uint64()), c.r.link.passed
	c.r.link.passed = -1
	if n == 0 {
		return nil, in.End()
	}
	if fd < 0 {
		return nil, errors.New("the model has sent no descriptor of the segment")
	}
	c.region, err = shm.Map(fd, 0, n)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return nil, err
	}
	c.r.segment = c.region.Bytes()
	return c.r.segment, nil
}

// Reserve implements core.Conduit.
func (c *conduit) Reserve(op *core.Op) core.Result {
	var f *flight
	if op.Src != nil && op.LC != nil {
		f = c.r.fly(nil, op.LC, nil)
	}
	in := c.r.must(callReserve, func(b []byte) []byte {
		b = wire.AppendUint16(wire.AppendUint32(b, uint32(op.Dst)), uint16(op.Hdr))
		b = wire.AppendUint64(wire.AppendUint64(b, op.Off), uint64(op.Len))
		b = wire.AppendUint64(wire.AppendUint64(b, op.Slot), f.id())
		if op.Src == nil {
			return flag(b, false)
		}
		return c.r.appendSource(flag(b, true), op.Src)
	})
	res, slot, open := core.Result(in.Uint8()), in.Uint64(), in.Uint8() != 0
	if res != core.Reserved {
		c.r.land(f)
		return res
	}
	w := c.window(slot)
	w.open = open
	op.Slot, op.Args, op.Data = slot, &w.args, nil
	if open {
		c.r.land(f) // core copies the payload, and the source is free
		if cap(w.data) < op.Len {
			w.data = aligned(op.Len)
		}
		op.Data = w.data[:op.Len]
	}
	return res
}

// window returns that of a slot.
func (c *conduit) window(slot uint64) *window {
	for uint64(len(c.windows)) <= slot {
		c.windows = append(c.windows, new(window))
	}
	return c.windows[slot]
}

// Commit implements core.Conduit.
func (c *conduit) Commit(op *core.Op) {
	w := c.windows[op.Slot]
	c.r.must(callCommit, func(b []byte) []byte {
		b = wire.AppendUint16(wire.AppendUint64(b, op.Slot), uint16(op.Hdr))
		b = wire.AppendUint64(wire.AppendUint64(b, op.Off), uint64(op.Len))
		b = appendArgs(b, op.Hdr, &w.args)
		if w.open {
			b = append(b, op.Data[:op.Len]...)
		}
		return b
	})
}

// appendArgs encodes the arguments of a message.
func appendArgs(b []byte, h core.Header, args *[core.MaxArgs]uint32) []byte {
	for i := range min(h.NArgs(), core.MaxArgs) {
		b = wire.AppendUint32(b, args[i])
	}
	return b
}

// readArgs decodes what appendArgs wrote.
func readArgs(in *wire.Reader, h core.Header, args *[core.MaxArgs]uint32) {
	for i := range min(h.NArgs(), core.MaxArgs) {
		args[i] = in.Uint32()
	}
}

// Poll implements core.Conduit.
func (c *conduit) Poll(budget int) int {
	in := c.r.must(callPoll, func(b []byte) []byte { return wire.AppendUint32(b, uint32(budget)) })
	return int(in.Uint32())
}

// dispatch runs the handler of a message that has arrived.
func (r *Rank) dispatch(w word, in *wire.Reader) (replied bool) {
	src, h, slot := core.Rank(in.Uint32()), core.Header(in.Uint16()), in.Uint64()
	var args [core.MaxArgs]uint32
	readArgs(in, h, &args)
	if w == runLong {
		off, n := in.Uint64(), in.Uint64()
		segment := r.segment
		if in.Uint8() == 0 {
			segment = nil // it is other memory
		}
		return r.port.DispatchLong(src, h, &args, segment, off, n, slot)
	}
	data := r.readSource(in)
	if _, ok := inSegment(r.segment, data); !ok {
		data = append(aligned(len(data))[:0], data...)
	}
	return r.port.Dispatch(src, h, &args, data, slot)
}

// aligned returns n bytes that are aligned as payloads are to be, to 8 bytes.
func aligned(n int) []byte { return make([]byte, n, max(n, 16)) } // below that Go's heap aligns less

// Idle implements core.Idler.
func (c *conduit) Idle() (cost core.Time, idle bool) {
	in := c.r.must(callIdle, nil)
	return core.Time(in.Uint64()), in.Uint8() != 0
}

// Sleeper implements core.Conduit.
func (c *conduit) Sleeper() core.Sleeper { return nil }

// Close implements core.Conduit.
func (c *conduit) Close() error {
	_, err := c.r.call(callClose, func(b []byte) []byte { return wire.AppendUint64(b, c.number) })
	if c.region != nil {
		c.r.segment = nil
		err = errors.Join(err, c.region.Close())
		c.region = nil
	}
	if err != nil {
		return fmt.Errorf("close the conduit: %w", err)
	}
	return nil
}
