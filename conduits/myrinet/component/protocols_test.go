package component_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestUnreachable has messages to a node that does not answer fail, those that wait for a buffer or for others included.
func TestUnreachable(t *testing.T) {
	traits := small()
	traits.Tries = 5
	b := everything.bed(t, profile(t), traits, 3)
	b.f.FailLink(fabric.HostEnd(1))
	failed, done := 0, 0
	count := func(err error) {
		if errors.Is(err, component.ErrUnreachable) {
			failed++
		}
		done++
	}
	for i := range 20 {
		must(t, b.Nodes[0].Send(1, 1, text(sizes[i%len(sizes)], i), count))
	}
	must(t, b.Nodes[0].SendGroup(component.Everybody, 1, text(1000, 1), count))
	came := 0
	must(t, b.Nodes[2].Handle(1, func(*component.Message) { came++ }))
	b.RunUntil(vtime.Second)
	if failed != 21 || done != 21 || came != 1 {
		t.Errorf("%d of %d messages have failed, %d have come where they could", failed, done, came)
	}
	if err := b.Nodes[0].Send(1, 1, nil, nil); err != component.ErrUnreachable {
		t.Error(err)
	}
	if k := b.Nodes[0].Counts(); k.TimeOuts != 6 {
		t.Errorf("%+v", k)
	}
}

// TestCredits has a program that keeps messages stop their sender, and nobody else.
func TestCredits(t *testing.T) {
	traits := small()
	traits.Staging = 8 // four frames for each of two nodes
	b := credits.bed(t, profile(t), traits, 3)
	var kept []*component.Message
	others := 0
	must(t, b.Nodes[0].Handle(1, func(m *component.Message) {
		if m.From == 1 {
			m.Keep()
			kept = append(kept, m)
		} else {
			others++
		}
	}))
	for i := range 10 {
		must(t, b.Nodes[1].Send(0, 1, text(100, i), nil))
		must(t, b.Nodes[2].Send(0, 1, text(100, i), nil))
	}
	b.RunUntil(vtime.Second)
	if len(kept) != 4 || others != 10 {
		t.Fatalf("%d messages of the one, %d of the other", len(kept), others)
	}
	kept[1].Release() // those before are still there: no place is free
	b.RunUntil(2 * vtime.Second)
	if len(kept) != 4 {
		t.Fatal("a place was taken that is behind one that is not free")
	}
	kept[0].Release()
	b.RunUntil(3 * vtime.Second)
	if len(kept) != 6 {
		t.Fatalf("%d messages after two are released", len(kept))
	}
	for i, m := range kept[2:] {
		if !bytes.Equal(m.AppendTo(nil), text(100, i+2)) {
			t.Errorf("message %d has been overwritten", i+2)
		}
	}
}

// TestGroup has a group's members get a message that the host hands over once.
func TestGroup(t *testing.T) {
	b := of[[component.Multicast]byte]().bed(t, profile(t), small(), 5)
	got := map[int]int{}
	for i, c := range b.Nodes {
		must(t, c.Handle(1, func(m *component.Message) {
			if m.Group == 1 && bytes.Equal(m.AppendTo(nil), text(1000, 1)) {
				got[i]++
			}
		}))
	}
	c := b.Nodes[0]
	must(t, c.SetGroup(1, 1, 3, 4))
	must(t, c.SendGroup(1, 1, text(1000, 1), nil))
	b.RunUntil(vtime.Second)
	if k := c.Counts(); len(got) != 3 || got[1]*got[3]*got[4] != 1 || k.HostToNIC != 1000 || k.Sent != 3*8 {
		t.Errorf("%v, %+v", got, k)
	}
}

// TestMTU has messages cut anew while the component runs, by itself and by another node.
func TestMTU(t *testing.T) {
	b := of[[component.MTU | component.Active]byte]().bed(t, profile(t), component.Defaults(), 2)
	c := b.Nodes[0]
	var got []byte
	must(t, b.Nodes[1].Handle(1, func(m *component.Message) { got = m.AppendTo(got[:0]) }))
	frames := func() (n uint64) {
		before := c.Counts().Sent
		must(t, c.Send(1, 1, text(4096, 1), nil))
		b.RunUntil(b.Now() + vtime.Second)
		if !bytes.Equal(got, text(4096, 1)) {
			t.Errorf("%d B have come", len(got))
		}
		return c.Counts().Sent - before
	}
	if n := frames(); n != 1 {
		t.Errorf("%d frames", n)
	}
	must(t, c.SetMTU(1024))
	if n := frames(); n != 4 {
		t.Errorf("%d frames of 1024 B", n)
	}
	must(t, b.Nodes[1].Ask(0, 0, 512, nil))
	b.RunUntil(b.Now() + vtime.Second)
	if n := frames(); n != 8 || c.Unit() != 512 {
		t.Errorf("%d frames of 512 B", n)
	}
}

