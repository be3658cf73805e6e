package hosts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// naive places ranks one by one on explicit slots, which it sorts.
func naive(hosts []Host, r Request) (hostOf []string, err error) {
	type slot struct{ host, lap int }
	if r.Nodes > 0 {
		if r.Nodes > len(hosts) || r.Ranks > 0 && r.Nodes > r.Ranks {
			return nil, fmt.Errorf("nodes")
		}
		hosts = hosts[:r.Nodes]
	}
	if r.MapBy == "" && r.Nodes == 0 {
		r.MapBy = BySlot
	}
	if r.RankBy == "" {
		r.RankBy = BySlot
		if r.MapBy == ByNode {
			r.RankBy = ByNode
		}
	}
	var within, beyond []slot
	for h, host := range hosts {
		own := host.Slots
		if r.PerNode > 0 {
			own = r.PerNode
			if own > host.Slots && !r.Oversubscribe || host.Max > 0 && own > host.Max {
				return nil, fmt.Errorf("per node")
			}
		}
		most := 1000
		if host.Max > 0 {
			most = host.Max
		}
		for lap := range most {
			switch {
			case lap < own:
				within = append(within, slot{h, lap})
			case r.Oversubscribe && r.PerNode == 0:
				beyond = append(beyond, slot{h, lap})
			}
		}
	}
	laps := func(a, b slot) int { return 1000*(a.lap-b.lap) + a.host - b.host }
	if r.MapBy != BySlot {
		slices.SortFunc(within, laps)
	}
	// Beyond the slots the hosts have one each in turn, so their own laps begin there.
	first := make(map[int]int)
	for _, s := range beyond {
		if _, ok := first[s.host]; !ok {
			first[s.host] = s.lap
		}
	}
	slices.SortFunc(beyond, func(a, b slot) int {
		return 1000*((a.lap-first[a.host])-(b.lap-first[b.host])) + a.host - b.host
	})
	n := r.Ranks
	if n == 0 {
		n = len(within)
	}
	all := append(within, beyond...)
	if n > len(all) {
		return nil, fmt.Errorf("room")
	}
	all = all[:n]
	if r.RankBy == ByNode {
		slices.SortFunc(all, laps)
	} else {
		slices.SortFunc(all, func(a, b slot) int { return 1000*(a.host-b.host) + a.lap - b.lap })
	}
	for _, s := range all {
		hostOf = append(hostOf, hosts[s.host].Name)
	}
	return hostOf, nil
}

// Place agrees with the naive placement, and what it says of hosts and local numbers is consistent.
func TestPlaceRandom(t *testing.T) {
	placed := 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		hosts := make([]Host, 1+rng.IntN(6))
		for i := range hosts {
			hosts[i] = Host{Name: fmt.Sprintf("h%d", i), Slots: 1 + rng.IntN(4), From: "test"}
			if rng.IntN(3) == 0 {
				hosts[i].Max = hosts[i].Slots + rng.IntN(3)
			}
		}
		orders := []Order{"", BySlot, ByNode}
		r := Request{Ranks: rng.IntN(20), MapBy: orders[rng.IntN(3)], RankBy: orders[rng.IntN(3)], Oversubscribe: rng.IntN(2) == 0}
		if rng.IntN(3) == 0 {
			r.Nodes = 1 + rng.IntN(len(hosts)+1)
		}
		if rng.IntN(3) == 0 {
			r.PerNode = 1 + rng.IntN(4)
		}
		want, wantErr := naive(hosts, r)
		p, err := Place(hosts, r)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%+v on %s: %v, naively %v", r, show(hosts), err, wantErr)
		}
		if err != nil {
			continue
		}
		placed++
		var got []string
		next := make([]int, len(p.Hosts))
		lowest := -1
		for rank, h := range p.HostOf {
			got = append(got, p.Hosts[h].Name)
			if p.LocalOf[rank] != next[h] {
				t.Fatalf("%+v: rank %d is number %d of its host, want %d", r, rank, p.LocalOf[rank], next[h])
			}
			if next[h] == 0 {
				if lowest++; h != lowest {
					t.Fatalf("%+v: host %d comes before host %d", r, h, lowest)
				}
			}
			next[h]++
		}
		if !slices.Equal(got, want) || !slices.Equal(next, p.Ranks) {
			t.Fatalf("%+v on %s: %v of %v, naively %v", r, show(hosts), got, p.Ranks, want)
		}
		if r.Nodes > 0 && r.MapBy != BySlot && r.PerNode == 0 && len(p.Hosts) != r.Nodes {
			t.Fatalf("%+v: %d hosts", r, len(p.Hosts))
		}
	}
	if placed < 1000 {
		t.Errorf("only %d of the requests could be met", placed)
	}
}

