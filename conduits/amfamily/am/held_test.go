package am_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/am"
)

// TestHeld has a node that does not poll send until 3 replies are in its memory, as many as its machine allows: its handlers have not
// run by then, and there is room again after a poll. One claim at a time is granted.
func TestHeld(t *testing.T) {
	t.Parallel()
	const replies = 3
	k, all := nodes(t, profile(t, "am.replies", "3", "count"), 2, amfamily.Image{
		func(n amfamily.Node, m *amfamily.Message) {
			if err := n.Reply(m, 1, m.Args, m.Data); err != nil {
				t.Error(err)
			}
		},
		func(_ amfamily.Node, m *amfamily.Message) {
			if want := strings.Repeat("x", int(m.Args[0])); string(m.Data) != want {
				t.Errorf("reply %q, want %q", m.Data, want)
			}
		},
	})
	for _, n := range all {
		if err := n.Hold(100); err != nil {
			t.Fatal(err)
		}
	}
	run(t, k, all, func(n *am.Node) error {
		if n.ID() == 1 {
			return amfamily.Wait(n, "requests", func() bool { return n.Counts().Requests == replies })
		}
		sent := uint32(0)
		for ; n.Claim(1, 100); sent++ {
			if n.Claim(1, 100) {
				t.Error("two claims")
			}
			if err := n.Send(1, 0, [4]uint32{sent}, []byte(strings.Repeat("x", int(sent))), 100); err != nil {
				return err
			}
			n.Proc().Charge(ms)
		}
		if sent != replies || n.Counts().Replies != 0 || n.Counts().Interrupts != replies {
			t.Errorf("%d sent, %+v", sent, n.Counts())
		}
		before := n.Proc().Now()
		if got, err := n.Poll(); got != replies || err != nil || n.Counts().Replies != replies || !n.Claim(1, 0) {
			t.Errorf("a poll has run %d handlers, %v; %+v", got, err, n.Counts())
		}
		if took := n.Proc().Now() - before; took < replies*5*us {
			t.Errorf("the interrupts of %d replies have taken %v", replies, took)
		}
		return nil
	})
}
