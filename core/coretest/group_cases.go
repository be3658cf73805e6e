package coretest

import (
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

var groupCases = []Case{{
	Name:  "group/parity",
	Rule:  "the ranks of a job may attach in disjoint groups; each works as a job does, and what is outside cannot be reached",
	Ranks: []int{2, 3, 5}, Config: lenient, // of 3, one group is a single rank beside a larger one
	Body: func(t *T) error { return groupTraffic(t, 2, false) },
}, {
	Name:  "group/segment-later",
	Rule:  "so they may when their segments come later",
	Ranks: []int{3}, Config: lenient,
	Body: func(t *T) error { return groupTraffic(t, 2, true) },
}, {
	Name:  "group/alone",
	Rule:  "a group may be a single rank",
	Ranks: []int{1, 3}, Config: lenient,
	Body: func(t *T) error { return groupTraffic(t, t.Size(), false) },
}, {
	Name:  "group/refused",
	Rule:  "a group without the caller, with a rank twice or with one that does not exist is refused",
	Ranks: []int{2}, Config: lenient,
	Body: func(t *T) error {
		me, other := t.Rank(), t.Next()
		for _, g := range [][]core.Rank{{}, {other}, {me, me}, {me, other, other}, {me, 2}, {me, -1}, {me, other, 1 << 30}} {
			_, err := t.Attach(core.AttachSpec{Segment: "4096", Group: g})
			refused(t, fmt.Sprintf("group %v", g), err)
		}
		return nil
	},
}, {
	Name:  "group/contradiction",
	Rule:  "ranks that do not agree on the group cannot attach",
	Ranks: []int{2, 3}, Want: endsWith(1, "must agree"),
	Body: func(t *T) error {
		spec := core.AttachSpec{Segment: "4096"}
		if t.Rank() == 1 {
			spec.Group = []core.Rank{1}
		}
		return attachOnly(t, spec)
	},
}}

// groupTraffic splits the job into the ranks that are equal modulo m and exercises each
// part: barriers, all categories with replies, and refusals towards the rest. The segments may come later.
func groupTraffic(t *T, m int, later bool) error {
	var group, given []core.Rank
	for r := range core.Rank(t.Size()) {
		if int(r)%m == int(t.Rank())%m {
			group = append(group, r)
			given = append([]core.Rank{r}, given...) // in any order
		}
	}
	var asked, told int
	ep, err := t.Attach(core.AttachSpec{
		Segment:      fmt.Sprint(segment),
		SegmentLater: later,
		Group:        given,
		Handlers: handlers(func(tok *core.Token, args []uint32, data []byte) {
			asked++
			if err := checkPayload(data, args[0], len(data)); err != nil || int(tok.Src())%m != int(t.Rank())%m {
				t.Errorf("message from rank %d: %v", tok.Src(), err)
			}
			tok.ReplyMedium(answer, data, args...)
		}, func(*core.Token, []uint32, []byte) { told++ }),
	})
	if err != nil {
		return err
	}
	if later {
		if err := ep.AttachSegment(fmt.Sprint(segment)); err != nil {
			return err
		}
	}
	if !slices.Equal(ep.Group(), group) {
		t.Errorf("group %v, want %v", ep.Group(), group)
	}
	for r := range core.Rank(t.Size()) {
		if slices.Contains(group, r) {
			continue
		}
		for _, k := range kinds {
			refused(t, "request to a rank outside the group", send(&ep.Context, r, k, request, nil, 0))
		}
		_, err := ep.Prepare(r, core.Offer{Kind: core.Medium, Most: 8})
		refused(t, "Prepare for a rank outside the group", err)
		if n := ep.SegmentSize(r); n != 0 {
			t.Errorf("rank %d outside the group has a segment of %d bytes", r, n)
		}
	}
	n := t.Times(50)
	for i := range n {
		for _, dst := range group {
			k := kinds[i%3]
			// Each Long has a place of its own: it may arrive before the last one's handler runs.
			off := uint64(int(t.Rank())*n+i) * 256 % segment
			if err := send(&ep.Context, dst, k, request, pattern(uint32(i), 100*int(k)), off, uint32(i)); err != nil {
				return err
			}
		}
		if i%10 == 0 {
			if err := ep.Barrier(); err != nil {
				return err
			}
		}
	}
	all := n * len(group)
	return t.Wait(&ep.Context, func() bool { return asked >= all && told >= all })
}
