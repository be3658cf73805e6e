package component

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Adaptive measures what a rendezvous takes with each node, from request to grant, and what a byte's copy out of the staging
// buffer takes each receiver, which grants say. A message makes a rendezvous if its copy would take longer. As long as something
// is not known Traits.Long decides; now and then a message makes one all the same, lest what was measured gets old.

// weigh says whether a message is worth a rendezvous.
func (c *Baseline) weigh(m *message, to *address) {
	p := to.peer
	if p == nil {
		return
	}
	n := len(m.data)
	if p.price == 0 || p.copy == 0 {
		m.long = n >= c.traits.Long
	} else {
		m.long = vtime.Time(n)*p.copy > p.price
	}
	if !m.long && n >= m.mtu {
		if p.skipped++; p.skipped%c.traits.Probe == 0 {
			m.long = true
		}
	}
}

// learn notes what a rendezvous has taken.
func (r *rendezvous) learn(price, perByte vtime.Time) {
	r.price = smooth(r.price, price)
	if perByte != 0 {
		r.copy = perByte
	}
}

// copied notes what a copy has taken.
func (x *choice) copied(took vtime.Time, n int) {
	if n > 0 {
		x.copy = smooth(x.copy, max(1, took/vtime.Time(n)))
	}
}

// smooth moves a mean by a quarter towards a value; a mean of 0 is none.
func smooth(mean, value vtime.Time) vtime.Time {
	if mean == 0 {
		return value
	}
	return max(1, mean+(value-mean)/4)
}
