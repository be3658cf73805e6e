// Package nbrhd is the conduit that two others make up: one carries what goes to the ranks of the
// same host, the neighbourhood of GASNet-EX, the other what goes to all others. To its user it is
// one conduit. A profile names the two, as in "sci+udp".
//
// The near conduit connects the ranks of each host, the far one all ranks, of which those of the
// own host are not used. Every message, and every one-sided operation, goes through the conduit
// of its peer, so whatever that keeps, such as an order of messages, holds for the pair. A rank has
// one segment: the near conduit makes it, the far one takes it on.
//
// A poll looks at the far conduit only now and then, and the less the more near messages come, because a look at a socket
// or into a library takes many times as long as one at memory.
package nbrhd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

func init() {
	core.Register(core.Driver{
		Name:     "nbrhd",
		Summary:  "two conduits as one: near ranks by the first, far ranks by the second",
		Profiles: []string{"sci+udp", "loopback+udp"},
		Profile: func(name string) error {
			_, err := parse(name)
			return err
		},
		Settings: func(profile string) settings.Table {
			p, _ := parse(profile) // it has been checked
			return new(params).table(&p)
		},
		Join: join,
		PerHost: func(_ bool, settings map[string]string) int {
			block, _ := strconv.Atoi(settings["block"])
			return block
		},
		Fits: fits,
		New: func(profile string) core.Conduit {
			p, _ := parse(profile) // it has been checked
			c := &conduit{epoll: -1, clock: newClock()}
			for i := range c.part {
				c.part[i] = p[i].driver.New(p[i].profile)
			}
			c.names = p
			return c
		},
	})
}

// join is the driver's Join: near ranks talk by sci.
func join(conduit, profile string, settings map[string]string) (string, map[string]string) {
	name := "sci+" + conduit
	if profile != "" {
		name += "/" + profile
	}
	prefixed := make(map[string]string, len(settings))
	for key, value := range settings {
		prefixed[sides[far]+"."+key] = value
	}
	return name, prefixed
}

// Which of the two conduits.
const (
	near = iota
	far
)

var sides = [...]string{near: "near", far: "far"}

// conduit is one rank's end.
type conduit struct {
	names   pair
	part    [2]core.Conduit
	near    []core.Rank // once it is confirmed; nil before
	begun   int         // parts whose Attach was called
	powers  [2]core.Powers
	side    []uint8 // by rank: near or far
	alone   bool    // it has no neighbour, so that it is far from itself and the near conduit has its segment only
	polls   uint    // since the far conduit was looked at
	empty   uint    // of them, the latest that have found nothing near
	pace    pace
	until   uint // so many of these make a poll look at the far conduit
	look    bool // the next poll looks at the far conduit
	clock   func() uint64
	timed   uint64 // when a poll last looked at the far conduit because of the time
	sleeper [2]core.Sleeper
	epoll   int // readable when one of the two sleepers' descriptors is; -1: one of them has none
}

// to returns the conduit of a peer.
func (c *conduit) to(r core.Rank) core.Conduit { return c.part[c.side[r]] }

// split returns what each of the two conduits is told.
func (c *conduit) split(a *core.Attachment) (parts [2]core.Attachment, err error) {
	p, values, err := parseParams(&c.names, a.Settings)
	if err != nil {
		return parts, err
	}
	local, self := a.Boot.Local(), a.Boot.Rank()
	parts[near], parts[far] = *a, *a
	parts[near].Group = slices.DeleteFunc(slices.Clone(a.Group), func(r core.Rank) bool {
		_, here := slices.BinarySearch(local, r)
		return !here || p.block > 0 && int(r)/p.block != int(self)/p.block
	})
	if c.near != nil {
		parts[near].Group = c.near
	}
	for i := range parts {
		parts[i].Settings = values[i]
	}
	return parts, nil
}

