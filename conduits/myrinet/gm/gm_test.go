package gm_test

import (
	"encoding/binary"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/gm"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// profile returns the paper's machine, changed by change.
func profile(t testing.TB, change func(*gm.Profile)) *gm.Profile {
	t.Helper()
	p, err := gm.Load("gm-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	return p
}

// bed is hosts with GM on a fabric.
type bed struct {
	*vtime.Simulation
	f     *fabric.Fabric
	hosts []*gm.Host
}

func newBed(t testing.TB, topo *fabric.Topology, p *gm.Profile, image gm.Image) *bed {
	t.Helper()
	b := &bed{Simulation: vtime.NewSimulation(1)}
	var err error
	if b.f, err = fabric.New(&b.Loop, topo, &p.Fabric); err != nil {
		t.Fatal(err)
	}
	for i := range topo.Hosts {
		h, err := gm.NewHost(b.f, p, image, i)
		if err != nil {
			t.Fatal(err)
		}
		b.hosts = append(b.hosts, h)
	}
	return b
}

// star is n hosts at one switch, with routes between all.
func star(t testing.TB, n int, p *gm.Profile, image gm.Image) *bed {
	t.Helper()
	topo := &fabric.Topology{}
	s := topo.AddSwitch("s", make([]fabric.Kind, n+2)...)
	for i := range n {
		h := topo.AddHost(string(rune('a' + i)))
		topo.Connect(fabric.HostEnd(h), fabric.SwitchEnd(s, i), 300)
	}
	b := newBed(t, topo, p, image)
	for i, h := range b.hosts {
		for j := range b.hosts {
			if i != j {
				if err := h.SetRoute(j, []byte{fabric.RouteByte(j - i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return b
}

// do calls f at a time.
func (b *bed) do(at vtime.Time, f func()) { b.At(at, call(f), 0, 0) }

type call func()

func (c call) Fire(_, _ uint64) { c() }

// flow is messages from a port of one host to a port of another: each has its number and the sender's in it, and
// is as long as its number says.
type flow struct {
	t        testing.TB
	from, to *gm.Host
	port     int // of both
	sizes    []int
	src      *gm.Port
	memory   *gm.Memory
	sent     int // handed over
	done     int // reported
	failed   int // of them
	why      error
	got      []int // their numbers, in the order in which they have come
}

const (
	most  = 13 // size class of the largest message of a flow
	spare = 8  // receive buffers of a flow, for each size class
)

// newFlow makes a flow of n messages of those sizes in turn. Each end has the port to itself.
func newFlow(t testing.TB, from, to *gm.Host, port, n int, sizes ...int) *flow {
	t.Helper()
	f := &flow{t: t, from: from, to: to, port: port}
	for i := range n {
		f.sizes = append(f.sizes, sizes[i%len(sizes)])
	}
	f.memory = from.Register(make([]byte, n<<most))
	for i, size := range f.sizes {
		f.fill(f.memory.Bytes()[i<<most:][:size], i)
	}
	in := to.Register(make([]byte, spare*(most+1)<<most))
	var dst *gm.Port
	var err error
	at := 0
	if dst, err = to.Open(port, func(m *gm.Message) {
		f.receive(m)
		class := gm.Class(len(m.Data))
		if err := dst.Provide(m.Memory, m.Offset, class, gm.Low); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	classes := map[uint8]bool{}
	for _, size := range sizes {
		if c := gm.Class(size); !classes[c] {
			classes[c] = true
			for range spare {
				if err := dst.Provide(in, at, c, gm.Low); err != nil {
					t.Fatal(err)
				}
				at += 1 << most
			}
		}
	}
	if f.src, err = from.Open(port, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

// fill writes what message i is to be.
func (f *flow) fill(b []byte, i int) {
	for k := range b {
		b[k] = byte(i*7 + k*3 + k>>8 + f.from.ID())
	}
	if len(b) >= 4 {
		binary.BigEndian.PutUint32(b, uint32(i))
	}
}

// receive checks a message, byte by byte.
func (f *flow) receive(m *gm.Message) {
	i := len(f.got)
	if i == len(f.sizes) {
		f.t.Fatalf("node %d has more messages of node %d than were sent", f.to.ID(), m.From)
	}
	want := make([]byte, f.sizes[i])
	f.fill(want, i)
	if m.From != f.from.ID() || m.FromPort != f.port || string(m.Data) != string(want) {
		f.t.Fatalf("message %d of node %d, %d B, has come as %d B of node %d port %d", i, f.from.ID(), len(want), len(m.Data), m.From, m.FromPort)
	}
	f.got = append(f.got, i)
}

// start hands over as many messages as there are tokens, and the others as tokens come back.
func (f *flow) start() {
	for f.sent < len(f.sizes) {
		i := f.sent
		err := f.src.Send(f.memory, i<<most, f.sizes[i], gm.Low, f.to.ID(), f.port, func(err error) {
			f.done++
			if err != nil {
				f.failed++
				f.why = err
			}
			f.start()
		})
		if err == gm.ErrNoToken {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.sent++
	}
}

// finished fails the test unless all messages have arrived, and their sender knows.
func (f *flow) finished() {
	f.t.Helper()
	if len(f.got) != len(f.sizes) || f.done != len(f.sizes) || f.failed > 0 {
		f.t.Errorf("node %d to %d: of %d messages %d have come, %d are reported, %d as failed (%v); sender %+v, receiver %+v",
			f.from.ID(), f.to.ID(), len(f.sizes), len(f.got), f.done, f.failed, f.why, f.from.Counts(), f.to.Counts())
	}
}
