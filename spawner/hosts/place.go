package hosts

import (
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/plural"
)

// Order says in which order something goes through slots.
type Order string

// The orders.
const (
	BySlot Order = "slot" // all slots of a host, then those of the next
	ByNode Order = "node" // a slot of each host in turn
)

// ParseOrder reads the value of an option such as --map-by.
func ParseOrder(option, text string) (Order, error) {
	if o := Order(text); o == BySlot || o == ByNode {
		return o, nil
	}
	return "", fmt.Errorf("%s %q: want %s or %s", option, text, BySlot, ByNode)
}

// Request says how ranks are to be placed. The zero value has a rank on each slot.
type Request struct {
	Ranks   int // -n; 0: PerNode on each host that is used, or a rank on each slot
	Nodes   int // -N: the first so many hosts are used, and each gets a rank unless MapBy is BySlot; 0: all of them
	PerNode int // --ppn: ranks of a host, but for the last ones, which may get fewer; 0: as many as it has slots

	// MapBy is the order in which slots are taken: by default BySlot, or ByNode if Nodes is given.
	MapBy Order
	// RankBy is the order in which those that are taken are numbered: by default MapBy, or BySlot if
	// that is not given either.
	RankBy Order

	// Oversubscribe permits more ranks than slots. Those beyond the slots go to the hosts in turn, to none more
	// than its Max.
	Oversubscribe bool
}

// Placement is where the ranks of a job are.
type Placement struct {
	Hosts   []Host // those that have ranks, in the order of their lowest ranks
	HostOf  []int  // by rank: the index of its host in Hosts
	LocalOf []int  // by rank: its number among the ranks of its host, from 0, in the order of the ranks
	Ranks   []int  // by host: how many it has
}

// Place places ranks on hosts, which are not changed.
func Place(hosts []Host, r Request) (*Placement, error) {
	hosts, n, err := r.resolve(hosts)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(hosts))
	room := func(h int) int {
		if r.PerNode > 0 {
			return r.PerNode
		}
		return hosts[h].Slots
	}
	left := n
	if r.MapBy == ByNode || r.MapBy == "" && r.Nodes > 0 {
		left = inTurn(counts, left, room)
	} else {
		for h := range hosts {
			counts[h] = min(room(h), left)
			left -= counts[h]
		}
	}
	if left > 0 && r.PerNode == 0 && r.Oversubscribe {
		left = inTurn(counts, left, func(h int) int {
			if hosts[h].Max > 0 {
				return hosts[h].Max
			}
			return n
		})
	}
	if left > 0 {
		return nil, r.tooMany(n, n-left, hosts)
	}
	return number(hosts, counts, r.RankBy == ByNode || r.RankBy == "" && r.MapBy == ByNode), nil
}

// resolve returns the hosts that are used and the number of ranks, or what is wrong with the request.
func (r *Request) resolve(hosts []Host) ([]Host, int, error) {
	switch {
	case len(hosts) == 0:
		return nil, 0, fmt.Errorf("there is no host to place ranks on")
	case r.Ranks < 0 || r.Nodes < 0 || r.PerNode < 0:
		return nil, 0, fmt.Errorf("%d ranks, %d nodes, %d ranks per node: none may be negative", r.Ranks, r.Nodes, r.PerNode)
	case r.Nodes > len(hosts):
		return nil, 0, fmt.Errorf("-N %d: there %s %s only: %s", r.Nodes, plural.Word(len(hosts), "is", "are"), plural.Count(len(hosts), "host", "hosts"), describe(hosts))
	case r.Ranks > 0 && r.Nodes > r.Ranks:
		return nil, 0, fmt.Errorf("-N %d: there %s %s only, and each host gets one at least", r.Nodes, plural.Word(r.Ranks, "is", "are"), ranks(r.Ranks))
	case r.Nodes > 0:
		hosts = hosts[:r.Nodes]
	}
	n := 0
	for _, h := range hosts {
		switch {
		case r.PerNode > h.Slots && !r.Oversubscribe:
			return nil, 0, fmt.Errorf("--ppn %d: host %s (%s) has %s; give it more, or permit more ranks than slots by --oversubscribe", r.PerNode, h.Name, h.From, slots(h.Slots))
		case h.Max > 0 && r.PerNode > h.Max:
			return nil, 0, fmt.Errorf("--ppn %d: host %s (%s) has max_slots=%d", r.PerNode, h.Name, h.From, h.Max)
		case r.PerNode > 0:
			n += r.PerNode
		default:
			n += h.Slots
		}
		n = min(n, MaxRanks+1)
	}
	if r.Ranks > 0 {
		n = r.Ranks
	}
	if n > MaxRanks {
		return nil, 0, fmt.Errorf("these are more than %d ranks, which a job may have at most", MaxRanks)
	}
	return hosts, n, nil
}

