package gm_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/transit"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestRandom has all hosts of a random network send messages of random sizes to random ports, while packets are lost, cut
// and changed, links fail, are routed round and repaired, ports are closed and opened, and hosts are restarted. Each message arrives
// once and in order, or its sender is told of an error; in the end all tokens and buffers are there, and
// nothing happens any more. AQ_TEST_SCALE multiplies the number of networks.
func TestRandom(t *testing.T) {
	t.Parallel()
	scale, err := strconv.Atoi(os.Getenv("AQ_TEST_SCALE"))
	if err != nil {
		scale = 1
	}
	networks := 8 * scale
	if shm.RaceEnabled { // which has nothing to find in virtual time, and takes long over it
		networks = scale
	}
	for seed := range uint64(networks) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newChaos(t, seed).run()
		})
	}
}

const (
	chaosPorts   = 2                     // of each host
	chaosLast    = 8 * vtime.Millisecond // when the last message is sent
	chaosBuffers = 6                     // of each size class
	largest      = 9000
)

var chaosClasses = []uint8{4, 8, 12, 14}

// chaos is a network on which all sorts of things happen.
type chaos struct {
	*bed
	t      *testing.T
	topo   *fabric.Topology
	p      *gm.Profile
	image  gm.Image
	chance *rand.Rand
	failed []fabric.Link
	ends   [][]*chaosEnd // by host and port
	flows  map[flowID]*chaosFlow
	quiet  bool    // messages are not sent any more, and buffers not provided
	inBox  int     // messages that have come since
	errors []error // and what senders have been told since
}

// chaosEnd is a port that is open, or has been.
type chaosEnd struct {
	*gm.Port
	memory *gm.Memory
	life   uint32 // which of the ports that have had this number
}

type flowID struct{ from, fromPort, to, toPort int }

// chaosFlow is the messages from one port to another, by number.
type chaosFlow struct {
	sent   int
	told   map[int]error // what senders have been told
	got    []int         // in the order in which they have come
	closed bool          // one of the ports has been closed: not all that happened is known
}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{t: t, chance: rand.New(rand.NewPCG(seed, 0)), flows: map[flowID]*chaosFlow{}}
	var err error
	if c.topo, err = (fabric.Shape{Hosts: 2}).Random(3+c.chance.IntN(4), seed); err != nil {
		t.Fatal(err)
	}
	images := []gm.Image{{ITB: true, Transit: transit.Options{Pool: 16}}, {ITB: true}, {ITB: true, Transit: transit.Options{Drop: true}}, {ITB: true, Transit: transit.Options{BySend: true, Pool: 2, Drop: true}}}
	c.p = profile(t, func(p *gm.Profile) {
		e := &p.Fabric.Error
		e.Corrupt, e.Truncate, e.Lose = c.harm(), c.harm(), c.harm()
		p.Fabric.Limit.Time = 2 * vtime.Millisecond
		p.Fabric.Limit.Reset = c.chance.IntN(2) == 0
		p.GM.Resend, p.GM.Tries, p.GM.Patience = 200*vtime.Microsecond, 1+c.chance.IntN(8), vtime.Millisecond
		p.GM.Sends = 8
	})
	c.image = images[c.chance.IntN(len(images))]
	c.bed = newBed(t, c.topo, c.p, c.image)
	c.route()
	for h := range c.hosts {
		c.ends = append(c.ends, make([]*chaosEnd, chaosPorts))
		for port := range chaosPorts {
			c.open(h, port)
		}
	}
	return c
}

// harm is how often packets are damaged in one way.
func (c *chaos) harm() machine.Chance {
	return []machine.Chance{0, machine.Certain / 1000, machine.Certain / 100}[c.chance.IntN(3)]
}

