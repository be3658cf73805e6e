package gm

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Pair is two hosts at one switch, as programs are measured that know nothing of the network.
type Pair struct {
	*vtime.Simulation
	Fabric *fabric.Fabric
	Hosts  [2]*Host
}

// NewPair returns a pair with an image of the control program on both NICs, and with the routes between them. The seed
// decides which packets are harmed, and numbers of sessions.
func NewPair(p *Profile, image Image, seed uint64) (*Pair, error) {
	topo := &fabric.Topology{About: "two hosts at a switch"}
	s := topo.AddSwitch("switch", make([]fabric.Kind, 8)...)
	for i, name := range []string{"host1", "host2"} {
		topo.Connect(fabric.HostEnd(topo.AddHost(name)), fabric.SwitchEnd(s, i), sanCable)
	}
	b := &Pair{Simulation: vtime.NewSimulation(seed)}
	var err error
	if b.Fabric, err = fabric.New(&b.Loop, topo, &p.Fabric); err != nil {
		return nil, err
	}
	for i := range b.Hosts {
		if b.Hosts[i], err = NewHost(b.Fabric, p, image, i); err != nil {
			return nil, err
		}
		if err := b.Hosts[i].SetRoute(1-i, []byte{hop(i, 1-i)}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// allsizePort is the port that allsize uses: the first that is nobody else's.
const allsizePort = 2

// HalfRoundTrip is GM's allsize test between two hosts of a simulation: see [Testbed.HalfRoundTrip].
func HalfRoundTrip(s *vtime.Simulation, a, b *Host, size, n int) (vtime.Time, error) {
	if size < 0 || n < 1 {
		return 0, fmt.Errorf("gm: %d round trips of %d B", n, size)
	}
	r := &roundTrips{s: s, size: size, left: 2*n + 2}
	for i, h := range [2]*Host{a, b} {
		e := &r.ends[i]
		e.memory = h.Register(make([]byte, size+1<<Class(size)))
		var err error
		if e.port, err = h.Open(allsizePort, func(*Message) { r.received(i) }); err != nil {
			return 0, err
		}
		e.peer = [2]*Host{b, a}[i].ID()
		r.provide(i)
	}
	s.RunUntil(s.Now() + vtime.Millisecond) // the buffers are there
	r.send(0)
	s.RunUntil(s.Now() + vtime.Second)
	for i := range r.ends {
		r.ends[i].port.Close()
	}
	if r.err == nil && r.left > 0 {
		r.err = fmt.Errorf("gm: %d of %d messages of %d B have not come within a second", r.left, 2*n+2, size)
	}
	return (r.end - r.begin) / vtime.Time(2*n), r.err
}

// roundTrips is a run of allsize.
type roundTrips struct {
	s    *vtime.Simulation
	size int
	left int // messages that have not come
	ends [2]struct {
		port   *Port
		memory *Memory
		peer   int
	}
	begin, end vtime.Time
	err        error
}

func (r *roundTrips) note(err error) {
	if err != nil && r.err == nil {
		r.err = err
	}
}

func (r *roundTrips) provide(i int) {
	e := &r.ends[i]
	r.note(e.port.Provide(e.memory, r.size, Class(r.size), Low))
}

func (r *roundTrips) send(i int) {
	e := &r.ends[i]
	r.note(e.port.Send(e.memory, 0, r.size, Low, e.peer, allsizePort, r.note))
}

// received answers a message: a new buffer first, as allsize does.
func (r *roundTrips) received(i int) {
	total := r.left
	r.left--
	r.end = r.s.Now()
	r.provide(i)
	if i == 0 && r.begin == 0 {
		r.begin = r.end // the first round trip is over
	}
	if total > 1 {
		r.send(i)
	}
}

// Stream is GM's bandwidth test: n messages of a size from the first to the second host of each pair, all pairs at
// once, as fast as buffers and tokens allow. It returns the bytes of all pairs in a second, in MB/s.
func Stream(s *vtime.Simulation, size, n int, pairs ...[2]*Host) (float64, error) {
	if size < 1 || n < 1 {
		return 0, fmt.Errorf("gm: a stream of %d messages of %d B", n, size)
	}
	streams := make([]*stream, len(pairs))
	for i, pair := range pairs {
		st, err := newStream(s, size, n, allsizePort+i, pair)
		if err != nil {
			return 0, err
		}
		streams[i] = st
	}
	s.RunUntil(s.Now() + vtime.Millisecond) // the buffers are there
	begin := s.Now()
	for _, st := range streams {
		st.send()
	}
	s.RunUntil(begin + vtime.Second)
	var end vtime.Time
	var errs []error
	for _, st := range streams {
		st.from.Close()
		st.to.Close()
		end = max(end, st.end)
		if st.left != 0 {
			st.note(fmt.Errorf("gm: %d of %d messages of %d B are missing after a second", st.left, n, size))
		}
		errs = append(errs, st.err)
	}
	return float64(size*n*len(pairs)) / (float64(end-begin) / float64(vtime.Microsecond)), errors.Join(errs...)
}

// stream is the messages of a pair.
type stream struct {
	s        *vtime.Simulation
	from, to *Port
	out, in  *Memory
	node     int
	size     int
	unsent   int
	left     int // that have not come
	end      vtime.Time
	err      error
}

// streamBuffers is how many receive buffers, and messages under way, a stream has.
const streamBuffers = 16

func newStream(s *vtime.Simulation, size, n, port int, pair [2]*Host) (*stream, error) {
	st := &stream{s: s, node: pair[1].ID(), size: size, unsent: n, left: n}
	var err error
	if st.from, err = pair[0].Open(port, nil); err != nil {
		return nil, err
	}
	st.out = pair[0].Register(make([]byte, size))
	st.in = pair[1].Register(make([]byte, streamBuffers<<Class(size)))
	if st.to, err = pair[1].Open(port, st.received); err != nil {
		return nil, err
	}
	for i := range streamBuffers {
		st.note(st.to.Provide(st.in, i<<Class(size), Class(size), Low))
	}
	return st, st.err
}

func (st *stream) note(err error) {
	if err != nil && st.err == nil {
		st.err = err
	}
}

// send hands over as many messages as there are buffers.
func (st *stream) send() {
	for range min(streamBuffers, st.unsent) {
		st.one(nil)
	}
}

// one hands over a message, and another when it has arrived.
func (st *stream) one(err error) {
	st.note(err)
	if st.unsent > 0 && st.err == nil {
		st.unsent--
		st.note(st.from.Send(st.out, 0, st.size, Low, st.node, st.to.Number(), st.one))
	}
}

func (st *stream) received(m *Message) {
	st.left--
	st.end = st.s.Now()
	st.note(st.to.Provide(m.Memory, m.Offset, Class(st.size), Low))
}
