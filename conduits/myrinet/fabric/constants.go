package fabric

import (
	"embed"
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Constants are the times and sizes of a fabric, from a machine file.
type Constants struct {
	Link struct {
		Rate  machine.Rate `machine:"rate"`  // of links that have none of their own
		Metre vtime.Time   `machine:"metre"` // propagation along a metre of cable
	} `machine:"link"`
	Slack struct { // of every input port
		Size int `machine:"size"` // bytes
		Stop int `machine:"stop"` // a level of so many bytes sends STOP
		Go   int `machine:"go"`   // a level of so many bytes after STOP sends GO
	} `machine:"slack"`
	Switch struct { // from the route byte's arrival until the byte after it may leave
		SAN   vtime.Time `machine:"san"`   // between SAN ports
		Mixed vtime.Time `machine:"mixed"` // between a LAN and a SAN port
		LAN   vtime.Time `machine:"lan"`   // between LAN ports
	} `machine:"switch"`
	Limit struct {
		Time  vtime.Time `machine:"time"`  // a packet is ended that waits so long for an output or a host, or is stopped in a switch for twice as long; 0: never
		Reset bool       `machine:"reset"` // by the loss of all that the buffer holds, not of this packet alone
	} `machine:"limit"`
	Error struct { // chances of a packet on a cable
		Corrupt  machine.Chance `machine:"corrupt"`  // a byte is changed
		Truncate machine.Chance `machine:"truncate"` // it ends early
		Lose     machine.Chance `machine:"lose"`     // it vanishes
	} `machine:"error"`
}

//go:embed machines
var files embed.FS

// Machines has the fabrics that come with the package: "myrinet" and "myrinet-2000".
var Machines = machine.Built(files, "machines", nil)

// Load reads the constants of a fabric: one that comes with the package, or the path of a file.
func Load(name string) (*Constants, error) { return machine.Load(Machines, name, Decode) }

// Decode takes the constants from a machine file, and checks them.
func Decode(f *machine.File) (*Constants, error) {
	return machine.Checked(f, func(c *Constants, checks *machine.Checks) { c.Check(checks, "") })
}

// CheckFor returns an error if a fabric of the topology cannot have these constants, as New does.
func (c *Constants) CheckFor(t *Topology) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	checks := machine.NewChecks(func(format string, args ...any) error { return fmt.Errorf("fabric: "+format, args...) })
	c.Check(checks, "")
	if err := checks.Err(); err != nil {
		return err
	}
	for i := range t.Links {
		l := &t.Links[i]
		if err := c.checkCable(l); err != nil {
			return fmt.Errorf("fabric: link from %s to %s: %w", t.EndName(l.Ends[0]), t.EndName(l.Ends[1]), err)
		}
	}
	return nil
}

// Check refuses values for which the fabric has no meaning. The names of the constants begin with prefix.
func (c *Constants) Check(checks *machine.Checks, prefix string) {
	bad := func(when bool, format string, args ...any) { checks.Bad(when, prefix+format, args...) }
	bad(c.Link.Rate.Time(1) < 1, "link.rate is more than a byte in a picosecond")
	bad(c.Link.Rate.Time(1) > maxPeriod, "link.rate is less than a byte in %v", maxPeriod)
	bad(c.Link.Metre > vtime.Second, "link.metre is more than a second") // the delay of the longest cable must be a time
	bad(c.Switch.SAN > vtime.Second, "switch.san is more than a second")
	bad(c.Switch.Mixed > vtime.Second, "switch.mixed is more than a second")
	bad(c.Switch.LAN > vtime.Second, "switch.lan is more than a second")
	s := &c.Slack
	bad(s.Size < s.Stop, "slack.size is %d, but must not be less than %sslack.stop, which is %d", s.Size, prefix, s.Stop)
	bad(s.Stop <= s.Go, "slack.stop is %d, but must be more than %sslack.go, which is %d", s.Stop, prefix, s.Go)
	bad(s.Go < 0, "slack.go is %d, but must not be negative", s.Go)
}

// rate returns the rate of a link.
func (c *Constants) rate(l *Link) machine.Rate {
	if l.Rate != 0 {
		return l.Rate
	}
	return c.Link.Rate
}

// delay returns how long a byte is on the cable of a link.
func (c *Constants) delay(l *Link) vtime.Time {
	if l.Delay != 0 {
		return l.Delay
	}
	return vtime.Time(l.Length) * c.Link.Metre / 100
}

// through returns the time of a switch between ports of two kinds.
func (c *Constants) through(in, out Kind) vtime.Time {
	switch {
	case in != out:
		return c.Switch.Mixed
	case in == LAN:
		return c.Switch.LAN
	}
	return c.Switch.SAN
}

// checkCable returns an error if a slack buffer cannot take what is under way on a cable when it sends STOP: what
// arrives until the sender has heard of it, and what that has sent meanwhile.
func (c *Constants) checkCable(l *Link) error {
	p := c.rate(l).Time(1)
	if need := int64(c.Slack.Stop) + int64((2*c.delay(l)+p-1)/p) + 2; need > int64(c.Slack.Size) {
		return fmt.Errorf("a cable of %d cm needs slack buffers of %d bytes that stop at %d, as a byte takes %v along it and one comes each %v; they have %d: shorten it, or change slack.size or slack.stop of the fabric",
			l.Length, need, c.Slack.Stop, c.delay(l), p, c.Slack.Size)
	}
	return nil
}
