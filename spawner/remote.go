package spawner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// remote is a host that an agent serves, at the Job's end of the trunk to it.
type remote struct {
	*loop
	name  string // that the Job knows it by
	ranks []int
	tell  jobEvents
	carry *carrier // the process that connects the trunk
	push  string   // the program that is to be the agent, if the host is to get it
	trunk *trunk
	me    introduction
	build string // of the program, where the agent has found it

	answers chan answer // to a task, and to wordLaunch
	flows   [channels]*inflow
	streams [channels]map[int]*stream // by rank
	input   *credit
	asking  atomic.Bool // somebody waits for an answer
	done    bool        // all its ranks have ended; listen's
}

// jobEvents is what a remote host tells besides.
type jobEvents interface {
	hostEvents
	// lost tells that a host and its ranks are out of reach.
	lost(h *remote, why error)
}

// answer is what an agent says to what it was asked for.
type answer struct {
	build string
	err   error
}

// meet waits for the agent and learns who it is.
func (h *remote) meet(pulse time.Duration) error {
	if h.push != "" {
		if err := h.pushProgram(); err != nil {
			return err
		}
	}
	if err := h.trunk.await(agentGreeting); err != nil {
		return err
	}
	w, r, err := h.trunk.receive()
	if err != nil {
		return err
	}
	if w != wordHello || json.Unmarshal(r.Rest(), &h.me) != nil {
		return fmt.Errorf("what answers there is no agent of this version: it said %v", w)
	}
	h.trunk.pulse = pulse
	h.trunk.send(wordBegin, func(b []byte) []byte { return wire.AppendUint64(b, uint64(pulse)) })
	h.trunk.start()
	return nil
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

// ask returns the agent's answer to what it has been told.
func (h *remote) ask() (build string, err error) {
	h.asking.Store(true)
	defer h.asking.Store(false)
	a := <-h.answers
	return a.build, a.err
}

// launch implements host.
func (h *remote) launch() error {
	h.trunk.send(wordLaunch, nil)
	_, err := h.ask()
	return err
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
		piece := frames[:n]
		frames = frames[n:]
		more := byte(0)
		if len(frames) > 0 {
			more = 1
		}
		h.trunk.send(wordBroadcast, func(b []byte) []byte { return append(append(b, more), piece...) })
	}
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
		return
	}
	err = h.carry.fail(err, h.trunk.lost.Load())
	h.answer(answer{err: err}) // whoever asks, now or later, says so
	if !h.asking.Load() {
		h.post(func() { h.tell.lost(h, err) })
	}
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

// event returns what the Job is to be told of a word; nil: nothing.
func (h *remote) event(w word, r *wire.Reader) (event func(), err error) {
	switch w {
	case wordBeat:
		return nil, nil
	case wordPause:
		h.trunk.paused.Store(true)
		return nil, nil
	case wordReady:
		return nil, h.answer(answer{build: string(r.Rest())})
	case wordLaunched:
		return nil, h.answer(answer{})
	case wordRefusal:
		status, text := r.Uint32(), r.Text()
		return nil, h.answer(answer{err: failure(exitStatus(int(status)), "%s", strings.TrimPrefix(text, "spawner: "))})
	case wordInputTaken:
		if !h.input.give(int(r.Uint32())) {
			return nil, errors.New("its agent took input that it was not sent")
		}
		return nil, nil
	case wordDone:
		h.done = true
		for _, f := range h.flows {
			f.close()
		}
		return nil, nil
	case wordRefused:
		text := string(r.Rest())
		return func() { h.tell.refused(text + h.there()) }, nil
	case wordFailed:
		err := errors.New(string(r.Rest()) + h.there())
		return func() { h.tell.failed(err) }, nil
	}
	rank := int(r.Uint32())
	if h.streams[channelOut][rank] == nil {
		return nil, fmt.Errorf("its agent told of rank %d, which is not there: %v", rank, w)
	}
	return h.rankEvent(w, rank, r)
}

// there says where, at the end of a message.
func (h *remote) there() string { return " on host " + h.name }

// rankEvent returns what the Job is to be told of a word that is about a rank; nil: nothing.
func (h *remote) rankEvent(w word, rank int, r *wire.Reader) (event func(), err error) {
	switch w {
	case wordBegan:
		pid := int(r.Uint32())
		return func() { h.tell.began(rank, pid) }, nil
	case wordJoined:
		return func() { h.tell.joined(rank) }, nil
	case wordMessage:
		body := append([]byte(nil), r.Rest()...)
		m, err := decode(body)
		if err != nil {
			return nil, err
		}
		return func() { h.tell.message(rank, m) }, nil
	case wordBreach:
		what := string(r.Rest())
		return func() { h.tell.breach(rank, what) }, nil
	case wordDisconnected:
		var why error
		if r.Uint8() != 0 {
			why = errors.New(string(r.Rest()))
		}
		return func() { h.tell.disconnected(rank, why) }, nil
	case wordExited:
		ws := syscall.WaitStatus(r.Uint32())
		return func() { h.tell.exited(rank, ws) }, nil
	case wordOutput, wordOutputEnd:
		channel := int(r.Uint8())
		if channel >= channels || h.streams[channel][rank] == nil {
			return nil, fmt.Errorf("its agent sent output %d of rank %d", channel, rank)
		}
		var data []byte
		if w == wordOutput {
			data = r.Rest()
		}
		if !h.flows[channel].put(h.streams[channel][rank], data) {
			return nil, errors.New("its agent sent more output than it may")
		}
		return nil, nil
	}
	return nil, fmt.Errorf("its agent said %v, which is unknown", w)
}

// answer passes an answer on. Nobody may wait for it any more.
func (h *remote) answer(a answer) error {
	select {
	case h.answers <- a:
		return nil
	default:
		return errors.New("its agent answered what it was not asked")
	}
}

// collect begins to write the output that comes from the host.
func (h *remote) collect(o *output) error {
	for c := range channels {
		h.flows[c], h.streams[c] = newInflow(), make(map[int]*stream)
	}
	var err error
	for _, rank := range h.ranks {
		if h.streams[channelOut][rank], h.streams[channelErr][rank], err = o.streams(rank); err != nil {
			return err
		}
	}
	for c, f := range h.flows {
		o.group.Go(func() {
			f.pass(func(n int) {
				h.trunk.send(wordTaken, func(b []byte) []byte { return wire.AppendUint32(append(b, byte(c)), uint32(n)) })
			})
		})
	}
	return nil
}

// task returns what the agent of a host is to do.
func (s *Spec) task(host int, job string) (*task, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("the working directory of the ranks: %w", err)
	}
	var passed []string
	for _, setting := range mergeEnv(os.Environ()) { // which leaves out who this process is itself
		if strings.HasPrefix(setting, "AQUEDUCT_") {
			passed = append(passed, setting)
		}
	}
	return &task{
		N: s.N, Placement: s.HostOf, Host: host, Job: fmt.Sprintf("%s.%d", job, host), Prog: []byte(s.Prog), Args: s.Args,
		Env: s.Env, Passed: passed, Prefix: s.Prefix, Dir: []byte(dir), Conduit: s.Conduit, Profile: s.Profile, Segment: s.Segment,
		Bind: s.Bind, ReportBindings: s.ReportBindings, Grace: s.Grace, Input: s.Stdin != nil && s.HostOf[0] == host,
	}, nil
}
