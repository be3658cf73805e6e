package component_test

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// TestCommunicators has members of the family by their common interface: a link hears its peer alone, a mailbox all, up to its
// room, and a port's messages do not wait.
func TestCommunicators(t *testing.T) {
	b := safe.bed(t, profile(t), small(), 3)
	link, err := component.NewLink(b.Nodes[0], 1, 1)
	must(t, err)
	box, err := component.NewMailbox(b.Nodes[0], 2, 3)
	must(t, err)
	heard := 0
	port, err := component.NewPort(b.Nodes[0], 3, func(*component.Message) { heard++ })
	must(t, err)
	for node := 1; node < 3; node++ {
		var out []component.Communicator
		l, err := component.NewLink(b.Nodes[node], 1, 0)
		must(t, err)
		m, err := component.NewMailbox(b.Nodes[node], 2, 1)
		must(t, err)
		p, err := component.NewPort(b.Nodes[node], 3, func(*component.Message) {})
		must(t, err)
		out = append(out, l, m, p)
		for _, c := range out {
			for i := range 2 {
				must(t, c.Send(0, text(100, node*10+i), nil))
			}
		}
	}
	b.RunUntil(vtime.Second)
	if link.Waiting() != 2 || link.Others != 2 || box.Waiting() != 3 || box.Full != 1 || heard != 4 {
		t.Errorf("link %d and %d, mailbox %d and %d, port %d", link.Waiting(), link.Others, box.Waiting(), box.Full, heard)
	}
	for i := range 2 {
		if m, ok := link.Receive(); !ok || m.From != 1 || !bytes.Equal(m.AppendTo(nil), text(100, 10+i)) {
			t.Errorf("message %d of the link", i)
		} else {
			m.Release()
		}
	}
	for _, c := range []component.Communicator{link, box, port} {
		if _, ok := c.Receive(); ok != (c == component.Communicator(box)) {
			t.Errorf("%T has a message: %v", c, ok)
		}
		c.Close()
		c.Close()
		if err := c.Send(1, nil, nil); err != component.ErrClosed {
			t.Errorf("%T is closed: %v", c, err)
		}
	}
	if err := link.SendGroup(0, nil, nil); err != component.ErrMember {
		t.Error(err)
	}
}

// TestNetworks has the same program on every technology and on several compositions, by the interface that they have in common: a mailbox that
// is notified, and a port, which hears a group's messages where the network has groups.
func TestNetworks(t *testing.T) {
	sim := vtime.NewSimulation(1)
	local := component.NewLocal(&sim.Loop)
	all := map[string]struct {
		nets  []component.Network
		loop  interface{ RunUntil(vtime.Time) }
		group bool
	}{"local": {[]component.Network{local}, sim, false}}
	for name, c := range map[string]composition{"baseline": baseline, "safe": safe, "everything": everything} {
		b := c.bed(t, profile(t), small(), 3)
		n := all[name]
		for _, node := range b.Nodes {
			n.nets = append(n.nets, node)
		}
		n.loop, n.group = b, name == "everything"
		all[name] = n
	}
	for name, n := range all {
		to := len(n.nets) - 1
		notified, heard := 0, 0
		box, err := component.NewMailbox(n.nets[to], 1, 5)
		must(t, err)
		box.Notify(func() { notified++ })
		_, err = component.NewPort(n.nets[to], 2, func(m *component.Message) {
			if n.nets[to].Self() != to || !bytes.Equal(m.AppendTo(nil), text(300, 7)) || m.From != 0 {
				t.Errorf("%s: node %d hears %d B of node %d", name, n.nets[to].Self(), m.Len(), m.From)
			}
			heard++
		})
		must(t, err)
		from, port := box, component.Communicator(nil)
		if to > 0 {
			from, err = component.NewMailbox(n.nets[0], 1, 5)
			must(t, err)
			port, err = component.NewPort(n.nets[0], 2, func(*component.Message) {})
			must(t, err)
			err = port.SendGroup(component.Everybody, text(300, 7), nil)
			if n.group != (err == nil) {
				t.Errorf("%s: to a group: %v", name, err)
			}
		}
		for i := range 3 {
			must(t, from.Send(to, text(200, i), nil))
		}
		n.loop.RunUntil(vtime.Second)
		for i := range 3 {
			m, ok := box.Receive()
			if !ok || m.Port != 1 || !bytes.Equal(m.AppendTo(nil), text(200, i)) {
				t.Fatalf("%s: message %d: %v", name, i, ok)
			}
			m.Release()
		}
		if want := map[bool]int{true: 1}[n.group]; notified != 3 || heard != want {
			t.Errorf("%s: notified %d times, and %d messages heard, want %d", name, notified, heard, want)
		}
		if err := from.Send(to+1, nil, nil); err == nil {
			t.Errorf("%s: a message to node %d of %d", name, to+1, to+1)
		}
		if _, err := component.NewLink(n.nets[to], 3, to+1); err == nil {
			t.Errorf("%s: a link to node %d of %d", name, to+1, to+1)
		}
	}
	if _, err := component.NewPort(local, 1, nil); err == nil {
		t.Error("a port without a handler")
	}
	if _, err := component.NewMailbox(local, 1, 0); err == nil {
		t.Error("a mailbox without room")
	}
}

