package myrinet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// live is one rank's end in a live job: it gives orders to the NIC of its host, the card, which the process of the host's first rank has.
type live struct {
	params
	port  *core.Port
	rank  core.Rank
	size  int
	site  *site
	in    board  // the rank's memory
	near  *board // that of the first rank of the host
	own   *card  // nil: another rank has it
	with  *card  // likewise, unless that is in the same process
	slot  *slot  // of with
	maps  []*shm.Region
	fds   []int  // bells of others
	wake  int    // bell
	bells *bells // of the process, if ranks share it
	most  int    // the largest payload of a message

	turn func() // drives the card, made once
	look func() // likewise, of who is about to sleep
	did  int    // by look

	reports *link.Reader
	report  record
	message grim.Message
	args    [core.MaxArgs]uint32

	mu      sync.Mutex // of what follows: Commit may run beside all else
	outlets []outlet   // of orders, by channel
	orders  *outlet    // of messages
	puts    *outlet    // of puts and gets
	order   record
	drafts  drafts
	pending atomic.Bool // an outlet waits
	ops     []operation
	freeOps []uint32
	bounces bounces

	segment   []byte
	region    *shm.Region // nil if the segment is somebody else's, or none
	keys      []grim.Key  // of all ranks' segments
	bounceKey grim.Key
}

// operation is a put or a get under way.
type operation struct {
	done   *core.Completion
	left   int    // orders of it that are not done
	into   []byte // of a get through bounce memory: where its bytes are to go
	bounce []byte // and where they are
}

func newLive() *live { return &live{wake: -1} }

// machineLive is the machine that says what capacities NICs have in a live job.
const machineLive = "grim-lanai9"

// Attach implements core.Conduit.
func (c *live) Attach(a *core.Attachment) (err error) {
	if c.params, err = parseParams(liveProfile, a.Settings); err != nil {
		return err
	}
	c.port, c.rank, c.size = a.Port, a.Boot.Rank(), a.Boot.Size()
	c.site = &site{params: c.params, size: c.size}
	log := a.Port.Log()
	if c.rank != a.Group[0] {
		log = slog.New(slog.DiscardHandler) // each rank builds the same, and one tells of it
	}
	if err := c.site.build(machineLive, log); err != nil {
		return err
	}
	c.params = c.site.params
	boards, err := c.exchange(a)
	if err != nil {
		return err
	}
	first := c.first(a.Group, c.rank)
	c.near = boards[first]
	c.most, err = grim.MostPayload(c.site.image, c.site.profile)
	if err != nil {
		return err
	}
	c.most = min(c.most, busRing/2-2*recordHead, int(c.site.profile.GRIM.Receive)-grim.HeaderSize)
	if err := enough(c.most - mostHead); err != nil {
		return err
	}
	for _, ring := range c.in.rings(c.joint) {
		c.outlets = append(c.outlets, outlet{sender: sender{ring: link.Producer(ring)}})
	}
	c.orders, c.puts = &c.outlets[0], &c.outlets[len(c.outlets)-1]
	c.reports = link.Consumer(c.in.reports)
	c.bounces.memory = c.in.bounce
	var keys []byte // of the bounce memory of the ranks of the host
	if first == c.rank {
		if err := c.insert(a, boards); err != nil {
			return err
		}
		for _, s := range c.own.slots {
			key, err := c.own.register(s, boards[s.rank].bounce)
			if err != nil {
				return err
			}
			keys = binary.BigEndian.AppendUint32(keys, uint32(key))
		}
	}
	all, err := a.Boot.Exchange(keys) // and everybody has the memory of everybody
	if err != nil {
		return err
	}
	if c.bounceKey, err = c.keyOf(all[first], a.Group, c.rank); err != nil {
		return err
	}
	if c.own != nil {
		if err := c.own.start(); err != nil {
			return err
		}
	}
	if err := a.Boot.Barrier(); err != nil { // all NICs are at work, and know all handlers
		return err
	}
	if c.own != nil {
		c.with = c.own
	} else if shared, ok := a.Boot.(core.ProcessSharer); ok {
		c.with = shared.Share(cardKey(first), func() any { return (*card)(nil) }).(*card)
		i := slices.IndexFunc(c.with.slots, func(s *slot) bool { return s.rank == c.rank })
		c.slot = c.with.slots[i]
	}
	c.turn = func() { c.with.byRank() }
	c.look = func() { c.did = c.with.byRank() }
	return nil
}

func cardKey(first core.Rank) string {
	return fmt.Sprintf("myrinet: the NIC of the host of rank %d", first)
}

// first returns the first rank of the group on the host of a rank.
func (c *live) first(group []core.Rank, r core.Rank) core.Rank {
	node, _ := c.site.place(r)
	i, _ := slices.BinarySearch(group, core.Rank(node*c.perHost))
	return group[i]
}

// mates returns the ranks of the group on the host of a rank.
func (c *live) mates(group []core.Rank, r core.Rank) (on []core.Rank) {
	node, _ := c.site.place(r)
	for _, r := range group {
		if n, _ := c.site.place(r); n == node {
			on = append(on, r)
		}
	}
	return on
}

// keyOf finds the key of a rank among those that the first rank of its host has told.
func (c *live) keyOf(told []byte, group []core.Rank, r core.Rank) (grim.Key, error) {
	i := slices.Index(c.mates(group, r), r)
	if len(told) < 4*(i+1) {
		return 0, fmt.Errorf("myrinet: rank %d has told %d B of keys, too few for rank %d", c.first(group, r), len(told), r)
	}
	return grim.Key(binary.BigEndian.Uint32(told[4*i:])), nil
}

