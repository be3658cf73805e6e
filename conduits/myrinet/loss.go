package myrinet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Lost implements core.LossDetector: the host stops, with all its ranks. The drivers of the others notice after a time.
func (c *conduit) Lost() {
	h := c.host
	if h.lost {
		return
	}
	h.lost = true
	h.Halt()
	for _, other := range h.ranks {
		other.proc.Lose()
	}
	c.site.kernel.At(c.site.kernel.Now()+c.site.profile.Host.Detect, (*loss)(c), uint64(c.rank), 0)
}

// loss is the event in which the loss of a rank's host is noticed.
type loss conduit

// Label implements vtime.Labelled.
func (l *loss) Label(_, _ uint64) string { return "the loss of a host is noticed" }

// Fire implements vtime.Target.
func (l *loss) Fire(_, _ uint64) {
	node, _ := l.site.place(l.rank)
	l.port.Fail(&core.ExitError{Status: core.StatusLost, Reason: fmt.Sprintf("myrinet: the host of rank %d, %s, is lost", l.rank, l.site.fabric.Topology().Hosts[node])})
}

// pull has the cable of a host pulled, as setting unplug says.
func (s *site) pull() error {
	if s.unplug == "" {
		return nil
	}
	refused := func(why string) error {
		return &settings.Error{Conduit: "myrinet", Key: "unplug", Value: s.unplug, Why: why}
	}
	name, when, _ := strings.Cut(s.unplug, "@")
	at, err := time.ParseDuration(when)
	if err != nil || at < 0 {
		return refused("want HOST@TIME, such as h3@20ms")
	}
	hosts := s.fabric.Topology().Hosts
	node := slices.Index(hosts, name)
	if node < 0 {
		return refused(fmt.Sprintf("the topology has no such host; there are %s to %s", hosts[0], hosts[len(hosts)-1]))
	}
	s.kernel.At(max(s.kernel.Now(), vtime.FromDuration(at)), (*pulled)(s), uint64(node), 0)
	return nil
}

// pulled is the event in which a host's cable is pulled.
type pulled site

// Label implements vtime.Labelled.
func (p *pulled) Label(_, _ uint64) string { return "the cable of a host is pulled" }

// Fire implements vtime.Target.
func (p *pulled) Fire(node, _ uint64) { p.fabric.FailLink(fabric.HostEnd(int(node))) }
