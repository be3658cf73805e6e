package udp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/udp/netif"
	"github.com/aqueduct-go/aqueduct/conduits/udp/seal"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
)

// apart is a bootstrap of ranks that are alone on their hosts, as far as greetings ask.
type apart struct {
	core.Bootstrap
	rank core.Rank
	size int
}

func (a *apart) Rank() core.Rank      { return a.rank }
func (a *apart) Size() int            { return a.size }
func (a *apart) Local() []core.Rank   { return []core.Rank{a.rank} }
func (a *apart) Host(r core.Rank) int { return int(r) }

// cardsOf returns what the ends of a job tell of themselves, with another key than the job has.
func cardsOf(n int, key byte) []card {
	cards := make([]card, n)
	for r := range cards {
		c := end(core.Rank(r))
		cards[r] = card{addr: c.sock.Local, incarnation: c.incarnation, mode: c.security, key: seal.Key{key}}
	}
	return cards
}

// Greetings end when all are answered, long before greetFor. Those that are not authentic count for nothing.
func TestGreetings(t *testing.T) {
	const n = 3
	for _, security := range []string{"none", "auth", "encrypt"} {
		t.Run(security, func(t *testing.T) {
			err := job(t, n, map[string]string{"security": security}, func(j *core.Job, ep *core.Endpoint, _ *counters) error {
				c := end(j.Rank())
				begin := func(key byte) {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.greetings = c.newGreetings(&apart{rank: j.Rank(), size: n}, cardsOf(n, key))
				}
				begin(1)
				c.greetAll()
				select {
				case <-c.greetings.answered:
				default:
					return fmt.Errorf("rank %d has not been answered by all", j.Rank())
				}
				if err := ep.Barrier(); err != nil {
					return err
				}
				begin(byte(j.Rank())) // each has another key
				c.mu.Lock()
				before := c.counts.forged
				c.mu.Unlock()
				if err := ep.Barrier(); err != nil {
					return err
				}
				c.mu.Lock()
				for _, x := range c.greetings.order {
					c.greet(x, greetingKind)
				}
				c.flush()
				c.mu.Unlock()
				if security == "none" {
					return ep.Barrier()
				}
				forged := func() bool {
					c.mu.Lock()
					defer c.mu.Unlock()
					return c.counts.forged >= before+n-1 // more if a greeting of before was late
				}
				for !forged() { // not by WaitUntil, which sleeps until something is delivered
					if err := ep.Poll(); err != nil {
						return err
					}
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				for _, x := range c.greetings.order {
					if x.heard || x.answered {
						return fmt.Errorf("rank %d believes rank %d, which has another key", j.Rank(), x.rank)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The lowest rank of the group on each host greets, and nobody else.
func TestWhoGreets(t *testing.T) {
	err := job(t, 2, nil, func(j *core.Job, ep *core.Endpoint, _ *counters) error {
		c := end(j.Rank())
		if g := c.newGreetings(&together{apart{rank: j.Rank(), size: 3}}, cardsOf(2, 0)); (g != nil) != (j.Rank() == 0) {
			return fmt.Errorf("rank %d greets: %v", j.Rank(), g != nil)
		}
		return ep.Barrier()
	})
	if err != nil {
		t.Error(err)
	}
}

// together has all ranks of the group on one host of several.
type together struct{ apart }

func (t *together) Host(core.Rank) int { return 0 }

func TestJudge(t *testing.T) {
	cards := make([]card, 4)
	for r := range cards {
		cards[r].addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(r)}), uint16(1000+r))
	}
	for _, c := range []struct {
		unheard map[int][]uint32
		want    string
	}{
		{nil, ""},
		{map[int][]uint32{2: {1}}, "of what rank 1 at 10.0.0.1:1001 sends to rank 2 at 10.0.0.2:1002; the other way round it does; let"},
		{map[int][]uint32{2: {1}, 1: {2}}, "of what rank 2 at 10.0.0.2:1002 sends to rank 1 at 10.0.0.1:1001, nor the other way round; let"},
		{map[int][]uint32{2: {1, 3}, 1: {2, 3}}, "nor the other way round; 2 other ways between hosts are not open either; let"},
		{map[int][]uint32{2: {4}}, "rank 2 tells of rank 4, which does not exist"},
	} {
		all := make([][]byte, len(cards))
		for to, from := range c.unheard {
			for _, r := range from {
				all[to] = binary.LittleEndian.AppendUint32(all[to], r)
			}
		}
		err := judge(all, cards)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %s", c.unheard, err, c.want)
		}
	}
}

func TestAddressTable(t *testing.T) {
	var cards []card
	for _, host := range []byte{1, 1, 2, 2, 1} {
		cards = append(cards, card{addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, host}), 1)})
	}
	here := &netif.Offer{Addresses: []ifaddr.Address{
		{Interface: "lo", Prefix: netip.MustParsePrefix("127.0.0.1/8")}, {Interface: "eth0", Prefix: netip.MustParsePrefix("10.0.0.1/24")},
	}}
	offers := slices.Repeat([]*netif.Offer{here}, len(cards))
	want := "udp: the addresses of the ranks:\n  rank 0 to 1: 10.0.0.1 (eth0)\n  rank 2: 10.0.0.2\n  rank 4: 10.0.0.1 (eth0)"
	if got := addressTable([]core.Rank{0, 1, 2, 4}, cards, offers); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var group []core.Rank
	for r := range 100 {
		group, cards = append(group, core.Rank(r)), append(cards, cards[0])
		cards[r].addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(r)}), 1)
	}
	if got := addressTable(group, cards, nil); strings.Count(got, "\n") != 65 || !strings.HasSuffix(got, "\n  and those of 36 more") {
		t.Error(got)
	}
}
