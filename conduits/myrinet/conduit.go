// Package myrinet is the conduit over GRIM on Myrinet: GASNet's Core API on GRIM's endpoints (package grim), whose firmware runs on the NICs of package lanai. In virtual time the NICs are in a modelled
// network, of package fabric. Live they run in real time, and their packets cross a network of rings in shared memory, of package link: files *_live.go, card.go and bus.go.
//
// Each rank has two endpoints, which are channels of its host's NIC: one for messages, another for puts and gets, which so never wait behind messages that their target refuses. An active message is one of GRIM's: the index of its handler stands for a name that all ranks
// have registered with GRIM's server of handlers, four arguments travel in GRIM's header, and the others in the payload, before that of a Medium. A Long is a
// write of remote memory (RM-V) and then an active message on the same channel, which arrives after it. Puts are RM-V and gets RM-RV; the target's
// processor has no part in them.
//
// A request finds room in the queue of its channel, in the NIC's SRAM, or waits at its rank. A reply that finds none goes into the overflow queue in
// the host's memory, so that each has room.
//
// Routes are up*/down*, or lead through in-transit hosts. Where the network may lose packets, NICs have time-outs.
package myrinet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func init() {
	core.Register(core.Driver{
		Name:     "myrinet",
		Summary:  "GRIM on Myrinet: live over links in shared memory, and modelled",
		Profiles: []string{liveProfile},
		Models:   models,
		Model: func(name string) error {
			_, err := grim.Load(name)
			return err
		},
		Settings: func(profile string) settings.Table { return new(params).table(profile) },
		PerHost:  perHost,
		Check:    core.OneHost("myrinet"),
		Fits:     fits,
		New: func(machine string) core.Conduit {
			if machine == liveProfile {
				return newLive()
			}
			return &conduit{machine: machine}
		},
	})
}

// conduit is one rank's end.
type conduit struct {
	params
	machine  string
	port     *core.Port
	proc     *vtime.Proc
	rank     core.Rank
	size     int // of the job
	site     *site
	host     *host
	endpoint *grim.Endpoint // of messages
	oneSided *grim.Endpoint // of puts and gets

	drafts drafts
	args   [core.MaxArgs]uint32 // of the message whose handler runs

	segment []byte
	own     *shm.Region  // nil if the segment is somebody else's, or none
	region  *grim.Region // the segment as GRIM knows it; nil: none
	keys    [][]byte     // of all ranks' segments; nil before AttachSegment

	transfers *transfer // idle ones
	ended     fifo.Queue[*transfer]
	bounces   bounces

	bounceRegion *grim.Region // the memory of bounces as GRIM knows it
}

// names are what the indices of core's handlers are registered by.
var names = func() (names []string) {
	for i := range 256 {
		names = append(names, fmt.Sprintf("am %03d", i))
	}
	return names
}()

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) (err error) {
	shared, ok := a.Boot.(core.ProcessSharer)
	if !ok || a.Proc == nil {
		return errors.New("myrinet runs in virtual time only")
	}
	if c.params, err = parseParams(c.machine, a.Settings); err != nil {
		return err
	}
	c.port, c.proc, c.rank, c.size = a.Port, a.Proc, a.Boot.Rank(), a.Boot.Size()
	c.site = shared.Share("myrinet", func() any { return c.newSite(a) }).(*site)
	if c.site.err != nil {
		return c.site.err
	}
	if err = c.site.open(c, a.Group); err != nil {
		return err
	}
	if err := enough(c.mostMedium()); err != nil {
		return err
	}
	server := a.Group[0]
	c.endpoint.SetServer(c.site.endpoint(server))
	if err := c.endpoint.Announce(names); err != nil {
		return err
	}
	if err := a.Boot.Barrier(); err != nil { // all endpoints are open
		return err
	}
	if c.host.ranks[0] == c {
		for _, d := range c.host.devices {
			d.start()
		}
	}
	known, failed := false, error(nil)
	if err := c.endpoint.Synchronize(func(err error) { known, failed = true, err }); err != nil {
		return err
	}
	c.await(func() bool {
		return known && (c.rank != server || c.endpoint.Told() == len(a.Group)-1)
	})
	if failed != nil {
		return failed
	}
	return a.Boot.Barrier() // everybody takes messages from now on
}

// await has the library handle messages of its own until cond is true.
func (c *conduit) await(cond func() bool) {
	for !cond() {
		arrivals := c.proc.Arrivals
		c.Poll(1)
		if cost, _ := c.emptyPoll(); !cond() && c.proc.Arrivals == arrivals {
			c.proc.Park(cost)
		}
	}
}

// AttachSegment implements core.Conduit.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	if c.segment = a.Memory; c.segment == nil && a.Segment > 0 {
		if c.own, err = c.site.arenas.Region(int(a.Group[0]), a.Sizes, a.Segment); err != nil {
			return nil, err
		}
		c.segment = c.own.Bytes()
	}
	key := grim.Key(0)
	if len(c.segment) > 0 {
		if c.region, err = c.endpoint.RegisterMemory(c.segment, grim.Pinned); err != nil {
			return nil, err
		}
		key = c.region.Key()
	}
	c.keys, err = a.Boot.Exchange(binary.BigEndian.AppendUint32(nil, uint32(key)))
	return c.segment, err
}

// remote returns a place in a rank's segment.
func (c *conduit) remote(r core.Rank, off uint64) grim.Remote {
	return grim.Remote{Key: grim.Key(binary.BigEndian.Uint32(c.keys[r])), Offset: off}
}

// Close implements core.Conduit.
func (c *conduit) Close() error {
	if c.counts && c.site != nil && c.site.port == c.port { // one rank for all hosts: some have no rank
		c.site.logCounts(c.port.Log())
	}
	if c.own == nil {
		return nil
	}
	return c.own.Close()
}
