package stepped

import (
	"encoding/json"
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// carryOut does what the rank calls for, and answers.
func (s *server) carryOut(w word, in *wire.Reader) {
	switch w {
	case callJoin:
		s.answer(func(b []byte) []byte {
			return wire.AppendUint32(wire.AppendUint32(b, uint32(s.boot.Rank())), uint32(s.boot.Size()))
		})
	case callSetUp:
		s.answerNumber(uint64(s.seat.Process().LastSetUp()))
	case callDisturb:
		s.seat.Process().Disturb(in.Text())
		s.answer(nil)
	case callPark:
		s.park(core.Time(in.Uint64()), in.Text())
	case callExchange:
		s.exchange(in.Bytes())
	case callBarrier:
		s.settle(s.boot.Barrier())
	case callRecord:
		r, ok := s.boot.(core.Recorder)
		taken := ok && r.Record(in.Bytes())
		s.answer(func(b []byte) []byte { return flag(b, taken) })
	case callLeave:
		err := s.boot.Close()
		s.left = true
		s.settle(err)
	case callPlan, callAttach, callSegment, callClose:
		s.onConduit(w, in)
	case callReserve:
		s.reserve(in)
	case callCommit:
		s.commit(in)
	case callPoll:
		n := s.conduit.Poll(int(in.Uint32()))
		s.answer(func(b []byte) []byte { return wire.AppendUint32(b, uint32(n)) })
	case callIdle:
		cost, idle := s.powers.Idler.Idle()
		s.answer(func(b []byte) []byte { return flag(wire.AppendUint64(b, uint64(cost)), idle) })
	case callPut, callGet, callAtomic, callCollective:
		s.initiate(w, in)
	default:
		s.end(1, fmt.Sprintf("rank %d says a word that is none: %d", s.boot.Rank(), w))
	}
}

// answerNumber answers a call by a number.
func (s *server) answerNumber(n uint64) {
	s.answer(func(b []byte) []byte { return wire.AppendUint64(b, n) })
}

// park waits for an arrival.
func (s *server) park(period core.Time, op string) {
	p := s.seat.Process()
	p.SetWaiting(op)
	p.Park(period)
	p.SetWaiting("")
	s.answer(nil)
}

// locate asks the rank, which is in a park, where it is.
func (s *server) locate(op string) (p core.Place) {
	unknown := core.Place{Rank: s.boot.Rank(), Waits: []core.Wait{{For: op}}}
	s.tell(askPlace, -1, func(b []byte) []byte { return wire.AppendText(b, op) })
	body, err := s.link.receive()
	if err != nil {
		unknown.State = "has ended without a word"
		return unknown
	}
	in := wire.NewReader(body)
	w := word(in.Uint8())
	in.Uint64() // it charges nothing
	if w != placed || json.Unmarshal(in.Rest(), &p) != nil || len(p.Waits) == 0 {
		return unknown
	}
	return p
}

// exchange is the bootstrap's. Who has nothing to tell has returned.
func (s *server) exchange(b []byte) {
	if len(b) == 0 {
		s.seat.Returned()
	}
	all, err := s.boot.Exchange(b)
	if err != nil {
		s.settle(err)
		return
	}
	s.answer(func(b []byte) []byte {
		for _, one := range all {
			b = wire.AppendBytes(b, one)
		}
		return b
	})
}

// onConduit carries out a call that names a conduit.
func (s *server) onConduit(w word, in *wire.Reader) {
	number := in.Uint64()
	c := s.conduits[number]
	if w == callClose {
		if c == s.conduit {
			s.conduit = nil
		}
		delete(s.conduits, number)
		s.settle(c.Close())
		return
	}
	var told attachment
	err := json.Unmarshal(in.Rest(), &told)
	if c == nil && err == nil {
		if c, err = s.seat.NewConduit(); err == nil {
			s.conduits[number] = c
		}
	}
	if err != nil {
		s.settle(err)
		return
	}
	a := &core.Attachment{
		Boot: s.boot, Group: told.Group, Segment: told.Segment, Sizes: told.Sizes, Proc: s.seat.Proc(), Settings: told.Settings, Threads: core.Single,
	}
	switch w {
	case callPlan:
		p, err := c.Plan(a)
		if w == callPlan && err == nil {
			s.answerJSON(p)
			return
		}
		s.settle(err)
	case callAttach:
		s.attach(c, a)
	case callSegment:
		s.attachSegment(c, a)
	}
}

// answerJSON answers a call by a value.
func (s *server) answerJSON(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	s.answer(func(b []byte) []byte { return append(b, text...) })
}

// attach attaches the conduit, and tells the rank what it can do.
func (s *server) attach(c core.Conduit, a *core.Attachment) {
	a.Port = core.NewPort(&upward{s})
	s.conduit = c
	if err := c.Attach(a); err != nil {
		s.settle(err)
		return
	}
	p := c.Powers()
	s.powers = p
	s.seat.Attached(p)
	s.seat.Process().Explain(s.locate)
	s.answerJSON(s.describe(&p))
}

// describe returns what the rank is told of powers.
func (s *server) describe(p *core.Powers) *powers {
	x := &powers{Limits: p.Limits, Putter: p.Putter != nil, Getter: p.Getter != nil, Collectives: p.Collectives != nil, Idler: p.Idler != nil}
	if p.LimitsTo != nil {
		for r := range core.Rank(s.boot.Size()) {
			x.To = append(x.To, *p.LimitsTo(r))
		}
	}
	if x.Putter {
		x.Put = p.Putter.MaxPut()
	}
	if x.Getter {
		x.Get = p.Getter.MaxGet()
	}
	if x.Collectives {
		x.Collective = p.Collectives.MaxCollective()
	}
	if p.Atomics != nil {
		x.Atomics = make(map[core.ElementType]core.AtomicOp)
		for t := core.ElementType(1); t.Size() > 0; t <<= 1 {
			x.Atomics[t] = p.Atomics.AtomicOps(t)
		}
	}
	return x
}

// attachSegment has the conduit make the segment, which the rank's process maps too.
func (s *server) attachSegment(c core.Conduit, a *core.Attachment) {
	segment, err := c.AttachSegment(a)
	if err != nil {
		s.settle(err)
		return
	}
	s.segment = segment
	region, err := share(segment)
	switch {
	case err != nil:
		s.settle(err)
	case region == nil:
		s.answerNumber(0)
	default:
		s.answerWith(region.FD(), func(b []byte) []byte { return wire.AppendUint64(b, uint64(len(segment))) })
		if err := region.Close(); err != nil {
			s.end(1, err.Error())
		}
	}
}
