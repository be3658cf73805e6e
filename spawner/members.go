package spawner

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// member is what the Job knows of a rank.
type member struct {
	pid    int // of its process; 0 before that has begun
	joined bool
	left   bool // it has called Close
	lost   bool // its connection has ended
	exited bool
	ws     syscall.WaitStatus // once it has exited

	// With a Starter:
	pidfd   int  // of its process; nobody before it has entered or joined, and once that has been reaped
	gone    bool // its process lives no more
	obscure bool // it has exited, but ws is not known to be its own
	overdue bool // nor will it be
	settled bool // it has been judged
}

// strangersNamed is how many refused connections are reported one by one.
const strangersNamed = 5

// The functions of this file run on the loop. They are what hosts tell.

// began notes which process a rank is.
func (j *Job) began(rank, pid int) {
	j.members[rank].pid = pid
	if j.spec.Verbose {
		j.out.report("%s is process %d: %s", j.name(rank), pid, quote(j.spec.forRank(j.execs[rank].argv, rank)))
	}
}

// joined notes that a rank takes part.
func (j *Job) joined(rank int) {
	j.members[rank].joined = true
	j.linked++
}

// refused notes a connection that was turned away.
func (j *Job) refused(reason string) {
	if j.strange++; j.strange <= strangersNamed {
		j.out.report("refused a connection to the job: %s", reason)
	}
}

// failed ends the job because the launcher cannot do its part.
func (j *Job) failed(err error) { j.end(statusSelf, err.Error()) }

// breach ends the job because a rank does not keep to the protocol.
func (j *Job) breach(rank int, what string) {
	j.end(1, fmt.Sprintf("rank %d broke the bootstrap protocol: %s", rank, what))
}

// message acts on what a rank has sent.
func (j *Job) message(rank int, m message) {
	switch m.kind {
	case kindExchange, kindBarrier, kindShare:
		j.arrived(m.kind, []contribution{{rank, m.blob}})
	case kindAbort:
		j.abort(rank, m.status, m.reason)
	case kindLeave:
		j.members[rank].left = true
		j.located(rank, nil)
		j.parting()
		j.checkWaiters()
	case kindStalled:
		j.stalled(core.Stall{
			Rank: core.Rank(rank), Waited: time.Duration(m.waited),
			Report: m.flags&stallReport != 0, Debug: m.flags&stallDebug != 0,
		})
	case kindPlace:
		j.placed(rank, m.number, m.blob)
	case kindRecord:
		j.records[rank] = bytes.Clone(m.blob)
	default:
		j.breach(rank, fmt.Sprintf("it sent a %v", m.kind))
	}
}

// abort acts on a rank's Abort. An end with status 0 is an ordinary end on request, which
// nobody needs to read of.
func (j *Job) abort(rank, status int, reason string) {
	announce := ""
	if status != 0 || j.spec.Verbose {
		announce = fmt.Sprintf("rank %d ended the job with status %d: %s", rank, status, strings.TrimPrefix(reason, fmt.Sprintf("rank %d: ", rank)))
	}
	j.speaker = rank
	j.decide(status, reason, announce)
}

// arrived acts on collective calls of ranks.
func (j *Job) arrived(k kind, calls []contribution) {
	complete := false
	for _, c := range calls {
		var err error
		if complete, err = j.calls.arrive(c.rank, k, c.blob); err != nil {
			j.end(1, err.Error())
			return
		}
	}
	if !complete {
		j.checkWaiters()
		return
	}
	var result []byte
	switch k {
	case kindExchange:
		for r, blob := range j.calls.blobs {
			result = appendPart(result, r, blob)
		}
	case kindBarrier:
		result = appendFrame(nil, kindPassed, nil)
	}
	j.calls.reset()
	for _, h := range j.hosts {
		if k == kindShare {
			h.deal()
		} else {
			h.broadcast(result)
		}
	}
}

// writeOff counts a rank that is out of reach as killed.
func (j *Job) writeOff(rank int) {
	m := &j.members[rank]
	if m.joined && !m.lost {
		m.lost = true
		j.linked--
	}
	if !m.exited {
		m.exited, m.ws = true, syscall.WaitStatus(syscall.SIGKILL)
		j.running--
	}
	j.located(rank, nil)
}
