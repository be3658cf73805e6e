package spawner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

// agentName is the argument with which a launcher's program becomes the agent of a host.
const agentName = "aqueduct-agent"

// agentGreeting is what an agent says first, on a line of its own. It ends with the version of the protocol.
const agentGreeting = "\nAQUEDUCT agent 2\n"

// An agent gets no further than this. What has started it is at the other end of its standard input and output.
func init() {
	if len(os.Args) < 2 || len(os.Args) > 4 || os.Args[1] != agentName {
		return
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // a Job that is gone is an error of the next write
	if err := beAgent(os.Args[2:]); err != nil {
		name, _ := os.Hostname()
		fmt.Fprintf(os.Stderr, "aqueduct: agent on host %s: %v\n", name, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// agentPatience is how long an agent waits for the Job's first word, which is due at once: longer than what else is silent counts as lost, since many
// may start at a time, but less than the 10 s that jobs have to end in.
const agentPatience = 8 * time.Second

// beAgent is the life of a process that is an agent, with what its arguments say.
func beAgent(args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], callArgument) {
		s, err := readSummon(args)
		if err != nil {
			return err
		}
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		c, d, err := s.enter(name)
		if err != nil {
			return err
		}
		a := newCaller(c, d)
		a.process = true
		return a.serve(agentPatience)
	}
	if len(args) > 0 && strings.HasPrefix(filepath.Base(args[0]), pushDir) {
		os.RemoveAll(args[0]) // this program runs on without its name
	}
	a := newAgent(&pipePair{pollable(0), pollable(1)})
	a.process = true
	return a.serve(agentPatience)
}

// newCaller returns an agent that has found its place, and that those below it will come to.
func newCaller(rw io.ReadWriteCloser, d *door) *agent {
	a := newAgent(rw)
	a.door, a.link = d, d.link
	d.refused = func(why string) { a.post(func() { a.refused(why) }) }
	return a
}

// pollable returns a descriptor as a file whose reads and writes end when it is closed.
func pollable(fd int) *os.File {
	unix.SetNonblock(fd, true) // an error means a file that never blocks
	return os.NewFile(uintptr(fd), "trunk")
}

// agent serves a Job on a host: it does there what the Job says, and tells it what happens. To the agents below it, which
// it starts, it passes on what the Job says, and to the Job what they tell.
type agent struct {
	*loop
	trunk *trunk
	below *children
	spec  Spec
	flows [channels]*outflow
	pipes pipes
	input *inbox

	// prepare makes all that the processes of the host's ranks need, and returns which builds of programs they are to execute.
	prepare func(o *task, ranks []int) (h ownHost, builds map[int]string, err error)
	link    func(branch) (io.ReadWriteCloser, error) // see children
	door    *door                                    // see children
	process bool                                     // it is a process of its own, which is guarded

	// What is asked of it, one thing after the other. The first two are listen's.
	branch  branch
	task    *task
	busy    atomic.Bool    // it is being done
	doing   sync.WaitGroup // ends when it is
	guard   *guard         // of this process and of its ranks; nil: process is false
	ctx     context.Context
	give    context.CancelFunc // gives it up
	unheard *time.Timer        // ends the trunk unless it is told to begin

	// What follows belongs to the loop.
	here                *local  // what prepare has made
	host                ownHost // the same, nil: it could not
	hosts               []host  // this one, and the branches below
	partial             []byte  // of a broadcast
	running             int     // processes that have not ended, here and below
	linked              int     // connections that have not ended
	launching, launched bool
	done                bool // all has ended, and the Job knows it
	left                bool // nothing is to be done any more
	reason              error
	tidings
}

func newAgent(rw io.ReadWriteCloser) *agent {
	a := &agent{loop: newLoop(), trunk: newTrunk(rw)}
	for c := range a.flows {
		a.flows[c] = &outflow{trunk: a.trunk, channel: uint8(c), credit: newCredit()}
	}
	a.input = newInbox(a.trunk)
	a.prepare, a.calls = a.prepareHere, newRendezvous(0)
	a.ctx, a.give = context.WithCancel(context.Background())
	return a
}

// serve is the life of an agent: until the Job lets it go, or is gone, or has said nothing within the time given.
// Only from the Job's first word on is its silence noticed by the trunk.
func (a *agent) serve(patience time.Duration) error {
	if _, err := io.WriteString(a.trunk.rw, agentGreeting); err != nil {
		return err
	}
	a.unheard = time.AfterFunc(patience, a.trunk.cut)
	go a.listen()
	for !a.left {
		(<-a.events)()
	}
	a.loop.end()
	a.give()
	a.doing.Wait()
	if a.below != nil {
		a.below.dismiss()
	}
	if a.here != nil {
		a.here.server.stop()
	}
	if a.guard != nil && (a.here == nil || len(a.here.procs.living()) == 0) {
		a.guard.stop() // else it kills who lives
	}
	return a.reason
}

// introduce returns what this process says of itself.
func introduce() (a answer, err error) {
	if a.Build, err = buildID("/proc/self/exe"); err == nil {
		a.Identity, err = shm.HostIdentity()
	}
	return a, err
}

// listen posts what the Job says until the trunk ends.
func (a *agent) listen() {
	for {
		w, r, err := a.trunk.receive()
		if err == nil {
			var do func()
			if do, err = a.command(w, r); err == nil && r.End() != nil {
				err = fmt.Errorf("the Job sent a malformed %v", w)
			}
			if err == nil {
				if do != nil && !a.post(do) {
					return
				}
				continue
			}
		}
		a.trunk.cut()
		a.post(func() { a.abandoned(err) })
		return
	}
}

// command returns what a word of the Job has the agent do on its loop; nil: nothing.
func (a *agent) command(w word, r *wire.Reader) (do func(), err error) {
	if a.task == nil && w > wordTask {
		return nil, fmt.Errorf("the Job said %v before its task", w)
	}
	switch w {
	case wordBeat:
	case wordPause:
		a.trunk.paused.Store(true)
	case wordBegin:
		if a.below != nil {
			return nil, errors.New("the Job began twice")
		}
		if err := json.Unmarshal(r.Rest(), &a.branch); err != nil || a.branch.Pulse <= 0 || a.branch.Width < 1 {
			return nil, fmt.Errorf("the Job began with a branch that cannot be understood: %v", err)
		}
		a.unheard.Stop()
		a.trunk.pulse = a.branch.Pulse
		a.trunk.start()
		a.below = &children{loop: a.loop, of: &a.branch, tell: a, room: a.trunk.awaitRoom, program: "/proc/self/exe", link: a.link, door: a.door, group: new(sync.WaitGroup)}
		return a.do(a.grow)
	case wordTask:
		o := new(task)
		text := bytes.Clone(r.Rest())
		if err := json.Unmarshal(text, o); err != nil || a.below == nil || a.task != nil {
			return nil, fmt.Errorf("the Job sent no task that can be understood: %v", err)
		}
		if do, err = a.do(func() report { return a.take(text) }); err == nil {
			a.task = o
		}
		return do, err
	case wordLaunch:
		do, err := a.do(a.launch)
		return func() { a.launching = true; do() }, err
	case wordSend:
		rank, frame := int(r.Uint32()), bytes.Clone(r.Rest())
		return a.at(rank, func(h host) { h.send(rank, frame) }), nil
	case wordBroadcast:
		more, frames := r.Uint8() != 0, bytes.Clone(r.Rest())
		return func() { a.broadcast(frames, more) }, nil
	case wordConclude:
		frame := bytes.Clone(r.Rest())
		return func() { a.conclude(frame) }, nil
	case wordDeal:
		return a.deal, nil
	case wordHangUp:
		rank := int(r.Uint32())
		return a.at(rank, func(h host) { h.hangUp(rank) }), nil
	case wordSignal:
		rank, sig := r.Uint32(), syscall.Signal(r.Uint32())
		return a.signal(rank, sig), nil
	case wordTell:
		number := r.Uint32()
		return func() { a.tellAll(number) }, nil
	case wordTaken:
		channel, n := int(r.Uint8()), int(r.Uint32())
		if channel >= channels || !a.flows[channel].credit.give(n) {
			return nil, errors.New("the Job took output that it was not sent")
		}
	case wordInput:
		if !a.input.put(r.Rest()) {
			return nil, errors.New("the Job sent more input than it may")
		}
	default:
		return nil, fmt.Errorf("the Job said %v, which is unknown", w)
	}
	return nil, nil
}

// do returns what has the agent do something that takes its time, and report on it. Until then nothing else may be
// asked for.
func (a *agent) do(f func() report) (begin func(), err error) {
	if a.busy.Swap(true) {
		return nil, errors.New("the Job asked for more before it had an answer")
	}
	return func() {
		a.doing.Go(func() {
			r := f()
			a.post(func() {
				a.flush() // what has happened meanwhile
				a.busy.Store(false)
				a.trunk.sendJSON(wordReport, r)
			})
		})
	}, nil
}

// answer returns the report of this host alone.
func (a *agent) answer(said answer, err error) report {
	if err != nil {
		return failureOf(a.branch.Host, err)
	}
	said.Host = a.branch.Host
	return report{said}
}

// job is the name of the job's part on this host.
func (a *agent) job() string { return fmt.Sprintf("%s.%d", a.branch.Job, a.branch.Host) }

// check tells the Job when all has ended and its output is sent.
func (a *agent) check() {
	if !a.launched || a.running+a.linked > 0 || a.done {
		return
	}
	if a.reason != nil {
		a.left = true
		return
	}
	a.flush()
	a.done = true
	a.pipes.endBy(time.Now().Add(strayTime))
	go func() {
		a.pipes.group.Wait()
		a.trunk.send(wordDone, nil)
	}()
}

// killTime is how long an agent waits for the ranks that it has killed. What is left then its guard kills.
const killTime = 2 * time.Second

// abandoned ends the agent: the Job has let it go, or is lost, and its ranks end with it, as do the agents below.
func (a *agent) abandoned(err error) {
	for _, f := range a.flows {
		f.credit.close()
	}
	a.input.close()
	if a.done || !a.launching {
		a.left = true
		return
	}
	a.reason = fmt.Errorf("the connection to the job's launcher has ended: %w", err)
	for _, h := range a.below.links {
		h.trunk.cut()
	}
	if a.host != nil {
		a.host.signalAll(unix.SIGKILL)
	}
	a.after(killTime, func() { a.left = true })
	a.check()
}
