package spawner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// This file is what comes from an agent.

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

// listen posts what the agent tells until the trunk ends.
func (h *remote) listen() {
	err := h.hear()
	h.trunk.cut()
	for _, f := range h.flows {
		f.close()
	}
	h.input.close()
	if h.done {
		h.answer(reply{err: err})
		h.post(func() { h.tell.told(h, allTold) })
		return
	}
	err = h.carry.fail(err, h.trunk.lost.Load())
	if !h.answer(reply{err: err}) { // else who waits for an answer says so
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
		if event == nil {
			continue
		}
		if h.of.room != nil {
			h.of.room()
		}
		if !h.post(event) {
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
		if !h.answer(reply{report: all}) {
			return nil, errors.New("its agent answered what it was not asked")
		}
		return nil, nil
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