// insert makes the NIC of the host, which this rank is the first of, and opens the endpoints of its ranks.
func (c *live) insert(a *core.Attachment, boards []*board) error {
	node, _ := c.site.place(c.rank)
	hosts := len(c.site.shape.Hosts)
	loop := vtime.NewLive(uint64(node) + 1)
	in, out, doors := make([]*link.Reader, hosts), make([]*link.Writer, hosts), make([]*door, hosts)
	present := make([]bool, hosts)
	position := map[int]int{} // of a host among those with ranks
	for _, r := range a.Group {
		if n, _ := c.site.place(r); c.first(a.Group, r) == r {
			position[n] = len(position)
		}
	}
	for _, r := range a.Group {
		if n, _ := c.site.place(r); c.first(a.Group, r) == r {
			in[n] = link.Consumer(c.in.links[position[n]])
			present[n] = true
			out[n] = link.Producer(boards[r].links[position[node]])
			doors[n] = &boards[r].door
		}
	}
	port, err := link.New(link.Config{Topology: c.site.shape, Host: node, In: in, Out: out, MTU: c.site.mtu(), Errors: link.Errors(c.site.profile.Fabric.Error), Ring: func(host int) { doors[host].ring() }, Rand: loop.Rand("myrinet: errors")})
	if err != nil {
		return err
	}
	host, err := grim.NewHostAt(port, &loop.Loop, c.site.profile.Live(), c.site.image, node, hosts)
	if err != nil {
		return fmt.Errorf("%w; see settings channels, one-sided, queue and unlimited-sram", err)
	}
	k := &card{loop: loop, host: host, port: port, bell: c.in.door, fail: c.port.Fail, alone: c.alone}
	c.own = k
	k.route(c.site, present)
	for _, r := range c.mates(a.Group, c.rank) {
		_, channel := c.site.place(r)
		b := boards[r]
		s := &slot{rank: r, reports: sender{ring: link.Producer(b.reports)}, asleep: b.asleep, bell: b.bell, depth: c.depth}
		for _, ring := range b.rings(c.joint) {
			s.lanes = append(s.lanes, lane{orders: link.Consumer(ring)})
		}
		if err := k.open(s, []int{channel, c.site.oneSided(channel)}, c.site.endpoint(a.Group[0])); err != nil {
			return err
		}
	}
	if k.devices, err = c.site.openDevices(host, c.site.nextHost(a.Group, node), c.port.Fail); err != nil {
		return err
	}
	if shared, ok := a.Boot.(core.ProcessSharer); ok {
		shared.Share(cardKey(c.rank), func() any { return k })
	}
	return nil
}

// AttachSegment implements core.Conduit.
func (c *live) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	mates := c.mates(a.Group, c.rank)
	shared, process := a.Boot.(core.ProcessSharer)
	switch {
	case a.Memory != nil && len(mates) > 1 && !process:
		return nil, fmt.Errorf("myrinet: the ranks of a host share a NIC, which one of them drives (per-host), and it has no way to others' memory: %w", core.ErrOwnSegment)
	case a.Memory != nil:
		c.segment = a.Memory
	case a.Segment > 0:
		kind := shm.Shared
		if process {
			kind = shm.Local
		}
		if c.region, err = shm.NewRegion(a.Segment, kind); err != nil {
			return nil, err
		}
		c.segment = c.region.Bytes()
	}
	memories := map[core.Rank][]byte{c.rank: c.segment}
	if process {
		key := func(r core.Rank) string { return fmt.Sprintf("myrinet: segment of rank %d", r) }
		shared.Share(key(c.rank), func() any { return c.segment })
		if err := a.Boot.Barrier(); err != nil {
			return nil, err
		}
		for _, r := range mates {
			memories[r] = shared.Share(key(r), func() any { return []byte(nil) }).([]byte)
		}
	} else if c.perHost > 1 {
		fd := c.maps[0].FD() // stands for no segment
		if c.region != nil {
			fd = c.region.FD()
		}
		fds, err := a.Boot.(core.DescriptorSharer).ShareFD(fd)
		defer closeAll(fds)
		if err != nil {
			return nil, err
		}
		for _, r := range mates {
			if n := a.Sizes[r]; r != c.rank && n > 0 && c.own != nil {
				m, err := shm.Map(fds[r], 0, n)
				if err != nil {
					return nil, err
				}
				c.maps = append(c.maps, m)
				memories[r] = m.Bytes()
			}
		}
	}
	var told []byte
	if c.own != nil {
		for _, s := range c.own.slots {
			key, err := c.own.register(s, memories[s.rank])
			if err != nil {
				return nil, err
			}
			told = binary.BigEndian.AppendUint32(told, uint32(key))
		}
	}
	all, err := a.Boot.Exchange(told)
	if err != nil {
		return nil, err
	}
	keys := make([]grim.Key, c.size)
	for _, r := range a.Group {
		if keys[r], err = c.keyOf(all[c.first(a.Group, r)], a.Group, r); err != nil {
			return nil, err
		}
	}
	c.keys = keys
	return c.segment, nil
}

// Close implements core.Conduit.
func (c *live) Close() error {
	var errs []error
	if c.own != nil {
		errs = append(errs, c.own.close())
		if c.counts {
			node, _ := c.site.place(c.rank)
			n := c.own.counts()
			n.log(c.port.Log(), c.site.shape.Hosts[node])
			logDevices(c.port.Log(), c.site.shape.Hosts[node], c.own.devices)
		}
	} else if c.with != nil {
		c.with.forget(c.slot)
	}
	for _, m := range c.maps {
		errs = append(errs, m.Close())
	}
	if c.region != nil {
		errs = append(errs, c.region.Close())
	}
	if c.bells != nil {
		errs = append(errs, c.bells.leave())
	} else if c.wake >= 0 {
		errs = append(errs, unix.Close(c.wake))
	}
	for _, fd := range c.fds {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}
