package paper

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Who sends needs room in the memory of the receiver. As published a sender has a command segment of
// its own there, which it alone fills, and knows from its own memory what is free in it, as the
// receiver says so there. The layout that the paper rejects is one segment for all senders. Here its
// places are a ring: a sender draws the next number by fetch-and-add at the receiver, and reads
// there whether the place is free, until it is. That spares this layout a lock, and the receiver
// the answers that free places.

// gathering is a run in which senders send Shorts to node 0, each as fast as it finds room.
type gathering struct {
	senders int
	each    int  // messages of a sender
	shared  bool // one segment for all

	looking vtime.Time // of all senders together, for room
	end     vtime.Time // when the last message was handled
	sum     uint64     // exclusive or of what was sent and of what came: 0 if nothing was overwritten
}

// The receiver has as many places in both layouts, those of a sender one after the other.
const (
	placesEach   = 2 // as published: the requests that a sender has under way
	commandBytes = 1024
)

func (g *gathering) places() int { return placesEach * g.senders }

// What is where in the receiver's segment: commands, ready flags of a byte, the exist flag; and for
// one segment for all the number that is drawn next, and for each place how many messages have left it.
func (g *gathering) command(place int) int { return commandBytes * place }
func (g *gathering) ready(place int) int   { return g.command(g.places()) + place }
func (g *gathering) exist() int            { return g.ready(g.places()) }
func (g *gathering) drawn() int            { return g.command(g.places() + 1) }
func (g *gathering) left(place int) int    { return g.drawn() + 4*(place+1) }

// programs returns what the nodes do.
func (g *gathering) programs() []func(*rawNode) error {
	list := []func(*rawNode) error{g.receive}
	for range g.senders {
		list = append(list, g.send)
	}
	return list
}

// send sends messages: a header until it is certain to have arrived, then the ready flag, then the
// exist flag.
func (g *gathering) send(n *rawNode) error {
	q, err := n.window.CreateSequence()
	if err != nil {
		return err
	}
	find := g.own(n)
	if g.shared {
		if find, err = g.any(n); err != nil {
			return err
		}
	}
	n.meet()
	n.timed.begin(n)
	defer n.timed.end(n)
	header := make([]byte, headerBytes)
	for i := range g.each {
		start := n.Now()
		place, err := find()
		if err != nil {
			return err
		}
		g.looking += n.Now() - start
		n.Charge(n.profile.Host.Build + n.profile.Host.LookUp)
		mark := uint64(n.number)<<32 | uint64(i+1)
		binary.LittleEndian.PutUint64(header, mark)
		g.sum ^= mark
		if err := n.window.MemCpy(q, header, g.command(place), sisci.ErrorCheck); err != nil {
			return err
		}
		n.window.Note8(g.ready(place), 1)
		n.window.Store8(g.exist(), 1)
	}
	return nil
}

// own returns what finds a place in the sender's own segment at the receiver.
func (g *gathering) own(n *rawNode) func() (place int, err error) {
	first := placesEach * (n.number - 1)
	free := n.mem[:placesEach] // the receiver says so
	for i := range free {
		free[i] = 1
	}
	return func() (int, error) {
		for {
			n.Charge(n.profile.Host.Slot)
			for i := range free {
				if free[i] != 0 {
					free[i] = 0
					return first + i, nil
				}
			}
			n.look()
		}
	}
}

// any returns what finds a place in one segment for all.
func (g *gathering) any(n *rawNode) (find func() (place int, err error), err error) {
	lock, err := n.remote.Map(0, rawSegment, sisci.LockOperation)
	if err != nil {
		return nil, err
	}
	places := uint32(g.places())
	var left [4]byte
	return func() (int, error) {
		number, status, err := lock.FetchAdd(g.drawn(), 1)
		if err == nil && status != sisci.OK {
			err = fmt.Errorf("a fetch-and-add: %v", status)
		}
		place := int(number % places)
		for err == nil {
			err = n.window.MemCpy(nil, left[:], g.left(place), sisci.BlockRead)
			if binary.LittleEndian.Uint32(left[:]) == number/places {
				break
			}
		}
		return place, err
	}, nil
}

