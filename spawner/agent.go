package spawner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/wire"
	"golang.org/x/sys/unix"
)

// agentName is the argument with which a launcher's program becomes the agent of a host.
const agentName = "aqueduct-agent"

// agentGreeting is what an agent says first, on a line of its own. It ends with the version of the protocol.
const agentGreeting = "\nAQUEDUCT agent 1\n"

// An agent gets no further than this. Its Job is at the other end of its standard input and output.
func init() {
	if len(os.Args) >= 2 && len(os.Args) <= 3 && os.Args[1] == agentName {
		if len(os.Args) == 3 && strings.HasPrefix(filepath.Base(os.Args[2]), pushDir) {
			os.RemoveAll(os.Args[2]) // this program runs on without its name
		}
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // a Job that is gone is an error of the next write
		err := serve(&pipePair{pollable(0), pollable(1)}, patience)
		if err != nil {
			fmt.Fprintf(os.Stderr, "aqueduct: agent: %v\n", err)
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
}

// pollable returns a descriptor as a file whose reads and writes end when it is closed.
func pollable(fd int) *os.File {
	unix.SetNonblock(fd, true) // an error means a file that never blocks
	return os.NewFile(uintptr(fd), "trunk")
}

// introduction is what an agent says of itself and of where it is.
type introduction struct {
	Build string // of its program
	Name  string // that the host gives itself
	Host  string // tells one host from others: boot id and namespaces
	CPUs  int    // that it may use
}

// task is what an agent is to do: a part of a Spec, and what the Job adds.
type task struct {
	N                         int
	Placement                 placement
	Host                      int // whose agent it is
	Job                       string
	Prog, Dir                 []byte // need not be UTF-8, as a string of JSON must
	Args, Env, Passed, Prefix texts  // Passed: of the launcher's environment
	Conduit, Profile, Segment string
	Bind                      Binding
	ReportBindings            bool
	Grace                     time.Duration
	Input                     bool // rank 0, if it is here, has standard input
}

// texts are strings that JSON carries as they are, also those that are not UTF-8.
type texts []string

// MarshalJSON implements json.Marshaler.
func (t texts) MarshalJSON() ([]byte, error) {
	all := make([][]byte, len(t))
	for i, text := range t {
		all[i] = []byte(text)
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(b []byte) error {
	var all [][]byte
	err := json.Unmarshal(b, &all)
	*t = nil
	for _, text := range all {
		*t = append(*t, string(text))
	}
	return err
}

// agent serves a Job on a host: it does there what the Job says, and tells it what happens.
type agent struct {
	*loop
	trunk *trunk
	host  *local
	spec  Spec
	flows [channels]*outflow
	pipes pipes
	input *inbox
	begun bool // listen's

	unheard *time.Timer // ends the trunk unless the Job begins

	// What follows belongs to the loop.
	partial             []byte // of a broadcast
	running             int    // processes that have not ended
	linked              int    // connections that have not ended
	launching, launched bool
	done                bool // all has ended, and the Job knows it
	left                bool // nothing is to be done any more
	reason              error
}

// serve is the life of an agent: until the Job lets it go, or is gone, or has said nothing within the time given.
// Only from the Job's first word on is its silence noticed by the trunk.
func serve(rw io.ReadWriteCloser, patience time.Duration) error {
	a := &agent{loop: newLoop(), trunk: newTrunk(rw)}
	for c := range a.flows {
		a.flows[c] = &outflow{trunk: a.trunk, channel: uint8(c), credit: newCredit()}
	}
	a.input = newInbox(a.trunk)
	me, err := introduce()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(rw, agentGreeting); err != nil {
		return err
	}
	rw.Write(encode(wordHello, func(b []byte) []byte { return append(b, marshal(me)...) })) // an error shows when the answer is read
	a.unheard = time.AfterFunc(patience, a.trunk.cut)
	go a.listen()
	for !a.left {
		(<-a.events)()
	}
	a.loop.end()
	if a.host != nil && a.host.server != nil {
		a.host.server.stop()
	}
	return a.reason
}

// introduce returns what this process says of itself.
func introduce() (*introduction, error) {
	build, err := buildID("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &introduction{Build: build, Name: name, Host: hostIdentity(), CPUs: runtime.NumCPU()}, nil
}

// hostIdentity returns what processes have in common that may share memory and the loopback: the boot of the
// kernel, and namespaces.
func hostIdentity() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // "" if /proc is not mounted
	id := []string{strings.TrimSpace(string(boot))}
	for _, ns := range []string{"ipc", "mnt", "net", "pid", "user"} {
		link, _ := os.Readlink("/proc/self/ns/" + ns)
		id = append(id, link)
	}
	return strings.Join(id, " ")
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
	if a.host == nil && w > wordTask {
		return nil, fmt.Errorf("the Job said %v before its task", w)
	}
	switch w {
	case wordBeat:
	case wordBegin:
		if a.trunk.pulse = time.Duration(r.Uint64()); a.trunk.pulse <= 0 || a.begun {
			return nil, fmt.Errorf("the Job began with a pulse of %v, or twice", a.trunk.pulse)
		}
		a.begun = true
		a.unheard.Stop()
		a.trunk.start()
	case wordPause:
		a.trunk.paused.Store(true)
	case wordTask:
		o := new(task)
		if err := json.Unmarshal(r.Rest(), o); err != nil || a.host != nil {
			return nil, fmt.Errorf("the Job sent no task that can be understood: %v", err)
		}
		if err := a.prepare(o); err != nil {
			a.refuse(err)
			return nil, nil
		}
	case wordLaunch:
		return a.launch, nil
	case wordSend:
		rank, frame := int(r.Uint32()), bytes.Clone(r.Rest())
		return func() { a.host.send(rank, frame) }, nil
	case wordBroadcast:
		more, frames := r.Uint8() != 0, bytes.Clone(r.Rest())
		return func() { a.broadcast(frames, more) }, nil
	case wordConclude:
		frame := bytes.Clone(r.Rest())
		return func() { a.host.conclude(frame) }, nil
	case wordDeal:
		return a.host.deal, nil
	case wordHangUp:
		rank := int(r.Uint32())
		return func() { a.host.hangUp(rank) }, nil
	case wordSignal:
		rank, sig := r.Uint32(), syscall.Signal(r.Uint32())
		return func() { a.signal(rank, sig) }, nil
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

// signal sends a signal to a rank or all.
func (a *agent) signal(rank uint32, sig syscall.Signal) {
	if rank == everyRank {
		a.host.signalAll(sig)
	} else {
		a.host.signal(int(rank), sig)
	}
}

// broadcast passes frames on when all that belong together are there.
func (a *agent) broadcast(frames []byte, more bool) {
	a.partial = append(a.partial, frames...)
	if !more {
		a.host.broadcast(a.partial)
		a.partial = nil
	}
}

// prepare makes all that the processes need.
func (a *agent) prepare(o *task) error {
	ranks := o.Placement.on(o.Host)
	if len(ranks) == 0 || len(o.Placement) != o.N {
		return failure(statusSelf, "the task places no rank here")
	}
	for _, setting := range o.Passed {
		name, value, _ := strings.Cut(setting, "=")
		os.Setenv(name, value)
	}
	a.spec = Spec{
		N: o.N, Prog: string(o.Prog), Args: o.Args, Env: o.Env, Dir: string(o.Dir), Prefix: o.Prefix, HostOf: o.Placement,
		Conduit: o.Conduit, Profile: o.Profile, Segment: o.Segment, Bind: o.Bind, ReportBindings: o.ReportBindings, Grace: o.Grace,
	}
	if o.Input {
		a.spec.Stdin = a.input
	}
	if err := checkCount(o.N, len(ranks)); err != nil {
		return failure(statusSelf, "%v", err)
	}
	if err := a.spec.checkDir(); err != nil {
		return err
	}
	path, argv, err := a.spec.resolve()
	if err != nil {
		return err
	}
	program := path
	if len(o.Prefix) > 0 {
		program = argv[len(o.Prefix)]
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(a.spec.Dir, program)
	}
	build, err := buildID(program)
	if err != nil {
		return failure(statusExec, "%v", err)
	}
	host := newLocal(a.loop, &a.spec, o.Job, ranks, a)
	host.say = func(line string) { fmt.Fprintln(os.Stderr, line) } // which the Job reports with the host's name
	host.path, host.argv, host.attach, host.hostOf = path, argv, a.attach, o.Placement
	if err := host.listen(); err != nil {
		return failure(statusSelf, "%v", err)
	}
	a.host, a.running = host, len(ranks)
	a.trunk.sendText(wordReady, build)
	return nil
}

// attach makes the pipes for a rank's output.
func (a *agent) attach(rank int) (stdout, stderr *os.File, err error) {
	return a.pipes.open(&stream{rank: rank, to: a.flows[channelOut]}, &stream{rank: rank, to: a.flows[channelErr]})
}

// refuse tells the Job that the processes cannot be started.
func (a *agent) refuse(err error) {
	a.trunk.send(wordRefusal, func(b []byte) []byte {
		return wire.AppendText(wire.AppendUint32(b, uint32(core.StatusOf(err))), err.Error())
	})
}

// launch starts the processes.
func (a *agent) launch() {
	a.launching = true
	a.host.group.Go(func() {
		err := a.host.launch()
		a.post(func() {
			if err != nil {
				a.done = true // nothing is left of it
				a.refuse(err)
				return
			}
			a.launched = true
			a.trunk.send(wordLaunched, nil)
			a.check()
		})
	})
}

// check tells the Job when all has ended and its output is sent.
func (a *agent) check() {
	if !a.launched || a.running+a.linked > 0 || a.done {
		return
	}
	if a.reason != nil {
		a.left = true
		return
	}
	a.done = true
	a.pipes.endBy(time.Now().Add(strayTime))
	go func() {
		a.pipes.group.Wait()
		a.trunk.send(wordDone, nil)
	}()
}

// killTime is how long an agent waits for the ranks that it has killed. What is left then its guard kills.
const killTime = 2 * time.Second

// abandoned ends the agent: the Job has let it go, or is lost, and its ranks end with it.
func (a *agent) abandoned(err error) {
	for _, f := range a.flows {
		f.credit.close()
	}
	if a.done || !a.launching {
		a.left = true
		return
	}
	a.reason = fmt.Errorf("the connection to the job's launcher has ended: %w", err)
	a.host.signalAll(unix.SIGKILL)
	a.after(killTime, func() { a.left = true })
	a.check()
}

// began implements hostEvents.
func (a *agent) began(rank, pid int) {
	a.trunk.sendRank(wordBegan, rank, func(b []byte) []byte { return wire.AppendUint32(b, uint32(pid)) })
}

// joined implements hostEvents.
func (a *agent) joined(rank int) {
	a.linked++
	a.trunk.sendRank(wordJoined, rank, nil)
}

// message implements hostEvents.
func (a *agent) message(rank int, m message) {
	a.trunk.sendRank(wordMessage, rank, func(b []byte) []byte { return append(b, m.body...) })
}

// breach implements hostEvents.
func (a *agent) breach(rank int, what string) {
	a.trunk.sendRank(wordBreach, rank, func(b []byte) []byte { return append(b, what...) })
}

// disconnected implements hostEvents.
func (a *agent) disconnected(rank int, err error) {
	a.trunk.sendRank(wordDisconnected, rank, func(b []byte) []byte {
		if err == nil {
			return append(b, 0)
		}
		return append(append(b, 1), err.Error()...)
	})
	a.linked--
	a.check()
}

// exited implements hostEvents.
func (a *agent) exited(rank int, ws syscall.WaitStatus) {
	a.trunk.sendRank(wordExited, rank, func(b []byte) []byte { return wire.AppendUint32(b, uint32(ws)) })
	a.running--
	a.check()
}

// refused implements hostEvents.
func (a *agent) refused(reason string) { a.trunk.sendText(wordRefused, reason) }

// failed implements hostEvents.
func (a *agent) failed(err error) { a.trunk.sendText(wordFailed, err.Error()) }
