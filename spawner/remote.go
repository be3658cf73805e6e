package spawner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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

	answers  chan reply // to what the agent has been asked for
	flows    [channels]*inflow
	input    *credit
	asking   atomic.Bool // somebody waits for an answer
	assigned atomic.Bool // crew is set
	crew     *crew       // its ranks
	done     bool        // all its ranks have ended; listen's

	told uint32 // the number up to which it has told what it held back; the loop's
}

// crew are the ranks of a branch. What has happened to them is listen's.
type crew struct {
	of  map[int]*standing
	all []contribution // of a call in which nothing is contributed
}

// standing is what is known of a rank.
type standing struct {
	joined, linked, exited bool
	streams                [channels]*stream // nil once it has ended
}

// contribution is a rank's to a collective call.
type contribution struct {
	rank int
	blob []byte
}

// jobEvents is what the branches tell besides what hosts do.
type jobEvents interface {
	hostEvents
	// arrived tells that ranks have made a collective call.
	arrived(k kind, calls []contribution)
	// notice tells something of a host: wordRefused, wordFailed, wordSaid, or wordLost.
	notice(w word, host int, text string)
	// told tells that what was held back when it was asked with the number is told.
	told(h *remote, number uint32)
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

// ask returns the agent's answer to what it has been told. The end of ctx ends that.
func (h *remote) ask(ctx context.Context) (r report, err error) {
	h.asking.Store(true)
	defer h.asking.Store(false)
	err = h.during(ctx, func() error {
		a := <-h.answers
		r = a.report
		return a.err
	})
	return r, err
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

// listen posts what the agent tells until the trunk ends.
func (h *remote) listen() {
	err := h.hear()
	h.trunk.cut()
	for _, f := range h.flows {
		f.close()
	}
	h.input.close()
	if h.done {
		h.post(func() { h.tell.told(h, allTold) })
		return
	}
	err = h.carry.fail(err, h.trunk.lost.Load())
	h.answer(reply{err: err}) // whoever asks, now or later, says so
	if !h.asking.Load() {
		h.post(func() { h.lost(err) })
	}
}

// lost tells that the agent is out of reach, and with it all its ranks. They count as killed.
func (h *remote) lost(why error) {
	if h.of.hired == nil {
		return // it was let go
	}
	h.tell.notice(wordLost, h.branch.Host, why.Error())
	if h.assigned.Load() {
		for _, c := range h.crew.all {
			s := h.crew.of[c.rank]
			if s.linked {
				h.tell.disconnected(c.rank, nil)
			}
			if !s.exited {
				h.tell.exited(c.rank, syscall.WaitStatus(syscall.SIGKILL))
			}
		}
	}
	h.tell.told(h, allTold)
}

// hear takes what the agent tells until it says something wrong, or the trunk ends.
func (h *remote) hear() error {
	for {
		w, r, err := h.trunk.receive()
		if err != nil {
			return err
		}
		event, err := h.event(w, r)
		if err == nil && r.End() != nil {
			err = fmt.Errorf("its agent sent a malformed %v", w)
		}
		if err != nil {
			return err
		}
		if event != nil && !h.post(event) {
			return errOver
		}
	}
}

// event returns what is to be told of a word; nil: nothing.
func (h *remote) event(w word, r *wire.Reader) (event func(), err error) {
	switch w {
	case wordBeat:
		return nil, nil
	case wordPause:
		h.trunk.paused.Store(true)
		return nil, nil
	case wordReport:
		var all report
		if err := json.Unmarshal(r.Rest(), &all); err != nil {
			return nil, fmt.Errorf("its agent sent a report that cannot be understood: %w", err)
		}
		for _, a := range all {
			if !h.has(a.Host) {
				return nil, fmt.Errorf("its agent reported on host %d, which is not below it", a.Host)
			}
		}
		return nil, h.answer(reply{report: all})
	case wordEvents:
		return h.events(r)
	case wordInputTaken:
		if !h.input.give(int(r.Uint32())) {
			return nil, errors.New("its agent took input that it was not sent")
		}
		return nil, nil
	case wordTold:
		number := r.Uint32()
		return func() { h.tell.told(h, number) }, nil
	case wordDone:
		h.done = true
		for _, f := range h.flows {
			f.close()
		}
		return nil, nil
	case wordRefused, wordFailed, wordSaid, wordLost:
		host, text := int(r.Uint32()), string(r.Rest())
		if !h.has(host) {
			return nil, fmt.Errorf("its agent told of host %d, which is not below it: %v", host, w)
		}
		return func() { h.tell.notice(w, host, text) }, nil
	}
	if !h.assigned.Load() {
		return nil, fmt.Errorf("its agent said %v before it had ranks", w)
	}
	if w == wordArrived {
		return h.arrivals(r)
	}
	rank := int(r.Uint32())
	s := h.crew.of[rank]
	if s == nil {
		return nil, fmt.Errorf("its agent told of rank %d, which is not there: %v", rank, w)
	}
	return h.rankEvent(w, rank, s, r)
}

// has reports whether the host is that of the agent or of one below it.
func (h *remote) has(host int) bool { return h.of.via[host] == h }

// events returns what is to be told of words that come together.
func (h *remote) events(r *wire.Reader) (event func(), err error) {
	var all []func()
	for rest := r.Rest(); len(rest) > 0; {
		body, behind, err := wire.NextFrame(rest, maxTrunkFrame)
		if err != nil {
			return nil, fmt.Errorf("its agent sent malformed events: %w", err)
		}
		rest = behind
		one := wire.NewReader(body)
		w := word(one.Uint8())
		if w == wordEvents {
			return nil, errors.New("its agent sent events within events")
		}
		do, err := h.event(w, one)
		if err == nil && one.End() != nil {
			err = fmt.Errorf("its agent sent a malformed %v", w)
		}
		if err != nil {
			return nil, err
		}
		if do != nil {
			all = append(all, do)
		}
	}
	return func() {
		for _, do := range all {
			do()
		}
	}, nil
}

// arrivals returns what is to be told of ranks that have made a collective call.
func (h *remote) arrivals(r *wire.Reader) (event func(), err error) {
	k := kind(r.Uint8())
	if k != kindExchange && k != kindBarrier && k != kindShare {
		return nil, fmt.Errorf("its agent told of the collective call %v, which is none", k)
	}
	calls := h.crew.all
	if r.Len() > 0 {
		all := wire.NewReader(bytes.Clone(r.Rest()))
		for calls = nil; all.Len() > 0 && all.Err() == nil; {
			c := contribution{int(all.Uint32()), all.Bytes()}
			if all.Err() == nil && h.crew.of[c.rank] == nil {
				return nil, fmt.Errorf("its agent told of a call of rank %d, which is not there", c.rank)
			}
			calls = append(calls, c)
		}
		if all.End() != nil {
			return nil, errors.New("its agent sent malformed contributions")
		}
	}
	return func() { h.tell.arrived(k, calls) }, nil
}

// rankEvent returns what is to be told of a word that is about a rank; nil: nothing.
func (h *remote) rankEvent(w word, rank int, s *standing, r *wire.Reader) (event func(), err error) {
	again := func() (func(), error) {
		return nil, fmt.Errorf("its agent told of rank %d what cannot be: %v", rank, w)
	}
	switch w {
	case wordBegan:
		pid := int(r.Uint32())
		return func() { h.tell.began(rank, pid) }, nil
	case wordJoined:
		if s.joined {
			return again()
		}
		s.joined, s.linked = true, true
		return func() { h.tell.joined(rank) }, nil
	case wordMessage:
		body := bytes.Clone(r.Rest())
		m, err := decode(body)
		if err != nil {
			return nil, err
		}
		m.body = body
		return func() { h.tell.message(rank, m) }, nil
	case wordBreach:
		what := string(r.Rest())
		return func() { h.tell.breach(rank, what) }, nil
	case wordDisconnected:
		var why error
		if r.Uint8() != 0 {
			why = errors.New(string(r.Rest()))
		}
		if !s.linked {
			return again()
		}
		s.linked = false
		return func() { h.tell.disconnected(rank, why) }, nil
	case wordExited:
		if s.exited {
			return again()
		}
		s.exited = true
		ws := syscall.WaitStatus(r.Uint32())
		return func() { h.tell.exited(rank, ws) }, nil
	case wordOutput, wordOutputEnd:
		return nil, h.output(w, rank, s, r)
	}
	return nil, fmt.Errorf("its agent said %v, which is unknown", w)
}

// output queues what a rank has written, or the end of that.
func (h *remote) output(w word, rank int, s *standing, r *wire.Reader) error {
	channel := int(r.Uint8())
	if channel >= channels || s.streams[channel] == nil {
		return fmt.Errorf("its agent sent output %d of rank %d, which has ended or never was", channel, rank)
	}
	to, data := s.streams[channel], r.Rest()
	if ends := w == wordOutputEnd; ends {
		s.streams[channel], data = nil, nil
	} else if len(data) == 0 {
		return fmt.Errorf("its agent sent nothing as output of rank %d", rank)
	}
	if !h.flows[channel].put(to, data) {
		return errors.New("its agent sent more output than it may")
	}
	return nil
}

// answer passes an answer on. Nobody may wait for it any more.
func (h *remote) answer(a reply) error {
	select {
	case h.answers <- a:
		return nil
	default:
		return errors.New("its agent answered what it was not asked")
	}
}

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

// task returns what agents are to do.
func (s *Spec) task() (*task, error) {
	all, err := s.programs()
	if err != nil {
		return nil, err
	}
	var programs []programTask
	for _, p := range all {
		programs = append(programs, programTask{N: p.N, Prog: []byte(p.Prog), Dir: []byte(p.Dir), Args: p.Args, Env: p.Env})
	}
	var passed []string
	for _, setting := range mergeEnv(os.Environ()) { // which leaves out who this process is itself
		if strings.HasPrefix(setting, "AQUEDUCT_") {
			passed = append(passed, setting)
		}
	}
	return &task{
		N: s.N, Placement: s.HostOf, Programs: programs,
		Env: s.Env, Passed: passed, Prefix: s.Prefix, Conduit: s.Conduit, Profile: s.Profile, Segment: s.Segment,
		Bind: s.Bind, ReportBindings: s.ReportBindings, Grace: s.Grace, LineWait: lineWait, Input: s.Stdin != nil,
	}, nil
}
