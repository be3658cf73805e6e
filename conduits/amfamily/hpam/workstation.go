package hpam

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Workstation is a host with its card and its processes, one of which is active.
type Workstation struct {
	Switches uint64 // of the active process
	Moved    uint64 // messages from an output queue to an input queue
	Homeless uint64 // messages dropped because no process has their key, or its input queue is full
	Swapped  uint64 // bytes of send buffers that went into memory and back

	loop      *vtime.Loop
	p         *Profile
	card      *Card
	processes []*Process
	active    *Process // nil while processes are switched
	next      *Process // whom the daemon wants to start; nil: nobody
	quantum   vtime.Time
}

// Cluster is workstations in a ring.
type Cluster struct {
	Ring         *Ring
	Workstations []*Workstation
	p            *Profile
}

// NewCluster returns n workstations without processes, 2 at least.
func NewCluster(loop *vtime.Loop, p *Profile, n int) (*Cluster, error) {
	if n < 2 {
		return nil, fmt.Errorf("hpam: %d workstations; a ring has 2 at least", n)
	}
	c := &Cluster{Ring: NewRing(loop, p, n), p: p}
	for i := range n {
		w := &Workstation{loop: loop, p: p, card: c.Ring.Card(i)}
		w.card.ready, w.card.idle = w.arrived, w.left
		c.Workstations = append(c.Workstations, w)
	}
	return c, nil
}

// Program starts a program: a process with its key on every workstation. The first program's processes are active. It
// is called before Run.
func (c *Cluster) Program(key uint32, image amfamily.Image) ([]*Process, error) {
	if len(image) >= noHandler {
		return nil, fmt.Errorf("hpam: a program of %d handlers; there may be %d", len(image), noHandler-1)
	}
	var all []*Process
	for _, w := range c.Workstations {
		if w.owner(key) != nil {
			return nil, fmt.Errorf("hpam: two programs with the key %d", key)
		}
		p := newProcess(w, key, len(c.Workstations), image)
		w.processes = append(w.processes, p)
		if w.active == nil {
			w.active = p
		}
		all = append(all, p)
	}
	return all, nil
}

// Build returns what makes one program on a machine, for measurements.
func Build(p *Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		c, err := NewCluster(&k.Loop, p, nodes)
		if err != nil {
			return nil, err
		}
		all, err := c.Program(1, image)
		return amfamily.Nodes(all), err
	}
}

// Card returns the workstation's card.
func (w *Workstation) Card() *Card { return w.card }

// owner returns the process of a program, or nil.
func (w *Workstation) owner(key uint32) *Process {
	for _, p := range w.processes {
		if p.key == key {
			return p
		}
	}
	return nil
}

// arrived is told that a frame has come.
func (w *Workstation) arrived() { w.wake() }

// left is told that a buffer has been sent.
func (w *Workstation) left() {
	w.wake()
	w.tryStop()
}

func (w *Workstation) wake() {
	if w.active != nil {
		w.active.Proc().Arrive()
	}
}

// The events of the daemon.
const (
	switched uint64 = iota // the next process can start
	elapsed                // a quantum is over
)

var daemonEvents = [...]string{"switched", "quantum"}

// Label implements vtime.Labelled.
func (w *Workstation) Label(event, _ uint64) string { return "daemon " + daemonEvents[event] }

// Rotate has the daemon give every process in turn a quantum of time. It is called before Run, once.
func (w *Workstation) Rotate(quantum vtime.Time) {
	w.quantum = quantum
	w.loop.At(w.loop.Now()+quantum, w, elapsed, 0)
}

// Activate has the daemon make p, a process of the workstation, the active one. Events call it, and procs that have
// called Sync.
func (w *Workstation) Activate(p *Process) {
	if w.next == nil && w.active != nil && p != w.active {
		w.next = p
		w.tryStop()
	}
}

// Fire implements vtime.Target.
func (w *Workstation) Fire(event, _ uint64) {
	switch event {
	case elapsed:
		if p := w.active; p != nil {
			for i := range w.processes {
				if w.processes[i] == p {
					w.Activate(w.processes[(i+1)%len(w.processes)])
				}
			}
		}
		w.loop.At(w.loop.Now()+w.quantum, w, elapsed, 0)
	case switched:
		if w.card.busy() { // with buffers of the process that was active
			w.card.Hazards++
		}
		w.active, w.next = w.next, nil
		w.wake()
	}
}

// tryStop stops the active process if another one is to start, when it is in no call and all of its buffers have been sent;
// it is called again when that comes to be.
func (w *Workstation) tryStop() {
	p := w.active
	if w.next == nil || p == nil || p.calling || w.card.busy() {
		return
	}
	w.active = nil
	w.Switches++
	bytes := p.saved() + w.next.saved()
	w.Swapped += uint64(bytes)
	t := w.p.HPAM.Switch + w.p.load(p.saved()) + w.p.store(w.next.saved())
	for {
		f, ok := p.output.Pop()
		if !ok {
			break
		}
		t += w.p.Memory.Copy.Time(len(f.data))
		w.move(f)
	}
	w.loop.At(w.loop.Now()+t, w, switched, 0)
}

// move puts a message into the input queue of the process that has its key. A queue has room for all that partners can
// send without sending again.
func (w *Workstation) move(f frame) {
	key, _ := keyOf(f.data)
	p := w.owner(key)
	if p == nil || p.input.Len() >= 2*w.p.HPAM.Buffers*(p.Nodes()-1) {
		w.Homeless++
		return
	}
	w.Moved++
	p.input.Push(f)
}

// saved returns the bytes of the send buffers that hold something which may be sent again.
func (p *Process) saved() (n int) {
	for i := range p.partners {
		for j := range p.partners[i].requests {
			if r := &p.partners[i].requests[j]; r.taken {
				n += len(r.data)
			}
			n += len(p.partners[i].replies[j].data)
		}
	}
	return n
}
