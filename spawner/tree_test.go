package spawner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/shm"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// cluster is hosts that are goroutines of this process. Their agents are real, their ranks act by a script.
type cluster struct {
	script func(rank, step int) act
	result []byte // of an Exchange, if it is to be checked

	mu     sync.Mutex
	agents sync.WaitGroup
	wires  map[int]*cable // by host: the one to its agent
	below  map[int][]int  // by host, -1 for the Job: those that it has started
	ended  map[int]syscall.WaitStatus
}

// act is what a rank does.
type act struct {
	what   kind // a collective call, kindAbort, kindLeave, or exits
	status int  // of kindAbort and exits
	blob   []byte
}

// exits is the act of a rank whose process ends; hangs that of one that does nothing.
const (
	exits kind = 200 + iota
	hangs
)

// cable is the stream to an agent. It counts the frames that go through it, but for beats.
type cable struct {
	ends     [2]net.Conn
	mu       sync.Mutex
	silent   bool
	down, up map[word]traffic
}

type traffic struct{ frames, bytes int }

// cableEnd is one end of a cable.
type cableEnd struct {
	net.Conn
	cable *cable
	count map[word]traffic
	rest  []byte // what is not a whole frame yet
}

// Write counts what it writes. What is written to a silent cable is lost.
func (e *cableEnd) Write(b []byte) (int, error) {
	e.cable.mu.Lock()
	for e.rest = append(e.rest, b...); ; {
		e.rest = bytes.TrimPrefix(e.rest, []byte(agentGreeting))
		body, rest, err := wire.NextFrame(e.rest, maxTrunkFrame)
		if err != nil {
			break
		}
		if w := word(body[0]); w != wordBeat {
			t := e.count[w]
			e.count[w] = traffic{t.frames + 1, t.bytes + len(e.rest) - len(rest)}
		}
		e.rest = rest
	}
	silent := e.cable.silent
	e.cable.mu.Unlock()
	if silent {
		return len(b), nil
	}
	return e.Conn.Write(b)
}

// quiet has nothing come through the cable any more.
func (c *cable) quiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

// link starts the agent of a branch, on behalf of the host by.
func (c *cluster) link(by int) func(b branch) (io.ReadWriteCloser, error) {
	return func(b branch) (io.ReadWriteCloser, error) {
		w := &cable{down: make(map[word]traffic), up: make(map[word]traffic)}
		w.ends[0], w.ends[1] = net.Pipe()
		c.mu.Lock()
		c.wires[b.Host], c.below[by] = w, append(c.below[by], b.Host)
		c.mu.Unlock()
		a := newAgent(&cableEnd{Conn: w.ends[1], cable: w, count: w.up})
		a.link = c.link(b.Host)
		a.prepare = func(o *task, ranks []int) (ownHost, map[int]string, error) {
			return c.actors(a, ranks), map[int]string{0: "the same"}, nil
		}
		c.agents.Go(func() { a.serve(time.Minute) })
		return &cableEnd{Conn: w.ends[0], cable: w, count: w.down}, nil
	}
}

// actors are a host whose ranks act by the script.
type actors struct {
	*cluster
	loop  *loop
	tell  hostEvents
	ranks []int
	step  map[int]int
	in    map[int]bool // it has joined
	over  map[int]bool
}

// actors returns the ranks of an agent's host.
func (c *cluster) actors(a *agent, ranks []int) *actors {
	return &actors{cluster: c, loop: a.loop, tell: a, ranks: ranks, step: make(map[int]int), in: make(map[int]bool), over: make(map[int]bool)}
}

// launch implements ownHost.
func (h *actors) launch() error {
	h.loop.post(func() {
		for _, r := range h.ranks {
			h.tell.began(r, 1000+r)
		}
	})
	h.loop.post(func() {
		for _, r := range h.ranks {
			if !h.over[r] {
				h.in[r] = true
				h.tell.joined(r)
				h.act(r)
			}
		}
	})
	return nil
}

// act has a rank do what comes next, until it is in a collective call, or over.
func (h *actors) act(rank int) {
	for !h.over[rank] {
		a := h.script(rank, h.step[rank])
		h.step[rank]++
		switch a.what {
		case hangs:
			return
		case exits:
			h.end(rank, syscall.WaitStatus(a.status<<8))
		case kindAbort:
			h.say(rank, appendVerdict(nil, kindAbort, a.status, "enough"))
		case kindLeave:
			h.say(rank, appendFrame(nil, kindLeave, nil))
		default:
			h.say(rank, appendFrame(nil, a.what, func(b []byte) []byte { return append(b, a.blob...) }))
			return
		}
	}
}

