package stepped

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// hold is an operation of the rank's that the conduit has under way: what the rank is to be told of it.
type hold struct {
	number   uint64
	lc, done *core.Completion // nil: the rank wants nothing told, or was told. The conduit has completed what is not 0
	fetched  []byte           // what goes to the rank when the operation is done
}

// appendCompleted encodes what has completed since the rank was told last.
func (s *server) appendCompleted(b []byte) []byte {
	at, n := len(b), uint32(0)
	b = wire.AppendUint32(b, 0)
	tell := func(h *hold, c **core.Completion, done bool, fetched []byte) {
		if *c != nil && (*c).Pending() != 0 {
			b = wire.AppendBytes(flag(wire.AppendUint64(b, h.number), done), fetched)
			*c = nil
			n++
		}
	}
	s.holds = slices.DeleteFunc(s.holds, func(h *hold) bool {
		tell(h, &h.lc, false, nil)
		tell(h, &h.done, true, h.fetched)
		return h.lc == nil && h.done == nil
	})
	wire.AppendUint32(b[:at], n)
	return b
}

// target decodes memory of the rank's that is written: in the segment, or else of this process, to be sent to the rank.
func (s *server) target(in *wire.Reader) (mem, fetched []byte) {
	if in.Uint8() == bySegment {
		mem, _ = core.Window(s.segment, in.Uint64(), in.Uint64())
		return mem, nil
	}
	if n := in.Uint64(); n > 0 && n < maxFrame {
		mem = make([]byte, n)
	}
	return mem, mem
}

// initiate has the conduit begin a one-sided or collective operation.
func (s *server) initiate(w word, in *wire.Reader) {
	h := &hold{number: in.Uint64(), done: new(core.Completion)}
	var res core.Result
	switch w {
	case callPut:
		t := &core.Transfer{Rank: core.Rank(in.Uint32()), Off: in.Uint64(), Done: h.done}
		if in.Uint8() != 0 {
			h.lc = new(core.Completion)
			t.LC = h.lc
		}
		t.Mem = readMemory(in, s.segment)
		res = s.powers.Putter.Put(t)
	case callGet:
		t := &core.Transfer{Rank: core.Rank(in.Uint32()), Off: in.Uint64(), Done: h.done}
		t.Mem, h.fetched = s.target(in)
		res = s.powers.Getter.Get(t)
	case callAtomic:
		a := &core.Atomic{Rank: core.Rank(in.Uint32()), Off: in.Uint64(), Done: h.done}
		a.Type, a.Op = core.ElementType(in.Uint32()), core.AtomicOp(in.Uint32())
		a.A, a.B = in.Uint64(), in.Uint64()
		a.Fetched, h.fetched = s.target(in)
		res = s.powers.Atomics.Atomic(a)
	case callCollective:
		x := &core.Collective{Op: core.CollectiveOp(in.Uint8()), Root: core.Rank(in.Uint32()), Done: h.done}
		x.Type, x.Combine = core.ElementType(in.Uint32()), core.AtomicOp(in.Uint32())
		x.Src = readMemory(in, s.segment)
		x.Dst, h.fetched = s.target(in)
		res = s.powers.Collectives.Collective(x)
	}
	if res == core.Initiated {
		s.holds = append(s.holds, h)
	}
	s.answer(func(b []byte) []byte {
		b = append(b, byte(res))
		if res == core.Completed {
			b = wire.AppendBytes(b, h.fetched)
		}
		return b
	})
}
