package paper

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// grimMulticast sends a message to n hosts by a tree of NIs, and by n unicasts, while the programs of all hosts but the root's compute.
func grimMulticast(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	sizes := []int{2, 4, 8, 16, 31}
	f := Figure{"multicast", plot.Figure{
		Title: "GRIM: 64 bytes to n hosts", Note: s.reproduce("grim-multicast"),
		X: plot.Axis{Label: "hosts", Scale: plot.Log2}, Y: plot.Axis{Label: "µs until the last has it"},
	}}
	work := Figure{"root", plot.Figure{
		Title: "GRIM: 64 bytes to n hosts", Note: s.reproduce("grim-multicast"),
		X: plot.Axis{Label: "hosts", Scale: plot.Log2}, Y: plot.Axis{Label: "µs of the root's processor"},
	}}
	last, busy := map[int]float64{}, map[int]float64{}
	for _, fanout := range []int{-1, 0, 2, 4} {
		name := fmt.Sprintf("tree of NIs, fan-out %d", fanout)
		switch fanout {
		case -1:
			name = "unicasts"
		case 0:
			name = "tree of NIs, root to all"
		}
		var points, works []plot.Point
		for _, n := range sizes {
			took, root, err := s.toAll(n, fanout)
			if err != nil {
				return nil, fmt.Errorf("%s, %d hosts: %w", name, n, err)
			}
			points = append(points, plot.Point{X: float64(n), Y: took})
			works = append(works, plot.Point{X: float64(n), Y: root})
			last[fanout], busy[fanout] = took, root
		}
		f.Series = append(f.Series, plot.Series{Name: name, Points: points})
		work.Series = append(work.Series, plot.Series{Name: name, Points: works})
	}
	n := sizes[len(sizes)-1]
	o.claim("a tree of NIs has a message at many hosts sooner than unicasts", "", last[2] < last[-1] && last[4] < last[-1],
		"%d hosts: unicasts %s µs, trees of fan-out 2 and 4 %s and %s", n, figures(last[-1]), figures(last[2]), figures(last[4]))
	o.claim("the root's processor works for one message, and not for n", "", busy[2]*float64(n)/2 < busy[-1], "%d hosts: %s µs for the tree, %s for unicasts", n, figures(busy[2]), figures(busy[-1]))
	o.note("The tree protocol is of this project: the source has the field in the header alone. No program of a host between the root and a leaf takes anything in before the last host has the message.")
	o.Figures = append(o.Figures, f, work)
	return o, nil
}