// say has a rank send a frame.
func (h *actors) say(rank int, frame []byte) {
	m, err := decode(frame[wire.FrameHeader:])
	if err != nil {
		panic(err)
	}
	m.body = frame[wire.FrameHeader:]
	h.tell.message(rank, m)
}

// end ends the process of a rank.
func (h *actors) end(rank int, ws syscall.WaitStatus) {
	if h.over[rank] {
		return
	}
	h.over[rank] = true
	h.cluster.mu.Lock()
	h.ended[rank] = ws
	h.cluster.mu.Unlock()
	if h.in[rank] {
		h.tell.disconnected(rank, nil)
	}
	h.tell.exited(rank, ws)
}

// broadcast implements host.
func (h *actors) broadcast(frames []byte) {
	if h.result != nil && len(frames) > wire.FrameHeader+1 && !bytes.Equal(frames, h.result) {
		panic("the result of an Exchange is another")
	}
	for _, r := range h.ranks {
		h.act(r)
	}
}

// conclude implements host.
func (h *actors) conclude([]byte) {
	for _, r := range h.ranks {
		h.end(r, 98<<8)
	}
}

// signal implements host.
func (h *actors) signal(rank int, sig syscall.Signal) { h.end(rank, syscall.WaitStatus(sig)) }

// signalAll implements host.
func (h *actors) signalAll(sig syscall.Signal) {
	for _, r := range h.ranks {
		h.end(r, syscall.WaitStatus(sig))
	}
}

// deal implements host.
func (h *actors) deal() { h.broadcast(nil) }

// send and hangUp implement host.
func (h *actors) send(int, []byte) {}
func (h *actors) hangUp(int)       {}

// run runs the script on so many hosts, whose agents are a tree of that width. It returns the status and what is said.
// The function is called when the job runs.
func (c *cluster) run(t testing.TB, hostOf []int, width int, meanwhile func(j *Job)) (status int, said string) {
	t.Helper()
	hosts, err := placement(hostOf).check()
	if err != nil {
		t.Fatal(err)
	}
	c.wires, c.below, c.ended = make(map[int]*cable), make(map[int][]int), make(map[int]syscall.WaitStatus)
	var text bytes.Buffer
	spec := Spec{N: len(hostOf), HostOf: hostOf, Prog: "prog", Stderr: &text, Launch: Launch{Launcher: "local", Width: width, link: c.link(-1)}}
	for h := range hosts {
		spec.Hosts = append(spec.Hosts, fmt.Sprintf("host%d", h))
	}
	j, err := Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile(j)
	}
	status, _ = j.Wait()
	c.agents.Wait()
	return status, text.String()
}

// oneEach places a rank on each of n hosts.
func oneEach(n int) (hostOf []int) {
	for h := range n {
		hostOf = append(hostOf, h)
	}
	return hostOf
}

// ordinary is what ranks do in an ordinary job: an Exchange, some barriers, and an end.
func ordinary(barriers int) func(rank, step int) act {
	return func(rank, step int) act {
		switch {
		case step == 0:
			return act{what: kindExchange, blob: fmt.Appendf(nil, "%06d", rank)}
		case step <= barriers:
			return act{what: kindBarrier}
		case step == barriers+1:
			return act{what: kindLeave}
		}
		return act{what: exits}
	}
}

// patiently has no beats come while a test counts.
func patiently(t testing.TB) {
	old := pulse
	pulse = time.Hour
	t.Cleanup(func() { pulse = old })
}

// depth returns how many trunks there are from the Job to the farthest host.
func (c *cluster) depth(of int) (d int) {
	for _, h := range c.below[of] {
		d = max(d, 1+c.depth(h))
	}
	return d
}

// size returns how many hosts are at the end of the trunk to a host.
func (c *cluster) size(host int) (n int) {
	for _, h := range c.below[host] {
		n += c.size(h)
	}
	return 1 + n
}

// total sums the frames of a direction, and their bytes.
func total(of map[word]traffic, words ...word) (sum traffic) {
	for w, t := range of {
		if len(words) == 0 || slices.Contains(words, w) {
			sum.frames += t.frames
			sum.bytes += t.bytes
		}
	}
	return sum
}

