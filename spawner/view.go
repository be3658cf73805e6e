package spawner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/abstract"
	"golang.org/x/sys/unix"
)

// View is what whoever looks at a job from outside sees of it.
type View struct {
	Process int           // that has started it
	Command string        // the program and its arguments
	Ranks   int           // of the job
	Hosts   int           // that it runs on
	Age     time.Duration // of the job
	Places  []core.Place  // of all ranks
}

// viewName begins the name of the socket where a job can be seen: an abstract one, which is gone with its process and leaves
// nothing in a directory. The user's id follows, and the process's.
const viewName = "aqueduct-view-"

// viewsOf begins the names of sockets where jobs of this user can be seen that a process has started; 0: any.
func viewsOf(process int) string {
	prefix := fmt.Sprintf("%s%d-", viewName, os.Geteuid())
	if process != 0 {
		prefix += fmt.Sprintf("%d-", process)
	}
	return prefix
}

// viewpoint is the socket where others of the same user see a job.
type viewpoint struct {
	listener *net.UnixListener
	look     func() (View, bool)
	mu       sync.Mutex
	open     map[*net.UnixConn]bool // nil: it is closed
	group    sync.WaitGroup
}

// Show lets other processes of this user see a job (Jobs), until the function is called. look tells of the job; false: it is
// over. Any goroutine calls it.
func Show(look func() (View, bool)) (hide func(), err error) {
	v, err := newViewpoint(look)
	if err != nil {
		return nil, err
	}
	return v.close, nil
}

func newViewpoint(look func() (View, bool)) (*viewpoint, error) {
	name := fmt.Sprintf("@%s%x", viewsOf(os.Getpid()), fresh(8))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	v := &viewpoint{listener: l, look: look, open: make(map[*net.UnixConn]bool)}
	v.group.Go(v.accept)
	return v, nil
}

// close ends all that look.
func (v *viewpoint) close() {
	v.mu.Lock()
	all := v.open
	v.open = nil
	v.mu.Unlock()
	v.listener.Close()
	for c := range all {
		c.Close()
	}
	v.group.Wait()
}

func (v *viewpoint) accept() {
	for {
		c, err := v.listener.AcceptUnix()
		if err != nil {
			return
		}
		if !sameUser(c) || !v.enter(c) {
			c.Close()
			continue
		}
		v.group.Go(func() { v.serve(c) })
	}
}

// mostViewers is how many may look at once.
const mostViewers = 16

// enter notes a connection, if there is room.
func (v *viewpoint) enter(c *net.UnixConn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil || len(v.open) >= mostViewers {
		return false
	}
	v.open[c] = true
	return true
}

// sameUser reports whether the process at the other end has this user's id, or root's.
func sameUser(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var who *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { who, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		return false
	}
	return int(who.Uid) == os.Geteuid() || who.Uid == 0
}

// serve answers each line by a line: the view at the time, as JSON.
func (v *viewpoint) serve(c *net.UnixConn) {
	defer func() {
		c.Close()
		v.mu.Lock()
		delete(v.open, c)
		v.mu.Unlock()
	}()
	in := bufio.NewReaderSize(c, 16)
	for {
		if line, err := in.ReadSlice('\n'); err != nil || len(line) > 1 {
			return
		}
		view, ok := v.look()
		if !ok || json.NewEncoder(c).Encode(view) != nil {
			return
		}
	}
}

// Seen is a job that runs and is looked at.
type Seen struct {
	conn *net.UnixConn
	in   *json.Decoder
}

// Jobs returns the jobs of this user that run in this network namespace and can be seen: those that a process has started, or all if that is 0. The
// caller closes them.
func Jobs(process int) (jobs []*Seen, err error) {
	names, err := abstract.Names(viewsOf(process))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "@" + name, Net: "unix"})
		if err != nil {
			continue // it has ended
		}
		if !sameUser(c) {
			c.Close() // somebody else has taken such a name
			continue
		}
		jobs = append(jobs, &Seen{conn: c, in: json.NewDecoder(c)})
	}
	return jobs, nil
}

// ErrJobOver is the error of a look at a job that has ended.
var ErrJobOver = errors.New("the job has ended")

// Look returns what is to be seen of the job now. It takes a second at most where ranks do not answer, and wakes those that sleep.
func (s *Seen) Look() (v View, err error) {
	if _, err := s.conn.Write([]byte("\n")); err != nil {
		return v, ErrJobOver
	}
	if err := s.in.Decode(&v); err != nil {
		return v, ErrJobOver
	}
	if len(v.Places) != v.Ranks && v.Places != nil {
		return v, fmt.Errorf("the job tells of %d ranks and has %d", len(v.Places), v.Ranks)
	}
	return v, nil
}

// Close ends looking.
func (s *Seen) Close() { s.conn.Close() }

// beSeen lets others see the job. A job runs all the same if that is not possible. Of ranks that share a process, that shows them itself.
func (j *Job) beSeen() {
	if j.spec.Mode != Processes || j.spec.Unseen {
		return
	}
	began := time.Now()
	v := View{Process: os.Getpid(), Command: j.spec.command(), Ranks: j.spec.N, Hosts: max(1, len(j.spec.Hosts))}
	seen, err := newViewpoint(func() (View, bool) {
		answer := make(chan []core.Place, 1)
		if !j.post(func() { j.locate(func(places []core.Place) { answer <- places }) }) {
			return v, false
		}
		now := v
		select {
		case now.Places = <-answer:
		case <-j.over:
			return v, false
		}
		now.Age = time.Since(began)
		return now, true
	})
	if err != nil {
		if j.spec.Verbose {
			j.out.report("aqrun top cannot show this job: %v", err)
		}
		return
	}
	j.seen = seen
}

// command returns what the job executes, for people.
func (s *Spec) command() string {
	words := append([]string{s.Prog}, s.Args...)
	if s.Programs != nil {
		words = nil
		for i, p := range s.Programs {
			if i > 0 {
				words = append(words, ":")
			}
			words = append(append(words, p.Prog), p.Args...)
		}
	}
	return strings.Join(words, " ")
}
