package grim_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// grove returns a star of so many hosts, each of which has a forwarder at channel 1, and endpoints at channel 0.
func grove(t testing.TB, p *grim.Profile, image grim.Image, hosts int, h grim.Handler) (*grim.Cluster, []*grim.Endpoint, grim.HandlerID) {
	t.Helper()
	c, all, id := star(t, p, image, hosts, 1, grim.EndpointOptions{}, h)
	var ends []*grim.Endpoint
	for i, h := range c.Hosts {
		ends = append(ends, all[i][0])
		if _, err := h.OpenForwarder(1); err != nil {
			t.Fatal(err)
		}
	}
	return c, ends, id
}

// TestMulticast sends messages of all sorts of sizes along trees of all shapes whose members compute: all come to all members' queues, in order and
// once, in spite of members without room, crossing trees, unicasts between, and of cables that lose packets. Interior hosts run nothing.
func TestMulticast(t *testing.T) {
	t.Parallel()
	const hosts, n = 9, 12
	for fanout := range 4 {
		for _, chance := range []machine.Chance{0, machine.Certain / 60} {
			p := lossy(t, chance)
			p.GRIM.Receive, p.GRIM.Queue, p.GRIM.Channels = 4096, 4096, 3
			type way struct{ from, to grim.EndpointID }
			got := map[way]int{}
			c, ends, id := grove(t, p, grim.Image{Multicast: 1, TimeOuts: chance > 0}, hosts, func(e *grim.Endpoint, m *grim.Message) {
				w := way{m.Source, e.ID()}
				if m.Args[1] == 1 { // a unicast
					w.to += 1000
				}
				if int(m.Args[0]) != got[w] || !bytes.Equal(m.Payload, pattern(len(m.Payload))) {
					t.Errorf("fan-out %d: message %d from %d to %d, %d was due", fanout, m.Args[0], w.from, w.to, got[w])
				}
				got[w]++
				e.Compute(5 * vtime.Microsecond)
			})
			for root := range 3 {
				if err := c.NewTree(uint8(1+root), fanout, ends[4*root], ends); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range ends {
				e.Attend(false)
			}
			for i := range n {
				for root := range 3 {
					if err := ends[4*root].Multicast(uint8(1+root), id, [4]uint32{uint32(i)}, pattern(i*70)); err != nil {
						t.Fatal(err)
					}
					if err := ends[4*root].Send(ends[1].ID(), id, [4]uint32{uint32(i), 1}, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.RunUntil(c.Now() + 5*vtime.Millisecond)
			for i, e := range ends { // with nobody taking anything, the first messages have got to the leaves
				if len(got) > 0 || e.Waiting() == 0 {
					t.Errorf("fan-out %d: %d messages wait at host %d", fanout, e.Waiting(), i)
				}
			}
			for _, e := range ends {
				e.Attend(true)
			}
			c.RunUntil(c.Now() + vtime.Second)
			for root := range 3 {
				for i, e := range ends {
					want := n
					if i == 4*root {
						want = 0
					}
					if k := got[way{ends[4*root].ID(), e.ID()}]; k != want {
						t.Errorf("fan-out %d: %d of %d messages of tree %d at host %d", fanout, k, want, 1+root, i)
					}
				}
				if k := got[way{ends[4*root].ID(), ends[1].ID() + 1000}]; k != n {
					t.Errorf("fan-out %d: %d of %d unicasts", fanout, k, n)
				}
			}
			forwarded := uint64(0)
			for _, h := range c.Hosts {
				forwarded += h.Counts().Forwarded
				if err := h.Leaks(); err != nil {
					t.Errorf("fan-out %d: %v", fanout, err)
				}
			}
			// All but what the roots send themselves.
			if want := uint64(3 * n * max(0, hosts-1-fanout)); fanout > 0 && forwarded != want || fanout == 0 && forwarded != 0 {
				t.Errorf("fan-out %d: %d messages forwarded, want %d", fanout, forwarded, want)
			}
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMulticastBuffers has the last member of a chain take nothing: the NI before it takes in as many messages as that member's queue has had room for, and one for each buffer of its own, and no more until
// the member takes what has come.
func TestMulticastBuffers(t *testing.T) {
	t.Parallel()
	const n = 10
	for buffers := 1; buffers <= 2; buffers++ {
		handled, at := 0, grim.EndpointID(0)
		p := profile(t, func(p *grim.Profile) { p.GRIM.Receive = 2 * grim.HeaderSize })
		c, ends, id := grove(t, p, grim.Image{Multicast: buffers}, 3, func(e *grim.Endpoint, m *grim.Message) {
			if e.ID() == at {
				if m.Args[0] != uint32(handled) {
					t.Errorf("%d buffers: message %d, %d was due", buffers, m.Args[0], handled)
				}
				handled++
			}
		})
		if err := c.NewTree(1, 1, ends[0], ends); err != nil {
			t.Fatal(err)
		}
		last := ends[2]
		at = last.ID()
		last.Attend(false)
		for i := range uint32(n) {
			if err := ends[0].Multicast(1, id, [4]uint32{i}, nil); err != nil {
				t.Fatal(err)
			}
		}
		c.RunUntil(c.Now() + 10*vtime.Millisecond)
		if got, want := c.Hosts[1].Counts().Forwarded, uint64(last.Waiting()+buffers); got != want || last.Waiting() == 0 {
			t.Errorf("%d buffers: the NI between has taken in %d messages, of which %d have gone on; want %d", buffers, got, last.Waiting(), want)
		}
		last.Attend(true)
		c.RunUntil(c.Now() + 10*vtime.Millisecond)
		if handled != n {
			t.Errorf("%d buffers: %d of %d messages have come", buffers, handled, n)
		}
	}
}

// TestTreeErrors has trees that there cannot be refused, and messages of unknown ones dropped.
func TestTreeErrors(t *testing.T) {
	t.Parallel()
	c, ends, id := grove(t, profile(t, nil), grim.Image{Multicast: 1}, 3, func(*grim.Endpoint, *grim.Message) { t.Error("delivered") })
	f := func(host int) grim.EndpointID { return grim.EndpointID(8*host + 1) }
	h := c.Hosts[1]
	bare, _, _ := star(t, profile(t, nil), grim.Image{}, 2, 1, grim.EndpointOptions{}, func(*grim.Endpoint, *grim.Message) {})
	_, none := bare.Hosts[0].OpenForwarder(1)
	_, twice := h.OpenForwarder(2)
	if err := h.SetTree(7, ends[0].ID(), nil, []grim.EndpointID{f(2)}); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"Image.Multicast":     none,
		"a forwarder already": twice,
		"OpenForwarder":       bare.Hosts[0].SetTree(1, 0, nil, nil),
		"tree 0":              h.SetTree(0, 0, nil, nil),
		"higher numbers":      h.SetTree(1, ends[0].ID(), nil, []grim.EndpointID{f(0)}),
		"lives elsewhere":     h.SetTree(1, ends[0].ID(), ends[2], nil),
		"a tree 7 already":    h.SetTree(7, ends[0].ID(), nil, nil),
		"two members":         c.NewTree(2, 2, ends[0], []*grim.Endpoint{ends[1], ends[1]}),
		"not the root":        ends[1].Multicast(7, id, [4]uint32{}, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := ends[0].Multicast(9, id, [4]uint32{}, nil); !errors.Is(err, grim.ErrTree) {
		t.Error(err)
	}
	// Host 0 has a tree that host 2 knows nothing of.
	if err := c.Hosts[0].SetTree(5, ends[0].ID(), nil, []grim.EndpointID{f(2)}); err != nil {
		t.Fatal(err)
	}
	if err := ends[0].Multicast(5, id, [4]uint32{}, nil); err != nil {
		t.Fatal(err)
	}
	c.RunUntil(c.Now() + vtime.Millisecond)
	if n := c.Hosts[2].Counts(); n.NoEndpoint != 1 {
		t.Errorf("%+v", n)
	}
	if err := c.Hosts[0].Leaks(); err != nil {
		t.Error(err)
	}
}
