package core

import (
	"errors"
	"sync/atomic"
	"testing"
)

// unfit is a conduit that cannot make the segment of rank 1.
type unfit struct {
	echo
	rank  Rank
	close func()
}

func (u *unfit) Attach(a *Attachment) error {
	u.rank = a.Boot.Rank()
	return u.echo.Attach(a)
}

func (u *unfit) AttachSegment(a *Attachment) ([]byte, error) {
	if u.rank == 1 {
		return nil, errors.New("no memory")
	}
	return u.echo.AttachSegment(a)
}

func (u *unfit) Close() error {
	u.close()
	return nil
}

// TestNoSegment has the conduit of one rank fail to make the segment: it is closed when the others know, and
// not before, since to close it may take them.
func TestNoSegment(t *testing.T) {
	var returned, closed, early atomic.Int32
	Register(Driver{Name: "unfit", New: func(string) Conduit {
		return &unfit{close: func() {
			closed.Add(1)
			if returned.Load() < 2 {
				early.Add(1)
			}
		}}
	}})
	err := RunGoroutines(2, Config{Conduit: "unfit"}, func(j *Job) error {
		defer returned.Add(1)
		_, err := j.Attach(AttachSpec{Segment: "4096"})
		return err
	})
	if err == nil || closed.Load() != 2 || early.Load() != 0 {
		t.Errorf("%d conduits were closed, %d before all ranks had returned; the job ended with %v", closed.Load(), early.Load(), err)
	}
}
