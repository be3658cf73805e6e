package am

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/internal/fifo"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Library is a process that sends and receives by the kernel, which has buffers: a node. To send is a system call that copies
// the message into a buffer; the kernel sends it when the port is free. A message that comes interrupts the kernel, which
// copies it into a buffer, and wakes the process if it sleeps. To receive is a system call that finds the message and copies
// it out. A message for which there is no buffer stays in the port.
type Library struct {
	amfamily.End

	w       *Network
	cpu     vtime.Resource         // of the process and of interrupts
	out     []fifo.Queue[*message] // in buffers, by network
	in      []fifo.Queue[*message]
	taking  []bool // an interrupt is under way
	asleep  bool
	sending []int // buffers that are taken, each way
	holding []int
}

// NewLibrary returns n nodes, 2 at least.
func NewLibrary(loop *vtime.Loop, p *Profile, n int, image amfamily.Image) ([]*Library, error) {
	if n < 2 {
		return nil, fmt.Errorf("am: %d nodes; a machine has 2 at least", n)
	}
	w := newNetwork(loop, p)
	var all []*Library
	for i := range n {
		nets := len(w.ports)
		l := &Library{
			End: amfamily.NewEnd(i, n, int(p.AM.Message), image), w: w,
			out: make([]fifo.Queue[*message], nets), in: make([]fifo.Queue[*message], nets),
			taking: make([]bool, nets), sending: make([]int, nets), holding: make([]int, nets),
		}
		w.add(l)
		all = append(all, l)
	}
	return all, nil
}

// BuildLibrary is Build for the library.
func BuildLibrary(p *Profile) amfamily.Build {
	return func(k *vtime.Kernel, nodes int, image amfamily.Image) ([]amfamily.Node, error) {
		all, err := NewLibrary(&k.Loop, p, nodes, image)
		return amfamily.Nodes(all), err
	}
}

// work has the process use the processor.
func (l *Library) work(d vtime.Time) {
	p := l.Proc()
	p.Sync()
	p.Charge(l.cpu.Use(l.w.loop.Now(), d) - l.w.loop.Now())
	p.Sync()
}

// copied returns how long a message takes to be copied.
func (l *Library) copied(m *message) vtime.Time {
	l.Count.Copied += uint64(len(m.Data))
	return l.w.p.Memory.Copy.Time(amfamily.ArgBytes + len(m.Data))
}

// Request implements amfamily.Node.
func (l *Library) Request(to, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := l.CheckRequest(to, handler, len(data)); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	i := l.w.of(false)
	if err := amfamily.Wait(l, "a buffer", func() bool { return l.sending[i] < l.w.p.Library.Buffers }); err != nil {
		return err
	}
	l.send(l.w.compose(l.ID(), to, handler, args, data, false))
	return nil
}

// Reply implements amfamily.Node. While there is no buffer it receives replies, if they have a network of their own.
func (l *Library) Reply(m *amfamily.Message, handler int, args [amfamily.Args]uint32, data []byte) error {
	if err := l.CheckReply(m, handler, len(data)); err != nil {
		return fmt.Errorf("am: %w", err)
	}
	i := l.w.of(true)
	for l.Proc().Sync(); l.sending[i] == l.w.p.Library.Buffers; l.Proc().Sync() {
		if i != l.w.of(false) && l.receive(i) > 0 {
			continue
		}
		l.asleep = true
		l.Proc().SetWaiting("a buffer for a reply")
		l.Proc().Park(0)
	}
	l.asleep = false
	l.send(l.w.compose(l.ID(), m.From, handler, args, data, true))
	return nil
}

// send is the system call.
func (l *Library) send(m *message) {
	c := &l.w.p.Library
	l.Count.Traps++
	l.sending[m.network]++
	l.work(c.Call + c.Buffer + c.Protocol + l.copied(m))
	l.out[m.network].Push(m)
	l.pump(m.network)
}

// pump gives the next message to a port that is free.
func (l *Library) pump(i int) {
	if l.w.ports[i][l.ID()].out == nil && l.out[i].Len() > 0 {
		m, _ := l.out[i].Pop()
		l.w.inject(m)
	}
}

// changed is told of a port: the one out may be free, and something may have come.
func (l *Library) changed(i int) {
	if l.sending[i] > l.out[i].Len() && l.w.ports[i][l.ID()].out == nil { // the message that has left has no buffer now
		l.sending[i]--
		l.Proc().Arrive()
	}
	l.pump(i)
	l.take(i)
}

// take has the kernel take what has come, if there is a buffer.
func (l *Library) take(i int) {
	c := &l.w.p.Library
	m := l.w.ports[i][l.ID()].in
	if m == nil || l.taking[i] || l.holding[i] == c.Buffers {
		return
	}
	l.taking[i] = true
	l.holding[i]++
	l.Count.Interrupts++
	l.w.loop.At(l.cpu.Use(l.w.loop.Now(), c.Interrupt+c.Buffer+c.Protocol+l.copied(m)), l, taken, uint64(i))
}

// The events of the kernel.
const (
	taken uint64 = iota // a message is in a buffer
	awake               // the process runs on
)

var libraryEvents = [...]string{"taken", "awake"}

// Label implements vtime.Labelled.
func (l *Library) Label(event, _ uint64) string { return "kernel " + libraryEvents[event] }

// Fire implements vtime.Target.
func (l *Library) Fire(event, network uint64) {
	if event == awake {
		l.Proc().Arrive()
		return
	}
	i := int(network)
	m := l.w.ports[i][l.ID()].in
	l.taking[i] = false
	l.in[i].Push(m)
	l.w.take(m)
	if l.asleep {
		l.asleep = false
		l.w.loop.At(l.cpu.Use(l.w.loop.Now(), l.w.p.Library.Wakeup), l, awake, 0)
	}
}

// Poll implements amfamily.Node: the system call that receives. If nothing has come, the process sleeps in it from now on.
func (l *Library) Poll() (n int, err error) {
	if err := l.CheckPoll(); err != nil {
		return 0, fmt.Errorf("am: %w", err)
	}
	l.Proc().Sync()
	for i := len(l.in) - 1; i >= 0; i-- {
		n += l.receive(i)
	}
	l.asleep = n == 0
	return n, nil
}

// receive is the system call that takes what has come by a network, again and again; it returns how often.
func (l *Library) receive(i int) (n int) {
	c := &l.w.p.Library
	for ; ; n++ {
		m, ok := l.in[i].Pop()
		if !ok {
			return n
		}
		l.Count.Traps++
		l.work(c.Call + c.Match + c.Buffer + l.copied(m))
		l.holding[i]--
		l.take(i)
		if m.reply {
			l.Settle(l, &m.Message)
		} else {
			l.Serve(l, &m.Message)
		}
		l.w.release(m)
	}
}
