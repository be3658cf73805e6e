package spawner

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// remote is a branch of the tree, at the end of the trunk to its agent where the Job is, or the agent that has started
// that one.
type remote struct {
	*loop
	branch branch
	of     *children // which it is one of
	tell   jobEvents
	carry  *carrier // the process that connects the trunk
	push   string   // the program that is to be the agent, if the host is to get it
	trunk  *trunk

	mu      sync.Mutex
	waiting chan reply // of who waits for an answer; nil: nobody does
	gone    error      // why there is no agent any more

	flows    [channels]*inflow
	input    *credit
	assigned atomic.Bool // crew is set
	crew     *crew       // its ranks
	done     bool        // all its ranks have ended; listen's

	told uint32 // the number up to which it has told what it held back; the loop's
}

// reply is a report, or why there is none.
type reply struct {
	report report
	err    error
}

// greet waits for the agent, which it sends there first if it is to be pushed.
func (h *remote) greet() error {
	if h.push != "" {
		if err := h.pushProgram(); err != nil {
			return err
		}
	}
	return h.trunk.await(agentGreeting)
}

// begin tells the agent its place in the tree.
func (h *remote) begin() {
	h.trunk.pulse = h.branch.Pulse
	h.trunk.sendJSON(wordBegin, h.branch)
	h.trunk.start()
}

// pushProgram sends the program that is to be the agent.
func (h *remote) pushProgram() error {
	f, err := os.Open(h.push)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := h.trunk.await(pushReady); err != nil {
		return err
	}
	_, err = io.Copy(h.trunk.rw, f)
	return err
}

// during calls the function, which the end of ctx ends: then its cause is the error.
func (h *remote) during(ctx context.Context, f func() error) error {
	uncut := context.AfterFunc(ctx, h.trunk.cut)
	err := f()
	if !uncut() && err != nil {
		err = context.Cause(ctx)
	}
	return err
}

// ask says something to the agent, and returns its answer. The end of ctx ends that.
func (h *remote) ask(ctx context.Context, say func()) (r report, err error) {
	answer := make(chan reply, 1)
	h.mu.Lock()
	h.waiting, err = answer, h.gone
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	err = h.during(ctx, func() error {
		say()
		a := <-answer
		r = a.report
		return a.err
	})
	return r, err
}

// answer gives an answer to who waits for one, and reports whether somebody does. With the last, that the agent is gone, everybody is answered who asks
// later.
func (h *remote) answer(a reply) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = a.err
	if h.waiting == nil {
		return false
	}
	h.waiting <- a
	h.waiting = nil
	return true
}

// send implements host.
func (h *remote) send(rank int, frame []byte) {
	h.trunk.sendRank(wordSend, rank, func(b []byte) []byte { return append(b, frame...) })
}

// broadcastPiece is how much of a broadcast goes in one frame, unless it is of one frame itself.
const broadcastPiece = 1 << 20

// broadcast implements host.
func (h *remote) broadcast(frames []byte) {
	for len(frames) > 0 {
		n := min(len(frames), broadcastPiece)
		h.pass(frames[:n], n < len(frames))
		frames = frames[n:]
	}
}

// pass sends a piece of a broadcast; more of it comes.
func (h *remote) pass(piece []byte, more bool) {
	head := []byte{0}
	if more {
		head[0] = 1
	}
	h.trunk.sendShared(wordBroadcast, head, piece)
}

// conclude implements host.
func (h *remote) conclude(frame []byte) {
	h.trunk.send(wordConclude, func(b []byte) []byte { return append(b, frame...) })
}

// deal implements host.
func (h *remote) deal() { h.trunk.send(wordDeal, nil) }

// hangUp implements host.
func (h *remote) hangUp(rank int) { h.trunk.sendRank(wordHangUp, rank, nil) }

// signal implements host.
func (h *remote) signal(rank int, sig syscall.Signal) {
	h.trunk.sendRank(wordSignal, rank, func(b []byte) []byte { return wire.AppendUint32(b, uint32(sig)) })
}

// signalAll implements host.
func (h *remote) signalAll(sig syscall.Signal) { h.signal(everyRank, sig) }

// collect begins to pass on the output that comes from the ranks of the branch.
func (h *remote) collect(group *sync.WaitGroup) {
	h.assigned.Store(true)
	for c, f := range h.flows {
		group.Go(func() {
			f.pass(func(n int) {
				h.trunk.send(wordTaken, func(b []byte) []byte { return wire.AppendUint32(append(b, byte(c)), uint32(n)) })
			})
		})
	}
}
