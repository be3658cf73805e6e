package hpam_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestHeld has everything that can be under way to node 0 wait there for ten times as long as a request's timer takes. Nothing is sent again,
// and the pool is full, but does not overflow; a fifth claim towards a partner finds no room before a reply has come.
func TestHeld(t *testing.T) {
	t.Parallel()
	const nodes, each = 4, 4
	k := vtime.New(1)
	c, err := hpam.NewCluster(&k.Loop, profile(t), nodes)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Program(1, amfamily.Image{func(n amfamily.Node, m *amfamily.Message) {
		if err := n.Reply(m, 1, m.Args, nil); err != nil {
			panic(err)
		}
		n.Proc().Charge(vtime.Millisecond)
		n.Proc().Sync() // the requester sends again into the buffer, while this one is handled
	}, func(amfamily.Node, *amfamily.Message) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if err := n.Hold(100); err != nil {
			t.Fatal(err)
		}
	}
	const rounds = 3
	err = amfamily.Run(k, all, func(n *hpam.Process) error {
		for round := range rounds {
			for d := 1; d < nodes; d++ {
				to := (n.ID() + d) % nodes
				for range each {
					if err := amfamily.Wait(n, "room", func() bool { return n.Claim(to, 8) }); err != nil {
						return err
					}
				}
				if n.Claim(to, 8) {
					t.Errorf("node %d: a fifth claim towards node %d", n.ID(), to)
				}
				for range each {
					if err := n.Send(to, 0, [amfamily.Args]uint32{}, nil, 8); err != nil {
						return err
					}
				}
			}
			if n.ID() == 0 && round == 0 {
				n.Proc().Charge(100 * vtime.Millisecond)
			}
		}
		return amfamily.Wait(n, "all replies", func() bool { return n.Counts().Replies == rounds*each*(nodes-1) })
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range all {
		card, count := c.Workstations[i].Card(), n.Counts()
		if card.Overflowed > 0 || card.Hazards > 0 || count.Resent > 0 || count.Duplicates > 0 || count.Requests != rounds*each*(nodes-1) {
			t.Errorf("node %d: %d overflowed, %d hazards, %+v", i, card.Overflowed, card.Hazards, count)
		}
	}
	if full := c.Workstations[0].Card().Fullest; full != 24 {
		t.Errorf("%d of 24 receive buffers were taken at once", full)
	}
}
