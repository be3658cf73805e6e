package impair

import "time"

// Wire is one direction between two places. A Link is one; a test may put another in its
// place, such as a list of which datagrams are to be lost.
type Wire interface {
	// Pass sends a datagram at a time not before that of the last call, and returns what
	// arrives of it. The wire keeps neither header nor payload; the deliveries are valid until
	// the next call, their datagrams for as long as the caller wants them.
	Pass(now time.Duration, header, payload []byte) []Delivery
}

// Delivery is a datagram that arrives.
type Delivery struct {
	At       time.Duration // when
	Datagram []byte        // header and payload; the receiver's
	Altered  bool          // the payload has been corrupted or truncated
}

// Stats count what happened to the datagrams of a link.
type Stats struct {
	Sent       uint64 // given to the link
	TooLong    uint64 // longer than its MTU
	Dropped    uint64 // because the queue was full
	Lost       uint64
	Duplicated uint64
	Reordered  uint64 // held back
	Corrupted  uint64
	Truncated  uint64
	Delivered  uint64 // Sent − TooLong − Dropped − Lost + Duplicated
}

// Add adds what another link has counted.
func (s *Stats) Add(o Stats) {
	s.Sent += o.Sent
	s.TooLong += o.TooLong
	s.Dropped += o.Dropped
	s.Lost += o.Lost
	s.Duplicated += o.Duplicated
	s.Reordered += o.Reordered
	s.Corrupted += o.Corrupted
	s.Truncated += o.Truncated
	s.Delivered += o.Delivered
}

// Link is a Wire that does what its Settings say. One goroutine at a time may use it.
type Link struct {
	settings Settings
	stats    Stats
	line     line
	floor    time.Duration // arrival of the latest datagram that was not held back
	out      []Delivery    // of the last Pass

	losses                                        losses
	duplicate, reorder, corrupt, truncate, jitter chance
}

// NewLink returns a link. Links with equal settings and seeds treat equal datagrams equally.
func NewLink(s Settings, seed uint64) (*Link, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Link{
		settings: s, losses: losses{chance: newChance(seed, 1)},
		duplicate: newChance(seed, 2), reorder: newChance(seed, 3), corrupt: newChance(seed, 4),
		truncate: newChance(seed, 5), jitter: newChance(seed, 6),
	}, nil
}

// Settings returns what the link does to datagrams.
func (l *Link) Settings() Settings { return l.settings }

// Set has the link treat datagrams differently from now on. What is under way is not affected.
func (l *Link) Set(s Settings) error {
	if err := s.Check(); err != nil {
		return err
	}
	l.settings = s
	return nil
}

// Stats returns what the link has done.
func (l *Link) Stats() Stats { return l.stats }

// Pass implements Wire. The header is what the payload travels in: it is neither corrupted nor
// truncated, but takes time on the line and counts for the MTU.
func (l *Link) Pass(now time.Duration, header, payload []byte) []Delivery {
	l.out = l.out[:0]
	l.stats.Sent++
	s, bytes := &l.settings, len(header)+len(payload)
	if s.MTU > 0 && bytes > s.MTU {
		l.stats.TooLong++
		return nil
	}
	left, ok := l.line.send(now, bytes, s)
	if !ok {
		l.stats.Dropped++
		return nil
	}
	if l.losses.next(s) {
		l.stats.Lost++
		return nil
	}
	l.deliver(left, header, payload)
	if l.duplicate.of(s.Duplicate) {
		l.stats.Duplicated++
		l.deliver(left, header, payload)
	}
	return l.out
}

// deliver adds a copy of a datagram that has left the line to what arrives.
func (l *Link) deliver(left time.Duration, header, payload []byte) {
	l.stats.Delivered++
	end := l.cut(len(payload))
	datagram := make([]byte, 0, len(header)+end)
	datagram = append(append(datagram, header...), payload[:end]...)
	changed := l.spoil(datagram[len(header):])
	l.out = append(l.out, Delivery{At: l.arrival(left), Datagram: datagram, Altered: changed || end < len(payload)})
}

// cut returns how many bytes of a payload are left.
func (l *Link) cut(bytes int) int {
	if !l.truncate.of(l.settings.Truncate) || bytes == 0 {
		return bytes
	}
	l.stats.Truncated++
	return l.truncate.IntN(bytes)
}

// spoil may change some bytes in a row, up to four, and reports whether it has.
func (l *Link) spoil(payload []byte) bool {
	if !l.corrupt.of(l.settings.Corrupt) || len(payload) == 0 {
		return false
	}
	l.stats.Corrupted++
	from := l.corrupt.IntN(len(payload))
	to := min(from+1+l.corrupt.IntN(4), len(payload))
	for i := from; i < to; i++ {
		payload[i] ^= byte(1 + l.corrupt.IntN(255))
	}
	return true
}

// arrival returns when a datagram that has left the line arrives: not before an earlier one,
// unless that is held back.
func (l *Link) arrival(left time.Duration) time.Duration {
	s := &l.settings
	at := left + s.Delay
	if s.Jitter > 0 {
		at += time.Duration(l.jitter.Int64N(int64(s.Jitter) + 1))
	}
	l.floor = max(l.floor, at)
	if !l.reorder.of(s.Reorder) {
		return l.floor
	}
	l.stats.Reordered++
	return l.floor + 1 + time.Duration(l.reorder.Int64N(int64(s.hold())))
}
