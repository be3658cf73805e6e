package core

import (
	"errors"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	for name, attaches := range unfits {
		Register(Driver{Name: name, New: func(string) Conduit { return &unfit{attaches: attaches} }})
	}
}

// unfits are the conduits of type unfit by name, and whether each can attach.
var unfits = map[string]bool{"no network": false, "no segment": true}

// unfit is a conduit that on rank 1 cannot attach, or cannot make the segment.
type unfit struct {
	echo
	attaches bool
	rank     Rank
}

// closeUnfit is called when an unfit conduit is closed.
var closeUnfit func(*Port)

func (u *unfit) Attach(a *Attachment) error {
	u.rank, u.port = a.Boot.Rank(), a.Port
	if u.rank == 1 && !u.attaches {
		return errors.New("no network")
	}
	return nil
}

func (u *unfit) AttachSegment(a *Attachment) ([]byte, error) {
	if u.rank == 1 {
		return nil, errors.New("no memory")
	}
	return u.echo.AttachSegment(a)
}

func (u *unfit) Close() error {
	closeUnfit(u.port)
	return nil
}

// TestUnfit has the conduit of one rank fail to attach, or to make the segment: it is closed when the others
// know, and not before, since to close it may take them. Until then what the conduit began may wake the rank.
func TestUnfit(t *testing.T) {
	for name := range unfits {
		var returned, closed, early, deaf atomic.Int32
		closeUnfit = func(p *Port) {
			closed.Add(1)
			if returned.Load() < 2 {
				early.Add(1)
			}
			if _, err := unix.FcntlInt(uintptr(p.ep.bell), unix.F_GETFD, 0); err != nil {
				deaf.Add(1)
			}
		}
		err := RunGoroutines(2, Config{Conduit: name}, func(j *Job) error {
			defer returned.Add(1)
			_, err := j.Attach(AttachSpec{Segment: "4096"})
			return err
		})
		if err == nil || closed.Load() != 2 || early.Load() != 0 || deaf.Load() != 0 {
			t.Errorf("%s: %d conduits were closed, %d before all ranks had returned, %d after what wakes the rank; the job ended with %v",
				name, closed.Load(), early.Load(), deaf.Load(), err)
		}
	}
}