// route gives all hosts routes round the links that have failed, or none where there are none.
func (c *chaos) route() {
	topo := *c.topo
	topo.Links = slices.DeleteFunc(slices.Clone(c.topo.Links), func(l fabric.Link) bool { return slices.Contains(c.failed, l) })
	table, err := routing.NewTable(&topo, routing.Options{Scheme: routing.InTransit, Spread: routing.Balanced})
	if err != nil {
		c.t.Fatal(err)
	}
	for from, h := range c.hosts {
		for to := range c.hosts {
			var legs [][]byte
			for _, leg := range table.Route(from, to) {
				legs = append(legs, table.Bytes(leg))
			}
			if err := h.SetRoute(to, legs...); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

func (c *chaos) open(h, number int) {
	e := &chaosEnd{}
	if old := c.ends[h][number]; old != nil {
		e.life = old.life + 1
	}
	c.ends[h][number] = e
	var err error
	if e.Port, err = c.hosts[h].Open(number, func(m *gm.Message) { c.receive(h, number, m) }); err != nil {
		c.t.Fatal(err)
	}
	e.memory = c.hosts[h].Register(make([]byte, chaosBuffers*len(chaosClasses)<<14))
	c.provide(e)
}

// restart puts another program on the NIC of a host. What has come to the host before is forgotten with it, and may come again.
func (c *chaos) restart(h int) {
	for id, f := range c.flows {
		if id.from == h || id.to == h {
			f.closed = true
		}
		if id.to == h {
			f.got = nil
		}
	}
	var err error
	if c.hosts[h], err = gm.NewHost(c.f, c.p, c.image, h); err != nil {
		c.t.Fatal(err)
	}
	c.route()
	for port := range chaosPorts {
		c.open(h, port)
	}
}

// provide gives a port all of its buffers.
func (c *chaos) provide(e *chaosEnd) {
	for i := range chaosBuffers {
		for k, class := range chaosClasses {
			if err := e.Provide(e.memory, (i*len(chaosClasses)+k)<<14, class, gm.Low); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// fill writes a message: its number, and bytes that follow from that.
func (c *chaos) fill(b []byte, id flowID, number int) {
	for i := range b {
		b[i] = byte(number*11 + i*5 + i>>8 + id.from + 3*id.to)
	}
	binary.BigEndian.PutUint32(b, uint32(number))
}

// send sends a message of a size of a class from a port to another.
func (c *chaos) send(id flowID, class uint8) {
	f := c.flows[id]
	if f == nil {
		f = &chaosFlow{told: map[int]error{}}
		c.flows[id] = f
	}
	size := min(largest, 1<<class-c.chance.IntN(7))
	number, m := f.sent, c.hosts[id.from].Register(make([]byte, size))
	c.fill(m.Bytes(), id, number)
	err := c.ends[id.from][id.fromPort].Send(m, 0, size, gm.Low, id.to, id.toPort, func(err error) {
		if _, twice := f.told[number]; twice {
			c.t.Errorf("%+v: the sender of message %d is told twice", id, number)
		}
		f.told[number] = err
		if err != nil {
			c.errors = append(c.errors, err)
		}
	})
	switch err {
	case nil:
		f.sent++
	case gm.ErrNoToken:
	default:
		c.t.Fatal(err)
	}
}

func (c *chaos) receive(h, port int, m *gm.Message) {
	id := flowID{m.From, m.FromPort, h, port}
	f := c.flows[id]
	number := int(binary.BigEndian.Uint32(m.Data))
	if f == nil || number >= f.sent {
		c.t.Fatalf("%+v: message %d has not been sent", id, number)
	}
	want := make([]byte, len(m.Data))
	if c.fill(want, id, number); string(want) != string(m.Data) {
		c.t.Fatalf("%+v: message %d has come with other bytes", id, number)
	}
	if n := len(f.got); n > 0 && f.got[n-1] >= number {
		c.t.Errorf("%+v: message %d comes after %d", id, number, f.got[n-1])
	}
	f.got = append(f.got, number)
	c.inBox++
	if c.quiet {
		return
	}
	e, memory, offset, class := c.ends[h][port], m.Memory, m.Offset, gm.Class(len(m.Data))
	c.do(c.Now()+vtime.Time(c.chance.Int64N(int64(2*vtime.Millisecond))), func() { // sometimes too late for the next message
		if err := e.Provide(memory, offset, class, gm.Low); err != nil && err != gm.ErrClosed {
			c.t.Fatal(err)
		}
	})
}

// event does something, and comes again at a random time.
func (c *chaos) event(do func(), mean vtime.Time) {
	next := c.Now() + vtime.Time(c.chance.Int64N(2*int64(mean)))
	if next < chaosLast {
		c.do(next, func() { do(); c.event(do, mean) })
	}
}

func (c *chaos) run() {
	n := len(c.hosts)
	c.event(func() {
		from := c.chance.IntN(n)
		to := (from + 1 + c.chance.IntN(n-1)) % n
		c.send(flowID{from, c.chance.IntN(chaosPorts), to, c.chance.IntN(chaosPorts)}, chaosClasses[c.chance.IntN(len(chaosClasses))])
	}, 20*vtime.Microsecond)
	c.event(func() { // a link fails, or one is repaired
		if k := len(c.failed); k > 0 && c.chance.IntN(2) == 0 {
			c.f.RepairLink(c.failed[k-1].Ends[0])
			c.failed = c.failed[:k-1]
			return
		}
		l := c.topo.Links[c.chance.IntN(len(c.topo.Links))]
		if !slices.Contains(c.failed, l) {
			c.failed = append(c.failed, l)
			c.f.FailLink(l.Ends[0])
		}
	}, 300*vtime.Microsecond)
	c.event(c.route, vtime.Millisecond)
	c.event(func() { // a port is closed, and opened again
		h, port := c.chance.IntN(n), c.chance.IntN(chaosPorts)
		for id, f := range c.flows {
			if id.from == h && id.fromPort == port || id.to == h && id.toPort == port {
				f.closed = true
			}
		}
		c.ends[h][port].Close()
		c.open(h, port)
	}, 2*vtime.Millisecond)
	c.event(func() { c.restart(c.chance.IntN(n)) }, 2*vtime.Millisecond)
	c.finish("the chaos")

	for id, f := range c.flows {
		for number := range f.sent {
			err, told := f.told[number]
			came := slices.Contains(f.got, number)
			if !f.closed && (!told || err == nil && !came) {
				c.t.Errorf("%+v: message %d has come: %v; the sender is told: %v, %v", id, number, came, told, err)
			}
		}
	}

	// All is well again: as many messages as there are buffers arrive at each port, without an error.
	for _, l := range c.failed {
		c.f.RepairLink(l.Ends[0])
	}
	c.failed = nil
	c.route()
	*c.f.Constants() = quietConstants(*c.f.Constants())
	for from := range c.hosts { // so that targets forget messages that have not come as a whole
		for to := range c.hosts {
			if from != to {
				c.send(flowID{from, 0, to, 0}, 4)
				c.RunUntil(c.Now() + vtime.Millisecond)
			}
		}
	}
	c.finish("messages between all hosts")
	c.quiet, c.inBox, c.errors = true, 0, nil
	for h := range c.hosts {
		for port := range chaosPorts {
			from := (h + 1) % n
			for i := range chaosBuffers {
				for _, class := range chaosClasses {
					c.send(flowID{from, i % chaosPorts, h, port}, class)
				}
				c.RunUntil(c.Now() + 5*vtime.Millisecond)
			}
		}
	}
	c.finish("messages for all buffers")
	if want := n * chaosPorts * chaosBuffers * len(chaosClasses); c.inBox != want || len(c.errors) > 0 {
		c.t.Errorf("%d of %d messages arrive when all is well; %v", c.inBox, want, c.errors)
	}
}

// quietConstants are those of a network without errors.
func quietConstants(k fabric.Constants) fabric.Constants {
	k.Error.Corrupt, k.Error.Truncate, k.Error.Lose = 0, 0, 0
	return k
}

// finish runs until nothing should happen any more, and looks for what is missing.
func (c *chaos) finish(after string) {
	c.t.Helper()
	c.RunUntil(c.Now() + vtime.Second)
	before := c.Events()
	if c.RunUntil(c.Now() + vtime.Second); c.Events() != before {
		c.t.Errorf("after %s: something goes on for ever", after)
	}
	for _, h := range c.hosts {
		if err := h.Leaks(); err != nil {
			c.t.Errorf("after %s: %v", after, err)
		}
	}
	if n := c.f.InFlight(); n > 0 {
		c.t.Errorf("after %s: %d packets are under way", after, n)
	}
}
