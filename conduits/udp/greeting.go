package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/am2"
	"github.com/aqueduct-go/aqueduct/conduits/udp/netif"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/conduits/udp/socket"
	"github.com/aqueduct-go/aqueduct/core"
)

// Addresses that were chosen may not reach each other: a firewall is in the way, or there are two networks of the same
// numbers. So before Attach returns, the lowest rank of the group on each host greets that on each other host, again and
// again until it is answered. Then all ranks tell each other from whom nothing has come, and fail alike.

// Kinds of datagrams. Both have the form of a farewell, but numbers and keys of their own.
const (
	greetingKind = pieceKind + 1
	answerKind   = greetingKind + 1
)

const (
	greetAgain = 100 * time.Millisecond // until a greeting is repeated
	greetFor   = 5 * time.Second        // until whoever has not answered is taken not to be reached
)

// mostUnheard is how many ranks are named at most from whom nothing has come.
const mostUnheard = 64

// greetings are those between this rank and others. The rank's lock guards them.
type greetings struct {
	with     map[*entry]*greeted
	order    []*greeted
	left     int           // who have not answered
	answered chan struct{} // closed when left is 0
}

// greeted is one who is greeted.
type greeted struct {
	*peer
	seal     *seal.Peer
	sent     uint64 // datagrams
	heard    bool   // something has come
	answered bool
}

// newGreetings returns the greetings of this rank, nil if it has none to send.
func (c *conduit) newGreetings(boot core.Bootstrap, cards []card) *greetings {
	if len(boot.Local()) == boot.Size() {
		return nil
	}
	greets := func(name string) string { return name + " greets" }
	ring := seal.NewRing(c.security, cards[0].key, greets(cards[c.rank].name()), am2.FixedHead)
	g := &greetings{with: make(map[*entry]*greeted), answered: make(chan struct{})}
	lowest := make(map[int]bool)
	for _, r := range c.group {
		h := boot.Host(r)
		switch {
		case lowest[h]:
			continue
		case h == boot.Host(c.rank) && r != c.rank:
			return nil // another rank does it for this host
		}
		lowest[h] = true
		if r == c.rank {
			continue
		}
		p := c.receiver(withZone(cards[r].addr, c.sock.Local.Addr().Zone()))
		x := &greeted{peer: p, seal: ring.Peer(greets(p.name))}
		g.with[p.entry], g.order = x, append(g.order, x)
	}
	if g.left = len(g.order); g.left == 0 {
		close(g.answered)
	}
	return g
}

// checkAddresses returns an error, alike on all ranks, if what one host sends does not arrive at another. It is
// collective, and takes greetFor at most beside the bootstrap's call.
func (c *conduit) checkAddresses(boot core.Bootstrap, cards []card) error {
	if len(boot.Local()) == boot.Size() {
		return nil
	}
	c.greetAll()
	var unheard []byte
	c.mu.Enter()
	if c.greetings != nil {
		for _, x := range c.greetings.order {
			if !x.heard && len(unheard) < 4*mostUnheard {
				unheard = binary.LittleEndian.AppendUint32(unheard, uint32(x.rank))
			}
		}
	}
	c.mu.Leave()
	all, err := boot.Exchange(unheard) // meanwhile the service answers
	c.mu.Enter()
	c.greetings = nil
	c.mu.Leave()
	if err != nil {
		return err
	}
	return judge(all, cards)
}

// greetAll greets until all have answered or greetFor has passed.
func (c *conduit) greetAll() {
	if c.greetings == nil {
		return
	}
	again, enough := time.NewTicker(greetAgain), time.NewTimer(greetFor)
	defer again.Stop()
	defer enough.Stop()
	for {
		c.mu.Enter()
		for _, x := range c.greetings.order {
			if !x.answered {
				c.greet(x, greetingKind)
			}
		}
		c.flush()
		c.mu.Leave()
		select {
		case <-c.greetings.answered:
			return
		case <-enough.C:
			return
		case <-again.C:
		}
	}
}

