package loopback

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/internal/hw"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// link is a rank's connection to the modelled network: messages leave one after the other
// at the link's rate and arrive a latency later.
type link struct {
	*params
	kernel *vtime.Kernel
	proc   *vtime.Proc
	cable  hw.Link
}

// headerBytes is what a message counts on the link besides arguments and payload.
const headerBytes = 8

// carry schedules the arrival of m at dst.
func (l *link) carry(m *message, dst *node) {
	l.kernel.At(l.transmit(l.proc.Now(), headerBytes+4*m.hdr.NArgs()+m.n), dst, uint64(m.id), 0)
}

// transmit has the link send bytes that are given to it now, and returns when they arrive.
func (l *link) transmit(now vtime.Time, bytes int) vtime.Time {
	_, tail := l.cable.Carry(now, vtime.Time(float64(bytes)/l.rate*float64(vtime.Second)))
	return tail + vtime.FromDuration(l.latency)
}

// Idle implements core.Idler.
func (c *conduit) Idle() (cost vtime.Time, idle bool) {
	return pollCost, c.self.inbox.n.Load() == 0 && (c.mover == nil || c.mover.due.n.Load() == 0)
}

// Label implements vtime.Labelled: what is on its way, for traces.
func (n *node) Label(id, _ uint64) string {
	m := n.pool.byID(id)
	return fmt.Sprintf("rank %d -> %s: %v, %d bytes", m.src, n.proc.Name(), m.hdr, m.n)
}

// Fire implements vtime.Target: the message with the given number arrives.
func (n *node) Fire(id, _ uint64) { n.deliver(n.pool.byID(id)) }