func TestPlace(t *testing.T) {
	hosts, err := ParseFile("f", "a slots=4 max_slots=4\nb slots=2\nc\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    Request
		want string // the hosts of the ranks, or part of an error
		over string // part of what is said of oversubscription
	}{
		{Request{}, "a a a a b b c", ""},
		{Request{Ranks: 3}, "a a a", ""},
		{Request{Ranks: 5}, "a a a a b", ""},
		{Request{Ranks: 5, MapBy: ByNode}, "a b c a b", ""},
		{Request{Ranks: 5, MapBy: ByNode, RankBy: BySlot}, "a a b b c", ""},
		{Request{Ranks: 5, RankBy: ByNode}, "a b a a a", ""},
		{Request{Ranks: 4, Nodes: 2}, "a a b b", ""},
		{Request{Ranks: 4, Nodes: 2, MapBy: BySlot}, "a a a a", ""},
		{Request{Nodes: 2, PerNode: 2}, "a a b b", ""},
		{Request{Ranks: 3, Nodes: 2, PerNode: 2}, "a a b", ""},
		{Request{PerNode: 1}, "a b c", ""},
		{Request{Ranks: 9, Oversubscribe: true}, "a a a a b b b c c", "host b has 3 ranks on 2 slots; with it 2 of 3 hosts are oversubscribed, by 2 ranks together"},
		{Request{Ranks: 2, Nodes: 2, PerNode: 1}, "a b", ""},
		{Request{Ranks: 6, PerNode: 3, Oversubscribe: true}, "a a a b b b", "host b has 3 ranks on 2 slots"},
		{Request{Ranks: 8}, "!8 ranks, but the hosts have 7 slots: a:4 (f:1), b:2 (f:2), c:1 (f:3); give more, as in --host a:5, or", ""},
		{Request{Ranks: 4, PerNode: 1}, "!4 ranks, but 3 hosts have 3 at --ppn 1", ""},
		{Request{PerNode: 2}, "!--ppn 2: host c (f:3) has 1 slot", ""},
		{Request{PerNode: 5, Oversubscribe: true}, "!--ppn 5: host a (f:1) has max_slots=4", ""},
		{Request{Nodes: 4}, "!-N 4: there are 3 hosts only", ""},
		{Request{Nodes: 3, Ranks: 2}, "!-N 3: there are 2 ranks only", ""},
		{Request{Ranks: MaxRanks + 1, Oversubscribe: true}, "!more than 65536 ranks", ""},
		{Request{Ranks: -1}, "!negative", ""},
	} {
		p, err := Place(hosts, c.r)
		if part, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %v, want %q", c.r, err, part)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.r, err)
			continue
		}
		var got []string
		for _, h := range p.HostOf {
			got = append(got, p.Hosts[h].Name)
		}
		if over := p.Oversubscribed(); strings.Join(got, " ") != c.want || (over == "") != (c.over == "") || !strings.Contains(over, c.over) {
			t.Errorf("%+v: %v, %q; want %s, %q", c.r, got, over, c.want, c.over)
		}
	}
	if _, err := Place(nil, Request{}); err == nil {
		t.Error("ranks are placed on no host")
	}
	one := []Host{{Name: "a", Slots: 1, Max: 2, From: "f:1"}}
	if _, err := Place(one, Request{Ranks: 3, Oversubscribe: true}); err == nil || !strings.Contains(err.Error(), "takes 2 by max_slots") {
		t.Error(err)
	}
}

// The largest job is placed without visiting full hosts again and again.
func TestPlaceLarge(t *testing.T) {
	hosts := []Host{{Name: "big", Slots: 30000, From: "test"}}
	for i := range 35000 {
		hosts = append(hosts, Host{Name: fmt.Sprint("h", i), Slots: 1, From: "test"})
	}
	p, err := Place(hosts, Request{MapBy: ByNode})
	if err != nil || p.Ranks[0] != 30000 || len(p.HostOf) != 65000 {
		t.Error(err)
	}
}

func TestParseOrder(t *testing.T) {
	if o, err := ParseOrder("--map-by", "node"); o != ByNode || err != nil {
		t.Errorf("%q, %v", o, err)
	}
	if _, err := ParseOrder("--map-by", "core"); err == nil || err.Error() != `--map-by "core": want slot or node` {
		t.Error(err)
	}
}
