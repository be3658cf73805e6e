package gm_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestGivenUpUnderWay has messages fail for lack of a receive buffer while copies of them, and of those behind, are on cables that
// take longer than gm.resend. There are buffers from then on: what has not failed arrives once, and in order.
func TestGivenUpUnderWay(t *testing.T) {
	t.Parallel()
	topo := &fabric.Topology{}
	s := topo.AddSwitch("s", make([]fabric.Kind, 8)...)
	for i, name := range []string{"a", "b"} {
		topo.Connect(fabric.HostEnd(topo.AddHost(name)), fabric.SwitchEnd(s, i), 300)
		topo.Links[i].Delay = 400 * vtime.Microsecond
	}
	b := newBed(t, topo, profile(t, func(p *gm.Profile) {
		p.GM.Resend, p.GM.Patience = 100*vtime.Microsecond, 3*vtime.Millisecond
		p.Fabric.Slack.Size = 1 << 18
	}), gm.Image{})
	for i, h := range b.hosts {
		if err := h.SetRoute(1-i, []byte{fabric.RouteByte(1 - 2*i)}); err != nil {
			t.Fatal(err)
		}
	}
	var came, results []string
	in, err := b.hosts[1].Open(2, func(m *gm.Message) { came = append(came, fmt.Sprint(len(m.Data))) })
	if err != nil {
		t.Fatal(err)
	}
	room := b.hosts[1].Register(make([]byte, 64))
	src, err := b.hosts[0].Open(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := b.hosts[0].Register(make([]byte, 64))
	for size := 5; size <= 8; size++ {
		done := func(err error) {
			if results = append(results, fmt.Sprint(size, " ", err)); len(results) > 1 {
				return
			}
			for i := range 8 {
				if err := in.Provide(room, 8*i, 3, gm.Low); err != nil {
					t.Error(err)
				}
			}
		}
		if err := src.Send(memory, 0, size, gm.Low, 1, 2, done); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Run(); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("[5 %v 6 <nil> 7 <nil> 8 <nil>]", gm.ErrNoBuffer); fmt.Sprint(results) != want || fmt.Sprint(came) != "[6 7 8]" {
		t.Errorf("%q have come, and the messages are reported as %q", came, results)
	}
}