// TestActive has reliability switched for each way, by the sender and by the receiver's unit; frames say so.
func TestActive(t *testing.T) {
	b := reliable.bed(t, profile(t), small(), 2)
	a, c := b.Nodes[0], b.Nodes[1]
	came := 0
	must(t, c.Handle(1, func(*component.Message) { came++ }))
	acks := func() uint64 {
		before := c.Counts().Acks
		for i := range 5 {
			must(t, a.Send(1, 1, text(10, i), nil))
		}
		b.RunUntil(b.Now() + vtime.Millisecond)
		return c.Counts().Acks - before
	}
	if n := acks(); n == 0 {
		t.Error("nothing is acknowledged")
	}
	must(t, a.Activate(1, 0))
	if n := acks(); n != 0 {
		t.Errorf("%d acknowledgements without reliability", n)
	}
	must(t, c.Ask(0, component.Reliability, 0, nil))
	b.RunUntil(b.Now() + vtime.Millisecond)
	if n := acks(); n == 0 || came != 15 {
		t.Errorf("%d acknowledgements again, %d messages", n, came)
	}
}

// TestCapsule has a protocol carried that the baseline does not have: a counter in a NIC's memory, which no host takes part in.
func TestCapsule(t *testing.T) {
	const fetchAndAdd, fetched = 1, 2
	b := everything.bed(t, profile(t), small(), 3)
	server, counter := b.Nodes[0], byte(0)
	must(t, server.Evaluate(fetchAndAdd, func(from int, unit []byte) {
		must(t, server.Carry(from, fetched, []byte{counter}, nil))
		counter += unit[0]
	}))
	sum := 0
	for _, c := range b.Nodes[1:] {
		must(t, c.Evaluate(fetched, func(_ int, unit []byte) { sum += int(unit[0]) }))
		for range 3 {
			must(t, c.Carry(0, fetchAndAdd, []byte{2}, nil))
		}
	}
	b.RunUntil(vtime.Second)
	if sum != 0+2+4+6+8+10 || server.Counts().NICToHost != 0 || server.Counts().Evaluated != 6 {
		t.Errorf("the sum is %d, %+v", sum, server.Counts())
	}
}

// TestAdaptive has the choice follow what is measured: with a slow copy short messages are worth a rendezvous, with a fast one no message is.
func TestAdaptive(t *testing.T) {
	requests := func(factor, size int) (late uint64) {
		p := profile(t)
		if factor > 0 {
			p.Host.Copy *= 20
		} else {
			p.Host.Copy /= 50
		}
		b := rendezvous.bed(t, p, component.Defaults(), 2)
		c, to := b.Nodes[0], b.Nodes[1]
		must(t, to.Handle(1, func(m *component.Message) {
			if cap(m.Parts[0]) == 1<<14 {
				must(t, to.Post(m.Parts[0][:1<<14]))
			}
		}))
		for range 4 {
			must(t, to.Post(make([]byte, 1<<14)))
		}
		send := func(n, size int) {
			for i := range n {
				must(t, c.Send(1, 1, text(size, i), nil))
				b.RunUntil(b.Now() + vtime.Millisecond)
			}
		}
		send(2, 1000)
		send(2, 10000) // both are known now
		send(2, 10000)
		before := c.Counts().Requests
		send(20, size)
		return c.Counts().Requests - before
	}
	if n := requests(1, 2000); n != 20 {
		t.Errorf("with a slow copy %d of 20 messages of 2000 B make a rendezvous", n)
	}
	if n := requests(-1, 10000); n > 1 {
		t.Errorf("with a fast copy %d of 20 messages of 10000 B make a rendezvous", n)
	}
}

// TestLostInBuffer has frames lost that go to posted buffers, which two nodes compete for. A buffer is for one message at a time: what
// comes is not torn.
func TestLostInBuffer(t *testing.T) {
	if shm.RaceEnabled {
		t.Skip("the race detector has nothing to find in virtual time, and takes long over it")
	}
	p := profile(t)
	p.Fabric.Error.Lose = machine.Certain / 150
	traits := small()
	traits.Long = 1000
	var refused, came uint64
	for seed := range uint64(10) {
		b, err := component.NewBed[[component.Adaptive | component.Rendezvous]byte](p, traits, 5, seed)
		must(t, err)
		to := b.Nodes[0]
		must(t, to.Handle(1, func(m *component.Message) {
			got := m.AppendTo(nil)
			if want := text(len(got), int(binary.BigEndian.Uint32(got))); !bytes.Equal(got, want) {
				t.Errorf("seed %d: a message of node %d is torn", seed, m.From)
			}
			must(t, to.Post(m.Parts[0]))
		}))
		for range 2 {
			must(t, to.Post(make([]byte, 3000)))
		}
		for node := 1; node < 5; node++ {
			i := 0
			var next func(error)
			next = func(error) {
				if i++; i < 30 {
					must(t, b.Nodes[node].Send(0, 1, text(3000, node<<16+i), next))
				}
			}
			next(nil)
		}
		b.RunUntil(vtime.Second)
		refused += to.Counts().Refused
		came += to.Counts().Messages
	}
	if refused < 20 || came < 100 {
		t.Errorf("%d messages have come, %d were refused", came, refused)
	}
}