// receive handles all messages. Its polls are those of the published conduit.
func (g *gathering) receive(n *rawNode) error {
	n.meet()
	n.timed.begin(n)
	defer n.timed.end(n)
	host := &n.profile.Host
	exist := &n.mem[g.exist()]
	ready := n.mem[g.ready(0):][:g.places()]
	for handled := 0; handled < g.senders*g.each; {
		if n.look(); *exist == 0 {
			continue
		}
		*exist = 0
		n.Charge(host.Clear + vtime.Time(g.senders)*host.Scan)
		for place := range ready {
			if ready[place] == 0 {
				continue
			}
			ready[place] = 0
			n.Charge(host.Clear + host.Enqueue + host.Dispatch)
			g.sum ^= binary.LittleEndian.Uint64(n.mem[g.command(place):])
			handled++
			if g.shared {
				left := n.mem[g.left(place):]
				binary.LittleEndian.PutUint32(left, binary.LittleEndian.Uint32(left)+1)
				continue
			}
			n.others[place/placesEach].window.Store8(place%placesEach, 1)
		}
	}
	g.end = n.Now()
	return nil
}

// look charges a poll's look at a flag, and brings the kernel to the node's time.
func (n *rawNode) look() {
	n.Charge(n.profile.Host.Call + n.profile.Host.Test)
	n.Sync()
}

// room compares the layouts.
func room(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	profile, err := hardware.NewProfile(s.Machine)
	if err != nil {
		return nil, err
	}
	layouts := []string{"a segment for each sender", "one segment for all"}
	if !profile.Lock.FetchAdd {
		o.note("%s has no fetch-and-add: one segment for all is left out", s.Machine.Name)
		layouts = layouts[:1]
	}
	var looks, messages []plot.Series
	for shared, name := range layouts {
		look, message := plot.Series{Name: name}, plot.Series{Name: name}
		for _, senders := range []int{1, 2, 4, torusNodes - 1, 2*torusNodes - 1} {
			g := &gathering{senders: senders, each: s.repeats(1000), shared: shared == 1}
			took, err := g.run(s)
			if err != nil {
				return nil, err
			}
			n, x := float64(g.senders*g.each), float64(senders)
			look.Points = append(look.Points, plot.Point{X: x, Y: micros(g.looking) / n})
			message.Points = append(message.Points, plot.Point{X: x, Y: micros(took) / n})
		}
		looks, messages = append(looks, look), append(messages, message)
	}
	if len(layouts) == 2 {
		o.claimRoom(looks[0].Points, looks[1].Points, messages[0].Points, messages[1].Points)
	}
	axis := plot.Axis{Label: "senders to one receiver"}
	o.Figures = append(o.Figures,
		Figure{"looking", plot.Figure{
			Title: "Room for a Short: how long a sender looks for it", Note: s.reproduce("sci-room"),
			X: axis, Y: plot.Axis{Label: "time, µs"}, Series: looks,
		}},
		Figure{"message", plot.Figure{
			Title: "Shorts of all senders together: time for each", Note: s.reproduce("sci-room"),
			X: axis, Y: plot.Axis{Label: "time, µs"}, Series: messages,
		}})
	return o, nil
}

// run returns how long it took until all messages were handled.
func (g *gathering) run(s *Setting) (vtime.Time, error) {
	w, err := s.star(g.programs())
	if err != nil {
		return 0, err
	}
	if g.sum != 0 {
		return 0, fmt.Errorf("%d senders: a message was overwritten", g.senders)
	}
	return g.end - w.from, nil
}

// claimRoom adds what the paper says against one segment for all: senders need remote reads to find
// room, and it scales badly.
func (o *Outcome) claimRoom(own, shared, ownMessage, sharedMessage []plot.Point) {
	last := len(shared) - 1
	o.number("room-own", "looking for room in the sender's own segment, with the most senders", own[last].Y, "us")
	o.number("room-shared", "looking for room in one segment for all, with as many", shared[last].Y, "us")
	o.claimAhead("room is found sooner in a segment of the sender's own than in one for all", "Su et al.", own, shared)
	o.claimAhead("and messages of all senders together take less time", "Su et al.", ownMessage, sharedMessage)
	grows := slices.IsSortedFunc(shared, func(a, b plot.Point) int { return cmp.Compare(a.Y, b.Y) })
	o.claim("one segment for all scales badly: the more senders, the longer each looks for room, twice as long in the end", "Su et al.",
		grows && shared[last].Y > 2*shared[0].Y, "%s µs with %s, %s with %s", figures(shared[0].Y), figures(shared[0].X), figures(shared[last].Y), figures(shared[last].X))
}
