package spawner

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// tidings are what an agent has to tell of the ranks of its host and those below. It tells at once what may decide how the
// job ends. What is as it should be it holds back, until it has something else to tell, all its ranks have ended, or it is
// asked: so an ordinary job of any size costs each trunk a few frames. A collective call it holds back until all its ranks
// have made it.
type tidings struct {
	ranks     []int               // ascending
	standing  map[int]*attendance // by rank
	held      []byte              // frames
	gone      bool                // the Job knows that a rank is gone
	concluded bool                // the end is decided

	calls *rendezvous // by place in ranks
	sent  bool        // the call is told, and its result has not come
	plain bool        // calls are told as they come

	wanted, given uint32 // the number with which all was asked for last, and with which it was told
}

// attendance is what a rank has done.
type attendance struct{ joined, left, lost bool }

// of begins for these ranks.
func (t *tidings) of(ranks []int) {
	t.ranks = slices.Sorted(slices.Values(ranks))
	t.calls, t.standing = newRendezvous(len(ranks)), make(map[int]*attendance)
	for _, rank := range ranks {
		t.standing[rank] = new(attendance)
	}
}

// tell tells a word of a rank, at once or when there is reason to.
func (a *agent) tell(now bool, w word, rank int, more func([]byte) []byte) {
	if now {
		a.flush()
		a.trunk.sendRank(w, rank, more)
		return
	}
	a.held = append(a.held, encode(w, about(rank, more))...)
}

// flush tells what is held back, but for collective calls.
func (a *agent) flush() {
	if held := a.held; len(held) > 0 {
		a.trunk.sendShared(wordEvents, nil, held)
		a.held = nil
	}
}

// first reports whether this is the first rank that is gone, as far as the Job is to know: no collective call will be
// complete any more, and the Job is to hear of those that wait in one.
func (a *agent) first() bool {
	before := a.gone
	a.gone = true
	return !before
}

// tellAll tells what is held back, here and below, and holds back no collective calls any more.
func (a *agent) tellAll(number uint32) {
	a.wanted, a.gone = number, true
	a.passCalls()
	a.below.inquire(number)
	a.checkTold()
}

// checkTold tells the Job when it has been told all that it has asked for.
func (a *agent) checkTold() {
	if a.given == a.wanted || !a.below.told(a.wanted) {
		return
	}
	a.flush()
	a.given = a.wanted
	a.trunk.sendNumber(wordTold, a.given)
}

// passCalls tells of the collective calls that wait for others, and of those to come as they come.
func (a *agent) passCalls() {
	a.plain = true
	if k, first, waits := a.calls.waiting(); waits && !a.sent {
		a.tellCalls(k, a.callers(first))
	}
	a.sent = true
}

// callers returns the calls that have come, the first first.
func (a *agent) callers(first int) (calls []contribution) {
	for n := range a.ranks {
		if i := (first + n) % len(a.ranks); a.calls.in[i] {
			c := contribution{rank: a.ranks[i]}
			if a.calls.kind == kindExchange {
				c.blob = a.calls.blobs[i]
			}
			calls = append(calls, c)
		}
	}
	return calls
}

// tellCalls tells of collective calls, in frames of bounded size; nobody: all ranks have made it.
func (a *agent) tellCalls(k kind, calls []contribution) {
	a.flush()
	for more := true; more; {
		frame := encode(wordArrived, func(b []byte) []byte {
			b = append(b, byte(k))
			for head := len(b); len(calls) > 0 && (len(b) == head || len(b)+len(calls[0].blob) < broadcastPiece); {
				b = wire.AppendBytes(wire.AppendUint32(b, uint32(calls[0].rank)), calls[0].blob)
				calls = calls[1:]
			}
			return b
		})
		a.trunk.sendFrame(frame)
		more = len(calls) > 0
	}
}

// renew makes ready for the next collective call, when the result of one has come.
func (a *agent) renew() {
	a.calls.reset()
	a.sent = false
}

// arrived implements jobEvents. Calls that do not match the Job judges. When the end is decided none will be complete.
func (a *agent) arrived(k kind, calls []contribution) {
	if a.concluded {
		return
	}
	for n, c := range calls {
		if a.plain {
			a.tellCalls(k, calls[n:])
			return
		}
		i, _ := slices.BinarySearch(a.ranks, c.rank)
		complete, err := a.calls.arrive(i, k, c.blob)
		switch {
		case err != nil:
			a.passCalls()
			a.tellCalls(k, calls[n:])
			return
		case complete && k == kindExchange:
			a.tellCalls(k, a.callers(0))
			a.sent = true
		case complete:
			a.tellCalls(k, nil)
			a.sent = true
		}
	}
}

// began implements hostEvents.
func (a *agent) began(rank, pid int) {
	a.tell(false, wordBegan, rank, func(b []byte) []byte { return wire.AppendUint32(b, uint32(pid)) })
}

// joined implements hostEvents.
func (a *agent) joined(rank int) {
	a.linked++
	a.standing[rank].joined = true
	a.tell(false, wordJoined, rank, nil)
}

// message implements hostEvents.
func (a *agent) message(rank int, m message) {
	body := func(b []byte) []byte { return append(b, m.body...) }
	if a.standing[rank].left { // it would be held back, and may be much
		a.breach(rank, fmt.Sprintf("it sent %v after it had left", m.kind))
		return
	}
	switch m.kind {
	case kindExchange, kindBarrier, kindShare:
		a.arrived(m.kind, []contribution{{rank, m.blob}})
	case kindLeave:
		a.standing[rank].left = true
		a.tell(a.first(), wordMessage, rank, body)
	default:
		a.tell(true, wordMessage, rank, body)
	}
}

// breach implements hostEvents.
func (a *agent) breach(rank int, what string) {
	a.tell(true, wordBreach, rank, func(b []byte) []byte { return append(b, what...) })
}

// disconnected implements hostEvents.
func (a *agent) disconnected(rank int, err error) {
	a.linked--
	s := a.standing[rank]
	s.lost = true
	a.hangUp(rank)
	now := !a.concluded && (err != nil || !s.left)
	a.tell(now, wordDisconnected, rank, func(b []byte) []byte {
		if err == nil {
			return append(b, 0)
		}
		return append(append(b, 1), err.Error()...)
	})
	a.check()
}

// hangUp closes the connection to a rank of this host that has closed it, if that has left or the end of the job is decided.
// Else the Job has it closed when it has judged that.
func (a *agent) hangUp(rank int) {
	if s := a.standing[rank]; s.lost && (s.left || a.concluded) && a.task.Placement[rank] == a.branch.Host {
		a.host.hangUp(rank)
	}
}

// exited implements hostEvents.
func (a *agent) exited(rank int, ws syscall.WaitStatus) {
	a.running--
	s := a.standing[rank]
	now := !a.concluded && (ws != 0 || s.joined && !s.left)
	a.tell(a.first() || now, wordExited, rank, func(b []byte) []byte { return wire.AppendUint32(b, uint32(ws)) })
	a.check()
}

// refused implements hostEvents.
func (a *agent) refused(reason string) { a.notice(wordRefused, a.branch.Host, reason) }

// failed implements hostEvents.
func (a *agent) failed(err error) { a.notice(wordFailed, a.branch.Host, err.Error()) }

// notice implements jobEvents.
func (a *agent) notice(w word, host int, text string) {
	a.flush()
	a.trunk.sendNotice(w, host, text)
}

// told implements jobEvents.
func (a *agent) told(h *remote, number uint32) {
	h.told = number
	a.checkTold()
}
