package sci_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// sleepStress sends bursts of requests to a rank that goes to sleep after each, without a
// time-out and without the forced scan: a lost message or wake-up hangs the job.
// AQ_STRESS_MESSAGES sets the number of messages; ten million take some minutes.
var sleepStress = &coretest.Case{
	Name:  "sci/sleep-stress",
	Rule:  "no message is lost between ranks that go to sleep",
	Ranks: []int{2},
	Needs: coretest.Processes,
	Body: func(t *coretest.T) error {
		const onMessage, onDone = 128, 129
		total := stressMessages()
		var arrived, expected, done int
		ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onMessage, Func: func(tok *core.Token, args []uint32, _ []byte) {
				arrived++
				if args[0] == 1 {
					tok.ReplyShort(onDone, uint32(arrived))
				}
			}},
			{Index: onDone, Func: func(_ *core.Token, args []uint32, _ []byte) { done++ }},
		}})
		if err != nil {
			return err
		}
		if t.Rank() == 1 {
			err := ep.WaitUntil(func() bool { return arrived >= total })
			if slept := voluntarySwitches(); slept < total/2000 {
				t.Errorf("slept only %d times in %d messages", slept, total)
			}
			return err
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for bursts := 1; expected < total; bursts++ {
			n := min(1+rng.IntN(20), total-expected)
			expected += n
			for i := range n {
				last := uint32(0)
				if i == n-1 {
					last = 1
				}
				if err := ep.RequestShort(1, onMessage, last); err != nil {
					return err
				}
			}
			// Every last message of a burst is answered; on a conduit without order it need
			// not be the last to arrive, so only the number of answers counts.
			if err := ep.WaitUntil(func() bool { return done >= bursts }); err != nil {
				return err
			}
			// Compute for some time, so that the next burst comes before, while or after the
			// receiver goes to sleep.
			for until := t.Now() + core.Time(rng.Int64N(int64(20*vtime.Microsecond))); t.Now() < until; {
			}
		}
		return nil
	},
}

// voluntarySwitches returns how often this process has given up the CPU by itself.
func voluntarySwitches() int {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return int(u.Nvcsw)
}

func stressMessages() int {
	if n, err := strconv.Atoi(os.Getenv("AQ_STRESS_MESSAGES")); err == nil && n > 0 {
		return n
	}
	return 200_000
}

func TestSleepStress(t *testing.T) {
	for _, profile := range []string{"live", "paper"} {
		for _, publish := range []string{"store", "fence"} {
			t.Run(fmt.Sprintf("%s/%s", profile, publish), func(t *testing.T) {
				coretest.RunCase(t, spawntest.Processes, core.Config{
					Conduit: "sci", Profile: profile, Threads: core.Single, Sleep: 1,
					Settings: map[string]string{"forced-scan": "off", "publish": publish},
				}, sleepStress)
			})
		}
	}
}
