package impair

import "math/rand/v2"

// chance decides about one kind of fault, with random numbers of its own.
type chance struct{ *rand.Rand }

// newChance returns the chance of a kind of fault of a link.
func newChance(seed, kind uint64) chance {
	return chance{rand.New(rand.NewPCG(seed, kind))}
}

// of reports true with probability p. It always draws one number, so what follows does not
// depend on p.
func (c chance) of(p float64) bool { return c.Float64() < p }

// losses decides which datagrams are lost: each by itself, or, with bursts, as Gilbert's
// model has it (E. N. Gilbert, "Capacity of a Burst-Noise Channel", 1960, with nothing
// getting through in the bad state): the link turns bad and good again with probabilities
// that make bursts as long, and losses as many, as is asked for.
type losses struct {
	chance
	bad bool
}

// next reports whether the next datagram is lost.
func (l *losses) next(s *Settings) bool {
	switch {
	case s.Burst == 0 || s.Loss == 1:
		return l.of(s.Loss)
	case l.bad:
		l.bad = !l.of(1 / s.Burst)
	default:
		l.bad = l.of(s.Loss / (s.Burst * (1 - s.Loss)))
	}
	return l.bad
}
