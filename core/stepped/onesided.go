package stepped

import (
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// flight is a one-sided or collective operation under way, or a message whose payload the model still has.
type flight struct {
	number   uint64
	mem      []byte           // where what is fetched goes
	lc, done *core.Completion // to be told; nil: nothing is, or was
}

// id returns the flight's number, 0 for none.
func (f *flight) id() uint64 {
	if f == nil {
		return 0
	}
	return f.number
}

// fly makes an operation known, before the model is told of it.
func (r *Rank) fly(mem []byte, lc, done *core.Completion) *flight {
	r.flown++
	f := &flight{r.flown, mem, lc, done}
	r.flights[f.number] = f
	return f
}

// land forgets an operation.
func (r *Rank) land(f *flight) {
	if f != nil {
		delete(r.flights, f.number)
	}
}

// completed takes note of what the model tells of an operation: that its source is free, or that it is done, with what was fetched.
func (r *Rank) completed(number uint64, done bool, fetched []byte) {
	f := r.flights[number]
	if f == nil {
		return
	}
	told := &f.lc
	if done {
		copy(f.mem, fetched)
		told = &f.done
	}
	if *told != nil {
		(*told).Complete()
		*told = nil
	}
	if f.lc == nil && f.done == nil {
		r.land(f)
	}
}

// How memory of the rank is named to the model.
const (
	bySegment = iota // offset and length: it lies in the segment
	byValue          // its bytes, or their number if it is to be written
)

// inSegment returns where in the segment memory lies, if it does.
func inSegment(segment, mem []byte) (off uint64, ok bool) {
	if len(mem) == 0 || len(segment) == 0 {
		return 0, false
	}
	at, base := address(mem), address(segment)
	if at < base || at-base > uintptr(len(segment)-len(mem)) || len(mem) > len(segment) {
		return 0, false
	}
	return uint64(at - base), true
}

// appendSource encodes memory that is read.
func (r *Rank) appendSource(b, mem []byte) []byte { return appendMemory(b, r.segment, mem) }

// appendMemory encodes memory, which may lie in the segment.
func appendMemory(b, segment, mem []byte) []byte {
	if off, ok := inSegment(segment, mem); ok {
		return wire.AppendUint64(wire.AppendUint64(append(b, bySegment), off), uint64(len(mem)))
	}
	return wire.AppendBytes(append(b, byValue), mem)
}

// readSource decodes what appendMemory wrote in the other process.
func (r *Rank) readSource(in *wire.Reader) []byte { return readMemory(in, r.segment) }

// readMemory decodes what appendMemory wrote; the bytes are not copied.
func readMemory(in *wire.Reader, segment []byte) []byte {
	if in.Uint8() == bySegment {
		mem, _ := core.Window(segment, in.Uint64(), in.Uint64())
		return mem
	}
	return in.Bytes()
}

// appendTarget encodes memory that is written. elsewhere is what of it the model has to send back.
func (r *Rank) appendTarget(b, mem []byte) []byte {
	if off, ok := inSegment(r.segment, mem); ok {
		return wire.AppendUint64(wire.AppendUint64(append(b, bySegment), off), uint64(len(mem)))
	}
	return wire.AppendUint64(append(b, byValue), uint64(len(mem)))
}

// initiate has the model begin an operation, whose results go to mem.
func (c *conduit) initiate(w word, f *flight, more func([]byte) []byte) core.Result {
	in := c.r.must(w, func(b []byte) []byte { return more(wire.AppendUint64(b, f.number)) })
	res := core.NoRoom // once the job is over
	if in.Len() > 0 {
		res = core.Result(in.Uint8())
	}
	if res == core.Completed {
		copy(f.mem, in.Bytes())
	}
	if res != core.Initiated {
		c.r.land(f)
	}
	return res
}

// Put implements core.Putter.
func (c *conduit) Put(t *core.Transfer) core.Result {
	return c.initiate(callPut, c.r.fly(nil, t.LC, t.Done), func(b []byte) []byte {
		b = wire.AppendUint64(wire.AppendUint32(b, uint32(t.Rank)), t.Off)
		return c.r.appendSource(flag(b, t.LC != nil), t.Mem)
	})
}

// MaxPut implements core.Putter.
func (c *conduit) MaxPut() int { return c.powers.Put }

// Get implements core.Getter.
func (c *conduit) Get(t *core.Transfer) core.Result {
	return c.initiate(callGet, c.r.fly(t.Mem, nil, t.Done), func(b []byte) []byte {
		return c.r.appendTarget(wire.AppendUint64(wire.AppendUint32(b, uint32(t.Rank)), t.Off), t.Mem)
	})
}

// MaxGet implements core.Getter.
func (c *conduit) MaxGet() int { return c.powers.Get }

// Atomic implements core.Atomics.
func (c *conduit) Atomic(a *core.Atomic) core.Result {
	return c.initiate(callAtomic, c.r.fly(a.Fetched, nil, a.Done), func(b []byte) []byte {
		b = wire.AppendUint64(wire.AppendUint32(b, uint32(a.Rank)), a.Off)
		b = wire.AppendUint32(wire.AppendUint32(b, uint32(a.Type)), uint32(a.Op))
		return c.r.appendTarget(wire.AppendUint64(wire.AppendUint64(b, a.A), a.B), a.Fetched)
	})
}

// AtomicOps implements core.Atomics.
func (c *conduit) AtomicOps(t core.ElementType) core.AtomicOp { return c.powers.Atomics[t] }

// Collective implements core.Collectives.
func (c *conduit) Collective(x *core.Collective) core.Result {
	return c.initiate(callCollective, c.r.fly(x.Dst, nil, x.Done), func(b []byte) []byte {
		b = wire.AppendUint32(append(b, byte(x.Op)), uint32(x.Root))
		b = wire.AppendUint32(wire.AppendUint32(b, uint32(x.Type)), uint32(x.Combine))
		return c.r.appendTarget(c.r.appendSource(b, x.Src), x.Dst)
	})
}

// MaxCollective implements core.Collectives.
func (c *conduit) MaxCollective() int { return c.powers.Collective }
