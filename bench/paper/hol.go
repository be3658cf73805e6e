package paper

import (
	"fmt"
	"math"
	"slices"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// A chain is switches in a row, to which hosts are added by name, with the packets of usual size that these send.
type chain struct {
	*fabric.Topology
	free  []int // the lowest port of each switch without a cable
	sends []send
}

// send is packets from one host to another, which are all there at a time.
type send struct {
	at       vtime.Time
	from, to int
	packets  int
}

func newChain(switches int) *chain {
	c := &chain{Topology: new(fabric.Topology), free: make([]int, switches)}
	for i := range switches {
		c.AddSwitch(fmt.Sprint("s", i), make([]fabric.Kind, 2*fabric.DefaultPorts)...)
		if i > 0 {
			c.Connect(c.port(i-1), c.port(i), fabric.DefaultLength)
		}
	}
	return c
}

// port returns a port of a switch that has no cable.
func (c *chain) port(s int) fabric.End {
	c.free[s]++
	return fabric.SwitchEnd(s, c.free[s]-1)
}

// host adds a host at a switch.
func (c *chain) host(s int) int {
	h := c.AddHost(fmt.Sprint("h", len(c.Hosts)))
	c.Connect(fabric.HostEnd(h), c.port(s), fabric.DefaultLength)
	return h
}

// send adds packets from a host to another.
func (c *chain) send(at vtime.Time, from, to, packets int) {
	c.sends = append(c.sends, send{at, from, to, packets})
}

// sender is a chain at work.
type sender struct {
	*chain
	hosts *routing.Hosts
}

// Fire is an event: the packets of a send are there.
func (s *sender) Fire(i, _ uint64) {
	for range s.sends[i].packets {
		s.hosts.Send(s.sends[i].from, s.sends[i].to)
	}
}

// run has the hosts send until a time. observe is told of each packet that has come.
func (c *chain) run(constants *fabric.Constants, end vtime.Time, observe func(from, to int, sent, came vtime.Time)) ([]fabric.Traffic, error) {
	table, err := routing.NewTable(c.Topology, routing.Options{})
	if err != nil {
		return nil, err
	}
	s := vtime.NewSimulation(0)
	f, err := fabric.New(&s.Loop, c.Topology, constants)
	if err != nil {
		return nil, err
	}
	sends := &sender{c, routing.NewHosts(f, table, usual)}
	sends.hosts.Observe(func(from, to int, sent vtime.Time) { observe(from, to, sent, s.Now()) })
	for i, send := range c.sends {
		s.At(send.at, sends, uint64(i), 0)
	}
	s.RunUntil(end)
	return f.Traffic(), s.Close()
}

// A stream is what became of a victim's packets.
type stream struct {
	rate  float64 // MB/s of payload
	front float64 // that of the blocker's packets
	busy  float64 // how much of the time the channel between the switches is busy
	held  float64 // how much of the time STOP is in force there
}

// counting is the time in which packets of streams are counted.
const counting = vtime.Millisecond

// near reports whether two rates are as close as a fraction of the second, or as packets can be counted.
func near(a, b, fraction float64) bool {
	onePacket := usual / micros(counting)
	return math.Abs(a-b) <= max(fraction*b, 1.001*onePacket) // 1.001: rates are rounded
}

// streams returns what becomes of a victim's stream that shares the channel between two switches with a blocker's. The
// victim's goes to a host that nobody else sends to. The blocker's goes to one that contenders, at the second switch,
// send to too.
func streams(constants *fabric.Constants, contenders int, blocker bool) (*stream, error) {
	c := newChain(2)
	hot, idle := c.host(1), c.host(1)
	const packets = 1000 // more than are sent
	victim := c.host(0)
	c.send(0, victim, idle, packets)
	front := -1
	if blocker {
		front = c.host(0)
		c.send(0, front, hot, packets)
	}
	for range contenders {
		c.send(0, c.host(1), hot, packets)
	}
	const begin = counting / 10
	come := map[int]int{}
	traffic, err := c.run(constants, begin+counting, func(from, _ int, _, came vtime.Time) {
		if came > begin {
			come[from]++
		}
	})
	if err != nil {
		return nil, err
	}
	const all = float64(begin + counting)
	rate := func(from int) float64 { return float64(come[from]*usual) / micros(counting) }
	return &stream{
		rate: rate(victim), front: rate(front),
		busy: float64(traffic[0].Busy) / all, held: float64(traffic[0].Held) / all,
	}, nil
}

// reach returns how long packets of victims take, of which one crosses each of the three channels between four
// switches, while the packet of a blocker that comes through all of them waits at the last switch for a host to which
// contenders send; and which of the victims waited: those that came only after the blocker. The victims' packets are sent
// when the blocker's has had the time to come to the last switch.
func reach(constants *fabric.Constants, blocker bool) (took [3]float64, waited [3]bool, err error) {
	c := newChain(len(took) + 1)
	through := constants.Link.Rate.Time(usual+32) + vtime.Time(len(took)+1)*constants.Switch.SAN // 32: the head and more
	last := len(took)
	hot := c.host(last)
	for range 5 {
		c.send(0, c.host(last), hot, 10)
	}
	begin, front := through*5/4, -1
	if blocker {
		front = c.host(0)
		c.send(begin, front, hot, 1)
	}
	var victims [len(took)]int
	for i := range victims {
		victims[i] = c.host(i)
		c.send(begin+through, victims[i], c.host(i+1), 1)
	}
	there := false // the blocker's packet
	_, err = c.run(constants, 250*through, func(from, _ int, sent, came vtime.Time) {
		if i := slices.Index(victims[:], from); i >= 0 {
			took[i], waited[i] = micros(came-sent), there
		}
		there = there || from == front
	})
	return took, waited, err
}

// fabricHOL shows contention, and head-of-line blocking: packets that wait though nothing else wants their output.
func fabricHOL(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	p, err := s.gmProfile("", "", "")
	if err != nil {
		return nil, err
	}
	if err := s.sharedStreams(o, &p.Fabric); err != nil {
		return nil, err
	}
	return o, s.blockedReach(o, &p.Fabric)
}

// sharedStreams adds what becomes of a stream behind another one, by how many contenders that has.
func (s *Setting) sharedStreams(o *Outcome, constants *fabric.Constants) error {
	const most = 5
	var control, blocked, front, fair, busy, held []plot.Point
	for k := 0; k <= most; k++ {
		alone, err := streams(constants, k, false)
		if err != nil {
			return err
		}
		behind, err := streams(constants, k, true)
		if err != nil {
			return err
		}
		x := float64(k)
		control = append(control, plot.Point{X: x, Y: alone.rate})
		blocked = append(blocked, plot.Point{X: x, Y: behind.rate})
		busy = append(busy, plot.Point{X: x, Y: 100 * behind.busy})
		held = append(held, plot.Point{X: x, Y: 100 * behind.held})
		front = append(front, plot.Point{X: x, Y: behind.front})
		fair = append(fair, plot.Point{X: x, Y: control[0].Y / float64(max(2, k+1))})
	}
	off, more, spread := 0.0, 0.0, 0.0
	steady, equal, fairly := true, true, true
	for i := range blocked {
		steady = steady && near(control[i].Y, control[0].Y, 0.01)
		equal = equal && near(blocked[i].Y, front[i].Y, 0.02)
		fairly = fairly && (blocked[i].Y < fair[i].Y || near(blocked[i].Y, fair[i].Y, 0.1))
		off = max(off, math.Abs(blocked[i].Y/front[i].Y-1))
		more = max(more, blocked[i].Y/fair[i].Y-1)
		spread = max(spread, math.Abs(control[i].Y/control[0].Y-1))
	}
	o.number("hol-alone", "the victim's stream without the blocker's", control[most].Y, "MB/s")
	o.number("hol-shared", "beside the blocker's, which has its host to itself: contention for the channel", blocked[0].Y, "MB/s")
	o.number("hol-behind", fmt.Sprintf("behind the blocker's, which shares its host with %d others: head-of-line blocking", most), blocked[most].Y, "MB/s")
	o.number("hol-busy", "use of the channel then, though the victim always has a packet for it", busy[most].Y/100, "count")
	o.number("hol-held", "time that STOP is in force there", held[most].Y/100, "count")
	link := rateOf(constants.Link.Rate)
	if control[0].Y > 0.9*link {
		o.claim("a stream is as fast without the blocker as if nobody else sent", "", steady, "%s MB/s, %.1f %% apart", figures(control[0].Y), 100*spread)
		o.claim("two streams share a channel equally", "", near(blocked[0].Y, control[0].Y/2, 0.05), "%s of %s MB/s", figures(blocked[0].Y), figures(control[0].Y))
		o.claim("a stream that wants nothing but an idle output gets as much as the one in front of it", "Coll et al.: a packet that is blocked blocks others in cascade",
			equal, "at most %.1f %% off, or a packet of those of %v", 100*off, counting)
		o.claim("and that gets a share among its contenders: the channel idles while the victim has packets for it", "", fairly && busy[most].Y < 50 && blocked[most].Y < control[most].Y/4,
			"%s of %s MB/s behind a stream with %d others, the channel is busy for %.0f %% of the time; shares are at most %.1f %% above equal ones", figures(blocked[most].Y), figures(control[most].Y), most, busy[most].Y, 100*more)
	} else {
		o.note("Not judged: how streams share. One alone has %s MB/s of a link's %s: switches limit it, and not the channel that streams share.", figures(control[0].Y), figures(link))
	}
	o.Figures = append(o.Figures,
		Figure{"streams", plot.Figure{
			Title: "A stream to an idle host, by others that send to the host of the stream beside it", Note: s.reproduce("fabric-hol"),
			X: plot.Axis{Label: "contenders"}, Y: plot.Axis{Label: "bandwidth, MB/s"},
			Series: []plot.Series{{Name: "without the blocker", Points: control}, {Name: "the victim behind the blocker", Points: blocked}, {Name: "the blocker", Points: front}, {Name: "equal shares", Kind: plot.Formula, Points: fair}},
		}},
		Figure{"channel", plot.Figure{
			Title: "The channel that both streams share", Note: s.reproduce("fabric-hol"),
			X: plot.Axis{Label: "contenders"}, Y: plot.Axis{Label: "part of the time, %"},
			Series: []plot.Series{{Name: "busy", Points: busy}, {Name: "STOP in force", Points: held}},
		}})
	return nil
}

// blockedReach adds how far back a packet blocks others, by the size of slack buffers.
func (s *Setting) blockedReach(o *Outcome, constants *fabric.Constants) error {
	var series [3]plot.Series
	var control plot.Series
	for i := range series {
		series[i].Name = fmt.Sprintf("behind the blocker, %d switches before the one where that waits", len(series)-i)
	}
	control.Name = "without the blocker"
	above, between := constants.Slack.Size-constants.Slack.Stop, constants.Slack.Stop-constants.Slack.Go
	var counts []int // of those that are blocked
	for _, times := range []int{1, 2, 4, 8, 16} {
		c := *constants
		c.Slack.Size *= times
		c.Slack.Stop = c.Slack.Size - above
		c.Slack.Go = c.Slack.Stop - between
		alone, _, err := reach(&c, false)
		if err != nil {
			return err
		}
		behind, waited, err := reach(&c, true)
		if err != nil {
			return err
		}
		x, blocked := float64(c.Slack.Size), 0
		for i := range series {
			series[i].Points = append(series[i].Points, plot.Point{X: x, Y: behind[i]})
			if waited[i] && behind[i] > alone[i] {
				blocked++
			}
		}
		control.Points = append(control.Points, plot.Point{X: x, Y: slices.Max(alone[:])})
		counts = append(counts, blocked)
	}
	least, most := counts[0], counts[len(counts)-1]
	size := constants.Slack.Size
	o.number("hol-latency", "a packet without the blocker", control.Points[0].Y, "us")
	o.number("hol-latency-blocked", "a packet three switches before the one where the blocker waits", series[0].Points[0].Y, "us")
	o.number("hol-blocked", "channels of 3 whose victim takes longer, and comes only after the packet that waits: with the machine's slack buffers", float64(least), "count")
	o.number("hol-blocked-large", "and with 16 times larger ones", float64(most), "count")
	o.Figures = append(o.Figures, Figure{"reach", plot.Figure{
		Title: "A packet that crosses one channel of those that a waiting packet has come through", Note: s.reproduce("fabric-hol"),
		X: plot.Axis{Label: "bytes of a slack buffer", Scale: plot.Log2}, Y: plot.Axis{Label: "time, µs"},
		Series: append(series[:], control),
	}})
	if s.goal("itb-cost") == nil { // claims are about the slack buffers of the published machine
		return nil
	}
	o.claim("a packet that waits holds all channels that it has come through: buffers are smaller than packets", "Coll et al., wormhole switching", least == len(series),
		"%d of %d channels with %d bytes, packets have %d", least, len(series), size, usual)
	o.claim("slack buffers that take packets whole set free the channels before the last one, which a queue keeps blocked", "", most == 1 && slices.IsSortedFunc(counts, func(a, b int) int { return b - a }),
		"%v of %d channels blocked with buffers 1, 2, 4, 8 and 16 times as large", counts, len(series))
	return nil
}