// TestChannels has datagrams keep their boundaries, and a stream none; a stream that is not read stops its writer.
func TestChannels(t *testing.T) {
	b := safe.bed(t, profile(t), small(), 2)
	link := func(node, port int) *component.Link {
		l, err := component.NewLink(b.Nodes[node], port, 1-node)
		must(t, err)
		return l
	}
	channels := func(node int) (component.Channel, component.Channel) {
		s, err := component.NewStream(link(node, 2))
		must(t, err)
		return component.NewDatagram(link(node, 1)), s
	}
	d, s := channels(0)
	din, sin := channels(1)
	for i := range 3 {
		if n, err := d.Write(text(50+i, i), nil); n != 50+i || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := d.Write(make([]byte, 129), nil); err == nil {
		t.Error("a datagram of more than a frame")
	}
	written, all := false, text(7000, 1)
	if n, err := s.Write(all, func(err error) { must(t, err); written = true }); n != len(all) || err != nil {
		t.Fatal(n, err)
	}
	b.RunUntil(vtime.Second)
	if written {
		t.Error("nothing was read, and all is written")
	}
	buffer := make([]byte, 128)
	if _, err := din.Read(buffer[:49]); err != component.ErrShort {
		t.Error(err)
	}
	for i := range 3 {
		if n, err := din.Read(buffer); err != nil || !bytes.Equal(buffer[:n], text(50+i, i)) {
			t.Errorf("datagram %d: %d B, %v", i, n, err)
		}
	}
	var got []byte
	for i := 0; i < 400; i++ {
		n, err := sin.Read(buffer[:1+i*13%100])
		must(t, err)
		got = append(got, buffer[:n]...)
		b.RunUntil(b.Now() + 100*vtime.Microsecond)
	}
	if !written || !bytes.Equal(got, all) {
		t.Errorf("%d of %d B, written: %v", len(got), len(all), written)
	}
	plain, err := component.NewLink(baseline.bed(t, profile(t), small(), 2).Nodes[0], 1, 1)
	must(t, err)
	if _, err := component.NewStream(plain); err == nil {
		t.Error("a stream over a network that may lose messages")
	}
}

// TestLocal has the same families on another technology.
func TestLocal(t *testing.T) {
	sim := vtime.NewSimulation(1)
	net := component.NewLocal(&sim.Loop)
	l, err := component.NewLink(net, 1, 0)
	must(t, err)
	s, err := component.NewStream(l)
	must(t, err)
	done := false
	if _, err := s.Write(text(1000, 1), func(error) { done = true }); err != nil {
		t.Fatal(err)
	}
	sim.RunUntil(1)
	if done {
		t.Error("the message is done, and waits to be read")
	}
	b := make([]byte, 1000)
	if n, err := s.Read(b); n != 1000 || err != nil || !bytes.Equal(b, text(1000, 1)) || !done {
		t.Errorf("%d B, %v, done: %v", n, err, done)
	}
	if err := l.SendGroup(0, nil, nil); err != component.ErrMember {
		t.Error(err)
	}
	box, err := component.NewMailbox(net, 2, 1)
	must(t, err)
	if err := box.SendGroup(0, nil, nil); err != component.ErrMember {
		t.Error(err)
	}
}
