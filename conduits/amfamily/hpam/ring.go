package hpam

import (
	"math/rand/v2"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Ring is an FDDI ring: stations that are connected in a circle, in which a token goes around. A station that wants to
// send keeps the token when it passes, sends, and releases it. A frame reaches its receiver whole. Faults are chances of a
// frame to be destroyed, and what Lose says.
type Ring struct {
	// Lose, if not nil, tells whether a frame is destroyed, whatever the machine's chance is.
	Lose func(from, to int, data []byte) bool

	Frames, Lost uint64 // sent, and of them destroyed

	loop     *vtime.Loop
	p        *Profile
	chance   *rand.Rand
	stations []*Card

	holder   int        // the station that has the token, or -1
	captured vtime.Time // since when
	at       int        // the station that released the token last
	released vtime.Time // when
	coming   int        // the station that the timer is for
	timer    *vtime.Timer
	sending  *sendBuffer
	flying   map[uint64]frame // on their way, by their numbers
	idle     [][]byte         // memory of frames that nobody uses any more
}

// A frame is data on its way.
type frame struct {
	from, to int
	data     []byte
}

// NewRing returns a ring of n stations with a card each, and of as many that do nothing as the machine has besides.
func NewRing(loop *vtime.Loop, p *Profile, n int) *Ring {
	r := &Ring{loop: loop, p: p, chance: loop.Rand("ring.lose"), holder: -1, flying: map[uint64]frame{}}
	r.timer = loop.NewTimer(r, captured, 0)
	for i := range max(n, p.Ring.Stations) {
		r.stations = append(r.stations, &Card{ring: r, id: i, free: p.HPAM.Pool})
	}
	return r
}

// Card returns the card of a station.
func (r *Ring) Card(i int) *Card { return r.stations[i] }

// The events of a ring.
const (
	captured  uint64 = iota // the token has come to a station that wants to send
	sent                    // the last byte of a frame has left its sender
	delivered               // and has reached its receiver
)

var ringEvents = [...]string{"captured", "sent", "delivered"}

// Label implements vtime.Labelled.
func (r *Ring) Label(event, _ uint64) string { return "ring " + ringEvents[event] }

// Fire implements vtime.Target.
func (r *Ring) Fire(event, number uint64) {
	switch event {
	case captured:
		r.holder, r.captured = r.coming, r.loop.Now()
		r.send()
	case sent:
		b := r.sending
		r.sending = nil
		r.stations[r.holder].sent(b)
		r.send()
	case delivered:
		f := r.flying[number]
		delete(r.flying, number)
		r.stations[f.to].receive(f)
	}
}

// wanted says that a station has got something to send.
func (r *Ring) wanted() {
	if r.holder < 0 {
		r.arm()
	}
}

// arm sets the timer for the first station that the token will come to which wants to send.
func (r *Ring) arm() {
	n, now, first := len(r.stations), r.loop.Now(), vtime.Time(-1)
	round := vtime.Time(n) * r.p.Ring.Hop
	for d := 1; d <= n; d++ { // in the order in which the token comes by
		i := (r.at + d) % n
		if r.stations[i].tx.Len() == 0 {
			continue
		}
		t := r.released + vtime.Time(d)*r.p.Ring.Hop
		if t < now {
			t += (now - t + round - 1) / round * round
		}
		if first < 0 || t < first {
			first, r.coming = t, i
		}
	}
	if first >= 0 {
		r.timer.Reset(first)
	} else {
		r.timer.Stop()
	}
}

// send has the holder send its next frame, or release the token.
func (r *Ring) send() {
	now := r.loop.Now()
	if b, ok := r.stations[r.holder].next(); ok && (r.captured == now || now-r.captured < r.p.Ring.Hold) {
		r.stations[r.holder].tx.Drop()
		r.transmit(b)
		return
	}
	r.at, r.released, r.holder = r.holder, now+r.p.Ring.Rate.Time(int(r.p.Ring.Token)), -1
	r.arm()
}

// transmit sends what a buffer holds now.
func (r *Ring) transmit(b *sendBuffer) {
	from, n := r.holder, len(r.stations)
	end := r.loop.Now() + r.p.Ring.Rate.Time(len(b.data)+int(r.p.Ring.Overhead))
	r.sending = b
	r.loop.At(end, r, sent, 0)
	f := frame{from, b.to, append(r.memory(), b.data...)}
	r.Frames++
	if machine.Chance(r.chance.Int64N(int64(machine.Certain))) < r.p.Ring.Lose || r.Lose != nil && r.Lose(f.from, f.to, f.data) {
		r.Lost++
		r.recycle(f)
		return
	}
	r.flying[r.Frames] = f
	r.loop.At(end+vtime.Time((b.to-from+n)%n)*r.p.Ring.Hop, r, delivered, r.Frames)
}

// memory returns memory for a frame.
func (r *Ring) memory() []byte {
	last := len(r.idle) - 1
	if last < 0 {
		return nil
	}
	b := r.idle[last]
	r.idle = r.idle[:last]
	return b[:0]
}

// recycle says that nobody uses a frame any more.
func (r *Ring) recycle(f frame) { r.idle = append(r.idle, f.data) }
