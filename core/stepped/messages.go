package stepped

import (
	"log/slog"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// reservation is a message of the rank's that has room, and is not committed.
type reservation struct {
	op   core.Op
	open bool // the rank writes the payload, and sends it with the commit
}

// reserve asks the conduit for room. A payload that the rank lends is the model's own copy from then on.
func (s *server) reserve(in *wire.Reader) {
	r := new(reservation)
	op := &r.op
	op.Dst, op.Hdr = core.Rank(in.Uint32()), core.Header(in.Uint16())
	op.Off, op.Len, op.Slot = in.Uint64(), int(in.Uint64()), in.Uint64()
	id := in.Uint64()
	if in.Uint8() != 0 {
		op.Src = readMemory(in, s.segment)
		if id != 0 {
			op.LC = new(core.Completion)
		}
	}
	res := s.conduit.Reserve(op)
	slot := uint64(0)
	if res == core.Reserved {
		r.open = op.Len > 0 && (op.Src == nil || op.Data != nil)
		slot = s.place(r)
		if op.LC != nil && !r.open {
			s.holds = append(s.holds, &hold{number: id, lc: op.LC})
		}
	}
	s.answer(func(b []byte) []byte { return flag(wire.AppendUint64(append(b, byte(res)), slot), r.open) })
}

// place keeps a reservation, and returns where.
func (s *server) place(r *reservation) (slot uint64) {
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		s.slots[slot] = r
		return slot
	}
	s.slots = append(s.slots, r)
	return uint64(len(s.slots) - 1)
}

// commit sends what was reserved.
func (s *server) commit(in *wire.Reader) {
	slot := in.Uint64()
	r := s.slots[slot]
	s.slots[slot], s.free = nil, append(s.free, slot)
	op := &r.op
	op.Hdr = core.Header(in.Uint16())
	op.Off, op.Len = in.Uint64(), int(in.Uint64())
	readArgs(in, op.Hdr, op.Args)
	if r.open {
		copy(op.Data, in.Next(op.Len))
	}
	s.conduit.Commit(op)
	s.answer(nil)
}

// upward has the conduit's calls go to the rank.
type upward struct{ s *server }

// Dispatch implements core.Upward.
func (u *upward) Dispatch(src core.Rank, h core.Header, args *[core.MaxArgs]uint32, data []byte, slot uint64) (replied bool) {
	return u.s.runHandler(runHandler, src, h, args, slot, func(b []byte) []byte { return appendMemory(b, u.s.segment, data) })
}

// DispatchLong implements core.Upward.
func (u *upward) DispatchLong(src core.Rank, h core.Header, args *[core.MaxArgs]uint32, segment []byte, off, n, slot uint64) (replied bool) {
	own := n == 0 || address(segment) == address(u.s.segment)
	return u.s.runHandler(runLong, src, h, args, slot, func(b []byte) []byte {
		return flag(wire.AppendUint64(wire.AppendUint64(b, off), n), own)
	})
}

// runHandler has the rank run a handler, and does what that calls for.
func (s *server) runHandler(w word, src core.Rank, h core.Header, args *[core.MaxArgs]uint32, slot uint64, more func([]byte) []byte) (replied bool) {
	s.tell(w, -1, func(b []byte) []byte {
		b = wire.AppendUint16(wire.AppendUint32(b, uint32(src)), uint16(h))
		return more(appendArgs(wire.AppendUint64(b, slot), h, args))
	})
	return s.serve(handled).Uint8() != 0
}

// Fail implements core.Upward.
func (u *upward) Fail(err error) { u.s.boot.Abort(core.StatusOf(err), err.Error()) }

// Wake implements core.Upward. In virtual time nobody sleeps.
func (u *upward) Wake() {}

// Log implements core.Upward.
func (u *upward) Log() *slog.Logger { return u.s.seat.Config().Logger() }
