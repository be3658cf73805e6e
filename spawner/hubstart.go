package spawner

import (
	"fmt"
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// This file is how the ranks of a static job come together. Its functions run on the loop.

// arrived acts on somebody who has the key and says that it is a rank.
func (h *hub) arrived(s *spoke) {
	first := h.spokes[0]
	if first == nil {
		first = s // rank 0 comes before the others are let in
	}
	there := (*spoke)(nil)
	if s.Rank >= 0 && s.Rank < len(h.spokes) {
		there = h.spokes[s.Rank]
	}
	switch {
	case h.started:
		h.turnAway(s, fmt.Sprintf("%s comes when the job has begun or ended, without it", s.who()))
	case s.Size != len(h.spokes):
		h.misfit(s, fmt.Sprintf("%s is to be one of %d ranks, and %s one of %d; give all the same %s", s.who(), s.Size, first.who(), len(h.spokes), EnvSize))
	case s.Rank < 0 || s.Rank >= len(h.spokes):
		h.misfit(s, fmt.Sprintf("%s is none of a job of %d", s.who(), len(h.spokes)))
	case s.Silence != first.Silence:
		h.misfit(s, fmt.Sprintf("%s takes a rank for lost after %v, and %s after %v; give all the same %s", s.who(), s.Silence, first.who(), first.Silence, EnvHostTimeout))
	case s.Build != first.Build:
		h.misfit(s, fmt.Sprintf("the program is not the same: %s has %s, %s has %s; give all the same", first.who(), first.Build, s.who(), s.Build))
	case there != nil:
		h.dispute(s)
	default:
		h.spokes[s.Rank] = s
		if s.from == "" && h.listener != nil {
			h.group.Go(h.accept) // now that there is rank 0, with which the others are compared
		}
		h.beginIfComplete()
	}
}

// dispute acts on one more process that is to be a rank. The first may be gone, and that not be noticed yet: so it is where a
// container is started again. If it is not lost within the time that this takes, all are told.
func (h *hub) dispute(s *spoke) {
	h.rivals = append(h.rivals, s)
	h.after(h.spec.noticeTime(), func() {
		if slices.Contains(h.rivals, s) {
			there := h.spokes[s.Rank]
			h.fail(fmt.Sprintf("rank %d is there twice: process %d on host %s and process %d on host %s; give each process an %s of its own",
				s.Rank, there.Process, there.host(), s.Process, s.host(), EnvRank))
		}
	})
}

// turnAway tells somebody why it is none of the job's ranks.
func (h *hub) turnAway(s *spoke, why string) {
	h.turned = why
	h.job.refused(why)
	s.refuse(why)
}

// refuse tells a rank why it cannot start. That closes the connection, since only then it has heard so.
func (s *spoke) refuse(why string) {
	s.gone = true
	s.link.trunk.send(wordRefusal, func(b []byte) []byte { return wire.AppendText(wire.AppendUint32(b, uint32(statusSelf)), why) })
}

// misfit ends a start in which somebody has come who cannot be a rank, since that rank will not come.
func (h *hub) misfit(s *spoke, why string) {
	s.refuse(why)
	h.fail(why)
}

// fail ends the start.
func (h *hub) fail(why string) {
	if h.started {
		return
	}
	h.started = true
	for _, s := range slices.Concat(h.spokes, h.rivals) {
		if s != nil {
			s.refuse(why)
		}
	}
	h.complete <- failure(statusSelf, "%s", why)
}

// missing returns the ranks that have not come.
func (h *hub) missing() (ranks []int) {
	for r, s := range h.spokes {
		if s == nil {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// beginIfComplete begins the job if all ranks have come, each once.
func (h *hub) beginIfComplete() {
	if len(h.missing()) == 0 && len(h.rivals) == 0 {
		h.begin()
	}
}

// begin begins the job.
func (h *hub) begin() {
	h.started = true
	identities := make([][]byte, len(h.spokes))
	for r, s := range h.spokes {
		identities[r] = []byte(s.Host)
	}
	hostOf, names := numberHosts(identities), []string(nil)
	for r, host := range hostOf {
		if host == len(names) {
			names = append(names, h.spokes[r].host())
		}
	}
	h.job.spec.Hosts, h.job.spec.HostOf = names, hostOf
	for r, s := range h.spokes {
		s.link.trunk.send(wordReady, hostOf.appendTo)
		h.job.joined(r)
		if h.spec.verbose {
			h.job.out.report("%s is process %d", s.who(), s.Process)
		}
	}
	h.complete <- nil
}

// yield has another process take a rank's place, which has gone before the job has begun.
func (h *hub) yield(s *spoke) {
	s.gone = true
	next := slices.IndexFunc(h.rivals, func(r *spoke) bool { return r == s || r.Rank == s.Rank && h.spokes[s.Rank] == s })
	if h.spokes[s.Rank] == s {
		h.spokes[s.Rank] = nil
	}
	if next < 0 {
		return
	}
	rival := h.rivals[next]
	h.rivals = slices.Delete(h.rivals, next, next+1)
	if rival == s {
		h.beginIfComplete()
	} else {
		h.arrived(rival)
	}
}

// overdue ends a start for which ranks have not come.
func (h *hub) overdue() {
	turned := ""
	if h.turned != "" {
		turned = "; turned away last: " + h.turned
	}
	h.fail(fmt.Sprintf("%s did not come to rank 0 at %s (%s) within %v (%s)%s",
		plural.List(h.missing(), "rank", "ranks"), h.spec.root, EnvRoot, h.spec.limit, EnvStartTimeout, turned))
}

// remind says for whom the job waits, if it does.
func (h *hub) remind() {
	if !h.started {
		missing := h.missing()
		h.job.out.report("rank 0 waits at %s for %d of %d ranks, for %v at most: %s", h.listener.Addr(), len(missing), len(h.spokes), h.spec.limit, plural.List(missing, "rank", "ranks"))
	}
}

// remindTime is how long the start may take before it says why.
const remindTime = 3 * time.Second
