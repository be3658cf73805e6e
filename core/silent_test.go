package core

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// deaf is echo with a sleeper that could be woken, and never is.
type deaf struct {
	echo
	sleeping chan struct{} // a token for each sleep, as far as there is room
	fd       int
}

func init() {
	Register(Driver{Name: "deaf", New: func(string) Conduit { return &deaf{sleeping: make(chan struct{}, 1)} }})
}

func (d *deaf) Attach(a *Attachment) (err error) {
	if d.fd, err = shm.NewBell(); err != nil {
		return err
	}
	return d.echo.Attach(a)
}

func (d *deaf) Close() error     { return unix.Close(d.fd) }
func (d *deaf) Sleeper() Sleeper { return d }
func (d *deaf) FD() int          { return d.fd }
func (d *deaf) Disarm()          {}
func (d *deaf) Arm() bool {
	select {
	case d.sleeping <- struct{}{}:
	default:
	}
	return false
}

// looks returns a condition that is true when it has been looked at n times, as if a peer
// had made it so by a store.
func looks(n int) func() bool {
	return func() bool { n--; return n <= 0 }
}

// manyLooks is far more than a wait needs until it sleeps in the kernel.
const manyLooks = 2 * (hotPolls + pausePolls)

// TestSilentWaitLooksAgain has a condition become true while its wait sleeps, and nobody
// wakes it.
func TestSilentWaitLooksAgain(t *testing.T) {
	for _, threads := range []Threads{Single, Many} {
		err := aloneOver(t, "deaf", Config{Sleep: time.Nanosecond, Threads: threads}, nil, func(ep *Endpoint) error {
			return ep.WaitSilent(looks(manyLooks))
		})
		if err != nil {
			t.Errorf("%v: %v", threads, err)
		}
	}
}

// TestSilentWaitBesideSleeper does so while another context sleeps for all: it must have
// the sleeper look at the time.
func TestSilentWaitBesideSleeper(t *testing.T) {
	var woken bool
	err := aloneOver(t, "deaf", Config{Sleep: time.Nanosecond}, nil, func(ep *Endpoint) error {
		other, ended := ep.NewContext(), make(chan error)
		go func() { ended <- ep.WaitUntil(func() bool { return woken }) }()
		<-ep.conduit.(*deaf).sleeping
		if err := other.WaitSilent(looks(manyLooks)); err != nil {
			return err
		}
		// A message would not do: deaf has nobody woken by one.
		if err := other.Exclusively(func() { woken = true; ep.progress.burst(ep) }); err != nil {
			return err
		}
		return <-ended
	})
	if err != nil {
		t.Error(err)
	}
}
