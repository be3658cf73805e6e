package paper

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// componentSizes are the messages of component-cost, in bytes: without payload to speak of, of a frame, of four frames.
var componentSizes = []int{8, 1024, 16384}

// rendezvousFrom is from which of them on a message makes a rendezvous.
const rendezvousFrom = 4096

// priced is what a composition costs.
type priced struct {
	name   string
	way    []plot.Point // one way by size, in µs
	copies []plot.Point // by size
	sram   float64      // bytes
}

// A pricing measures a composition on a machine.
type pricing func(s *Setting, p *component.Profile) (*priced, error)

// pricings are the baseline, each protocol by itself, and all together.
var pricings = []pricing{
	price[[0]byte],
	price[[component.Active]byte],
	price[[component.Reliability]byte],
	price[[component.Credits]byte],
	price[[component.Multicast]byte],
	price[[component.MTU]byte],
	price[[component.Rendezvous]byte],
	price[[component.Rendezvous | component.Adaptive]byte],
	price[[component.All]byte],
}

// price measures the composition that S names, between two nodes that do nothing else.
func price[S any](s *Setting, p *component.Profile) (*priced, error) {
	traits := component.Defaults()
	traits.Long = rendezvousFrom
	b, err := component.NewBed[S](p, traits, 2, s.Seed)
	if err != nil {
		return nil, err
	}
	from, to := b.Nodes[0], b.Nodes[1]
	set := from.Protocols()
	r := &priced{name: set.String(), sram: float64(from.NIC().SRAM.Used())}
	if set == component.All {
		r.name = "all"
	}
	var came vtime.Time
	var failed error
	note := func(err error) {
		if err != nil && failed == nil {
			failed = err
		}
	}
	buffer := make([]byte, 1<<15)
	note(to.Handle(1, func(m *component.Message) {
		came = b.Now()
		if set&component.Rendezvous != 0 && m.Len() >= rendezvousFrom && cap(m.Parts[0]) == len(buffer) {
			note(to.Post(buffer))
		}
	}))
	if set&component.Rendezvous != 0 {
		note(to.Post(buffer))
	}
	for _, size := range componentSizes {
		data := make([]byte, size)
		var sum vtime.Time
		before := moved(from.Counts()) + moved(to.Counts())
		for range s.trips() {
			b.RunUntil(b.Now() + 2*vtime.Millisecond) // what the message before has left is over
			begun := b.Now()
			came = 0
			note(from.Send(1, 1, data, note))
			b.RunUntil(begun + 2*vtime.Millisecond)
			if came == 0 {
				note(fmt.Errorf("%v: a message of %d B has not come", set, size))
			}
			sum += came - begun
		}
		n := float64(s.trips())
		r.way = append(r.way, plot.Point{X: float64(size), Y: micros(sum) / n})
		r.copies = append(r.copies, plot.Point{X: float64(size), Y: float64(moved(from.Counts())+moved(to.Counts())-before) / n / float64(size)})
	}
	return r, failed
}

// moved returns the bytes that have been copied.
func moved(k component.Counts) uint64 { return k.HostToNIC + k.NICToNIC + k.NICToHost + k.Staged }

// dear are the protocols' constants, all of them.
var dear = []string{"active", "reliability", "ack", "timeout", "credits", "multicast", "mtu", "rendezvous", "evaluate"}

// componentCost prices each protocol of the customizable component.
func componentCost(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := component.NewProfile(s.Machine)
	if err != nil {
		return nil, err
	}
	var all []*priced
	var ways, prices, copies []plot.Series
	for _, measure := range pricings {
		r, err := measure(s, p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		base := all[0]
		var more []plot.Point
		for i, w := range r.way {
			more = append(more, plot.Point{X: w.X, Y: w.Y - base.way[i].Y})
		}
		ways = append(ways, plot.Series{Name: r.name, Points: r.way})
		copies = append(copies, plot.Series{Name: r.name, Points: r.copies})
		if r != base {
			prices = append(prices, plot.Series{Name: r.name, Points: more})
		}
		o.number(r.name+"-8", "one way, 8 bytes", r.way[0].Y, "us")
		o.number(r.name+"-16K", "one way, 16 KB", r.way[2].Y, "us")
		o.number(r.name+"-sram", "memory of the NIC that is taken", r.sram, "B")
	}
	base := all[0]

	file := s.Machine
	for _, name := range dear {
		if file, err = file.With("protocol."+name, "5000", "count"); err != nil {
			return nil, err
		}
	}
	if p, err = component.NewProfile(file); err != nil {
		return nil, err
	}
	again, err := pricings[0](s, p)
	if err != nil {
		return nil, err
	}
	same := again.sram == base.sram
	for i := range base.way {
		same = same && again.way[i] == base.way[i]
	}
	o.claim("what is not selected costs nothing: with protocols of 5000 instructions each the baseline takes as long", "Santos and Fröhlich", same,
		"%s and %s µs for 8 B", figures(base.way[0].Y), figures(again.way[0].Y))
	var least, dearest *priced
	for _, r := range all[1:8] {
		if least == nil || r.way[0].Y < least.way[0].Y {
			least = r
		}
		if dearest == nil || r.way[0].Y > dearest.way[0].Y {
			dearest = r
		}
	}
	o.claim("a protocol by itself takes nothing off the way of 8 bytes, but for Credits their copy", "", least.way[0].Y >= base.way[0].Y || least.name == "Credits",
		"the least has %s (%s µs), the most %s (%s µs), the baseline %s µs", least.name, figures(least.way[0].Y), dearest.name, figures(dearest.way[0].Y), figures(base.way[0].Y))
	credit, meet := all[3], all[6]
	o.claim("bytes are copied four times with the staging buffer, three times with credits, and three with a rendezvous", "Santos and Fröhlich",
		base.copies[2].Y == 4 && credit.copies[2].Y == 3 && meet.copies[2].Y == 3 && meet.copies[0].Y == 4, "16 KB: %s, %s and %s times",
		figures(base.copies[2].Y), figures(credit.copies[2].Y), figures(meet.copies[2].Y))
	ordered := true
	for _, r := range all[1:] {
		ordered = ordered && (r.sram > base.sram)
	}
	o.claim("each protocol's tables and header are in the NIC's memory only with it", "", ordered, "%s B without protocols, %s B with all", figures(base.sram), figures(all[8].sram))
	o.note("The paper has no measurement: nothing is compared with a published number. All steps are assumed; what follows from them is which protocol has a price where.")
	axis := plot.Axis{Label: "size, bytes", Scale: plot.Log2}
	o.Figures = append(o.Figures,
		Figure{"way", plot.Figure{Title: "The component: one way, by composition", Note: s.reproduce("component-cost"), X: axis, Y: plot.Axis{Label: "time, µs"}, Series: ways}},
		Figure{"price", plot.Figure{Title: "What a protocol adds to the baseline's way", Note: s.reproduce("component-cost"), X: axis, Y: plot.Axis{Label: "µs more"}, Series: prices}},
		Figure{"copies", plot.Figure{Title: "Copies of each byte", Note: s.reproduce("component-cost"), X: axis, Y: plot.Axis{Label: "copies"}, Series: copies}},
	)
	return o, nil
}
