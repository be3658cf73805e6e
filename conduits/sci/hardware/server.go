package hardware

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// server is something that does one thing at a time, in the order in which it is asked: a bus,
// a link, the sending or the receiving half of an adapter.
type server struct {
	free vtime.Time // when it has done all that it was asked to
	busy vtime.Time // how long it has worked
}

// use asks for d of its time from at on, and returns when that is over.
func (s *server) use(at, d vtime.Time) (end vtime.Time) {
	s.free = max(at, s.free) + d
	s.busy += d
	return s.free
}