// manyAgents is the largest job whose costs are tested: 4,096 agents where AQ_TEST_PART has that, else fewer, since a broadcast of all
// parts to all is of the square of their number; under the race detector, which makes each agent dear, still fewer.
func manyAgents(t testing.TB) int {
	switch {
	case shm.RaceEnabled:
		return 512
	case coretest.InPart(t, t.Name()):
		return 4096
	}
	return 1536
}

// What thousands of agents cost: of streams, as many as the tree is wide; of frames, a few on each trunk, for the start, each
// collective call, and the end; of bytes, what ranks contribute, and else a few for each rank below.
func TestCostOfManyAgents(t *testing.T) {
	patiently(t)
	const barriers = 3
	for _, shape := range []struct{ hosts, width, depth int }{{manyAgents(t), DefaultTreeWidth, 3}, {600, 4, 5}} {
		hosts, width := shape.hosts, shape.width
		c := &cluster{script: ordinary(barriers)}
		for r := range hosts {
			c.result = appendPart(c.result, r, ordinary(0)(r, 0).blob)
		}
		if status, said := c.run(t, oneEach(hosts), width, nil); status != 0 || said != "" {
			t.Fatalf("width %d: status %d: %s", width, status, said)
		}
		if len(c.wires) != hosts || len(c.ended) != hosts {
			t.Fatalf("width %d: %d agents, %d ranks have ended", width, len(c.wires), len(c.ended))
		}
		if d := c.depth(-1); d > shape.depth {
			t.Errorf("width %d: the tree is %d deep", width, d)
		}
		for by, all := range c.below {
			if len(all) > width {
				t.Errorf("width %d: host %d has started %d agents", width, by, len(all))
			}
		}
		for host, w := range c.wires {
			n := c.size(host)
			for _, x := range []struct {
				what          string
				got           traffic
				frames, bytes int
			}{
				{"barriers up", traffic{w.up[wordArrived].frames - 1, w.up[wordArrived].bytes - 6 - 14*n}, barriers, 6 * barriers},
				{"results down", w.down[wordBroadcast], 1 + barriers, 6 + (9+6)*hosts + barriers*(6+5)},
				{"reports", w.up[wordReport], 3, 64 + 400*n},
				{"the rest down", total(w.down, wordLaunch, wordTell), 2, 5 + 9},
				{"the start down", total(w.down, wordBegin, wordTask), 2, 1 << 20},
				{"events and the end up", total(w.up, wordEvents, wordMessage, wordTold, wordDone), 5, 64 + 80*n},
				{"all down", total(w.down), 2 + 2 + 1 + barriers, 2 << 20},
				{"all up", total(w.up), 3 + 5 + 1 + barriers + 2, 1000 + 600*n},
			} {
				if x.got.frames > x.frames || x.got.bytes > x.bytes {
					t.Errorf("width %d, host %d with %d below: %s: %d frames of %d bytes, want %d of %d at most", width, host, n-1, x.what, x.got.frames, x.got.bytes, x.frames, x.bytes)
				}
			}
			if t.Failed() {
				t.Fatalf("down %v, up %v", w.down, w.up)
			}
		}
	}
}

// The first failure of thousands of ranks ends all, and costs each trunk a few frames, and those of a collective call that comes
// meanwhile at most one for each agent that it leads to.
func TestCostOfAFailureAmongMany(t *testing.T) {
	patiently(t)
	n := manyAgents(t)
	fails := n - 7
	waiting := make(chan bool, n)
	c := &cluster{script: func(rank, step int) act {
		if step == 1 {
			waiting <- true
		}
		if rank == fails && step == 1 {
			return act{what: hangs}
		}
		return ordinary(2)(rank, step)
	}}
	status, said := c.run(t, oneEach(n), 0, func(j *Job) {
		for range n {
			<-waiting
		}
		j.Kill(core.Rank(fails))
	})
	if want := fmt.Sprintf("aqueduct: rank %d on host host%[1]d was killed by SIGKILL (killed); ending the job\n", fails); status != 137 || said != want {
		t.Errorf("status %d: %s", status, said)
	}
	if len(c.ended) != n {
		t.Errorf("%d ranks have ended", len(c.ended))
	}
	for host, w := range c.wires {
		up, down := total(w.up), total(w.down)
		if up.frames > 16+c.size(host) || up.frames-w.up[wordArrived].frames > 14 || down.frames > 10 {
			t.Fatalf("host %d: %d frames up, %d down: %v, %v", host, up.frames, down.frames, w.up, w.down)
		}
	}
}

