package cost

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// arrivals are the messages that nobody has awaited yet: a hash table with linear probing.
// Most algorithms have ranks side by side get messages from ranks equally distant, one after
// the other. What lanes such ranks get lies together, so that memory is fetched once for all.
// Probing goes on in steps that lead elsewhere: neighbours would pile up otherwise.
type arrivals struct {
	slots []arrived // a power of two of them, at most five eighths in use
	used  int
}

// lanes is how many neighbours share a place in the table. A power of two.
const lanes = 8

// Probing takes steps of probe, which is odd, so that it comes to every slot; times its
// inverse, modulo any power of two, a distance is the number of steps.
const (
	probe   = lanes + 1
	inverse = 0x8e38e38e38e38e39
)

// arrived is a message that was sent: the number-th from src to dst.
type arrived struct {
	message
	here bool
	at   vtime.Time
}

type message struct{ dst, src, number uint32 }

// fewArrivals is how many slots a table begins with.
const fewArrivals = 1 << 10

// home returns where a message would lie in an empty table.
func (a *arrivals) home(m message) int {
	h := (uint64(m.src-m.dst)<<32 | uint64(m.dst/lanes)) * 0x9e3779b97f4a7c15
	h ^= h>>32 ^ uint64(m.number)
	h *= 0xd6e8feb86659fd93
	return (int(h>>32)*lanes + int(m.dst%lanes)) & (len(a.slots) - 1)
}

// find returns the slot of a message, or the empty one where it belongs.
func (a *arrivals) find(m message) int {
	i := a.home(m)
	for a.slots[i].here && a.slots[i].message != m {
		i = (i + probe) & (len(a.slots) - 1)
	}
	return i
}

// put adds a message.
func (a *arrivals) put(m message, at vtime.Time) {
	if 8*a.used >= 5*len(a.slots) {
		a.grow()
	}
	a.slots[a.find(m)] = arrived{m, true, at}
	a.used++
}

// grow doubles the table, or makes the first one.
func (a *arrivals) grow() {
	old := a.slots
	a.slots = make([]arrived, max(fewArrivals, 2*len(old)))
	for _, s := range old {
		if s.here {
			a.slots[a.find(s.message)] = s
		}
	}
}

// take removes a message; false if it has not been sent.
func (a *arrivals) take(m message) (at vtime.Time, ok bool) {
	if a.used == 0 {
		return 0, false
	}
	i := a.find(m)
	s := &a.slots[i]
	if !s.here {
		return 0, false
	}
	at = s.at
	a.used--
	a.close(i)
	return at, true
}

// close empties slot i. What lies behind it moves up unless that is before its home.
func (a *arrivals) close(i int) {
	mask := len(a.slots) - 1
	steps := func(from, to int) int { return int(uint64(to-from)*inverse) & mask }
	for j := (i + probe) & mask; a.slots[j].here; j = (j + probe) & mask {
		if home := a.home(a.slots[j].message); steps(home, j) >= steps(i, j) {
			a.slots[i] = a.slots[j]
			i = j
		}
	}
	a.slots[i].here = false
}

func (a *arrivals) bytes() int { return 24 * len(a.slots) }
