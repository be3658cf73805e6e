// Package udp is the conduit over UDP, for any network that carries IP. It is the driver of
// an Active Messages II machine: package am2 decides what is sent when, and what has arrived
// is exactly once; this package moves the datagrams, keeps strangers out with package seal,
// and fits both to core.
//
// A rank has one socket, with one bundle of am2 behind it and one endpoint in that. Its calls
// are raw and never wait. A poll makes one system call; what it brings is checked, taken by
// the bundle and delivered, and what is sent meanwhile leaves by one further call.
//
// While the program does not poll, because it computes, sleeps or waits for the bootstrap, a
// goroutine of the process acknowledges, retransmits and keeps what arrives (see service); it
// never runs a handler. So a rank has a lock, also in Single mode, where it costs the program
// next to nothing as long as it polls. It is not held while a handler runs.
//
// Package bundle is another driver of the same machine, for programs of different jobs that share a key.
package udp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/netif"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func init() {
	core.Register(core.Driver{
		Name:     "udp",
		Summary:  "Active Messages II over UDP sockets, for any IP network",
		Profiles: []string{"default"},
		Settings: func(string) settings.Table { return new(params).table() },
		Network:  true,
		New:      func(string) core.Conduit { return new(conduit) },
	})
}

// endpointNumber is the number of a rank's endpoint in its bundle, which has no other.
const endpointNumber = 0

// conduit is one rank's end. mu guards all of it but while a handler runs; port and rank never
// change.
type conduit struct {
	params
	port        *core.Port
	rank        core.Rank
	ranks       int    // of the job
	incarnation uint32 // of endpoint
	group       []core.Rank
	clock

	mu       shm.Biased // of which the program is the owner
	sock     *socket.Socket
	bundle   *am2.Bundle
	endpoint *am2.Endpoint
	ring     *seal.Ring
	directory
	sealed     []byte // mode Encrypt: what is being sent
	torn       []byte // pieces that are being sent
	toldNarrow bool   // narrow has said what it does
	pieces     [assemblies]assembly
	op         am2.Op // for the call of am2 under way
	counts     counts
	seen       uint64        // events of the bundle before the last poll looked
	last       time.Duration // when a poll read the clock last
	empty      uint          // polls that brought nothing
	segment    *shm.Region   // nil if the memory is somebody else's
	memory     []byte        // the segment

	greetings *greetings // nil: none are under way

	service *service
	attention
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) (err error) {
	if c.params, err = parseParams(a.Settings); err != nil {
		return err
	}
	if a.Threads == core.Single {
		c.mu.Bias()
	}
	c.port, c.rank, c.ranks, c.group = a.Port, a.Boot.Rank(), a.Boot.Size(), a.Group
	c.start()
	addr, offers, err := chooseAddress(a.Boot, &c.params)
	if err != nil {
		return err
	}
	if err := c.permit(addr); err != nil {
		return err
	}
	if addr.IsLoopback() && c.am.Datagram > socket.LargestIPv4/2 {
		// A datagram is as large as what the kernel would join.
		c.params.socket.GSO, c.params.socket.GRO = false, false
	}
	if c.sock, err = socket.Open(addr, c.params.socket); err != nil {
		return err
	}
	cards, err := c.meet(a)
	if err != nil {
		return err
	}
	c.greetings = c.newGreetings(a.Boot, cards)
	if err = enter(a.Boot, c); err != nil {
		return err
	}
	if err = c.checkAddresses(a.Boot, cards); err != nil {
		return err
	}
	if c.rank == c.group[0] {
		c.report(cards, offers)
	}
	return nil
}

// AttachSegment implements core.Conduit. The service may look at the memory from now on, for what
// arrives of Longs.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	c.mu.Enter()
	defer c.mu.Leave()
	if c.memory = a.Memory; a.Segment > 0 && c.memory == nil {
		if c.segment, err = shm.NewRegion(a.Segment, shm.Local); err != nil {
			return nil, err
		}
		c.memory = c.segment.Bytes()
	}
	return c.memory, nil
}

// meet exchanges names with the other ranks and prepares for the traffic with them. It returns what all ranks tell of
// themselves.
func (c *conduit) meet(a *core.Attachment) ([]card, error) {
	own := card{
		addr: c.sock.Local, incarnation: socket.NewIncarnation(), mode: c.security,
		buffer: uint32(c.sock.Got[socket.Receiving]), network: netif.Namespace(),
	}
	own.addr = withoutZone(own.addr)
	cards, err := exchange(a.Boot, own)
	if err != nil {
		return nil, err
	}
	least := own.buffer
	for _, r := range c.group {
		least = min(least, cards[r].buffer)
	}
	c.am.Datagram = max(am2.MinDatagram, min(c.am.Datagram, int(least)/socket.Kept))
	c.am.Peers, c.am.Channels = len(c.group), len(c.group)
	if c.bundle, err = am2.NewBundle(c.am, wire{c}); err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	own = cards[c.rank]
	c.incarnation = own.incarnation
	tag := cards[0].tag()
	if c.endpoint, err = c.bundle.NewEndpoint(endpointNumber, own.incarnation, tag, 1, handler{c}); err != nil {
		return nil, fmt.Errorf("udp: %w", err)
	}
	c.ring = seal.NewRing(c.security, cards[0].key, own.name(), am2.FixedHead)
	c.sock.Narrowed = c.narrowed
	local := a.Boot.Local()
	return cards, c.directory.fill(cards, c.group, c.sock.Local.Addr().Zone(), func(p *entry, r core.Rank) error {
		_, p.local = slices.BinarySearch(local, r)
		p.far = p.addr.Addr() != c.sock.Local.Addr() && !p.addr.Addr().IsLoopback()
		name := am2.Name{Addr: p.addr, Number: endpointNumber, Incarnation: cards[r].incarnation}
		return c.endpoint.Map(uint32(r), name, tag)
	})
}

// report tells people what they should know about how the job communicates. offers are of a job on several hosts.
func (c *conduit) report(cards []card, offers []*netif.Offer) {
	if log := c.port.Log(); log.Enabled(context.Background(), slog.LevelInfo) {
		log.Info(addressTable(c.group, cards, offers))
	}
	if c.security == seal.None {
		c.port.Log().Warn("udp: security=none: datagrams are neither authenticated nor encrypted", "address", c.sock.Local.Addr())
	}
	if got := c.sock.Got[socket.Receiving]; got < c.params.socket.Buffer {
		c.port.Log().Warn("udp: the kernel keeps less of what arrives than was asked for; raise net.core.rmem_max if transfers are slow",
			"kept_kb", got>>10, "asked_kb", c.params.socket.Buffer>>10)
	}
}

// Close implements core.Conduit. Either all ranks have passed the bootstrap's barrier, so that
// nobody waits for anything any more, acknowledgements included; or the job has failed. Until
// that barrier the service has answered for this rank. Peers that are not as far are told that
// the socket is closed on purpose.
func (c *conduit) Close() error {
	if c.service == nil {
		return c.release() // of an Attach that has failed
	}
	c.service.leave(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.farewell()
	return c.release()
}

// release gives back what Attach and AttachSegment made.
func (c *conduit) release() error {
	var err error
	if c.sock != nil {
		err = c.sock.Close()
	}
	if c.segment != nil {
		err = errors.Join(err, c.segment.Close())
	}
	return err
}
