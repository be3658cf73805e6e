// Package netif says which address each rank of a job on several hosts uses, of those that the interfaces of its host
// have. The rule is Choose's. But for Namespace it is arithmetic: it sends nothing, and whether addresses that
// fit are reached shows when they are used.
package netif

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
)

// Offer is what a rank tells the others of its host before it chooses.
type Offer struct {
	Namespace uint64           // see Namespace
	Chosen    bool             // its user has said which address to use: the one it has
	Addresses []ifaddr.Address // in order of preference among those of one family
}

// loopback is the address in a job whose ranks are all in one network namespace.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Choose returns the address of a rank, given what all ranks offer, by rank. All ranks choose for themselves, by the same
// offers:
//
//  1. What its user has said for a rank is that. But a loopback is refused if a rank is in another network namespace.
//  2. If all ranks are in one network namespace, it is the loopback.
//  3. An address counts if it is not ignored, and no rank in another namespace has the same one: such are of networks
//     inside the hosts. Of rank 0's addresses that count, those of IPv4 first, the first one counts whose network (its
//     prefix) all ranks have an address in. Each takes its own there. If it has several, it takes the one from which its
//     host sends to the first other rank in that network.
//  4. If there is no such network, routers join the hosts. The family is IPv4 if all ranks have addresses of it that
//     count, else IPv6. Each rank takes the address from which its host sends to the most others, the first one of equals.
//
// routed returns from which address this host sends to another, false if it has no route there. An error lists what
// the ranks concerned have.
func Choose(self int, offers []*Offer, routed func(to netip.Addr) (from netip.Addr, ok bool)) (netip.Addr, error) {
	own := offers[self]
	other := elsewhere(self, offers)
	if own.Chosen {
		a := own.Addresses[0].Prefix.Addr()
		if a.IsLoopback() && other >= 0 {
			return a, fmt.Errorf("rank %d is to use %v, a loopback, but rank %d is on another host or in another network namespace, where loopbacks do not meet", self, a, other)
		}
		return a, nil
	}
	if other < 0 {
		return loopback, nil
	}
	counting := addressesThatCount(offers)
	for _, is4 := range []bool{true, false} {
		for _, a := range counting[0] {
			if a.Addr().Is4() == is4 && a.Bits() < a.Addr().BitLen() && allIn(a.Masked(), counting) {
				return within(self, a.Masked(), counting, routed), nil
			}
		}
	}
	return byRoute(self, offers, counting, routed)
}

// elsewhere returns the first rank that is not in the same namespace as a rank, -1 if there is none.
func elsewhere(self int, offers []*Offer) int {
	for r, o := range offers {
		if r != self && (o.Namespace == 0 || o.Namespace != offers[self].Namespace) {
			return r
		}
	}
	return -1
}

// addressesThatCount returns by rank those that are not ignored and that nobody has in another namespace. Ranks of one
// offer share what is returned.
func addressesThatCount(offers []*Offer) [][]netip.Prefix {
	owner := make(map[netip.Addr]uint64)
	shared := make(map[netip.Addr]bool)
	for _, o := range offers {
		for _, a := range o.Addresses {
			addr := a.Prefix.Addr()
			if first, ok := owner[addr]; ok && first != o.Namespace {
				shared[addr] = true
			}
			owner[addr] = o.Namespace
		}
	}
	known := make(map[*Offer][]netip.Prefix)
	all := make([][]netip.Prefix, len(offers))
	for r, o := range offers {
		counting, ok := known[o]
		if !ok {
			for _, a := range o.Addresses {
				if a.Ignored == "" && !shared[a.Prefix.Addr()] {
					counting = append(counting, a.Prefix)
				}
			}
			known[o] = counting
		}
		all[r] = counting
	}
	return all
}

// allIn reports whether each rank has an address in a network.
func allIn(network netip.Prefix, counting [][]netip.Prefix) bool {
	for _, own := range counting {
		if _, ok := firstIn(network, own); !ok {
			return false
		}
	}
	return true
}

// firstIn returns the first address in a network. The prefixes have to be equal: an address in a part of the network may
// be behind a router.
func firstIn(network netip.Prefix, own []netip.Prefix) (netip.Addr, bool) {
	for _, p := range own {
		if p.Masked() == network {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// within returns the address of a rank in a network that all have.
func within(self int, network netip.Prefix, counting [][]netip.Prefix, routed func(netip.Addr) (netip.Addr, bool)) netip.Addr {
	own, _ := firstIn(network, counting[self])
	for _, theirs := range counting {
		to, _ := firstIn(network, theirs)
		if to == own {
			continue
		}
		if from, ok := routed(to); ok && has(counting[self], from) && network.Contains(from) {
			return from
		}
		break
	}
	return own
}

// has reports whether an address is one of a rank's.
func has(own []netip.Prefix, a netip.Addr) bool {
	for _, p := range own {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// byRoute returns the address of a rank whose host reaches the others through routers.
func byRoute(self int, offers []*Offer, counting [][]netip.Prefix, routed func(netip.Addr) (netip.Addr, bool)) (netip.Addr, error) {
	lacks := [2]int{-1, -1} // the first rank without an address, by family
	for r, own := range counting {
		for f, is4 := range []bool{true, false} {
			if lacks[f] < 0 && !hasFamily(own, is4) {
				lacks[f] = r
			}
		}
	}
	is4 := lacks[0] < 0
	if !is4 && lacks[1] >= 0 {
		r, q := lacks[0], lacks[1]
		if r == q && q > 0 {
			q = 0
		} else if r == q {
			q = elsewhere(r, offers)
		}
		return netip.Addr{}, noneFits(offers, r, q)
	}
	votes := make(map[netip.Addr]int)
	asked := make(map[uint64]bool)
	unreached := -1
	for r, theirs := range counting {
		if n := offers[r].Namespace; n != 0 && (n == offers[self].Namespace || asked[n]) || r == self {
			continue
		}
		asked[offers[r].Namespace] = true
		reached := false
		for _, p := range theirs {
			if p.Addr().Is4() != is4 {
				continue
			}
			if from, ok := routed(p.Addr()); ok && has(counting[self], from) {
				votes[from]++
				reached = true
			}
		}
		if !reached && unreached < 0 {
			unreached = r
		}
	}
	if unreached >= 0 {
		return netip.Addr{}, noneFits(offers, self, unreached)
	}
	var best netip.Addr
	for _, p := range counting[self] {
		if a := p.Addr(); votes[a] > votes[best] {
			best = a
		}
	}
	return best, nil
}

// hasFamily reports whether an address is of IPv4, or of IPv6.
func hasFamily(own []netip.Prefix, is4 bool) bool {
	for _, p := range own {
		if p.Addr().Is4() == is4 {
			return true
		}
	}
	return false
}

// noneFits is the error of two ranks without addresses for each other.
func noneFits(offers []*Offer, a, b int) error {
	return fmt.Errorf("no addresses of ranks %d and %d fit each other, as no network and no route joins those that count: rank %d has %s; rank %d has %s",
		a, b, a, list(offers[a].Addresses), b, list(offers[b].Addresses))
}

// list writes addresses for people, without loopbacks, which are never meant.
func list(addresses []ifaddr.Address) string {
	var all []string
	for _, a := range addresses {
		if !a.Prefix.Addr().IsLoopback() {
			all = append(all, a.String())
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
