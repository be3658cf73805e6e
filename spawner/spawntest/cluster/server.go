package cluster

import (
	"bytes"
	"os/exec"
	"sync"
	"testing"
)

// server is a command that runs on a host until that is down.
type server struct {
	*exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
	sign []byte
	seen chan struct{} // closed when it has said sign
}

// Serve starts a command on a host that ends with the host, and returns when it has said sign, "" for at once. What it says
// is shown if the test fails.
func (c *Cluster) Serve(t testing.TB, name, sign string, argv ...string) {
	t.Helper()
	h := c.up(t, name)
	s := &server{Cmd: c.Command(name, argv...), sign: []byte(sign), seen: make(chan struct{})}
	s.Stdout, s.Stderr = s, s
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	h.serving.Go(func() {
		defer close(ended)
		s.Wait() // its status, when its host ends, says nothing
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s of %s:\n%s", argv[0], name, s)
		}
	})
	if sign == "" {
		return
	}
	select {
	case <-s.seen:
	case <-ended:
		t.Fatalf("%s of %s has ended:\n%s", argv[0], name, s)
	}
}

// Write implements io.Writer.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Write(p)
	if s.sign != nil && bytes.Contains(s.said.Bytes(), s.sign) {
		s.sign = nil
		close(s.seen)
	}
	return len(p), nil
}

func (s *server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}
