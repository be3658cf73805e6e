package sci

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// watched tells when its rank goes to sleep though rank 0's requests have come.
type watched struct {
	*live
	sleeps func()
}

type watchedSleeper struct {
	core.Sleeper
	c *watched
}

func (c *watched) Sleeper() core.Sleeper { return watchedSleeper{c.live.Sleeper(), c} }

func (s watchedSleeper) Arm() bool {
	ready := s.Sleeper.Arm()
	if !ready && s.c.me == 1 && s.c.peers[0].in[requests].ready() {
		s.c.sleeps()
	}
	return ready
}

// TestSleepWithoutReplyRoom has rank 0 ask for more than there is room to answer and not
// poll until rank 1, which cannot take the last requests, sleeps; then all are answered.
func TestSleepWithoutReplyRoom(t *testing.T) {
	const asks = 2 * payloadRing / maxMedium
	asleep := make(chan struct{})
	name := fmt.Sprint("watched ", drivers.Add(1))
	sleeps := sync.OnceFunc(func() { close(asleep) })
	core.Register(core.Driver{Name: name, New: func(string) core.Conduit { return &watched{newLive(), sleeps} }})
	err := core.RunGoroutines(2, core.Config{Conduit: name, Threads: core.Single, Segment: "0", Sleep: 1}, func(j *core.Job) error {
		told, answer := 0, make([]byte, maxMedium)
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				if err := tok.ReplyMedium(129, answer); err != nil {
					t.Error(err)
				}
			}},
			{Index: 129, Func: func(*core.Token, []uint32, []byte) { told++ }},
		}})
		if err != nil || j.Rank() == 1 {
			return err
		}
		for range asks {
			if err := ep.RequestShort(1, 128); err != nil {
				return err
			}
		}
		hang := time.NewTimer(20 * time.Second)
		defer hang.Stop()
		select {
		case <-asleep:
		case <-hang.C:
			return errors.New("rank 1 does not sleep")
		}
		return ep.WaitUntil(func() bool { return told >= asks })
	})
	if err != nil {
		t.Error(err)
	}
}
