package coretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"

	"golang.org/x/sync/errgroup"
)

// Shared is a set of processes, as the launcher sees it, that runs one case after another: each as a
// job from its beginning to its good end, on the bootstrap of the one job that the processes are for
// what has started them. A case that fails ends the processes with it.
type Shared struct {
	n     int
	at    *net.UnixListener
	dir   string
	ranks []*conversation
	done  chan struct{} // closed when the processes have ended

	mu    sync.Mutex
	lines strings.Builder // what the ranks of the present case have printed
}

// conversation is a connection between the launcher and a rank: orders one way, words the other.
type conversation struct {
	net.Conn
	*json.Encoder
	*json.Decoder
}

func newConversation(c net.Conn) *conversation {
	return &conversation{c, json.NewEncoder(c), json.NewDecoder(c)}
}

// word is what a rank says.
type word struct {
	Print string // a line
	Ended bool   // well: what comes next belongs to another case
}

// NewShared prepares for n processes.
func NewShared(n int) (*Shared, error) {
	dir, err := os.MkdirTemp("", "coretest-")
	if err != nil {
		return nil, err
	}
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "orders"), Net: "unix"})
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &Shared{n: n, at: at, dir: dir, done: make(chan struct{})}, nil
}

// Env returns the variables that make processes, which run this test binary, ranks that take orders.
func (s *Shared) Env() []string { return (&order{Orders: s.at.Addr().String()}).env() }

// Ended is to be called when the processes have ended, and once. It ends Run.
func (s *Shared) Ended() {
	close(s.done)
	s.at.Close()
}

// Dismiss lets processes that run no case end well.
func (s *Shared) Dismiss() {
	for _, r := range s.ranks {
		r.Close()
	}
	os.RemoveAll(s.dir)
}

// errHangs is what Run returns when its time is over.
var errHangs = errors.New("the job hangs")

// Run has the processes run a case, which is not Alone, and returns what it printed. An error says
// that the case has failed, and the processes with it: they are ending, or hang.
func (s *Shared) Run(l *Launch) (output string, err error) {
	s.lines.Reset()
	over := time.Now().Add(l.Timeout)
	s.at.SetDeadline(over)
	for len(s.ranks) < s.n {
		c, err := s.at.Accept()
		if err != nil {
			return "", s.why(err)
		}
		s.ranks = append(s.ranks, newConversation(c))
	}
	var all errgroup.Group
	for _, r := range s.ranks {
		r.SetDeadline(over)
		all.Go(func() error { return s.converse(r, l.order()) })
	}
	if err = all.Wait(); err != nil {
		err = s.why(err)
	}
	return s.lines.String(), err
}

// converse has one rank run a case.
func (s *Shared) converse(r *conversation, o *order) error {
	if err := r.Encode(o); err != nil {
		return err
	}
	for {
		var w word
		if err := r.Decode(&w); err != nil {
			return err
		}
		if w.Ended {
			return nil
		}
		s.mu.Lock()
		s.lines.WriteString(w.Print)
		s.mu.Unlock()
	}
}

// why says what an error of a connection means.
func (s *Shared) why(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errHangs
	}
	return fmt.Errorf("the job was lost: %w", err)
}

// Hangs reports whether an error of Run says that the processes hang, so that something has to end
// them.
func Hangs(err error) bool { return errors.Is(err, errHangs) }

// serve is the life of a rank that takes orders: it returns when there are no more, or when a case
// has failed, which ends the process as it would end one that runs nothing else.
func serve(orders string, boot core.Bootstrap, extra []*Case) error {
	c, err := net.Dial("unix", orders)
	if err != nil {
		return fmt.Errorf("rank %d: %w", boot.Rank(), err)
	}
	with := newConversation(c)
	for {
		var o order
		if err := with.Decode(&o); err == io.EOF {
			return boot.Close()
		} else if err != nil {
			return fmt.Errorf("rank %d: order: %w", boot.Rank(), err)
		}
		c := find(o.Case, extra)
		if c == nil {
			return fmt.Errorf("rank %d: order: no case %q", boot.Rank(), o.Case)
		}
		side := &served{process: process{o.Dir}, to: with}
		if err := core.Main(newStretch(boot), o.Config, func(j *core.Job) error { return run(c, j, side) }); err != nil {
			return err
		}
		if err := with.Encode(word{Ended: true}); err != nil {
			return err
		}
	}
}

// served is the side of a rank that takes orders: its lines go where the orders come from, so that
// they are there before the case ends.
type served struct {
	process
	mu sync.Mutex
	to *conversation
}

func (s *served) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Encode(word{Print: line}) // an error means that the launcher is gone, as the bootstrap will say
}

// stretch is a bootstrap for one of several jobs that follow each other on another bootstrap.
type stretch struct {
	core.Bootstrap
	core.DescriptorSharer
	done chan error
	over chan struct{}
}

func newStretch(boot core.Bootstrap) *stretch {
	s := &stretch{Bootstrap: boot, done: make(chan error, 1), over: make(chan struct{})}
	s.DescriptorSharer, _ = boot.(core.DescriptorSharer)
	go func() {
		defer close(s.done)
		select {
		case err, ok := <-boot.Done():
			if ok {
				s.done <- err
			}
		case <-s.over:
		}
	}()
	return s
}

// Done implements core.Bootstrap.
func (s *stretch) Done() <-chan error { return s.done }

// Close implements core.Bootstrap: the processes go on.
func (s *stretch) Close() error {
	close(s.over)
	return nil
}

// Exit implements core.Exiter.
func (s *stretch) Exit(status int) { core.ExitOf(s.Bootstrap)(status) }
