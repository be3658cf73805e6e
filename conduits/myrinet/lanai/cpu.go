package lanai

import (
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Event is what a handler of the control program is for: a bit of the status register, which hardware or another
// handler sets. The event with the smallest number has the highest priority.
type Event uint8

// MaxEvents is how many events a program can have: the bits of the status register.
const MaxEvents = 32

// A Handler is what the processor does at an event. Run is called when the handler's first instruction is due. It
// looks at things and changes them, which takes no time, and calls CPU.Spend for the instructions of the next
// step; a step that does not is the last. Handlers are not interrupted.
type Handler struct {
	Name string
	Run  func()
}

// CPU is the processor of the LANai with its dispatcher: an endless loop that reads the status register, and calls
// the handler of the pending event of the highest priority. An event that comes while a handler runs, or just
// after the register has been read, waits for the next reading.
//
// The processor has the last priority for the memory. How long an instruction takes depends on which engines are
// at work, and changes in the middle of a step when that does. On a NIC whose profile is [Profile.Free] instructions take no time: a handler runs to its end
// in one event of the loop.
type CPU struct {
	loop     *vtime.Loop
	profile  *Profile
	memory   memory
	handlers []Handler

	pending uint32
	halted  bool
	state   state
	running Event  // whose handler runs
	then    func() // working: what the step under way leads to; deciding: as Spend says
	read    func() // c.dispatch, made once
	start   func() // c.handle

	left  int64      // of the step, or until the register is read again, in 2^-unit instructions
	since vtime.Time // when left was worked out
	began vtime.Time // when the event was read whose handler runs
	timer *vtime.Timer

	counts CPUCounts
	events [MaxEvents]uint64
	raised [MaxEvents]vtime.Time // when the bits that are set were set
}

// state is what the processor does.
type state uint8

const (
	polling  state = iota // the dispatcher reads the register again and again, and finds nothing
	working               // a step is under way
	deciding              // a step has been carried out, and it is found out what comes next
)

// unit is the grain in which instructions are counted, as a power of two.
const unit = 20

// CPUCounts is what a processor has done so far.
type CPUCounts struct {
	Handled uint64     // events
	Busy    vtime.Time // from when an event was read until its handler had ended
	Slowed  vtime.Time // how much of it was lost to engines at work
	Waited  vtime.Time // of all events together, until they were read
	Longest vtime.Time // that an event waited so
}

func newCPU(loop *vtime.Loop, p *Profile, link machine.Rate) *CPU {
	c := &CPU{loop: loop, profile: p, memory: newMemory(p, link)}
	c.read, c.start = c.dispatch, c.handle
	c.timer = loop.NewTimer(c, 0, 0)
	c.left = c.poll()
	return c
}

// Load gives the processor its program: the handler of event i is the i-th.
func (c *CPU) Load(handlers []Handler) error {
	if len(handlers) > MaxEvents {
		return fmt.Errorf("lanai: a program with %d events; the status register has %d bits", len(handlers), MaxEvents)
	}
	c.handlers = handlers
	return nil
}

// Raise sets the bit of an event, from any event of the loop.
func (c *CPU) Raise(e Event) {
	if int(e) >= len(c.handlers) {
		panic(fmt.Sprintf("lanai: event %d, and the program has %d", e, len(c.handlers)))
	}
	if c.pending>>e&1 == 0 {
		c.pending |= 1 << e
		c.raised[e] = c.loop.Now()
	}
	if c.state == polling && !c.halted {
		c.advance(c.Instruction())
		c.state, c.then = working, c.read
		c.run()
	}
}

// Halt stops the processor for ever, in the middle of what it does. No handler of the program calls it.
func (c *CPU) Halt() {
	c.halted, c.state = true, polling
	c.timer.Stop()
}

// Pending tells whether the bit of an event is set.
func (c *CPU) Pending(e Event) bool { return c.pending>>e&1 != 0 }

// Spend has the running handler take n instructions, and then do what then does. A step calls it at most once, and
// nobody else does. n may be 0.
func (c *CPU) Spend(n int, then func()) {
	if c.state != deciding || c.then != nil {
		panic(fmt.Sprintf("lanai: Spend is called twice by a step of the handler of %q, or by no handler", c.handlers[c.running].Name))
	}
	c.then = then
	c.left, c.since = int64(n)<<unit, c.loop.Now()
	if c.Instruction() == 0 {
		c.left = 0
	}
}

// Counts returns what the processor has done so far.
func (c *CPU) Counts() CPUCounts { return c.counts }

// Handled returns how often an event has been handled.
func (c *CPU) Handled(e Event) uint64 { return c.events[e] }

// Instruction returns how long an instruction takes at present.
func (c *CPU) Instruction() vtime.Time { return c.memory.pace[c.memory.mask] }

// works says that a transfer of an engine begins or ends.
func (c *CPU) works(e Engine, works bool) {
	pace := c.Instruction()
	if !c.memory.set(e, works) {
		return
	}
	c.advance(pace)
	if c.state == working {
		c.run()
	}
}

// advance takes what has been done, at a pace, off what is left.
func (c *CPU) advance(pace vtime.Time) {
	now := c.loop.Now()
	elapsed := now - c.since
	c.since = now
	if pace == 0 {
		return
	}
	if cycle := pace * vtime.Time(c.profile.Code.Poll); c.state == polling && elapsed > cycle {
		elapsed = (elapsed-1)%cycle + 1 // whole cycles change nothing, and a long time in instructions would overflow
	}
	done := int64(elapsed) << unit / int64(pace)
	if c.state != polling {
		c.left = max(0, c.left-done)
		c.counts.Slowed += elapsed - vtime.Time(done*int64(c.memory.pace[0])>>unit)
	} else if c.left -= done; c.left < 0 { // the register has been read meanwhile
		c.left = c.poll() - (-c.left-1)%c.poll() - 1
	}
}

// poll is how long the dispatcher takes from one reading to the next.
func (c *CPU) poll() int64 { return int64(c.profile.Code.Poll) << unit }

// run has the timer ring when nothing is left of the step.
func (c *CPU) run() {
	pace := int64(c.Instruction())
	c.timer.Reset(c.loop.Now() + vtime.Time((c.left*pace+1<<unit-1)>>unit))
}

// Label implements vtime.Labelled.
func (c *CPU) Label(_, _ uint64) string {
	return "LANai: " + c.handlers[c.running].Name
}

// Fire implements vtime.Target: a step is over.
func (c *CPU) Fire(_, _ uint64) {
	c.advance(c.Instruction())
	for then := c.then; ; then = c.then {
		c.state, c.then = deciding, nil
		then()
		switch {
		case c.then != nil:
		case c.finish():
			c.then = c.read
		default:
			c.state = polling
			return
		}
		if c.left > 0 {
			c.state = working
			c.run()
			return
		}
	}
}

// dispatch reads the status register, in which an event is pending.
func (c *CPU) dispatch() {
	c.running = Event(bits.TrailingZeros32(c.pending))
	c.pending &^= 1 << c.running
	c.began = c.loop.Now()
	wait := c.began - c.raised[c.running]
	c.counts.Waited += wait
	c.counts.Longest = max(c.counts.Longest, wait)
	c.Spend(c.profile.Code.Poll+c.profile.Code.Dispatch, c.start)
}

// handle calls the handler.
func (c *CPU) handle() {
	c.events[c.running]++
	c.counts.Handled++
	c.handlers[c.running].Run()
}

// finish ends a handler, and tells whether another event is pending. If not, the register has just been read.
func (c *CPU) finish() bool {
	now := c.loop.Now()
	c.counts.Busy += now - c.began
	c.left, c.since = c.poll(), now
	if c.pending != 0 {
		c.left = 0
		return true
	}
	return false
}
