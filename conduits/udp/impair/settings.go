package impair

import (
	"fmt"
	"math"
	"time"
)

// Settings say what a link does to datagrams. The zero value is a perfect link: all that is
// sent arrives, at once. Probabilities are from 0 to 1 and apply to each datagram.
type Settings struct {
	Loss      float64 // probability of being lost, in the long run
	Burst     float64 // mean number of consecutive losses; 0: losses are independent
	Duplicate float64 // probability of arriving twice
	Reorder   float64 // probability of being held back, so that later ones overtake it
	Corrupt   float64 // probability of up to four changed bytes
	Truncate  float64 // probability of losing its end

	Delay  time.Duration // that every datagram takes
	Jitter time.Duration // what it takes more, at most; order is kept
	Hold   time.Duration // for how long one is held back, at most; 0: DefaultHold

	Rate  float64 // bits per second; 0: no limit
	Queue int     // datagrams that wait for the line or are on it; 0: DefaultQueue
	MTU   int     // bytes of a datagram; longer ones vanish; 0: no limit
}

// What holds if Settings do not say.
const (
	DefaultHold  = time.Millisecond
	DefaultQueue = 1000 // datagrams, as tc-netem(8) and network devices have it
)

// Bounds of Settings. They keep times in their type: a full queue of the longest datagrams at
// the lowest rate empties in less than 20 years.
const (
	maxDelay = time.Hour
	minRate  = 1e3
	maxRate  = 1e15
	maxQueue = 1_000_000
	maxMTU   = 65535
)

// Check returns an error that names the first setting that cannot be.
func (s *Settings) Check() error {
	for _, p := range [...]struct {
		name  string
		value float64
	}{
		{"loss", s.Loss}, {"dup", s.Duplicate}, {"reorder", s.Reorder}, {"corrupt", s.Corrupt}, {"truncate", s.Truncate},
	} {
		if !(p.value >= 0 && p.value <= 1) { // NaN is refused too
			return fmt.Errorf("impair: %s=%v: want a share from 0%% to 100%%", p.name, p.value)
		}
	}
	for _, t := range [...]struct {
		name  string
		value time.Duration
	}{{"delay", s.Delay}, {"jitter", s.Jitter}, {"hold", s.Hold}} {
		if t.value < 0 || t.value > maxDelay {
			return fmt.Errorf("impair: %s=%v: want a time from 0s to %v", t.name, t.value, maxDelay)
		}
	}
	if err := s.checkBurst(); err != nil {
		return err
	}
	switch {
	case s.Hold > 0 && s.Reorder == 0:
		return fmt.Errorf("impair: hold=%v means nothing without reorder; give it too, such as reorder=5%%", s.Hold)
	case s.Rate != 0 && !(s.Rate >= minRate && s.Rate <= maxRate):
		return fmt.Errorf("impair: rate=%v: want a rate from 1kbit to 1000000gbit", s.Rate)
	case s.Queue < 0 || s.Queue > maxQueue:
		return fmt.Errorf("impair: queue=%d: want a number of datagrams from 1 to %d", s.Queue, maxQueue)
	case s.Queue > 0 && s.Rate == 0:
		return fmt.Errorf("impair: queue=%d means nothing without a rate; give it too, such as rate=1gbit", s.Queue)
	case s.MTU < 0 || s.MTU > maxMTU:
		return fmt.Errorf("impair: mtu=%d: want a number of bytes from 1 to %d", s.MTU, maxMTU)
	}
	return nil
}

// checkBurst refuses bursts that are too short for as many losses as are asked for: between
// two bursts at least one datagram gets through.
func (s *Settings) checkBurst() error {
	switch {
	case s.Burst == 0:
	case s.Loss == 0:
		return fmt.Errorf("impair: burst=%v means nothing without loss; give it too, such as loss=10%%", s.Burst)
	case !(s.Burst >= 1) || math.IsInf(s.Burst, 0):
		return fmt.Errorf("impair: burst=%v: want a mean number of losses in a row, 1 or more", s.Burst)
	case s.Loss < 1 && s.Loss > s.Burst/(1+s.Burst):
		return fmt.Errorf("impair: loss=%v in bursts of %v: at least one datagram gets through between two bursts; give a longer burst, or less loss", s.Loss, s.Burst)
	}
	return nil
}

// hold returns for how long a datagram is held back at most.
func (s *Settings) hold() time.Duration {
	if s.Hold == 0 {
		return DefaultHold
	}
	return s.Hold
}

// queue returns how many datagrams the queue holds.
func (s *Settings) queue() int {
	if s.Queue == 0 {
		return DefaultQueue
	}
	return s.Queue
}