// greet gathers a greeting or an answer.
func (c *conduit) greet(x *greeted, kind uint8) {
	x.sent++
	head := make([]byte, am2.FixedHead)
	am2.PutKind(head, kind)
	am2.PutNumber(head, x.sent)
	am2.PutIncarnations(head, c.incarnation, x.incarnation)
	if c.security != seal.None {
		head, _ = c.protected(x.seal, head, nil)
	}
	c.sock.Add(&x.sockaddr, head, nil, false)
}

// isGreeting recognises a greeting or an answer, which is still to be authenticated.
func isGreeting(datagram []byte) bool {
	kind, ok := am2.DriverKind(datagram)
	return ok && (kind == greetingKind || kind == answerKind) && len(datagram) == am2.FixedHead
}

// greeted takes a greeting or an answer. It reports false if it was dropped: those that are late are no use any more.
func (c *conduit) greeted(p *peer, datagram []byte) bool {
	if c.greetings == nil || c.greetings.with[p.entry] == nil || !c.between(p, datagram) {
		return false
	}
	x := c.greetings.with[p.entry]
	if err := socket.Unseal(c.security, x.seal, datagram, len(datagram)); err != nil {
		c.counts.unsealed(err)
		return false
	}
	x.heard = true
	switch kind, _ := am2.DriverKind(datagram); {
	case kind == greetingKind:
		c.greet(x, answerKind)
		c.flush()
	case !x.answered:
		x.answered = true
		if c.greetings.left--; c.greetings.left == 0 {
			close(c.greetings.answered)
		}
	}
	return true
}

// judge returns the error of ranks that others have not heard, given by rank whom each has not heard.
func judge(all [][]byte, cards []card) error {
	type way struct{ from, to core.Rank }
	lost := make(map[way]bool)
	var first *way
	for to, b := range all {
		for ; len(b) >= 4; b = b[4:] {
			w := way{core.Rank(binary.LittleEndian.Uint32(b)), core.Rank(to)}
			if int(w.from) >= len(cards) {
				return fmt.Errorf("udp: rank %d tells of rank %d, which does not exist", to, w.from)
			}
			if first == nil {
				first = &w
			}
			lost[w] = true
		}
	}
	if first == nil {
		return nil
	}
	text := fmt.Sprintf("udp: nothing arrives of what rank %d at %v sends to rank %d at %v", first.from, cards[first.from].addr, first.to, cards[first.to].addr)
	others := len(lost) - 1
	if lost[way{first.to, first.from}] {
		text += ", nor the other way round"
		others--
	} else {
		text += "; the other way round it does"
	}
	if others > 0 {
		text += fmt.Sprintf("; %d other ways between hosts are not open either", others)
	}
	return errors.New(text + "; let datagrams of UDP pass between the hosts, or choose other addresses by the setting address=PREFIX/BITS or interface=NAME")
}

// addressTable lists which addresses the ranks of a group use.
func addressTable(group []core.Rank, cards []card, offers []*netif.Offer) string {
	const most = 64 // lines
	var b strings.Builder
	b.WriteString("udp: the addresses of the ranks:")
	lines := 0
	for i := 0; i < len(group); {
		last := i
		for last+1 < len(group) && group[last+1] == group[last]+1 && cards[group[last+1]].addr.Addr() == cards[group[i]].addr.Addr() {
			last++
		}
		if lines++; lines > most {
			fmt.Fprintf(&b, "\n  and those of %d more", len(group)-i)
			break
		}
		fmt.Fprintf(&b, "\n  rank %d", group[i])
		if last > i {
			fmt.Fprintf(&b, " to %d", group[last])
		}
		a := cards[group[i]].addr.Addr()
		fmt.Fprintf(&b, ": %v", a)
		if offers != nil {
			for _, own := range offers[group[i]].Addresses {
				if own.Prefix.Addr() == a {
					fmt.Fprintf(&b, " (%s)", own.Interface)
				}
			}
		}
		i = last + 1
	}
	return b.String()
}
