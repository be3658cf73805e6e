package myrinet

import (
	"log/slog"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/link"
)

// cardCounts is what a NIC of a live job has really done so far.
type cardCounts struct {
	Link     link.Counts
	Firmware grim.Counts

	ByRanks     uint64 // turns in which ranks have driven the card
	ByGoroutine uint64 // and the goroutine
	Woken       uint64 // sleeps of the goroutine that the doorbell has ended
	Rung        uint64 // and sleeps of the host's first rank
	Rested      uint64 // rests of the goroutine, after each of which it has looked whether ranks drive the card
}

// counts returns what the card has done so far. It blocks while somebody is in the loop.
func (c *card) counts() (n cardCounts) {
	c.loop.Do(func() {
		n = cardCounts{Link: c.port.Counts(), Firmware: c.host.Counts(), ByRanks: c.byRanks, ByGoroutine: c.byGoroutine}
	})
	n.Woken, n.Rung, n.Rested = c.woken.Load(), c.rung.Load(), c.rested.Load()
	return n
}

// log says what the NIC of a host has done. A warning is what people see who have not asked for more.
func (n *cardCounts) log(l *slog.Logger, host string) {
	f := &n.Firmware
	l.Warn("myrinet: counts", "host", host,
		"packets", n.Link.Sent, "hops", n.Link.Hops, "bytes", n.Link.Bytes, "received", n.Link.Received, "full", n.Link.Full,
		"messages", f.Sent, "resent", f.Resent, "accepted", f.Received, "acks", f.ACKs, "nacks", f.NACKs, "time-outs", f.TimeOuts, "in-transit", f.InTransit, "dropped", f.Overflow,
		"by-ranks", n.ByRanks, "by-goroutine", n.ByGoroutine, "woken", n.Woken, "rung", n.Rung)
}

// logCounts says what the NICs of modelled hosts have done.
func (s *site) logCounts(l *slog.Logger) {
	for node, h := range s.hosts {
		if h == nil {
			continue
		}
		f := h.Counts()
		l.Warn("myrinet: counts", "host", s.shape.Hosts[node],
			"messages", f.Sent, "resent", f.Resent, "accepted", f.Received, "acks", f.ACKs, "nacks", f.NACKs, "time-outs", f.TimeOuts, "in-transit", f.InTransit, "dropped", f.Overflow)
		logDevices(l, s.shape.Hosts[node], h.devices)
	}
}
