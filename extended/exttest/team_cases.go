package exttest

import (
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

var teamCases = []coretest.Case{{
	Name:  "team/world",
	Rule:  "the world has all ranks in order (gex: the primordial team)",
	Ranks: []int{1, 3}, Body: teamWorld,
}, {
	Name:  "team/split",
	Rule:  "a split makes a team of each colour, ordered by key and then by rank; a negative colour joins none (gex_TM_Split)",
	Ranks: []int{1, 2, 5}, Body: teamSplit,
}, {
	Name:  "team/subteam",
	Rule:  "a team is made of listed members in the order of the list (gex_TM_Create)",
	Ranks: []int{1, 4}, Body: teamSubteam,
}, {
	Name:  "team/recycle",
	Rule:  "teams can be made and freed thousands of times",
	Ranks: []int{3}, Body: teamRecycle,
}, {
	Name:  "team/nested",
	Rule:  "teams of teams translate ranks, and rows and columns of a grid communicate independently",
	Ranks: []int{6}, Body: teamGrid,
}, {
	Name:  "team/hosts",
	Rule:  "a team knows which members share a host; where some do and others do not, only leaders send to other hosts",
	Ranks: []int{1, 3, 4, 5}, Config: teamHostsConfig, Body: teamHosts,
}, {
	Name:  "team/misuse",
	Rule:  "a freed team, no team, and bad lists are refused with an error",
	Ranks: []int{2}, Config: lenient, Body: teamMisuse,
}}

// teamHostsConfig leaves the calls to the library's algorithms, by its table, which send no more than they need to.
func teamHostsConfig(cfg *core.Config) { cfg.NoNative, cfg.Debug = true, false }

func teamHosts(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	backwards, err := ep.World().Split(c, 0, -int(t.Rank()))
	if err != nil {
		return err
	}
	for _, team := range []*extended.Team{ep.World(), backwards} {
		var local []int
		for i := range team.Size() {
			if team.Host(i) != t.Host(team.Jobrank(i)) {
				t.Errorf("%v: member %d is on host %d, in the job on %d", team, i, team.Host(i), t.Host(team.Jobrank(i)))
			}
			if team.Host(i) == team.Host(team.Rank()) {
				local = append(local, i)
			}
		}
		if got := team.Local(); !slices.Equal(got, local) || team.Host(-1) != -1 || team.Host(team.Size()) != -1 {
			t.Errorf("%v: %v share its host, want %v", team, got, local)
		}
		node, err := team.SplitHosts(c, 0)
		if err != nil {
			return err
		}
		if node.Size() != len(local) || node.RankOf(t.Rank()) != slices.Index(local, team.Rank()) {
			t.Errorf("%v: the team of its host has %v, want %v of it", team, node.Members(), local)
		}
		if err := quietToFar(t, c, team, local[0] == team.Rank()); err != nil {
			return err
		}
	}
	return t.Err()
}

// quietToFar wants nothing sent to other hosts in collective calls by who is no leader.
func quietToFar(t *coretest.T, c *extended.Context, team *extended.Team, leader bool) error {
	if err := team.Barrier(c); err != nil { // nothing of before is still to be sent
		return err
	}
	sent := func() (n int) {
		for i := range team.Size() {
			if team.Host(i) != team.Host(team.Rank()) {
				n += int(team.Endpoint().Core().Counts(team.Jobrank(i)).Requests)
			}
		}
		return n
	}
	before := sent()
	for range 10 {
		if err := team.Barrier(c); err != nil {
			return err
		}
		if got, err := sumOf(c, team, 1); err != nil || got != uint64(team.Size()) {
			t.Errorf("%v: the sum is %d, %v", team, got, err)
		}
		word := make([]byte, 8)
		if err := team.Broadcast(c, 0, word, word); err != nil {
			return err
		}
	}
	far := team.Kind() == coll.HostsTeams
	if n := sent() - before; far && leader != (n > 0) {
		t.Errorf("%v: leader %v has sent %d messages to other hosts", team, leader, n)
	}
	return nil
}

// lenient switches debug mode off, where misuse would end the job.
func lenient(cfg *core.Config) { cfg.Debug = false }

func teamWorld(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	w := ep.World()
	if w.Size() != t.Size() || w.Rank() != int(t.Rank()) || w.RankOf(core.Rank(t.Size())) != -1 || w.Jobrank(-1) != -1 || w.Jobrank(t.Size()) != -1 {
		t.Errorf("world of %d, rank %d", w.Size(), w.Rank())
	}
	for i := range t.Size() {
		if w.Jobrank(i) != core.Rank(i) || w.RankOf(core.Rank(i)) != i {
			t.Errorf("member %d is %d", i, w.Jobrank(i))
		}
	}
	if near := ep.Neighborhood(); !slices.Contains(near, t.Rank()) || !slices.IsSorted(near) {
		t.Errorf("neighbourhood %v", near)
	}
	host, err := ep.HostTeam(&ep.Context)
	if err != nil || host.RankOf(t.Rank()) != host.Rank() || host.Size() != len(t.Local()) {
		t.Errorf("host team %v: %v", host, err)
	}
	near, err := ep.NeighborhoodTeam(&ep.Context)
	if err != nil || near.Size() != len(ep.Neighborhood()) {
		t.Errorf("neighbourhood team %v: %v", near, err)
	}
	return t.Err()
}

// sumOf adds up one number of every member.
func sumOf(c *extended.Context, team *extended.Team, x uint64) (uint64, error) {
	in, out := put64(x), make([]byte, 8)
	err := team.AllReduce(c, out, in, extended.Reduction{Type: extended.Uint64, Op: extended.Add})
	return get64(out), err
}

func teamSplit(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	me, n := int(t.Rank()), t.Size()
	color := me % 3
	if color == 2 {
		color = -1
	}
	team, err := ep.World().Split(&ep.Context, color, -me)
	if err != nil {
		return err
	}
	var want []core.Rank // by falling rank
	for r := n - 1; r >= 0; r-- {
		if r%3 == color {
			want = append(want, core.Rank(r))
		}
	}
	switch {
	case color < 0 && team != nil:
		t.Errorf("joined %v", team)
	case color < 0:
	case !slices.Equal(team.Members(), want) || team.Jobrank(team.Rank()) != t.Rank():
		t.Errorf("team of %v, rank %d, want %v", team.Members(), team.Rank(), want)
	default:
		var sum uint64
		for _, r := range want {
			sum += uint64(r)
		}
		if got, err := sumOf(&ep.Context, team, uint64(me)); err != nil || got != sum {
			t.Errorf("sum of %v is %d, %v", want, got, err)
		}
	}
	return t.Err()
}

func teamSubteam(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	list := []int{t.Size() - 1}
	if t.Size() > 2 {
		list = append(list, 0, 2)
	}
	if !slices.Contains(list, int(t.Rank())) {
		list = nil
	}
	team, err := ep.World().Subteam(&ep.Context, list)
	if err != nil {
		return err
	}
	if (team == nil) != (list == nil) {
		t.Errorf("list %v made %v", list, team)
	} else if team != nil {
		for i, r := range list {
			if team.Jobrank(i) != core.Rank(r) {
				t.Errorf("list %v made %v", list, team.Members())
			}
		}
		return errorsOf(t, team.Barrier(&ep.Context))
	}
	return t.Err()
}

func errorsOf(t *coretest.T, err error) error {
	if err != nil {
		return err
	}
	return t.Err()
}

func teamRecycle(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	for i := range t.Times(1000) {
		team, err := ep.World().Split(c, i%2*int(t.Rank())%2, i*int(t.Rank()))
		if err != nil {
			return err
		}
		got, err := sumOf(c, team, 1)
		if err != nil || int(got) != team.Size() {
			t.Errorf("round %d: %d members of %v counted: %v", i, got, team, err)
			return t.Err()
		}
		if err := team.Free(c); err != nil {
			return err
		}
	}
	return t.Err()
}

func teamGrid(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	const width = 3
	me := int(t.Rank())
	row, err := ep.World().Split(c, me/width, me)
	if err != nil {
		return err
	}
	column, err := ep.World().Split(c, me%width, me)
	if err != nil {
		return err
	}
	for i := range t.Times(50) {
		want := 0
		for x := range width {
			want += me/width*width + x
		}
		if got, err := sumOf(c, row, uint64(me)); err != nil || int(got) != want {
			t.Errorf("round %d: row sum %d, want %d, %v", i, got, want, err)
			return t.Err()
		}
		want = me%width + (me%width + width)
		if got, err := sumOf(c, column, uint64(me)); err != nil || int(got) != want {
			t.Errorf("round %d: column sum %d, want %d, %v", i, got, want, err)
			return t.Err()
		}
		if err := row.Barrier(c); err != nil {
			return err
		}
	}
	pair, err := row.Split(c, row.Rank()/2, row.Rank())
	if err != nil {
		return err
	}
	for i := range pair.Size() {
		if want := row.Jobrank(row.Rank()/2*2 + i); pair.Jobrank(i) != want {
			t.Errorf("member %d of %v is %d, want %d", i, pair, pair.Jobrank(i), want)
		}
	}
	return t.Err()
}

func teamMisuse(t *coretest.T) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	c := &ep.Context
	team, err := ep.World().Split(c, 0, 0)
	if err != nil {
		return err
	}
	if err := team.Free(c); err != nil {
		return err
	}
	var none *extended.Team
	_, err1 := team.Split(c, 0, 0)
	_, err2 := ep.World().Subteam(c, []int{0, 0})
	_, err3 := ep.World().Subteam(c, []int{2})
	_, err4 := none.BroadcastNB(c, 0, nil, nil)
	for i, err := range []error{
		err1, err2, err3, err4, team.Barrier(c), team.Free(c), none.Barrier(c), ep.World().Free(c),
		ep.World().Broadcast(c, 2, nil, nil), ep.World().Broadcast(c, -1, nil, nil),
		ep.World().AllGather(c, make([]byte, 3), make([]byte, 2)),
		ep.World().AllReduce(c, make([]byte, 8), make([]byte, 16), extended.Reduction{Type: extended.Uint64, Op: extended.Add}),
		ep.World().AllReduce(c, make([]byte, 9), make([]byte, 9), extended.Reduction{Type: extended.Uint64, Op: extended.Add}),
	} {
		if err == nil {
			t.Errorf("misuse %d was accepted", i)
		}
	}
	return errorsOf(t, ep.World().Barrier(c))
}
