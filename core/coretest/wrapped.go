package coretest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// The conduits below stand on another one. They pass the suite if that does, for what a conduit is
// can be seen, restricted and added to from outside. A test registers them in an init function, so
// that the processes of its jobs know them too.

// Checked is the conduit of that name with somebody beside it who counts the calls in both
// directions, and ends the job when either side breaks the contract.
func Checked(conduit string) core.Driver {
	return wrapped("checked-", conduit, func(c core.Conduit) core.Conduit { return &checked{Conduit: c} })
}

// Adverse is the conduit of that name in the worst form that the contract allows: requests and
// one-sided operations find no room, polls come back without having looked, sleeps end without a
// reason, one-sided operations are declined and payloads are limited, all by chance. What would
// let a rank wait for ever in virtual time happens live only.
func Adverse(conduit string) core.Driver {
	return wrapped("adverse-", conduit, func(c core.Conduit) core.Conduit { return &adverse{Conduit: c} })
}

// Lent is the conduit of that name with segments that exist before it attaches them.
func Lent(conduit string) core.Driver {
	return wrapped("lent-", conduit, func(c core.Conduit) core.Conduit { return &lent{Conduit: c} })
}

// wrapped returns a driver whose conduits stand on those of another one.
func wrapped(prefix, name string, wrap func(core.Conduit) core.Conduit) core.Driver {
	below := func() core.Driver {
		d, err := core.DriverByName(name)
		if err != nil {
			panic(err)
		}
		return d
	}
	return core.Driver{
		Name:     prefix + name,
		Variants: func() (profiles, models []string) { d := below(); return d.Profiles, d.Models },
		Profile:  func(name string) error { d := below(); _, err := d.LiveProfile(name); return err },
		Model:    func(name string) error { d := below(); _, err := d.ModelProfile(name); return err },
		Check: func(boot core.Bootstrap, group []core.Rank) error {
			if d := below(); d.Check != nil {
				return d.Check(boot, group)
			}
			return nil
		},
		Settings: func(profile string) settings.Table { d := below(); return d.Table(profile) },
		New:      func(profile string) core.Conduit { d := below(); return wrap(d.New(profile)) },
	}
}

// checked is the conduit of Checked.
type checked struct {
	core.Conduit
	*core.Port // of core
	spinner    core.Spinner

	polling  atomic.Bool
	binding  atomic.Bool // AttachSegment is being called
	closed   bool
	reserved atomic.Int64 // messages that await their Commits
	heard    int          // messages that the present poll has delivered
}

// breach ends the job.
func (c *checked) breach(format string, args ...any) {
	c.Fail(fmt.Errorf("breach of contract: "+format, args...))
}

func (c *checked) Attach(a *core.Attachment) error {
	c.Port = a.Port
	below := *a
	below.Port = core.NewPort(c)
	return c.Conduit.Attach(&below)
}

func (c *checked) AttachSegment(a *core.Attachment) ([]byte, error) {
	if c.polling.Load() {
		c.breach("AttachSegment beside a poll")
	}
	c.binding.Store(true)
	defer c.binding.Store(false)
	for range 100 { // so that a call beside it comes in time to be noticed
		runtime.Gosched()
	}
	segment, err := c.Conduit.AttachSegment(a)
	if err == nil && a.Proc == nil && len(segment) != a.Segment {
		err = fmt.Errorf("breach of contract: a segment of %d bytes, %d were asked for", len(segment), a.Segment)
	}
	return segment, err
}

func (c *checked) Reserve(op *core.Op) core.Result {
	r := c.Conduit.Reserve(op)
	switch {
	case c.binding.Load():
		c.breach("Reserve beside AttachSegment")
	case r != core.Reserved && r != core.NoRoom:
		c.breach("Reserve answers %v", r)
	case r == core.NoRoom && op.Hdr.Reply():
		c.breach("no room for a %v to rank %d", op.Hdr, op.Dst)
	case r == core.Reserved && (op.Args == nil || op.Len > 0 && op.Src == nil && len(op.Data) != op.Len):
		c.breach("a %v of %d bytes has got a window of %d", op.Hdr, op.Len, len(op.Data))
	}
	if r == core.Reserved {
		c.reserved.Add(1)
	}
	return r
}

func (c *checked) Commit(op *core.Op) {
	if c.reserved.Add(-1) < 0 {
		c.breach("a Commit of what was not reserved: %v", op.Hdr)
	}
	c.Conduit.Commit(op)
}

// Powers has a Spinner spin where it is checked as a poll is.
func (c *checked) Powers() core.Powers {
	p := c.Conduit.Powers()
	if c.spinner = p.Spinner; c.spinner != nil {
		p.Spinner = c
	}
	return p
}

func (c *checked) Poll(budget int) int { return c.poll(c.Conduit.Poll, budget) }

// Spin implements core.Spinner.
func (c *checked) Spin(budget int) int { return c.poll(c.spinner.Spin, budget) }

// poll checks a Poll or a Spin.
func (c *checked) poll(look func(budget int) int, budget int) int {
	if c.closed || c.polling.Swap(true) || c.binding.Load() {
		c.breach("a poll after Close, or beside another or AttachSegment")
	}
	c.heard = 0
	n := look(budget)
	if n < c.heard {
		c.breach("a poll has delivered %d messages and tells of %d", c.heard, n)
	}
	c.polling.Store(false)
	return n
}

