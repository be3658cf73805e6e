package spawner

import (
	"os"
	"sync"
	"time"
)

// pipes are what the ranks of this host write their output to.
type pipes struct {
	streams  []*stream
	lineWait time.Duration  // of the streams
	group    sync.WaitGroup // of the streams
}

// open makes the pipes for the streams of a rank, begins to pass on what comes out of them, and returns the ends
// for the rank. The streams are the pipes' from then on.
func (p *pipes) open(out, errs *stream) (stdout, stderr *os.File, err error) {
	out.lineWait, errs.lineWait = p.lineWait, p.lineWait
	out.pipe, stdout, err = os.Pipe()
	if err == nil {
		if errs.pipe, stderr, err = os.Pipe(); err != nil {
			out.pipe.Close()
			stdout.Close()
		}
	}
	if err != nil {
		out.abandon()
		errs.abandon()
		return nil, nil, err
	}
	p.streams = append(p.streams, out, errs)
	p.group.Go(out.copy)
	p.group.Go(errs.copy)
	return stdout, stderr, nil
}

// endBy has the streams end at the limit.
func (p *pipes) endBy(limit time.Time) {
	for _, s := range p.streams {
		s.endBy(limit)
	}
}

// abandon closes the file of a stream that has not begun.
func (s *stream) abandon() {
	if s.file != nil {
		s.file.Close()
	}
}