// Attach implements core.Conduit.
func (c *conduit) Attach(a *core.Attachment) error {
	parts, err := c.split(a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, &parts[near]); err != nil {
		return fmt.Errorf("nbrhd: rank %d: which ranks share its host: %w", a.Boot.Rank(), err)
	}
	c.side = slices.Repeat([]uint8{far}, a.Boot.Size())
	if c.alone = len(parts[near].Group) == 1; !c.alone {
		for _, r := range parts[near].Group {
			c.side[r] = near
		}
	}
	c.setPace(a.Crowded)
	for i, part := range c.part {
		c.begun++
		if err := part.Attach(&parts[i]); err != nil {
			return fmt.Errorf("nbrhd: the %s conduit: %w", sides[i], err)
		}
		c.powers[i] = part.Powers()
		c.sleeper[i] = part.Sleeper()
	}
	return c.openEpoll()
}

// confirm narrows the group of the near part to the ranks that are near indeed, and tells people if there were to be
// others.
func (c *conduit) confirm(a *core.Attachment, part *core.Attachment) error {
	p, _, err := parseParams(&c.names, a.Settings)
	if err != nil {
		return err
	}
	id := p.hostID
	if id == "" {
		if id, err = shm.HostIdentity(); err != nil {
			return err
		}
	}
	near, why, err := confirm(a.Boot, part.Group, id)
	if err != nil {
		return err
	}
	if self := a.Boot.Rank(); why != "" && self == part.Group[0] {
		a.Port.Log().Warn("nbrhd: ranks that the launcher has on one host do not share memory; they are far from each other", "ranks", part.Group, "because", why)
	}
	c.near, part.Group = near, near
	return nil
}

// AttachSegment implements core.Conduit.
func (c *conduit) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	parts, err := c.split(a)
	if err != nil {
		return nil, err
	}
	parts[near].Sizes = slices.Clone(a.Sizes)
	for r := range parts[near].Sizes {
		if !slices.Contains(c.near, core.Rank(r)) {
			parts[near].Sizes[r] = 0
		}
	}
	if segment, err = c.part[near].AttachSegment(&parts[near]); err != nil {
		return nil, fmt.Errorf("nbrhd: the near conduit: %w", err)
	}
	if parts[far].Memory = segment; segment == nil {
		parts[far].Memory = []byte{}
	}
	theirs, err := c.part[far].AttachSegment(&parts[far])
	if err == nil && (len(theirs) != len(segment) || unsafe.SliceData(theirs) != unsafe.SliceData(parts[far].Memory)) {
		err = errors.New("it has not taken on the segment")
	}
	if err != nil {
		return nil, fmt.Errorf("nbrhd: the far conduit: %w", err)
	}
	return segment, nil
}

// Close implements core.Conduit. The far conduit lets go of the segment before the near one does.
func (c *conduit) Close() (err error) {
	for _, part := range slices.Backward(c.part[:c.begun]) {
		err = errors.Join(err, part.Close())
	}
	if c.epoll >= 0 {
		err = errors.Join(err, unix.Close(c.epoll))
	}
	return err
}

// pair names the two conduits.
type pair [2]struct {
	driver  core.Driver
	profile string
}

// parse reads a profile: NEAR+FAR, each a conduit or CONDUIT/PROFILE.
func parse(name string) (p pair, err error) {
	a, b, ok := strings.Cut(name, "+")
	if !ok || a == "" || b == "" {
		return p, fmt.Errorf("%q is not of the form NEAR+FAR, each a conduit or CONDUIT/PROFILE", name)
	}
	for i, name := range [...]string{a, b} {
		conduit, profile, _ := strings.Cut(name, "/")
		if conduit == "nbrhd" {
			return p, errors.New("nbrhd cannot be one of its own two conduits")
		}
		if p[i].driver, err = core.DriverByName(conduit); err != nil {
			return p, err
		}
		if p[i].profile, err = p[i].driver.LiveProfile(profile); err != nil {
			return p, err
		}
	}
	if p[near].driver.Name == p[far].driver.Name {
		return p, fmt.Errorf("%s cannot be both conduits", p[near].driver.Name)
	}
	return p, nil
}