// toAll sends a message to n hosts by a tree with a fan-out, or by unicasts if that is negative. It returns when the last host has it, and what the
// root's processor has worked, in µs.
func (s *Setting) toAll(n, fanout int) (last, root float64, err error) {
	p, err := s.grimProfile(fewBytes(2)...)
	if err != nil {
		return 0, 0, err
	}
	c, err := grim.NewStar(p, grim.Image{Multicast: 4}, n+1, s.Seed)
	if err != nil {
		return 0, 0, err
	}
	all, err := c.OpenAll(1, grim.EndpointOptions{}, map[string]grim.Handler{"handler": func(*grim.Endpoint, *grim.Message) {}})
	if err != nil {
		return 0, 0, err
	}
	id, _ := all[0][0].Lookup("handler")
	var members []*grim.Endpoint
	for i, h := range c.Hosts {
		if _, err := h.OpenForwarder(1); err != nil {
			return 0, 0, err
		}
		all[i][0].Attend(false) // its program computes
		members = append(members, all[i][0])
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	begin, payload := c.Now(), make([]byte, 64)
	if fanout < 0 {
		for _, e := range members[1:] {
			if err := members[0].Send(e.ID(), id, [4]uint32{}, payload); err != nil {
				return 0, 0, err
			}
		}
	} else {
		if err := c.NewTree(1, fanout, members[0], members); err != nil {
			return 0, 0, err
		}
		if err := members[0].Multicast(1, id, [4]uint32{}, payload); err != nil {
			return 0, 0, err
		}
	}
	root = micros(members[0].Free() - begin)
	for c.Now() < begin+10*vtime.Millisecond {
		c.RunUntil(c.Now() + 100*vtime.Nanosecond)
		there := 0
		for _, e := range members[1:] {
			there += e.Waiting()
		}
		if there == n {
			return micros(c.Now() - begin), root, nil
		}
	}
	return 0, 0, fmt.Errorf("some of %d hosts have no message after 10 ms", n)
}

// grimOverflow has two applications answer each other's requests in their handlers, which wait for room: section 4.6.
func grimOverflow(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	const requests = 50
	f := Figure{"progress", plot.Figure{
		Title: "GRIM: two applications that send requests, and answer in their handlers", Note: s.reproduce("grim-overflow"),
		X: plot.Axis{Label: "time, µs"}, Y: plot.Axis{Label: "answers"},
	}}
	for _, without := range []bool{false, true} {
		p, err := s.grimProfile(byteSize("grim.receive", 128), byteSize("grim.queue", 128))
		if err != nil {
			return nil, err
		}
		a, err := newAnswerers(p, s.Seed, without, requests)
		if err != nil {
			return nil, err
		}
		var points []plot.Point
		begin := a.Now()
		for range 40 {
			a.RunUntil(a.Now() + 250*vtime.Microsecond)
			points = append(points, plot.Point{X: micros(a.Now() - begin), Y: float64(a.answers)})
		}
		most := max(a.ends[0].Counts().MostOverflow, a.ends[1].Counts().MostOverflow)
		if without {
			o.claim("two applications that wait for room in their handlers wait for each other for ever", "GRIM, 4.6",
				a.answers < 2*requests && points[len(points)/2].Y == float64(a.answers), "%d of %d answers, and none after half of the time", a.answers, 2*requests)
			f.Series = append(f.Series, plot.Series{Name: "without the overflow queue", Points: points})
		} else {
			o.claim("with an overflow queue in the host's memory they do not", "GRIM, 4.6", a.answers == 2*requests && most > 0, "%d of %d answers; %d messages in the queue at once", a.answers, 2*requests, most)
			f.Series = append(f.Series, plot.Series{Name: "with it", Points: points})
		}
		if a.err != nil {
			return nil, a.err
		}
	}
	o.Figures = append(o.Figures, f)
	return o, nil
}

// answerers are two endpoints that send each other requests, which their handlers answer. An endpoint whose answer finds no room waits in
// its handler.
type answerers struct {
	*grimPair
	answers int
	debts   [2]int // answers that have found no room
	left    [2]int // requests to be sent
	err     error
}

// The kinds of messages of answerers.
const (
	request = iota
	answer
)

func newAnswerers(p *grim.Profile, seed uint64, noOverflow bool, requests int) (a *answerers, err error) {
	a = &answerers{left: [2]int{requests, requests}}
	options := grim.EndpointOptions{NoOverflow: noOverflow}
	a.grimPair, err = newGRIMPairOf(p, seed, grim.Image{}, [2]int{}, [2]grim.EndpointOptions{options, options}, func(e *grim.Endpoint, m *grim.Message) {
		if m.Args[0] == answer {
			a.answers++
			return
		}
		i := 0
		if e == a.ends[1] {
			i = 1
		}
		a.debts[i]++
		a.pay(i)
	})
	if err != nil {
		return nil, err
	}
	for i, e := range a.ends {
		e.OnRoom(func() { a.pay(i) })
		a.pay(i)
	}
	return a, nil
}

// pay sends what an endpoint owes, and then its requests. It takes messages in if it owes nothing.
func (a *answerers) pay(i int) {
	for ; a.debts[i] > 0; a.debts[i]-- {
		if a.send(i, answer, nil) != nil {
			a.ends[i].Attend(false)
			return
		}
	}
	for ; a.left[i] > 0; a.left[i]-- {
		if a.send(i, request, nil) != nil {
			a.ends[i].Attend(false)
			return
		}
	}
	a.ends[i].Attend(true)
}

// grimThread has a thread poll for a program that computes, and the program itself poll now and then: section 4.6.
func grimThread(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	const every = 200 * vtime.Microsecond
	const messages = 20
	f := Figure{"latency", plot.Figure{
		Title: "GRIM: null messages to a program that computes", Note: s.reproduce("grim-thread"),
		X: plot.Axis{Label: "message"}, Y: plot.Axis{Label: "µs to its handler"},
	}}
	mean := map[string]float64{}
	for _, how := range []string{"polls all the time", "thread", "polls every 200 µs"} {
		p, err := s.grimProfile()
		if err != nil {
			return nil, err
		}
		var pair *grimPair
		var came vtime.Time
		options := [2]grim.EndpointOptions{1: {Thread: how == "thread"}}
		pair, err = newGRIMPairOf(p, s.Seed, grim.Image{}, [2]int{}, options, func(*grim.Endpoint, *grim.Message) { came = pair.Now() })
		if err != nil {
			return nil, err
		}
		pair.ends[1].Attend(how == "polls all the time")
		var points []plot.Point
		for i := range messages {
			at := vtime.Time(1+i)*vtime.Millisecond + vtime.Time(i)*7*vtime.Microsecond // messages come at all times of a period
			pair.RunUntil(at)
			came = 0
			if err := pair.send(0, i, nil); err != nil {
				return nil, err
			}
			for t := vtime.Millisecond * vtime.Time(1+i); came == 0 && t < at+vtime.Millisecond; t += every {
				pair.RunUntil(max(pair.Now(), t))
				if how == "polls every 200 µs" {
					pair.ends[1].Poll(1)
				}
			}
			if came == 0 {
				return nil, fmt.Errorf("%s: message %d has not been handled within a millisecond", how, i)
			}
			points = append(points, plot.Point{X: float64(i), Y: micros(came - at)})
			mean[how] += micros(came-at) / messages
		}
		f.Series = append(f.Series, plot.Series{Name: how, Points: points})
	}
	poll, thread, seldom := mean["polls all the time"], mean["thread"], mean["polls every 200 µs"]
	o.claim("a thread that polls adds latency", "GRIM, 4.6", thread > poll, "%s µs by the program, %s by the thread", figures(poll), figures(thread))
	o.claim("it is sooner than a program that looks now and then", "", thread < seldom, "%s µs by the thread, %s by a look every 200 µs", figures(thread), figures(seldom))
	o.Figures = append(o.Figures, f)
	return o, nil
}

// grimIncoming compares queues at the sending NI alone with queues at the receiving one too, which GRIM had at first: section 4.5.
func grimIncoming(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	const messages = 100
	var works, room, again [2]float64
	var waited [2]uint64
	f := Figure{"stall", plot.Figure{
		Title: "GRIM: 100 null messages to an endpoint that stalls", Note: s.reproduce("grim-incoming"),
		X: plot.Axis{Label: "µs of stall"}, Y: plot.Axis{Label: "messages sent again"},
	}}
	for i, image := range []grim.Image{{}, {Incoming: true}} {
		name := [...]string{"queues at the sender", "and at the receiver"}[i]
		var points []plot.Point
		for _, stall := range []vtime.Time{0, 100, 200, 400, 800} {
			p, err := s.grimProfile(byteSize("grim.receive", 512), byteSize("grim.queue", 4096))
			if err != nil {
				return nil, err
			}
			handled := 0
			pair, err := newGRIMPair(p, s.Seed, image, 0, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) { handled++ })
			if err != nil {
				return nil, err
			}
			pair.ends[1].Attend(stall == 0)
			for k := range messages {
				if err := pair.send(0, k, nil); err != nil {
					return nil, err
				}
			}
			pair.RunUntil(stall * vtime.Microsecond)
			pair.ends[1].Attend(true)
			pair.RunUntil(100 * vtime.Millisecond)
			if handled != messages {
				return nil, fmt.Errorf("%s: %d of %d messages have been handled", name, handled, messages)
			}
			again[i] = float64(pair.Hosts[0].Counts().Resent)
			points = append(points, plot.Point{X: float64(stall), Y: again[i]})
			if stall == 0 {
				works[i] = micros(pair.Hosts[1].NIC().CPU.Counts().Busy) / messages
				waited[i] = pair.Hosts[1].Counts().Incoming
				room[i] = float64(pair.ends[0].MostPayload())
			}
		}
		f.Series = append(f.Series, plot.Series{Name: name, Points: points})
	}
	const source = "GRIM, 4.5"
	o.claim("endpoints that keep up hardly use the receiver's queues", source, waited[1] < messages/10, "%d of %d messages wait in one", waited[1], messages)
	o.claim("they add work all the same", source, works[1] > works[0], "%s µs of the receiving processor for a message, %s without", figures(works[1]), figures(works[0]))
	o.claim("they take memory from the outgoing queues", source, room[1] < 0.6*room[0], "payloads up to %s B, %s without", figures(room[1]), figures(room[0]))
	o.claim("what is refused without them costs traffic, when an endpoint is saturated", source, again[1] < again[0], "%s of %d messages sent again after the longest stall, %s with them", figures(again[0]), messages, figures(again[1]))
	o.Figures = append(o.Figures, f)
	return o, nil
}
