package grim_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// profile returns the constants of LANai 4, changed.
func profile(t testing.TB, change func(*grim.Profile)) *grim.Profile {
	t.Helper()
	p, err := grim.Load("grim-lanai4")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	return p
}

// star returns a cluster of hosts at a switch, and endpoints with a handler for "test".
func star(t testing.TB, p *grim.Profile, image grim.Image, hosts, channels int, o grim.EndpointOptions, h grim.Handler) (*grim.Cluster, [][]*grim.Endpoint, grim.HandlerID) {
	t.Helper()
	c, err := grim.NewStar(p, image, hosts, 1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.OpenAll(channels, o, map[string]grim.Handler{"test": h})
	if err != nil {
		t.Fatal(err)
	}
	id, ok := all[0][0].Lookup("test")
	if !ok {
		t.Fatal("the server does not know the handler")
	}
	return c, all, id
}

func send(t testing.TB, from, to *grim.Endpoint, id grim.HandlerID, number uint32, payload []byte) {
	t.Helper()
	if err := from.Send(to.ID(), id, [4]uint32{number}, payload); err != nil {
		t.Fatal(err)
	}
}

// TestMessages sends payloads of all sorts of sizes, by PIO and by DMA: they come as they were, once and in order.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, name := range grim.Library().Names() {
		if !strings.HasPrefix(name, "grim-") {
			continue
		}
		p, err := grim.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range []grim.Image{{}, {Queue: grim.Slotted}, {Queue: grim.Hybrid}, {PerNI: true}, {NoControlQueue: true}} {
			sizes := []int{0, 1, 2, 3, 4, 5, 511, 512, 513, 4096, 20000, 56000}
			if image.Queue != grim.Hybrid {
				sizes = append(sizes, grim.MaxPayload)
			}
			var got []int
			c, all, id := star(t, p, image, 2, 1, grim.EndpointOptions{}, func(e *grim.Endpoint, m *grim.Message) {
				got = append(got, len(m.Payload))
				if !bytes.Equal(m.Payload, pattern(len(m.Payload))) {
					t.Errorf("%s, %+v: a payload of %d B has changed", name, image, len(m.Payload))
				}
				if want := [4]uint32{uint32(len(got) - 1), 0xfedcba98, 2, 3}; m.Args != want || m.Source != 0 {
					t.Errorf("arguments %x from %d", m.Args, m.Source)
				}
			})
			for i, n := range sizes {
				if err := all[0][0].Send(all[1][0].ID(), id, [4]uint32{uint32(i), 0xfedcba98, 2, 3}, pattern(n)); err != nil {
					t.Fatal(err)
				}
			}
			c.RunUntil(c.Now() + vtime.Second)
			if !slices.Equal(got, sizes) {
				t.Errorf("%s, %+v: got %v, want %v", name, image, got, sizes)
			}
			if err := all[0][0].Send(all[1][0].ID(), id, [4]uint32{}, make([]byte, grim.MaxPayload+1)); !errors.Is(err, grim.ErrTooLarge) {
				t.Errorf("a payload of 64,573 B: %v", err)
			}
			if err := c.Run(); err != nil { // it ends: nothing polls for ever
				t.Error(err)
			}
		}
	}
}

// pattern returns bytes that differ from size to size and from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(n*7 + i*13 + i>>8)
	}
	return b
}

