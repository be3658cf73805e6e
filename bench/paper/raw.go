package paper

import (
	"errors"
	"fmt"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/sci/hardware"
	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// torusNodes is how many nodes the paper's torus of one driver has: four by two.
const torusNodes = 8

// rawSegment is the segment that each raw node exports: as much as the paper's has.
const rawSegment = 1 << 20

// neighbour returns the node of a machine of n that exchanges messages with node 0. In a torus
// of up to eight nodes, the numbers running along the rows, it is the next in the column, whose
// ring has two nodes: one hop there and one back. Rings lead one way only, so that a neighbour
// in the row is nearer in one direction than in the other.
func neighbour(n int) int { return n / 2 }

// rawNode is a node that uses SISCI itself, without a conduit. Node 0 is connected to all others, and
// these to node 0.
type rawNode struct {
	*vtime.Proc
	number  int
	profile *hardware.Profile
	dev     *sisci.Device
	local   *sisci.LocalSegment
	mem     []byte // of the local segment
	others  []rawPeer
	rawPeer // the first of them
	timed   *window
}

// rawPeer is a node that another one is connected to.
type rawPeer struct {
	remote *sisci.RemoteSegment
	window *sisci.RemoteMap // of all of it
}

// raw runs two programs side by side on neighbouring nodes.
func (s *Setting) raw(programs [2]func(*rawNode) error) error {
	_, err := s.star(programs[:])
	return err
}

// star runs programs side by side, each on a node of its own, from when all are connected. It returns
// when all have ended. Like a job it fails if something was set up while it was timed.
func (s *Setting) star(programs []func(*rawNode) error) (*window, error) {
	profile, err := hardware.NewProfile(s.Machine)
	if err != nil {
		return nil, err
	}
	k := vtime.New(s.Seed)
	m, err := hardware.New(k, profile, max(torusNodes, len(programs)))
	if err != nil {
		return nil, err
	}
	network := sisci.NewNetwork(m)
	nodes := make([]rawNode, len(programs))
	timed := new(window)
	for i := range nodes {
		k.Spawn(fmt.Sprintf("node %d", i), func(p *vtime.Proc) {
			n := &nodes[i]
			n.Proc, n.number, n.profile, n.timed = p, i, profile, timed
			err := n.open(network, len(nodes))
			if err == nil {
				err = programs[i](n)
			}
			if err != nil {
				k.Unwind(err) // the others would wait for ever
			}
		})
	}
	if err = k.Run(); err == nil {
		err = timed.check()
	}
	for i := range nodes {
		if nodes[i].dev != nil {
			err = errors.Join(err, nodes[i].dev.Terminate())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("raw SISCI on %s: %w", s.Machine.Name, err)
	}
	return timed, nil
}

// open exports a segment and connects the node, of so many.
func (n *rawNode) open(network *sisci.Network, nodes int) (err error) {
	index := n.number
	if nodes == 2 {
		index *= neighbour(torusNodes)
	}
	n.dev, err = sisci.Open(sisci.Config{Node: nodeID(n.number), Bell: -1, Place: &sisci.Place{
		Network: network, Index: index, Proc: n.Proc,
		Limits: sisci.Layout{Memory: rawSegment, Segments: 1, Connections: nodes},
	}})
	if err != nil {
		return err
	}
	if n.local, err = n.dev.CreateSegment(1, rawSegment, 0, nil); err != nil {
		return err
	}
	if err = n.local.Prepare(0); err != nil {
		return err
	}
	local, err := n.local.Map(0, rawSegment, 0)
	if err != nil {
		return err
	}
	n.mem = local.Bytes()
	if err = n.local.SetAvailable(); err != nil {
		return err
	}
	first, last := 0, 0
	if n.number == 0 {
		first, last = 1, nodes-1
	}
	for j := first; j <= last; j++ {
		var p rawPeer
		if p.remote, err = n.dev.Connect(nodeID(j), 1, sisci.Forever, nil); err != nil {
			return err
		}
		if p.window, err = p.remote.Map(0, rawSegment, 0); err != nil {
			return err
		}
		n.others = append(n.others, p)
	}
	n.rawPeer = n.others[0]
	n.meet()
	return nil
}

// meet waits until all nodes have called it: each tells node 0, and that then tells all. It leaves the
// segments as they were, and nothing under way.
func (n *rawNode) meet() {
	if n.number > 0 {
		n.window.Store8(rawSegment-n.number, 1)
	}
	for j := range n.others {
		told := &n.mem[rawSegment-1-j]
		for n.Sync(); *told == 0; n.Sync() {
			n.Charge(vtime.Microsecond)
		}
		*told = 0
	}
	for _, p := range n.others {
		if n.number == 0 {
			p.window.Store8(rawSegment-1, 1)
		}
	}
	n.Charge(100 * vtime.Microsecond)
	n.Sync()
}

// LastSetUp implements clock.
func (n *rawNode) LastSetUp() vtime.Time { return n.Kernel().LastSetUp() }

// nodeID returns the SCI id of node i: they are multiples of four, as Dolphin's are.
func nodeID(i int) sisci.NodeID { return sisci.NodeID(4 * (i + 1)) }

// await looks at a byte of the own segment until it has the value. A flag's coming is told, so that
// the looks before it need not be simulated one by one.
func (n *rawNode) await(at int, value byte, flag bool) {
	for n.Sync(); n.mem[at] != value; n.Sync() {
		if test := n.profile.Host.Test; flag {
			n.Park(test)
		} else {
			n.Charge(test)
		}
	}
}

// posted is a ping-pong without flags: nobody checks, and the last byte of a block tells that it has
// come.
const posted = 0

// pioPingPong returns half of the mean round trip of stores of each size, of 1000 repetitions, as in
// the paper. A block is sent as the conduit sends a message: by MemCpy from the Start of a sequence
// to its clean Check, and then so many flags of a byte, for the last of which the receiver waits.
func (s *Setting) pioPingPong(sizes []int, flags int) ([]plot.Point, error) {
	repeats := s.repeats(1000)
	points := make([]plot.Point, len(sizes))
	exchange := func(n *rawNode, first bool) error {
		n.timed.begin(n)
		defer n.timed.end(n)
		q, err := n.window.CreateSequence()
		if err != nil {
			return err
		}
		mark := byte(0)
		for i, size := range sizes {
			b := make([]byte, size)
			last, how := rawSegment-1, sisci.ErrorCheck
			if flags == posted {
				last, how = size-1, 0
			}
			send := func() error {
				b[size-1] = mark
				if err := n.window.MemCpy(q, b, 0, how); err != nil {
					return err
				}
				for f := range flags {
					n.window.Store8(last-(flags-1-f), mark)
				}
				return nil
			}
			start := n.Now()
			for range repeats {
				mark++
				if !first {
					n.await(last, mark, flags > 0)
				}
				if err := send(); err != nil {
					return err
				}
				if first {
					n.await(last, mark, flags > 0)
				}
			}
			if first {
				points[i] = plot.Point{X: float64(size), Y: micros(n.Now()-start) / float64(2*repeats)}
			}
		}
		return nil
	}
	return points, s.raw([2]func(*rawNode) error{
		func(n *rawNode) error { return exchange(n, true) },
		func(n *rawNode) error { return exchange(n, false) },
	})
}

// timed returns the mean time that f takes node 0, for each size, with node 1 idle.
func (s *Setting) timed(sizes []int, repeats int, prepare func(*rawNode) (f func(size int) error, err error)) ([]plot.Point, error) {
	points := make([]plot.Point, len(sizes))
	return points, s.raw([2]func(*rawNode) error{
		func(n *rawNode) error {
			f, err := prepare(n)
			if err != nil {
				return err
			}
			n.timed.begin(n)
			defer n.timed.end(n)
			for i, size := range sizes {
				n.Sync()
				start := n.Now()
				for range repeats {
					if err := f(size); err != nil {
						return err
					}
				}
				points[i] = plot.Point{X: float64(size), Y: micros(n.Now()-start) / float64(repeats)}
			}
			return nil
		},
		func(*rawNode) error { return nil },
	})
}

// dma returns the time of one transfer by DMA among many: post, wait, and again, as
// Dolphin's dmabench does.
func (s *Setting) dma(sizes []int) ([]plot.Point, error) {
	return s.timed(sizes, s.repeats(1000), func(n *rawNode) (func(int) error, error) {
		q, err := n.dev.CreateDMAQueue(1)
		if err != nil {
			return nil, err
		}
		return func(size int) error {
			if err := q.Enqueue(n.local, 0, n.remote, 0, size, 0); err != nil {
				return err
			}
			if err := q.Post(nil); err != nil {
				return err
			}
			state, err := q.Wait(sisci.Forever)
			if err == nil && state != sisci.DMADone {
				err = fmt.Errorf("a transfer of %d bytes by DMA: %v", size, state)
			}
			if err != nil {
				return err
			}
			return q.Reset()
		}, nil
	})
}

// pioStream returns the time of copying each size to the other node by stores, with the check
// that they have arrived.
func (s *Setting) pioStream(sizes []int) ([]plot.Point, error) {
	return s.timed(sizes, s.repeats(1000), func(n *rawNode) (func(int) error, error) {
		q, err := n.window.CreateSequence()
		if err != nil {
			return nil, err
		}
		if st := q.Start(); st != sisci.OK { // once: a clean check begins the next transfer
			return nil, fmt.Errorf("a sequence starts with %v", st)
		}
		return func(size int) error {
			n.window.Window(0, size)
			q.Push(0, size)
			n.window.Close(0)
			if st := q.Check(); st != sisci.OK {
				return fmt.Errorf("a store of %d bytes: %v", size, st)
			}
			return nil
		}, nil
	})
}

// check returns how long the check of a sequence takes after size bytes were stored.
func (s *Setting) check(size int) (took float64, err error) {
	return took, s.raw([2]func(*rawNode) error{
		func(n *rawNode) error {
			q, err := n.window.CreateSequence()
			if err != nil {
				return err
			}
			if st := q.Start(); st != sisci.OK {
				return fmt.Errorf("a sequence starts with %v", st)
			}
			n.timed.begin(n)
			defer n.timed.end(n)
			q.Store(0, make([]byte, size))
			start := n.Now()
			st := q.Check()
			took = micros(n.Now() - start)
			if st != sisci.OK {
				return fmt.Errorf("a store of %d bytes: %v", size, st)
			}
			return nil
		},
		func(*rawNode) error { return nil },
	})
}

// pioRead returns the time of copying each size from the other node by loads of so many bytes.
func (s *Setting) pioRead(sizes []int, at int) ([]plot.Point, error) {
	return s.timed(sizes, s.repeats(1000), func(n *rawNode) (func(int) error, error) {
		b := make([]byte, rawSegment)
		return func(size int) error {
			for off := 0; off < size; off += at {
				if err := n.window.MemCpy(nil, b[off:min(off+at, size)], off, sisci.BlockRead); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
}
