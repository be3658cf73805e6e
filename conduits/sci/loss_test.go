package sci_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// talk has rank 0 talk to rank 1 from a time on, for ever, or not at all if that is negative, and
// the others wait. end becomes the time at which the job ends for rank 0.
func talk(from time.Duration, end *core.Time) func(*core.Job) error {
	return func(j *core.Job) error {
		told := 0
		ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) { _ = tok.ReplyShort(129) }},
			{Index: 129, Func: func(*core.Token, []uint32, []byte) { told++ }},
		}})
		if err != nil {
			return err
		}
		if j.Rank() == 0 {
			defer func() { *end = j.Now() }()
			j.Compute(max(0, from-j.Now().Duration()))
			for i := 0; err == nil && from >= 0; i++ {
				err = errors.Join(ep.RequestShort(1, 128), ep.WaitUntil(func() bool { return told > i }))
			}
		}
		return errors.Join(err, ep.WaitUntil(func() bool { return false }))
	}
}

// lose runs talk on a machine, twice, in which rank 1 is lost at a time, and wants the job to end
// with status 137 because of that.
func lose(t *testing.T, machine string, at, from time.Duration) (end time.Duration) {
	t.Helper()
	cfg := on(machine)
	cfg.Losses = []core.Loss{{Rank: 1, At: vtime.FromDuration(at)}}
	var last core.Time
	err := coretest.Twice(t, 3, cfg, talk(from, &last))
	if core.StatusOf(err) != 137 || !strings.Contains(err.Error(), "the node of rank 1 is lost") {
		t.Errorf("rank 0 talks from %v on: status %d, %v", from, core.StatusOf(err), err)
	}
	return last.Duration()
}

// The loss of a node ends the job when its peers' drivers have found out, for ranks that wait
// as for ranks that send.
func TestNodeLoss(t *testing.T) {
	const at = 5 * time.Millisecond
	for _, from := range []time.Duration{-1, 0} {
		if end := lose(t, "d339", at, from); end < at+time.Millisecond || end > at+50*time.Millisecond {
			t.Errorf("rank 0 talks from %v on: the job ends at %v", from, end)
		}
	}
}

// A rank that a peer speaks to for the first time is lost before, while or after that connects:
// its driver finds out as late as otherwise, and the job ends as otherwise.
func TestLossAtFirstUse(t *testing.T) {
	const at, detect = 5 * time.Millisecond, 10 * time.Millisecond // error.detect of the machine
	for _, after := range []time.Duration{
		-2 * time.Millisecond, -700 * time.Microsecond, -400 * time.Microsecond, -100 * time.Microsecond,
		-time.Microsecond, time.Microsecond, 9 * time.Millisecond, time.Second / 2,
	} {
		least := at + max(detect, after)
		if end := lose(t, "scale", at, at+after); end < least || end > least+detect {
			t.Errorf("first use %v after the loss: the job ends at %v, want it from %v on, and no later than %v after that", after, end, least, detect)
		}
	}
}