// pair returns two hosts at a switch with an endpoint each, of which the second has a handler. Nothing has been sent: the numbers of
// messages begin at 0.
func pair(t testing.TB, p *grim.Profile, image grim.Image, h grim.Handler) (c *grim.Cluster, a, b *grim.Endpoint, id grim.HandlerID) {
	t.Helper()
	c, err := grim.NewStar(p, image, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	open := func(host int) *grim.Endpoint {
		e, err := c.Hosts[host].Open(0, grim.EndpointOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a, b = open(0), open(1)
	b.SetServer(b.ID())
	if err := errors.Join(b.Register("test", h), b.Synchronize(func(err error) {
		if err != nil {
			t.Error(err)
		}
	})); err != nil {
		t.Fatal(err)
	}
	id, _ = b.Lookup("test")
	return c, a, b, id
}

// TestRollback is the example of figure 4.3c: three messages; the first is accepted, the second is refused, the third dropped; both are
// sent again, and accepted. Messages to others are not sent again.
func TestRollback(t *testing.T) {
	t.Parallel()
	for _, perNI := range []bool{false, true} {
		p := profile(t, func(p *grim.Profile) { p.GRIM.Receive = 64 })
		var order []uint32
		c, a, b, id := pair(t, p, grim.Image{PerNI: perNI}, func(_ *grim.Endpoint, m *grim.Message) { order = append(order, m.Args[0]) })
		var trace []string
		note := func(host int) func(grim.Step, uint8, uint8) {
			return func(s grim.Step, sequence, token uint8) {
				trace = append(trace, fmt.Sprintf("%d %v %d/%d", host, s, sequence, token))
				if s == grim.Drops {
					b.Attend(true) // there will be room
				}
			}
		}
		c.Hosts[0].Observe(note(0))
		c.Hosts[1].Observe(note(1))
		b.Attend(false)
		for i, payload := range []int{32, 0, 0} {
			send(t, a, b, id, uint32(i), make([]byte, payload))
		}
		c.RunUntil(vtime.Millisecond)
		want := map[string][]string{
			"0 s": {"0 sends 0/0", "0 sends 1/1", "0 sends 2/2", "0 sends again 1/1", "0 sends again 2/2"},
			"1 ":  {"1 accepts 0/0", "1 refuses 1/1", "1 drops 2/2", "1 accepts 1/1", "1 accepts 2/2"},
			"0 a": {"0 acknowledged 0/0", "0 acknowledged 1/1", "0 acknowledged 2/2"},
			"0 r": {"0 rolled back 1/1"},
		}
		for prefix, want := range want {
			got := slices.DeleteFunc(slices.Clone(trace), func(s string) bool { return !strings.HasPrefix(s, prefix) })
			if !slices.Equal(got, want) {
				t.Errorf("per NI %v: %q, want %q", perNI, got, want)
			}
		}
		if !slices.Equal(order, []uint32{0, 1, 2}) {
			t.Errorf("handled in the order %v", order)
		}
	}
}

// TestOtherDestinations has one receiver stall: messages from the same channel to another one are sent once, those to the first one
// as often as need be.
func TestOtherDestinations(t *testing.T) {
	t.Parallel()
	p := profile(t, func(p *grim.Profile) { p.GRIM.Receive = 64 })
	got := map[grim.EndpointID]int{}
	c, all, id := star(t, p, grim.Image{}, 3, 1, grim.EndpointOptions{}, func(e *grim.Endpoint, _ *grim.Message) { got[e.ID()]++ })
	from, stalled, free := all[0][0], all[1][0], all[2][0]
	stalled.Attend(false)
	before := c.Hosts[2].Counts()
	const n = 20
	for i := range n {
		send(t, from, stalled, id, uint32(i), nil)
		send(t, from, free, id, uint32(i), nil)
	}
	c.RunUntil(c.Now() + 200*vtime.Microsecond)
	if got[stalled.ID()] > 0 || got[free.ID()] == 0 || c.Hosts[1].Counts().Refused < 3 {
		t.Errorf("%v handled, %d refused", got, c.Hosts[1].Counts().Refused)
	}
	stalled.Attend(true)
	c.RunUntil(c.Now() + vtime.Millisecond)
	after := c.Hosts[2].Counts()
	if got[stalled.ID()] != n || got[free.ID()] != n {
		t.Errorf("%v handled, want %d each", got, n)
	}
	if after.Received-before.Received != n || after.Dropped+after.Refused > 0 {
		t.Errorf("%+v: messages to the endpoint that has room were sent again", after)
	}
}

// TestRandom has all endpoints of clusters send messages of random sizes to random endpoints, while receivers stall at random: each
// message comes once, and in order for each pair of endpoints. Equal seeds give equal traces.
func TestRandom(t *testing.T) {
	t.Parallel()
	images := []grim.Image{{}, {PerNI: true}, {Queue: grim.Slotted}, {Queue: grim.Hybrid}, {}, {PerNI: true, Queue: grim.Slotted}}
	resent, overflowed, seeds := uint64(0), uint64(0), uint64(12)
	if shm.RaceEnabled { // which has nothing to find in virtual time, and takes long over it
		seeds = 2
	}
	for seed := range seeds {
		image := images[seed%uint64(len(images))]
		digest, counts, over := chaos(t, seed, image, 0)
		overflowed += over
		for _, n := range counts {
			resent += n.Resent
		}
		if again, _, _ := chaos(t, seed, image, 0); seed < 3 && again != digest {
			t.Errorf("seed %d gives two traces", seed)
		}
	}
	if resent < 80*seeds || overflowed < 80*seeds {
		t.Errorf("%d messages sent again, %d in overflow queues: too few to say anything", resent, overflowed)
	}
}

// chaos runs a random cluster to its end, whose cables lose, damage and cut short packets by a chance each. It returns what the
// NICs have done, and how many messages have been in overflow queues.
func chaos(t *testing.T, seed uint64, image grim.Image, faults machine.Chance) (digest uint64, counts []grim.Counts, overflowed uint64) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 0))
	p := profile(t, func(p *grim.Profile) {
		g := &p.GRIM
		g.Channels, g.Queue, g.Slot, g.Headers, g.Receive = 3, 4096, 1100, 1024, 1040
		g.PIO = 200
		g.Resend = 500 * vtime.Microsecond
		if seed%2 == 1 {
			g.Controls = 1
		}
		e := &p.Fabric.Error
		e.Lose, e.Corrupt, e.Truncate = faults, faults, faults
	})
	if image.Queue == grim.Hybrid {
		p.GRIM.Buffers, image.UnlimitedSRAM = 64, true // so many that its deadlock does not come
	}
	topo, err := (fabric.Shape{Hosts: 2}).Random(1+chance.IntN(3), seed)
	if err != nil {
		t.Fatal(err)
	}
	if image.ITB {
		topo = ring(t)
	}
	c, err := grim.NewCluster(p, image, topo, seed)
	if err != nil {
		t.Fatal(err)
	}
	var trace vtime.Digest
	c.Trace(&trace)
	type way struct{ from, to grim.EndpointID }
	sent, got := map[way]uint32{}, map[way]uint32{}
	all, err := c.OpenAll(p.GRIM.Channels, grim.EndpointOptions{}, map[string]grim.Handler{"test": func(e *grim.Endpoint, m *grim.Message) {
		w := way{m.Source, e.ID()}
		if m.Args[0] != got[w] || !bytes.Equal(m.Payload, pattern(len(m.Payload))) {
			t.Errorf("seed %d, %+v: message %d from %d to %d, %d was due", seed, image, m.Args[0], w.from, w.to, got[w])
		}
		got[w] = m.Args[0] + 1
		e.Compute(vtime.Time(chance.IntN(10)) * vtime.Microsecond)
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, _ := all[0][0].Lookup("test")
	ends := slices.Concat(all...)
	for range 40 {
		for _, e := range ends {
			e.Attend(chance.IntN(3) > 0)
			for range chance.IntN(6) {
				to := ends[chance.IntN(len(ends))]
				w := way{e.ID(), to.ID()}
				send(t, e, to, id, sent[w], pattern(min(chance.IntN(40)*chance.IntN(40), 1000)))
				sent[w]++
			}
		}
		c.RunUntil(c.Now() + vtime.Time(chance.IntN(200))*vtime.Microsecond)
	}
	for _, e := range ends {
		e.Attend(true)
		overflowed += e.Counts().Overflowed
	}
	c.RunUntil(c.Now() + 2*vtime.Second)
	for w, n := range sent {
		if got[w] != n {
			t.Errorf("seed %d, %+v: %d of %d messages from %d to %d have come", seed, image, got[w], n, w.from, w.to)
		}
	}
	for _, h := range c.Hosts {
		n := h.Counts()
		counts = append(counts, n)
		if n.Foreign+n.NoEndpoint > 0 || faults == 0 && n.Gap+n.Unknown+n.Stray+n.Malformed > 0 {
			t.Errorf("seed %d, %+v: %+v", seed, image, n)
		}
		if err := h.Leaks(); err != nil {
			t.Errorf("seed %d, %+v: %v", seed, image, err)
		}
	}
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	return trace.Sum(), counts, overflowed
}
