package spawner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// carrier is the process on this host by which a launcher has started an agent, such as ssh. Its standard input
// and output are the trunk. It is in a session of its own, so that signals of a terminal do not reach it.
type carrier struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
	err   error         // how, once it has
	quiet chan struct{} // closed when all that it said is read

	mu   sync.Mutex
	last string            // what it said last on standard error
	said func(line string) // hears of what it says; nil: it is kept in last
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
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0], ends[3], ends[5]
	// It dies with this process, so that no ssh waits for a network that is gone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Env = mergeEnv(os.Environ())
	c = &carrier{cmd: cmd, ended: make(chan struct{}), quiet: make(chan struct{})}
	go c.listen(ends[4])
	return c, &pipePair{ends[2], ends[1]}, []*os.File{ends[0], ends[3], ends[5]}, nil
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
			go c.wait()
		}
		started <- nil
		<-release
	}()
	return <-started
}

// wait notes how the process has ended.
func (c *carrier) wait() {
	c.err = c.cmd.Wait()
	close(c.ended)
}

// report has what the process says from now on told.
func (c *carrier) report(said func(line string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = said
}

// fail ends the process, whose trunk has failed, and returns the error with what it has said and how it ended, if it
// does so by itself; one whose other end is silent does not.
func (c *carrier) fail(err error, silent bool) error {
	limit, end := time.NewTimer(strayTime), ""
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
		end = "; " + c.cmd.Args[0] + " ended well"
		if c.err != nil {
			end = fmt.Sprintf("; %s: %v", c.cmd.Args[0], c.err)
		}
	case <-limit.C:
		c.cmd.Process.Kill()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, io.EOF) {
		err = errors.New("its agent is gone")
	}
	if c.last != "" && c.said == nil {
		end += "; it said: " + c.last
	}
	return fmt.Errorf("%w%s", err, end)
}
