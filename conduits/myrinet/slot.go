package myrinet

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/core"
)

// slot is what the card has of a rank.
type slot struct {
	card     *card
	rank     core.Rank
	endpoint *grim.Endpoint // of messages: that of the first lane
	lanes    []lane         // of messages; and, but for params.joint, of puts and gets
	order    record
	report   record
	reports  sender
	asleep   *uint32 // in shared memory: the rank sleeps
	bell     int     // that wakes it
	depth    int     // see params
	reported bool    // in the turn under way, or orders were taken
	held     bool    // messages wait in the endpoint's queue, as the rank does not take reports
	done     []func(error)
	regions  []*grim.Region
}

// lane is the way of orders to a channel.
type lane struct {
	orders   *link.Reader
	endpoint *grim.Endpoint
	blocked  bool // the first order finds no room in the channel's queue
}

func (s *slot) ready() bool {
	if s.reports.waiting.Len() > 0 && s.reports.ring.Room(len(*s.reports.waiting.At(0))) {
		return true
	}
	for i := range s.lanes {
		if l := &s.lanes[i]; !l.blocked && !l.orders.Empty() {
			return true
		}
	}
	return false
}

// mostOrders is how many orders of a lane a turn takes.
const mostOrders = 16

// obey carries out orders of the rank while there is room for what they send.
func (s *slot) obey() (n int) {
	for i := range s.lanes {
		n += s.obeyOf(&s.lanes[i])
	}
	return n
}

// obeyOf is obey for a lane.
func (s *slot) obeyOf(l *lane) (n int) {
	for l.blocked = false; n < mostOrders; n++ {
		b, err := l.orders.Next()
		if b == nil && err == nil {
			break
		}
		r := &s.order
		if err == nil {
			err = r.get(b)
		}
		if err != nil {
			s.card.breaks(fmt.Errorf("myrinet: the orders of rank %d to its NIC: %w", s.rank, err))
			return 0
		}
		payload := 0
		if r.kind != orderRead {
			payload = len(r.data)
		}
		if r.kind != orderSend {
			payload += writeHead
		}
		if !l.endpoint.Room(min(payload, l.endpoint.MostPayload()), s.depth) {
			l.blocked = true
			break
		}
		if err := s.carryOut(l.endpoint, r); err != nil {
			s.tell(&record{kind: reportError, data: []byte(err.Error())})
		}
		l.orders.Drop()
	}
	s.reported = s.reported || n > 0
	return n
}

// carryOut hands an order to GRIM, at an endpoint of the rank. The names of handlers are known at that of messages.
func (s *slot) carryOut(e *grim.Endpoint, r *record) error {
	switch r.kind {
	case orderSend:
		return e.Send(r.peer, s.endpoint.Number(int(r.handler)), r.args, r.data)
	case orderWrite:
		return e.Write(r.peer, r.at, r.data, grim.RMOptions{Done: s.telling(r.op)})
	case orderRead:
		return e.ReadTo(r.peer, r.at, r.into, r.length, grim.RMOptions{Done: s.telling(r.op)})
	}
	return fmt.Errorf("myrinet: rank %d orders what its NIC reports", s.rank)
}

// mostOps is more operations than any rank has under way.
const mostOps = 1 << 16

// telling returns what tells the rank of the end of an operation; nil: nobody wants to know.
func (s *slot) telling(op uint32) func(error) {
	if op == 0 || op >= mostOps {
		return nil
	}
	for int(op) >= len(s.done) {
		i := uint32(len(s.done))
		s.done = append(s.done, func(err error) {
			s.report = record{kind: reportDone, op: i}
			if err != nil {
				s.report = record{kind: reportError, data: []byte(err.Error())}
			}
			s.tell(&s.report)
		})
	}
	return s.done[op]
}

// deliver reports a message to the rank: GRIM's library calls it.
func (s *slot) deliver(e *grim.Endpoint, m *grim.Message) {
	handler, ok := e.Position(m.Handler)
	if !ok {
		s.tell(&record{kind: reportError, data: fmt.Appendf(nil, "a message from endpoint %d: handler %d has no name here", m.Source, m.Handler)})
		return
	}
	s.report = record{kind: reportAM, peer: m.Source, handler: uint32(handler), args: m.Args, data: m.Payload}
	s.tell(&s.report)
}

// tell reports to the rank. If the rank does not take reports, messages wait in the endpoint's queue from now on, and then at their senders.
func (s *slot) tell(r *record) {
	s.reports.send(r)
	s.reported = true
	if !s.held && s.reports.waiting.Len() > 0 {
		s.held = true
		s.endpoint.Attend(false)
	}
}

// flush reports what has waited, and takes messages again if there is room.
func (s *slot) flush() int {
	if !s.held {
		return 0
	}
	n := s.reports.flush()
	s.reported = s.reported || n > 0
	if s.reports.waiting.Len() == 0 {
		s.held = false
		s.endpoint.Attend(true)
		n++
	}
	return n
}