// tooMany is the error of ranks that have no room.
func (r *Request) tooMany(n, room int, hosts []Host) error {
	switch {
	case r.PerNode > 0:
		return fmt.Errorf("%s, but %s %d at --ppn %d: %s", ranks(n), plural.Count(len(hosts), "host has", "hosts have"), room, r.PerNode, describe(hosts))
	case r.Oversubscribe:
		return fmt.Errorf("%s, but the %s %d by max_slots: %s", ranks(n), plural.Word(len(hosts), "host takes", "hosts take"), room, describe(hosts))
	}
	return fmt.Errorf("%s, but the %s %s: %s; give more, as in --host %s:%d, or permit more ranks than slots by --oversubscribe",
		ranks(n), plural.Word(len(hosts), "host has", "hosts have"), slots(room), describe(hosts), bracketed(hosts[0].Name), hosts[0].Slots+n-room)
}

// ranks says how many ranks there are.
func ranks(n int) string { return plural.Count(n, "rank", "ranks") }

// slots says how many slots there are.
func slots(n int) string { return plural.Count(n, "slot", "slots") }

// bracketed is a host's name as lists have it.
func bracketed(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

// describe lists hosts for a message.
func describe(hosts []Host) string {
	const most = 8
	var all []string
	for _, h := range hosts[:min(len(hosts), most)] {
		all = append(all, fmt.Sprintf("%s:%d (%s)", bracketed(h.Name), h.Slots, h.From))
	}
	if more := len(hosts) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// inTurn gives ranks to the hosts one by one until each has as many as most says, and returns how many are left.
func inTurn(counts []int, left int, most func(host int) int) int {
	open := indices(len(counts))
	for left > 0 && len(open) > 0 {
		still := open[:0]
		for _, h := range open {
			if left > 0 && counts[h] < most(h) {
				counts[h]++
				left--
				still = append(still, h)
			}
		}
		open = still
	}
	return left
}

// number gives the ranks their numbers.
func number(hosts []Host, counts []int, byNode bool) *Placement {
	p := new(Placement)
	for h, c := range counts {
		if c > 0 {
			p.Hosts, p.Ranks = append(p.Hosts, hosts[h]), append(p.Ranks, c)
		}
	}
	add := func(host, local int) { p.HostOf, p.LocalOf = append(p.HostOf, host), append(p.LocalOf, local) }
	if !byNode {
		for h, c := range p.Ranks {
			for local := range c {
				add(h, local)
			}
		}
		return p
	}
	open := indices(len(p.Hosts))
	for local := 0; len(open) > 0; local++ {
		still := open[:0]
		for _, h := range open {
			if add(h, local); p.Ranks[h] > local+1 {
				still = append(still, h)
			}
		}
		open = still
	}
	return p
}

// indices returns 0 to n-1.
func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Oversubscribed says, for people, that hosts have more ranks than slots; "" if none has. A launcher tells it once.
func (p *Placement) Oversubscribed() string {
	first, hosts, more := -1, 0, 0
	for h, host := range p.Hosts {
		if p.Ranks[h] > host.Slots {
			hosts++
			more += p.Ranks[h] - host.Slots
			if first < 0 {
				first = h
			}
		}
	}
	if hosts == 0 {
		return ""
	}
	text := fmt.Sprintf("host %s has %s on %s", p.Hosts[first].Name, ranks(p.Ranks[first]), slots(p.Hosts[first].Slots))
	if hosts > 1 {
		text += fmt.Sprintf("; with it %d of %d hosts are oversubscribed, by %s together", hosts, len(p.Hosts), ranks(more))
	}
	return text
}
