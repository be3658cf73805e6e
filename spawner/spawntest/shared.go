package spawntest

import (
	"errors"
	"sync"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

// sharing is processes that run one case after another.
type sharing struct {
	*processes
	mu   sync.Mutex
	idle map[int][]*crew // by the number of ranks
}

// crew is a job whose ranks take orders.
type crew struct {
	*coretest.Shared
	*running
}

// Share implements coretest.Sharer.
func (p *processes) Share(t testing.TB) coretest.Launcher {
	s := &sharing{processes: p, idle: map[int][]*crew{}}
	t.Cleanup(func() {
		for _, crews := range s.idle {
			for _, c := range crews {
				c.Dismiss()
				if status, err := c.job.Wait(); status != 0 || err != nil {
					t.Errorf("processes that had run cases ended with status %d, error: %v\noutput:\n%s", status, err, c.out.String())
				}
			}
		}
	})
	return s
}

// Launch implements coretest.Launcher.
func (s *sharing) Launch(t testing.TB, l *coretest.Launch) *coretest.Outcome {
	t.Helper()
	if l.Case.Alone() {
		return s.processes.Launch(t, l)
	}
	c := s.take(t, l.Ranks)
	before := len(c.out.String())
	lines, err := c.Run(l)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle[l.Ranks] = append(s.idle[l.Ranks], c)
		return &coretest.Outcome{Output: lines}
	}
	if coretest.Hangs(err) {
		c.job.Signal(unix.SIGQUIT) // shows where
	}
	status, ended := c.job.Wait()
	c.Dismiss()
	text := lines + c.out.String()[before:]
	if coretest.Hangs(err) {
		t.Errorf("the job did not end within %v\n%s", l.Timeout, text)
	}
	return &coretest.Outcome{Err: errors.Join(err, ended), Status: max(1, status), Output: text}
}

// take returns a crew that is idle, or a new one.
func (s *sharing) take(t testing.TB, n int) *crew {
	t.Helper()
	s.mu.Lock()
	if idle := s.idle[n]; len(idle) > 0 {
		defer s.mu.Unlock()
		s.idle[n] = idle[:len(idle)-1]
		return idle[len(idle)-1]
	}
	s.mu.Unlock()
	shared, err := coretest.NewShared(n)
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{shared, s.start(t, n, "", spawner.Spec{Env: shared.Env()})}
	go func() {
		c.job.Wait()
		c.Ended()
	}()
	return c
}
