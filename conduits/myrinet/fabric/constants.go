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
		Time  vtime.Time `machine:"time"`  // a packet that waits so long with its head is ended; 0: never
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
func Load(name string) (*Constants, error) {
	f, err := Machines.Load(name)
	if err != nil {
		return nil, err
	}
	return Decode(f)
}

// Decode takes the constants from a machine file, and checks them.
func Decode(f *machine.File) (*Constants, error) {
	c := new(Constants)
	if err := f.Decode(c); err != nil {
		return nil, err
	}
	return c, c.check()
}

// Check returns an error if a fabric of the topology cannot have these constants, as New does.
func (c *Constants) Check(t *Topology) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	if err := c.check(); err != nil {
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

func (c *Constants) check() error {
	switch s := &c.Slack; {
	case c.Link.Rate.Time(1) < 1:
		return fmt.Errorf("fabric: link.rate is more than a byte in a picosecond")
	case c.Link.Rate.Time(1) > maxPeriod:
		return fmt.Errorf("fabric: link.rate is less than a byte in %v", maxPeriod)
	case max(c.Switch.SAN, c.Switch.Mixed, c.Switch.LAN) > vtime.Second:
		return fmt.Errorf("fabric: switch.san, switch.mixed or switch.lan is more than a second")
	case c.Link.Metre > vtime.Second: // the delay of the longest cable must be a time
		return fmt.Errorf("fabric: link.metre is more than a second")
	case s.Go < 0 || s.Stop <= s.Go || s.Size < s.Stop:
		return fmt.Errorf("fabric: a slack buffer of %d bytes stops at %d and goes on at %d; it must be size >= stop > go >= 0", s.Size, s.Stop, s.Go)
	}
	return nil
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
		return fmt.Errorf("a cable of %d cm needs slack buffers of %d bytes that stop at %d, as a byte takes %v along it and one comes each %v; they have %d: shorten it, or change slack.size or slack.stop",
			l.Length, need, c.Slack.Stop, c.delay(l), p, c.Slack.Size)
	}
	return nil
}
