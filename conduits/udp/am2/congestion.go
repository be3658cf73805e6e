package am2

import (
	"math"
	"time"
)

const (
	firstWindow = 10      // RFC 6928
	leastWindow = 4       // so that three later packets can tell the loss of one
	mostWindow  = 1 << 14 // packets
	cubicC      = 0.4     // RFC 9438, section 5
	cubicBeta   = 0.7
)

// congestion is the window of packets that may be on their way to a peer: slow start, then
// CUBIC (RFC 9438).
type congestion struct {
	window    float64
	threshold float64       // of slow start
	peak      float64       // the window before its last reduction
	reno      float64       // the window that AIMD would have by now
	k         float64       // seconds from the epoch until the window is at peak again
	epoch     time.Duration // when avoidance began; 0: it has not
	recovery  time.Duration // when the window was last reduced; -1: never
}

func newCongestion() congestion {
	return congestion{window: firstWindow, threshold: mostWindow, recovery: -1}
}

// acked makes use of n acknowledged packets, while the window was full.
func (c *congestion) acked(n int, now, rtt time.Duration) {
	if c.window < c.threshold {
		c.window = min(c.window+float64(n), mostWindow)
		return
	}
	if c.epoch == 0 {
		c.epoch = max(now, 1)
		c.reno = c.window
		c.peak = max(c.peak, c.window)
		c.k = math.Cbrt((c.peak - c.window) / cubicC)
	}
	// AIMD with the same average window grows by this per round trip (section 4.3).
	c.reno += float64(n) / c.window * (3 * (1 - cubicBeta) / (1 + cubicBeta))
	t := (now - c.epoch + rtt).Seconds() - c.k
	target := min(cubicC*t*t*t+c.peak, 1.5*c.window)
	c.window += max(0, target-c.window) / c.window * float64(n)
	c.window = min(max(c.window, c.reno), mostWindow)
}

// lost reduces the window because a packet sent at the given time was lost: once for all that
// were sent before the reduction.
func (c *congestion) lost(now, sent time.Duration) {
	if sent <= c.recovery {
		return
	}
	c.reduce(now)
}

// collapse reduces it to the least, because one time-out has followed another.
func (c *congestion) collapse(now time.Duration) {
	c.reduce(now)
	c.window = leastWindow
}

func (c *congestion) reduce(now time.Duration) {
	c.recovery = now
	c.epoch = 0
	c.peak = c.window
	c.window = max(c.window*cubicBeta, leastWindow)
	c.threshold = c.window
}
