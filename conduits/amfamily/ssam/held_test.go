package ssam_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/ssam"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestHeld has a request wait at node 0 because claims have taken the room for its reply: while it waits there is no room for another
// request to its sender, small as that may be. When what was claimed has been sent and taken, the handler runs, and its reply waits for
// nothing. Requests stay in their order.
func TestHeld(t *testing.T) {
	t.Parallel()
	const requests = 3
	p := profile(t)
	most := p.Window(2)
	k := vtime.New(1)
	c, err := ssam.NewCluster(&k.Loop, p, ssam.Traps, 2)
	if err != nil {
		t.Fatal(err)
	}
	var order []uint32
	all, err := c.Program(amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			order = append(order, m.Args[0])
			if err := n.Reply(m, 1, m.Args, make([]byte, most)); err != nil {
				panic(err)
			}
		},
		func(amfamily.Node, *amfamily.Message) {},
		func(amfamily.Node, *amfamily.Message) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if err := n.Hold(most); err != nil {
			t.Fatal(err)
		}
	}
	err = amfamily.Run(k, all, func(n *ssam.Process) error {
		if n.ID() == 1 {
			for i := range uint32(requests) {
				if !n.Claim(0, 8) {
					t.Error("no room at the beginning")
				}
				if err := n.Send(0, 0, [amfamily.Args]uint32{i}, nil, 8); err != nil {
					return err
				}
			}
			return amfamily.Wait(n, "replies", func() bool { return n.Counts().Replies == requests })
		}
		claims := 0
		for n.Claim(1, most) {
			claims++
		}
		for until := n.Proc().Now() + vtime.Millisecond; n.Proc().Now() < until; {
			if _, err := n.Poll(); err != nil {
				return err
			}
		}
		if n.Counts().Requests > 0 {
			t.Errorf("%d handlers have run without room for their replies", n.Counts().Requests)
		}
		if n.Claim(1, 8) {
			t.Error("a request goes before the reply to one that waits")
		}
		for range claims {
			if err := n.Send(1, 2, [amfamily.Args]uint32{}, make([]byte, most), most); err != nil {
				return err
			}
		}
		err := amfamily.Wait(n, "requests", func() bool { return n.Counts().Requests == requests })
		if err == nil && !n.Claim(1, 8) {
			t.Error("no room when nothing waits")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range order {
		if o != uint32(i) {
			t.Errorf("handlers of requests have run in the order %v", order)
			break
		}
	}
	if most != int(p.SSAM.Message) || p.Window(4) >= most || p.Window(1000) >= 0 {
		t.Errorf("messages of %d bytes among 2, of %d among 4, of %d among 1000", most, p.Window(4), p.Window(1000))
	}
}

// TestHeldOrder has room for a reply to node 1 come in the middle of a poll: after its first request was left where it is, and before the
// poll comes to its second one, while the reply to node 2, whose request is between them, is sent. The second request waits for the next poll
// with the first.
func TestHeldOrder(t *testing.T) {
	t.Parallel()
	const us, ms = vtime.Microsecond, vtime.Millisecond
	p := profile(t)
	most := p.Window(3)
	k := vtime.New(1)
	c, err := ssam.NewCluster(&k.Loop, p, ssam.Traps, 3)
	if err != nil {
		t.Fatal(err)
	}
	var order []uint32
	all, err := c.Program(amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			order = append(order, m.Args[0])
			if err := n.Reply(m, 1, m.Args, make([]byte, most)); err != nil {
				panic(err)
			}
		},
		func(amfamily.Node, *amfamily.Message) {},
		func(amfamily.Node, *amfamily.Message) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if err := n.Hold(most); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(n *ssam.Process, number uint32, at vtime.Time) error {
		n.Proc().Charge(at - n.Proc().Now())
		n.Claim(0, 8)
		return n.Send(0, 0, [amfamily.Args]uint32{number}, nil, 8)
	}
	err = amfamily.Run(k, all, func(n *ssam.Process) error {
		switch n.ID() {
		case 0:
			n.Claim(1, most-40) // all but the room for one reply, less a cell
			for n.Proc().Now() < ms {
				if _, err := n.Poll(); err != nil {
					return err
				}
			}
			n.Proc().Charge(4 * ms)
			if err := n.Send(1, 2, [amfamily.Args]uint32{}, make([]byte, most-40), most-40); err != nil {
				return err
			}
			if _, err := n.Poll(); err != nil {
				return err
			}
			if len(order) != 1 || order[0] != 2 {
				t.Errorf("one poll has run the handlers of requests %v, and the first waits for room", order)
			}
			return amfamily.Wait(n, "requests", func() bool { return len(order) == 3 })
		case 1:
			if err := ask(n, 1, 0); err != nil {
				return err
			}
			if err := ask(n, 3, 3*ms+500*us); err != nil {
				return err
			}
		case 2:
			if err := ask(n, 2, 3*ms); err != nil {
				return err
			}
		}
		return amfamily.Wait(n, "replies", func() bool { return n.Counts().Replies == uint64(3-n.ID()) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(order) != 3 || order[1] != 1 || order[2] != 3 {
		t.Errorf("handlers have run in the order %v", order)
	}
}
