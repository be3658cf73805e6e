package loopback

import (
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// link is a rank's connection to the modelled network: messages leave one after the other
// at the link's rate and arrive a latency later.
type link struct {
	*params
	kernel *vtime.Kernel
	proc   *vtime.Proc
	free   vtime.Time // when the link has sent what it was given
	flying []*flight  // idle flights
}

// flight is a message between Commit and arrival; it is the target of the arrival event.
type flight struct {
	l   *link
	m   *message
	dst *node
}

// headerBytes is what a message counts on the link besides arguments and payload.
const headerBytes = 8

// carry schedules the arrival of m at dst.
func (l *link) carry(m *message, dst *node) {
	var f *flight
	if n := len(l.flying); n > 0 {
		f, l.flying = l.flying[n-1], l.flying[:n-1]
	} else {
		f = &flight{l: l}
	}
	f.m, f.dst = m, dst
	bytes := headerBytes + 4*m.hdr.NArgs() + m.n
	start := max(l.proc.Now(), l.free)
	l.free = start + vtime.Time(float64(bytes)/l.rate*float64(vtime.Second))
	l.kernel.At(l.free+l.latency, f, 0, 0)
}

// Fire implements vtime.Target: the message arrives.
func (f *flight) Fire(_, _ uint64) {
	m, dst := f.m, f.dst
	f.m, f.dst = nil, nil
	f.l.flying = append(f.l.flying, f)
	dst.deliver(m)
}
