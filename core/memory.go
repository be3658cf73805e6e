package core

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// memory is what a rank takes of its host's, in bytes. Nothing is reserved: pages are taken
// as they are first touched, and all of them may be.
type memory struct {
	segment int // Extra included
	conduit int // Plan.Footprint
}

// available tells what the host has left; tests have it otherwise.
var available = shm.Available

// look is what available said.
type look struct {
	bytes uint64
	err   error
}

// available returns what the host has left: one look for all ranks of a process.
func (j *Job) available() (uint64, error) {
	l := Shared(j, "core available memory, "+j.step(), func() *look {
		n, err := available()
		return &look{n, err}
	})
	if l.err != nil {
		return 0, fmt.Errorf("core: rank %d: available memory: %w", j.rank, l.err)
	}
	return l.bytes, nil
}

// segmentSize turns what was asked for into a whole number of pages. More than the limit is an
// error; the default, and a percentage, which is of the rank's share, are cut to it.
func (j *Job) segmentSize(s string, conduit, limit int) (int, error) {
	if s == "" || j.cfg.SegmentWins && j.cfg.Segment != "" {
		s = j.cfg.Segment
	}
	if s == "" {
		return min(defaultSegment, limit), nil
	}
	whole, err := j.available()
	if err != nil {
		return 0, err
	}
	n, err := ParseSize(s, max(1, j.share(whole, uint64(conduit))))
	if err != nil {
		return 0, &UsageError{j.rank, j.step(), "segment " + err.Error()}
	}
	if uint64(n) > whole { // and so that sums do not overflow
		return 0, fmt.Errorf("core: rank %d: a segment of %d MB, but %d MB are available; set a smaller one by --segment (AQUEDUCT_SEGMENT)", j.rank, n>>20, whole>>20)
	}
	if strings.HasSuffix(strings.TrimSpace(s), "%") {
		n = min(n, limit)
	}
	if n > limit {
		return 0, fmt.Errorf("core: rank %d: a segment of %d bytes, but conduit %s leaves a program at most %d; set a smaller one by --segment (AQUEDUCT_SEGMENT)", j.rank, n, j.cfg.Conduit, limit)
	}
	return shm.RoundUp(n), nil
}

// MaxSegment returns the bytes of the largest segment that Attach(spec) makes for this rank, whole
// pages: what its conduit can make, and the rank's share of most of what the host has left, in a modelled job
// 870 MB at most; if the launcher has said a size, that size. spec.Segment is ignored. Attach may be called with it at once
// (gasnet_getMaxLocalSegmentSize), as long as nobody takes much of the host's memory meanwhile. It may
// differ among ranks; it is not collective, and is called before the segment is made, by Attach or by
// AttachSegment.
func (j *Job) MaxSegment(spec AttachSpec) (int, error) {
	drv, group, err := j.driver(spec.Group)
	if err != nil {
		return 0, err
	}
	plan, err := j.plan(j.newConduit(drv), group)
	if err != nil {
		return 0, err
	}
	_, extra := j.reach(&plan, spec.Extra)
	limit := max(0, plan.segmentLimit()-extra)
	if j.cfg.SegmentWins && j.cfg.Segment != "" {
		return j.segmentSize("", plan.Footprint, limit)
	}
	whole, err := j.available()
	if err != nil {
		return 0, err
	}
	share := j.share(whole, uint64(plan.Footprint+extra))
	return min(limit, shm.RoundDown(int(float64(share)*most))), nil
}

// share returns what a rank may have for its segment of a host that has whole left, of which it takes some for other ends.
// A modelled rank's is the same wherever at least that is left, since its job must run alike on all hosts; it takes
// addresses only.
func (j *Job) share(whole, taken uint64) uint64 {
	ranks := uint64(len(j.boot.Local()))
	if j.proc != nil {
		return min(whole, modelledShare, addressSpace/ranks)
	}
	n := whole / ranks
	return n - min(n, taken)
}

// modelledShare is a modelled rank's share of its host, in bytes.
const modelledShare = 1 << 30

// most is the part of a host's memory that segments of the largest size take, so that programs keep
// some (GASNet-EX, the default 0.85/H of GASNET_MAX_SEGSIZE).
const most = 0.85

// MaxSegmentOfAll returns the smallest of what MaxSegment returns to the ranks of the group
// (gasnet_getMaxGlobalSegmentSize). It is collective over the job, and is called before the segment is
// made; after Attach it is a barrier of the endpoint's own context, and so for the goroutine that uses that context. Not
// allowed in a handler.
func (j *Job) MaxSegmentOfAll(spec AttachSpec) (int, error) {
	n, err := j.MaxSegment(spec)
	if err != nil {
		return 0, err
	}
	group, err := j.group(spec.Group)
	if err != nil {
		return 0, err
	}
	if ep := j.ep.Load(); ep != nil {
		if ep.restricted != 0 {
			return 0, ep.misplaced("MaxSegmentOfAll")
		}
		if err := ep.rendezvous(&meeting{&ep.barrier, "MaxSegmentOfAll"}); err != nil {
			return 0, err
		}
	}
	all, err := j.boot.Exchange(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	if err != nil {
		return 0, err
	}
	for _, r := range group {
		if len(all[r]) != 8 {
			return 0, &UsageError{j.rank, "MaxSegmentOfAll", fmt.Sprintf("rank %d is in another call, or has returned", r)}
		}
		n = min(n, int(binary.LittleEndian.Uint64(all[r])))
	}
	return n, nil
}

// addressSpace is what the segments of a modelled job may take together, in bytes: half of
// what a process of a 64-bit Linux has at least.
const addressSpace = 1 << 46

// step names the call that makes the rank's segment, or connects without: each looks at the host's memory.
func (j *Job) step() string {
	if j.ep.Load() == nil {
		return attachCall
	}
	return segmentCall
}

// checkMemory refuses a job whose ranks on this host, by their cards, need more memory than
// there is. That is a look and not a reservation: what others take later, the check does not
// know. Of a modelled job's segments a small part is ever touched, the program's own data in
// a run that takes bearable time; so those need addresses only.
func (j *Job) checkMemory(cards [][]byte) error {
	local := j.boot.Local()
	need := Shared(j, "core needed memory, "+j.step(), func() *memory { return sum(cards, local) })
	have, err := j.available()
	if err != nil {
		return err
	}
	segments, conduit := uint64(need.segment), uint64(need.conduit)
	if j.proc != nil && segments > addressSpace {
		return fmt.Errorf("core: rank %d: the segments of %d modelled ranks are %d MB of address space, more than %d MB; set smaller ones by --segment (AQUEDUCT_SEGMENT)",
			j.rank, len(local), segments>>20, uint64(addressSpace)>>20)
	}
	if j.proc != nil && conduit <= have || segments+conduit <= have {
		return nil
	}
	advice := "set smaller ones by --segment (AQUEDUCT_SEGMENT), or start fewer ranks on this host"
	if conduit > have {
		advice = "start fewer ranks on this host, or choose another conduit or profile"
	}
	return fmt.Errorf("core: rank %d: the segments of this host's %d ranks need %d MB and conduit %s another %d MB, but %d MB are available; %s",
		j.rank, len(local), segments>>20, j.cfg.Conduit, conduit>>20, have>>20, advice)
}

// sum returns what ranks need together.
func sum(cards [][]byte, ranks []Rank) *memory {
	all := new(memory)
	for _, r := range ranks {
		m := decodeMemory(cards[r])
		all.segment += max(0, m.segment)
		all.conduit += m.conduit
	}
	return all
}
