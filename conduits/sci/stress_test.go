package sci_test

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"
)

// dozing is the conduit, which counts how often this process, a rank, goes to sleep in the
// kernel.
type dozing struct{ core.Conduit }

type dozingSleeper struct{ core.Sleeper }

var (
	sleeps atomic.Int64
	end    core.Conduit // this process's
)

func init() {
	d, err := core.DriverByName("sci")
	if err != nil {
		panic(err)
	}
	sound := d.New
	d.Name = "sci, dozing"
	d.New = func(profile string) core.Conduit {
		end = sound(profile)
		return dozing{end}
	}
	core.Register(d)
}

func (d dozing) Sleeper() core.Sleeper { return dozingSleeper{d.Conduit.Sleeper()} }

// FD is what core asks for when it does sleep, and not before.
func (s dozingSleeper) FD() int {
	sleeps.Add(1)
	return s.Sleeper.FD()
}

// pause computes for some time, most often from when the peer says that it goes to sleep, so
// that what comes next finds it awake, on the way, or asleep.
func pause(t *coretest.T, rng *rand.Rand) {
	if peer := 1 - int(t.Rank()); rng.IntN(4) > 0 {
		for !sci.Asleep(end, peer) {
			runtime.Gosched()
		}
	}
	for until := t.Now() + core.Time(rng.Int64N(int64(40*vtime.Microsecond))); t.Now() < until; {
	}
}

// checkSleeps says when a stress did not stress: too few of the occasions to sleep were
// taken.
func checkSleeps(t *coretest.T, occasions int) {
	if n := sleeps.Load(); n < int64(occasions/8) {
		t.Errorf("slept only %d times on %d occasions", n, occasions)
	}
}

// sleepStress sends bursts of requests to a rank that goes to sleep after each, without a
// time-out and without the forced scan: a lost message or wake-up hangs the job.
// AQ_STRESS_MESSAGES sets the number of messages; ten million take some minutes.
var sleepStress = &coretest.Case{
	Name:  "sci/sleep-stress",
	Rule:  "no message is lost between ranks that go to sleep",
	Ranks: []int{2},
	Needs: coretest.Processes, Apart: true, // counts what its processes do
	Config: func(cfg *core.Config) { cfg.Threads = core.Single },
	Body: func(t *coretest.T) error {
		const onMessage, onDone = 128, 129
		total := stressMessages()
		var arrived, expected, bursts, done int
		ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onMessage, Func: func(tok *core.Token, args []uint32, _ []byte) {
				arrived++
				if args[0] == 1 {
					bursts++
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
			checkSleeps(t, bursts)
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
			if expected < total {
				pause(t, rng)
			}
		}
		return nil
	},
}

// roomStress has several contexts of a rank send more than there is room for, so that they
// wait for it, and the rank sleeps, until the receiver returns some after a pause.
var roomStress = &coretest.Case{
	Name:  "sci/room-stress",
	Rule:  "no return of room is lost on contexts that wait for it together, while their rank sleeps",
	Ranks: []int{2},
	Needs: coretest.Processes | coretest.Threads, Apart: true,
	Body: func(t *coretest.T) error {
		const onMessage, width = 128, 4
		each, returned := stressMessages()/width, 64 // messages whose room is returned at once
		if t.Config().Profile == "paper" {
			each, returned = each/16, 2
		}
		var arrived int
		ep, err := t.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
			{Index: onMessage, Func: func(*core.Token, []uint32, []byte) { arrived++ }},
		}})
		if err != nil {
			return err
		}
		if t.Rank() == 1 {
			rng := rand.New(rand.NewPCG(3, 4))
			for arrived < width*each {
				before := arrived
				if err := ep.WaitUntil(func() bool { return arrived > before }); err != nil {
					return err
				}
				pause(t, rng)
			}
			return nil
		}
		var wg sync.WaitGroup
		for range width {
			c := ep.NewContext()
			wg.Go(func() {
				for range each {
					if err := c.RequestShort(1, onMessage); err != nil {
						t.Errorf("request: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		checkSleeps(t, width*each/returned)
		return nil
	},
}

func stressMessages() int {
	if n, err := strconv.Atoi(os.Getenv("AQ_STRESS_MESSAGES")); err == nil && n > 0 {
		return n
	}
	return 10_000
}

func TestSleepStress(t *testing.T) {
	var kinds []coretest.Kind
	for _, profile := range []string{"live", "paper"} {
		for _, publish := range []string{"store", "fence"} {
			kinds = append(kinds, coretest.Kind{
				Name: profile + "/" + publish, Launcher: spawntest.Processes, Config: core.Config{
					Conduit: "sci, dozing", Profile: profile, Sleep: 1,
					Settings: map[string]string{"forced-scan": "off", "publish": publish},
				},
			})
		}
	}
	coretest.Suite(t, []*coretest.Case{sleepStress, roomStress}, kinds...)
}