// An agent that is gone, or behind a network that is, is named, wherever it is. The hosts below it end their ranks
// themselves.
func TestInnerAgentIsLost(t *testing.T) {
	for name, lose := range map[string]func(w *cable, end int){
		"gone":   func(w *cable, end int) { w.ends[end].Close() },
		"silent": func(w *cable, end int) { w.quiet() },
	} {
		t.Run(name, func(t *testing.T) {
			old := pulse
			pulse = 50 * time.Millisecond
			defer func() { pulse = old }()
			for _, width := range []int{1, 2, 3} {
				const n, victim = 24, 12
				c := &cluster{script: func(rank, step int) act {
					if step < 2 {
						return ordinary(9)(rank, step)
					}
					return act{what: hangs}
				}}
				status, said := c.run(t, oneEach(n), width, func(*Job) {
					c.mu.Lock()
					defer c.mu.Unlock()
					lose(c.wires[victim], 1)
					for _, h := range c.below[victim] {
						lose(c.wires[h], 0)
					}
				})
				if status != 137 || !strings.Contains(said, fmt.Sprintf("aqueduct: host host%d is lost: it", victim)) {
					t.Errorf("width %d: status %d: %s", width, status, said)
				}
				if len(c.ended) != n {
					t.Errorf("width %d: %d ranks have ended", width, len(c.ended))
				}
			}
		})
	}
}

// waits is what differs where several ranks wait: which of them is named.
var waits = regexp.MustCompile(`while rank \d+ |do not match: .*;`)

// A job ends in the same way, whatever the shape of the tree.
func TestShapesOfTheTreeAreEqual(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	patiently(t)
	for range 60 {
		hosts := 1 + random.IntN(20)
		hostOf := oneEach(hosts)
		for range 1 + random.IntN(19) { // nobody but another rank ends a job in which one leaves and does not end
			hostOf = append(hostOf, random.IntN(hosts))
		}
		n := len(hostOf)
		odd, at, way := random.IntN(n), random.IntN(4), random.IntN(6)
		script := func(rank, step int) act {
			if rank != odd || step != at {
				if rank == odd && step > at {
					return act{what: hangs}
				}
				return ordinary(3)(rank, step)
			}
			switch way {
			case 0:
				return act{what: exits, status: 9}
			case 1:
				return act{what: kindAbort, status: 5}
			case 2:
				return act{what: kindLeave}
			case 3:
				return act{what: kindShare}
			case 4:
				return act{what: exits} // without Close
			}
			return ordinary(3)(rank, step) // and nothing more
		}
		if way == 5 {
			at = 9
		}
		flat := &cluster{script: script}
		status, said := flat.run(t, hostOf, hosts, nil)
		width := 1 + random.IntN(4)
		tree := &cluster{script: script}
		status2, said2 := tree.run(t, hostOf, width, nil)
		if status != status2 || waits.ReplaceAllString(said, "") != waits.ReplaceAllString(said2, "") {
			t.Fatalf("seed %d: rank %d of %v does %d in step %d:\nflat: status %d: %sin a tree of width %d: status %d: %s", seed, odd, hostOf, way, at, status, said, width, status2, said2)
		}
	}
}

// BenchmarkTree takes the time of collective calls over agents in trees of several widths.
func BenchmarkTree(b *testing.B) {
	const agents = 4096
	for _, k := range []kind{kindBarrier, kindExchange} {
		for _, width := range []int{256, DefaultTreeWidth, 4} {
			b.Run(fmt.Sprintf("%v/agents=%d/width=%d", k, agents, width), func(b *testing.B) {
				patiently(b)
				c := &cluster{script: func(rank, step int) act {
					switch {
					case step == 0:
						return act{what: kindBarrier}
					case step <= b.N && k == kindExchange:
						return act{what: k, blob: []byte("sixteen bytes of")}
					case step <= b.N:
						return act{what: k}
					case step == b.N+1:
						return act{what: kindLeave}
					}
					return act{what: exits}
				}}
				if status, said := c.run(b, oneEach(agents), width, func(*Job) { b.ResetTimer() }); status != 0 {
					b.Fatalf("status %d: %s", status, said)
				}
			})
		}
	}
}
