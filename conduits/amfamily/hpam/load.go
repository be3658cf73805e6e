package hpam

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Loaded is what a full load has come to.
type Loaded struct {
	Fullest    int    // receive buffers of node 0 that were taken at once, at most
	Overflowed uint64 // frames that found none
	Resent     uint64 // requests and replies sent again, by all
	Requests   uint64 // whose handlers have run, of all
}

// FullLoad has each of n nodes send all others as many requests as it has buffers for, while node 0 computes until all that
// can come to it has: all requests of the others and the replies to its own.
func FullLoad(p *Profile, n int, seed uint64) (*Loaded, error) {
	k := vtime.New(seed)
	c, err := NewCluster(&k.Loop, p, n)
	if err != nil {
		return nil, err
	}
	all, err := c.Program(1, amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			if err := n.Reply(m, 1, m.Args, nil); err != nil {
				panic(err)
			}
		},
		func(amfamily.Node, *amfamily.Message) {},
	})
	if err != nil {
		return nil, err
	}
	err = amfamily.Run(k, all, func(node *Process) error {
		for d := 1; d < n; d++ {
			for range p.HPAM.Buffers {
				if err := node.Request((node.ID()+d)%n, 0, [amfamily.Args]uint32{}, nil); err != nil {
					return err
				}
			}
		}
		if node.ID() == 0 {
			node.Proc().Charge(p.HPAM.Timeout * 4 / 5) // before anything is sent again
		}
		return amfamily.Wait(node, "all replies", func() bool { return node.Counts().Replies == uint64(p.HPAM.Buffers*(n-1)) })
	})
	if err != nil {
		return nil, err
	}
	card := c.Workstations[0].Card()
	l := &Loaded{Fullest: card.Fullest, Overflowed: card.Overflowed}
	for _, node := range all {
		l.Resent += node.Counts().Resent
		l.Requests += node.Counts().Requests
	}
	return l, nil
}
