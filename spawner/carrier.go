package spawner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// carrier is the process on this host by which a launcher has started an agent, such as ssh. Its standard input
// and output are the trunk. It is in a session of its own, so that signals of a terminal do not reach it. nil is that
// of a trunk that needs none.
type carrier struct {
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has
	err    error         // how, once it has
	theirs *os.File      // its end of a pipe, closed when it runs; nil: that is up to who has made it
	quiet  chan struct{} // closed when all that it said is read

	mu   sync.Mutex
	last string            // what it said last on standard error
	said func(line string) // hears of what it says; nil: it is kept in last

	guarding sync.Mutex
	guard    *guard // kills what the process has started, if this one dies; nil: nobody does
}

// saidLength is how much of a line that a carrier says is kept.
const saidLength = 1024

// newCarrier prepares the process, and returns the trunk's pipes and those that are to be closed once it runs.
func newCarrier(argv []string) (c *carrier, rw io.ReadWriteCloser, theirs []*os.File, err error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			for _, f := range ends[:i] {
				f.Close()
			}
			return nil, nil, nil, err
		}
	}
	c = carrierOf(argv, nil)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = ends[0], ends[3], ends[5]
	go c.listen(ends[4])
	return c, &pipePair{ends[2], ends[1]}, []*os.File{ends[0], ends[3], ends[5]}, nil
}

// newSummoner prepares the process that starts all agents together, with variables besides those of this process. What it
// writes counts as said.
func newSummoner(argv, env []string) (*carrier, error) {
	said, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := carrierOf(argv, env)
	c.cmd.Stdout, c.cmd.Stderr, c.theirs = theirs, theirs, theirs
	go c.listen(said)
	return c, nil
}

// carrierOf returns the process without streams.
func carrierOf(argv, env []string) *carrier {
	cmd := exec.Command(argv[0], argv[1:]...)
	// It dies with this process, so that no ssh waits for a network that is gone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Env = mergeEnv(os.Environ(), env)
	return &carrier{cmd: cmd, ended: make(chan struct{}), quiet: make(chan struct{})}
}

// pipePair is a stream of two pipes, one for each direction.
type pipePair struct{ in, out *os.File }

func (p *pipePair) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipePair) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p *pipePair) Close() error { return errors.Join(p.out.Close(), p.in.Close()) }

// listen reads what the process says on standard error.
func (c *carrier) listen(from *os.File) {
	defer close(c.quiet)
	defer from.Close()
	for lines := bufio.NewReaderSize(from, saidLength); ; {
		line, _, err := lines.ReadLine()
		if err != nil {
			break
		}
		c.mu.Lock()
		if len(line) > 0 {
			c.last = string(line)
		}
		if c.said != nil && len(line) > 0 {
			c.said(c.last)
		}
		c.mu.Unlock()
	}
}

// startCarriers starts carriers, and returns when all run or one cannot. They die with the thread that has started
// them, and that lives until release is closed.
func startCarriers(all []*carrier, release <-chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends, and what it has started
		for _, c := range all {
			if err := c.cmd.Start(); err != nil {
				started <- fmt.Errorf("starting %s: %w", c.cmd.Path, err)
				<-release
				return
			}
			if c.theirs != nil {
				c.theirs.Close()
			}
			go c.reap()
		}
		started <- nil
		<-release
	}()
	return <-started
}

// reap notes how the process has ended.
func (c *carrier) reap() {
	c.err = c.cmd.Wait()
	c.guarding.Lock()
	defer c.guarding.Unlock()
	if c.guard != nil {
		c.guard.ended(c.cmd.Process.Pid)
	}
	close(c.ended)
}

// guardedBy tells a guard of the process, unless it was not started or has ended.
func (c *carrier) guardedBy(g *guard) {
	if !c.running() {
		return
	}
	c.guarding.Lock()
	defer c.guarding.Unlock()
	select {
	case <-c.ended:
	default:
		c.guard = g
		g.begins(c.cmd.Process.Pid)
	}
}

// running reports whether the process was started.
func (c *carrier) running() bool { return c != nil && c.cmd.Process != nil }

// end returns when the process has ended. At the limit, also of those that come after it, it kills it.
func (c *carrier) end(limit *time.Timer) {
	if !c.running() {
		return
	}
	select {
	case <-c.ended:
	case <-limit.C:
		c.kill()
		limit.Reset(0)
	}
}

// kill kills the process, which has not ended, and what it has started, unless that has left its group.
func (c *carrier) kill() {
	unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
}

// wait returns when the process has ended, if it was started.
func (c *carrier) wait() {
	switch {
	case c.running():
		<-c.ended
	case c != nil && c.theirs != nil:
		c.theirs.Close()
	}
}

// report has what the process says from now on told.
func (c *carrier) report(said func(line string)) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = said
}

// watch returns a context that ends when the process fails.
func (c *carrier) watch(ctx context.Context) (watched context.Context, unwatch func()) {
	watched, cancel := context.WithCancelCause(ctx)
	if c.running() {
		go func() {
			select {
			case <-c.ended:
				if err := c.failure(); err != nil {
					cancel(err)
				}
			case <-watched.Done():
			}
		}()
	}
	return watched, func() { cancel(nil) }
}

// failure returns how the process has failed, and what it said last; nil: it has not.
func (c *carrier) failure() error {
	if !c.running() {
		return nil
	}
	select {
	case <-c.ended:
	default:
		return nil
	}
	if c.err == nil {
		return nil
	}
	return c.fail(io.EOF, false)
}

// lastSaid returns what the process said last.
func (c *carrier) lastSaid() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// name is what the process is called in messages.
func (c *carrier) name() string {
	if len(c.cmd.Args) == 2 && c.cmd.Args[1] == agentName {
		return "its agent"
	}
	return filepath.Base(c.cmd.Args[0])
}

// fail ends the process, whose trunk has ended with err, and returns why: that the process has failed, if it has, or err,
// and what the process said last, unless that was told. It waits for a second at most for the process to end by itself,
// which one whose other end is silent does not.
func (c *carrier) fail(err error, silent bool) error {
	ended := hungUp(err)
	if ended {
		err = errors.New("its agent is gone")
	}
	if c == nil {
		return err
	}
	limit := time.NewTimer(strayTime)
	defer limit.Stop()
	if silent {
		limit.Reset(0)
	}
	select {
	case <-c.ended:
		select {
		case <-c.quiet:
		case <-limit.C:
		}
		how := c.name() + " is gone"
		if c.cmd.ProcessState != nil { // it was there to be waited for
			how = c.name() + " " + describe(c.cmd.ProcessState.Sys().(syscall.WaitStatus))
		}
		if ended && c.err != nil {
			err = errors.New(how)
		} else {
			err = fmt.Errorf("%w; %s", err, how)
		}
	case <-limit.C:
		c.kill()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != "" && c.said == nil {
		err = fmt.Errorf("%w; it said last: %s", err, c.last)
	}
	return err
}