// Dispatch implements core.Upward.
func (c *checked) Dispatch(src core.Rank, h core.Header, args *[core.MaxArgs]uint32, data []byte, slot uint64) bool {
	c.hear(h)
	return c.Port.Dispatch(src, h, args, data, slot)
}

// DispatchLong implements core.Upward.
func (c *checked) DispatchLong(src core.Rank, h core.Header, args *[core.MaxArgs]uint32, segment []byte, off, n, slot uint64) bool {
	c.hear(h)
	return c.Port.DispatchLong(src, h, args, segment, off, n, slot)
}

func (c *checked) hear(h core.Header) {
	if c.heard++; !c.polling.Load() {
		c.breach("a %v is delivered, and nobody polls", h)
	}
}

func (c *checked) Close() error {
	c.closed = true
	return c.Conduit.Close()
}

// adverse is the conduit of Adverse.
type adverse struct {
	core.Conduit
	live    bool
	random  *rand.Rand // of the calls that core serialises with requests
	polls   *rand.Rand // of the polls
	powers  core.Powers
	sleeper core.Sleeper
	port    *core.Port  // of core
	owed    atomic.Bool // room was denied by chance, and no poll has told of it since
}

// deny says that there is no room. As the contract wants it, a poll tells of room later.
func (c *adverse) deny() core.Result {
	c.owed.Store(true)
	c.port.Wake()
	return core.NoRoom
}

// vain reports whether a poll comes back without having looked.
func (c *adverse) vain() bool { return c.owed.Swap(false) || c.often(c.polls, 64) }

// adverseLimit is what payloads are limited to at most: the least that core.Limits allows.
const adverseLimit = 512

func (c *adverse) Attach(a *core.Attachment) error {
	seed := uint64(a.Boot.Rank())
	c.random, c.polls = rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	c.live, c.port = a.Proc == nil, a.Port
	return c.Conduit.Attach(a)
}

func (c *adverse) Powers() core.Powers {
	c.powers = c.Conduit.Powers()
	p := c.powers
	l := &p.Limits
	for _, n := range []*int{&l.MaxMediumRequest, &l.MaxMediumReply, &l.MaxLongRequest, &l.MaxLongReply} {
		*n = min(*n, adverseLimit)
	}
	if p.Putter != nil {
		p.Putter = c
	}
	if p.Getter != nil {
		p.Getter = c
	}
	if p.Spinner != nil {
		p.Spinner = c
	}
	return p
}

// often is true once in n times, live.
func (c *adverse) often(r *rand.Rand, n int) bool { return c.live && r.IntN(n) == 0 }

func (c *adverse) Reserve(op *core.Op) core.Result {
	if !op.Hdr.Reply() && c.often(c.random, 16) {
		return c.deny()
	}
	return c.Conduit.Reserve(op)
}

func (c *adverse) Poll(budget int) int {
	if c.vain() {
		return 1 // "look again"
	}
	return c.Conduit.Poll(budget)
}

// Spin implements core.Spinner.
func (c *adverse) Spin(budget int) int {
	if c.vain() {
		return 1
	}
	return c.powers.Spinner.Spin(budget)
}

func (c *adverse) MaxPut() int { return c.powers.Putter.MaxPut() }
func (c *adverse) MaxGet() int { return c.powers.Getter.MaxGet() }

func (c *adverse) Put(t *core.Transfer) core.Result {
	if r := c.refused(); r != core.Initiated {
		return r
	}
	return c.powers.Putter.Put(t)
}

func (c *adverse) Get(t *core.Transfer) core.Result {
	if r := c.refused(); r != core.Initiated {
		return r
	}
	return c.powers.Getter.Get(t)
}

// refused returns how a one-sided operation is refused, or Initiated.
func (c *adverse) refused() core.Result {
	switch {
	case c.often(c.random, 4):
		return c.deny()
	case c.random.IntN(4) == 0:
		return core.Declined
	}
	return core.Initiated
}

func (c *adverse) Sleeper() core.Sleeper {
	if c.sleeper = c.Conduit.Sleeper(); c.sleeper == nil {
		return nil
	}
	return adverseSleeper{c.sleeper, c}
}

// adverseSleeper often says that something is there.
type adverseSleeper struct {
	core.Sleeper
	c *adverse
}

func (s adverseSleeper) Arm() bool {
	return s.Sleeper.Arm() || s.c.owed.Load() || s.c.often(s.c.polls, 2)
}

// lent is the conduit of Lent.
type lent struct {
	core.Conduit
	region *shm.Region
}

func (c *lent) AttachSegment(a *core.Attachment) (segment []byte, err error) {
	below := *a
	below.Memory = []byte{} // also of a rank without a segment: all ranks' segments are somebody else's
	if a.Segment > 0 {
		if c.region, err = shm.NewRegion(a.Segment, shm.Local); err != nil {
			return nil, err
		}
		below.Memory = c.region.Bytes()
	}
	return c.Conduit.AttachSegment(&below)
}

func (c *lent) Close() error { return errors.Join(c.Conduit.Close(), c.release()) }

func (c *lent) release() error {
	if c.region == nil {
		return nil
	}
	return c.region.Close()
}
