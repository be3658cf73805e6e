package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
	"golang.org/x/sys/unix"
)

// strike is something that befalls a job on the hosts alpha, beta and gamma, with two ranks each.
type strike struct {
	name   string
	falls  func(t *testing.T, v *victim)
	status int    // of aqrun then; -1: it is killed itself
	says   string // %H is the host
	starts bool   // it can befall a job that has no ranks yet
	mends  func(t *testing.T, v *victim)
}

// victim is a job, and where it is struck.
type victim struct {
	network
	host  string
	above string // the host whose aqrun or agent has started the host's agent
	left  int    // of two processes of the kind
}

// kill kills one or all of the processes on a host whose argument list has the text, once there are any.
func (v *victim) kill(t *testing.T, host, text string, one bool) {
	for until := time.Now().Add(deadline); ; {
		pids := v.Processes(host, text)
		if one && len(pids) > v.left {
			pids = pids[v.left:][:1]
		}
		for _, pid := range pids {
			unix.Kill(pid, unix.SIGKILL)
		}
		if len(pids) > 0 {
			return
		}
		if time.Now().After(until) {
			t.Errorf("no process %q on %s", text, host)
			return
		}
	}
}

const lostHost = "host %H is lost: "

// strikes are all there are. Of hosts that are cut off, or without power, nothing is heard.
var strikes = []strike{
	{"rank", func(t *testing.T, v *victim) { v.kill(t, v.host, self(t), true) }, 137, " was killed by SIGKILL", false, nil},
	{"agent", func(t *testing.T, v *victim) { v.kill(t, v.host, "aqueduct-agent", false) }, 137, lostHost + "ssh exited with status 255", true, nil},
	{"ssh", func(t *testing.T, v *victim) { v.kill(t, v.above, "--\x00"+v.host, false) }, 137, lostHost + "ssh was killed by SIGKILL", true, nil},
	{"sshd", func(t *testing.T, v *victim) { v.kill(t, v.host, "sshd", false) }, 137, lostHost + "ssh exited with status 255", true, nil},
	{"aqrun", func(t *testing.T, v *victim) { v.kill(t, cluster.Front, "-x\x00"+roleEnv, false) }, -1, "", true, nil},
	{"cable", func(t *testing.T, v *victim) { v.Unplug(t, v.host) }, 137, lostHost, true, nil},
	{"power", func(t *testing.T, v *victim) { v.Down(t, v.host) }, 137, lostHost, true, nil},
	{"from there", func(t *testing.T, v *victim) { v.Lose(t, v.host, v.above) }, 137, lostHost, true, nil},
	{"to there", func(t *testing.T, v *victim) { v.Lose(t, v.above, v.host) }, 137, lostHost, true, nil},
	{"front's power", func(t *testing.T, v *victim) { v.Down(t, cluster.Front) }, -1, "", true, nil},
	{"cable for a while", func(t *testing.T, v *victim) { v.Unplug(t, v.host) }, 137, lostHost, true, func(t *testing.T, v *victim) { v.Plug(t, v.host) }},
	{"power for a while", func(t *testing.T, v *victim) { v.Down(t, v.host); v.Up(t, v.host) }, 137, lostHost, true, nil},
}

// trees are the shapes that the agents' tree has, by its width: aqrun starts all, or each starts the next.
var trees = []struct {
	name  string
	width int
}{{"star", 3}, {"chain", 1}}

// stages are what jobs do when they are struck, by role.
var stages = []string{"start", "exchanges", "barriers", "messages", "ending"}

// limit is how long after a strike there may be anything of a job.
const limit = 10 * time.Second

// Whatever befalls a job, and whenever, it ends in time with the right status, says what is lost, and leaves nothing on any
// host, also not on one that is cut off or comes back. Each strike falls on each tree in one stage, and in the others as
// AQ_TEST_PART says. In a chain it falls on an agent that has others below it.
func TestStrikes(t *testing.T) {
	newNetwork(t) // or it is skipped
	var all sync.WaitGroup
	room := make(chan struct{}, len(strikes)/2) // jobs wait more than they compute
	for i, s := range strikes {
		for j, tree := range trees {
			for k, stage := range stages {
				name := s.name + "/" + tree.name + "/" + stage
				if k != (i+1+j)%len(stages) && !coretest.InPart(t, name) || stage == "start" && !s.starts {
					continue
				}
				all.Go(func() {
					room <- struct{}{}
					defer func() { <-room }()
					t.Run(name, func(t *testing.T) { s.test(t, tree.width, stage) })
				})
			}
		}
	}
	all.Wait()
}

