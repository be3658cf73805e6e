package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// server is the launcher as a rank sees it: it answers one request after another.
type server struct {
	conn    net.Conn
	call    sync.Mutex // held from a request to its reply
	replies chan reply
	gone    chan struct{} // closed when err is set
	err     error         // why nothing comes any more
}

// open begins to use the socket that is this process's descriptor fd, and closes that.
func open(fd int) (*server, error) {
	f := os.NewFile(uintptr(fd), "PMI_FD")
	if f == nil {
		return nil, fmt.Errorf("%d is no descriptor", fd)
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("%w; start the program by a launcher, not by a rank", err)
	}
	return serverOn(conn), nil
}

// serverOn returns the server at the other end of a connection.
func serverOn(conn net.Conn) *server {
	s := &server{conn: conn, replies: make(chan reply, 1), gone: make(chan struct{})}
	go s.receive()
	return s
}

// receive takes in lines until the connection ends.
func (s *server) receive() {
	in := bufio.NewReaderSize(s.conn, maxReply)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("it has sent a line of more than %d bytes", maxReply)
		case errors.Is(err, io.EOF) && len(line) > 0:
			err = fmt.Errorf("its last line is cut off: %.80q", line)
		case err == nil:
			err = s.take(string(line[:len(line)-1]))
		}
		if err != nil {
			s.err = err
			close(s.gone)
			s.conn.Close()
			return
		}
	}
}

// take hands a line to who waits for it.
func (s *server) take(line string) error {
	r, err := parse(line)
	if err != nil {
		return err
	}
	select {
	case s.replies <- r:
		return nil
	default:
		return fmt.Errorf("it has sent %.80q, which nobody has asked for", line)
	}
}

// tell sends a request that has no reply.
func (s *server) tell(request string) error {
	if len(request) >= maxRequest {
		panic("pmi: a request that is too long")
	}
	_, err := io.WriteString(s.conn, request+"\n") // at once: some launchers take a read for a line
	return err
}

// ask sends a request and waits for its reply, which is to be the command want.
func (s *server) ask(request, want string) (reply, error) {
	s.call.Lock()
	defer s.call.Unlock()
	if err := s.tell(request); err != nil {
		select {
		case <-s.gone:
			err = s.err
		default:
		}
		return reply{}, lost(err)
	}
	var r reply
	select {
	case r = <-s.replies:
	case <-s.gone:
		select { // what came before the end counts
		case r = <-s.replies:
		default:
			return reply{}, lost(s.err)
		}
	}
	if err := r.check(want); err != nil {
		return reply{}, fmt.Errorf("the launcher, asked %.80q: %w", request, err)
	}
	return r, nil
}

// lost is the error of a rank without a launcher.
func lost(err error) error { return fmt.Errorf("the launcher is lost: %w", err) }
