package gm_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestPair sends ten messages, without callbacks and one of them empty, between two hosts as NewPair makes them: all arrive,
// the first packet of the session is counted as Counts says, and a simulation that is closed refuses to run.
func TestPair(t *testing.T) {
	t.Parallel()
	pair, err := gm.NewPair(profile(t, nil), gm.Image{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	const messages = 10
	last := profile(t, nil).GM.Ports - 1
	var came []int
	in, err := pair.Hosts[1].Open(last, func(m *gm.Message) { came = append(came, len(m.Data)) })
	if err != nil {
		t.Fatal(err)
	}
	out, err := pair.Hosts[0].Open(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	room, memory := pair.Hosts[1].Register(make([]byte, messages)), pair.Hosts[0].Register(make([]byte, 1))
	all, _ := out.Tokens()
	for i := range messages {
		if err := in.Provide(room, i, gm.Class(0), gm.Low); err != nil {
			t.Fatal(err)
		}
	}
	pair.RunUntil(vtime.Millisecond) // the buffers are there
	for i := range messages {
		if err := out.Send(memory, 0, min(i, 1), gm.Low, 1, last, nil); err != nil {
			t.Fatal(err)
		}
	}
	pair.RunUntil(vtime.Second)
	if left, _ := out.Tokens(); len(came) != messages || came[0] != 0 || came[1] != 1 || left != all {
		t.Errorf("messages of %d bytes have come; %d of %d tokens are back", came, left, all)
	}
	if a, b := pair.Hosts[0].Counts(), pair.Hosts[1].Counts(); a.Sent != messages+1 || a.Resent != 0 || b.Gap != 1 || b.Received != messages {
		t.Errorf("counts %+v and %+v", a, b)
	}
	if err := pair.Run(); err != nil {
		t.Error(err)
	}
	if err := pair.Run(); err == nil {
		t.Error("a simulation that is closed runs again")
	}
}