func (s *strike) test(t *testing.T, width int, stage string) {
	seed := fnv.New64()
	fmt.Fprint(seed, t.Name())
	random := rand.New(rand.NewPCG(seed.Sum64(), 0))
	v := &victim{network: newNetwork(t, "alpha", "beta", "gamma"), above: cluster.Front, left: random.IntN(2)}
	v.host = v.Names[random.IntN(len(v.Names))]
	if width == 1 {
		v.above, v.host = v.Names[0], v.Names[1]
	}
	after := time.Duration(random.IntN(300)) * time.Millisecond
	t.Logf("%s is struck %v later", v.host, after)

	role, patience := stage, "60s"
	if stage == "start" {
		role, patience = "barriers", "8s" // a host that is lost before its agent has answered is not noticed sooner
	}
	var errs bytes.Buffer
	cmd := v.aqrun(t, role, "--tree-width", strconv.Itoa(width), "--host", "alpha:2,beta:2,gamma:2", "--start-timeout", patience)
	cmd.Stderr = &errs
	job := start(t, cmd)
	if stage != "start" {
		for range 6 {
			if !job.lines.Scan() {
				t.Fatalf("status %d before it is struck\n%s", job.status(), &errs)
			}
		}
	}
	<-time.After(after)
	began := time.Now()
	s.falls(t, v)
	status := job.status()
	ended := time.Since(began)
	if s.mends != nil {
		s.mends(t, v)
	}
	v.AwaitNothing(t, deadline)
	gone := time.Since(began)
	t.Logf("aqrun ended after %v, all else after %v", ended.Round(time.Millisecond), gone.Round(time.Millisecond))
	good := status == s.status && strings.Contains(errs.String(), strings.ReplaceAll(s.says, "%H", v.host))
	if stage == "start" && status == 125 { // there were no ranks yet
		good = strings.Contains(errs.String(), "host "+v.host+": ")
	}
	if !good || gone > limit {
		t.Errorf("status %d, want %d and %q within %v\nstderr:\n%s", status, s.status, s.says, limit, &errs)
	}
}

// barriers has all ranks meet until rank 0 gets SIGUSR1.
func barriers() {
	const onStop, onStopped = 128, 129
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGUSR1)
	aqueduct.Run(func(job *core.Job) error {
		stopped, told := 0, false
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onStop, Func: func(tok *core.Token, _ []uint32, _ []byte) {
				told = true
				check(tok.ReplyShort(onStopped))
			}},
			{Index: onStopped, Func: func(*core.Token, []uint32, []byte) { stopped++ }},
		}})
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			if err := ep.Barrier(); err != nil {
				return err
			}
			if i == 0 {
				fmt.Println("ready", os.Getpid())
			}
			// Between two meetings, so that all see it after the second.
			select {
			case <-stop:
				for r := core.Rank(0); job.Rank() == 0 && int(r) < job.Size(); r++ {
					if err := ep.RequestShort(r, onStop); err != nil {
						return err
					}
				}
				if err := ep.WaitUntil(func() bool { return job.Rank() != 0 || stopped == job.Size() }); err != nil {
					return err
				}
			case <-time.After(rest):
			}
			if err := ep.Barrier(); err != nil || told {
				return err
			}
		}
	})
}

// A cable that is plugged in again soon is no loss: the job goes on, and ends well.
func TestShortLoss(t *testing.T) {
	n := newNetwork(t, "alpha", "beta")
	var errs bytes.Buffer
	cmd := n.aqrun(t, "barriers", "--host", "alpha:2,beta:2")
	cmd.Stderr = &errs
	job := start(t, cmd)
	job.await(t, "ready", 4)
	n.Unplug(t, "beta")
	<-time.After(3 * time.Second) // half of what counts as a loss
	n.Plug(t, "beta")
	if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Error(err)
	}
	if status := job.status(); status != 0 || errs.Len() > 0 {
		t.Errorf("status %d\n%s", status, &errs)
	}
	n.AwaitNothing(t, deadline)
}
