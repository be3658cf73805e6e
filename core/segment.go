package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// AttachSegment makes the rank's segment, of a size as in AttachSpec.Segment, after an Attach with
// AttachSpec.SegmentLater (gex_Client_Init, then gex_Segment_Attach). Until then Short and Medium messages
// go; a Long with a payload, or a one-sided operation, is refused. Afterwards all is as if Attach had made
// the segment: what AttachSpec says of it and of Extra holds.
//
// It is collective over the job, a barrier, and can succeed once. Messages may be under way: handlers run
// until all ranks of the group have called it. Other goroutines of the rank may send Shorts and Mediums and
// wait meanwhile; what needs a segment they may begin when it has returned. Not allowed in a handler. After
// an error of the arguments it may be called again; on another one the job cannot go on: return it.
func (c *Context) AttachSegment(size string) error {
	ep := c.ep
	j := ep.job
	if c.restricted != 0 {
		return c.misplaced(segmentCall)
	}
	u := ep.later
	if u == nil {
		return ep.Misuse(segmentCall, "the rank has its segment already; AttachSpec.SegmentLater has Attach make none, and one call makes it")
	}
	need, err := u.need(j, size)
	if err != nil {
		return err
	}
	if err := c.rendezvous(&meeting{&ep.barrier, segmentCall}); err != nil {
		return err
	}
	var made map[string]uint64
	if err := c.Exclusively(func() {
		if !ep.several && !ep.joined() {
			made = ep.entered()
			made[segmentCall] = 1
		}
	}); err != nil {
		return err
	}
	defer j.enter(segmentCall, made)()
	sizes, err := ep.meetSegments(need)
	if err != nil {
		return err
	}
	var bound error
	err = c.Exclusively(func() {
		if !ep.single {
			ep.sending.Lock()
			defer ep.sending.Unlock()
		}
		bound = ep.bind(sizes)
	})
	if err := errors.Join(err, bound); err != nil {
		return err
	}
	// Handlers of other goroutines' polls answer by Longs as soon as they see sizes: all ranks have segments then.
	// And what sends a Long afterwards finds that its handler may answer by one, on any rank.
	if err := j.boot.Barrier(); err != nil {
		return err
	}
	if err := c.Exclusively(func() { ep.sizes, ep.extra, ep.later = sizes, u.extra, nil }); err != nil {
		return err
	}
	return j.boot.Barrier()
}

// unattached is what is known of a rank's segment before it is made.
type unattached struct {
	footprint int // of the conduit
	limit     int // bytes of the largest segment
	extra     int // bytes that it has beyond what is asked for
}

// need returns what the rank takes of its host's memory with a segment of that size.
func (u *unattached) need(j *Job, size string) (memory, error) {
	n, err := j.segmentSize(size, u.footprint, max(0, u.limit-u.extra))
	return memory{n + u.extra, u.footprint}, err
}

// segmentLater, as memory.segment, says that a rank attaches without a segment.
const segmentLater = -1

// bind has the conduit make the segment. sizes are those of all ranks, and never changed.
func (ep *Endpoint) bind(sizes []int) (err error) {
	j := ep.job
	a := j.attachment(ep.group)
	a.Segment, a.Sizes = sizes[j.rank], sizes
	if ep.segment, err = ep.conduit.AttachSegment(a); err != nil {
		return fmt.Errorf("core: rank %d: attach a segment of conduit %s: %w", j.rank, j.cfg.Conduit, err)
	}
	return nil
}

// meetSegments tells every rank the sizes of the others' segments, returns those of the group, and checks
// the host's memory.
func (ep *Endpoint) meetSegments(need memory) ([]int, error) {
	j := ep.job
	cards, err := j.boot.Exchange(need.encode())
	if err != nil {
		return nil, err
	}
	x := Shared(j, fmt.Sprintf("core segments %x", groupDigest(ep.group, j.size)), func() *segments { return newSegments(cards, ep.group) })
	if x.fault != "" {
		return nil, fmt.Errorf("core: rank %d: %s", j.rank, x.fault)
	}
	return x.sizes, j.checkMemory(cards)
}

// segments are the segments of a group, which attached without; see roster.
type segments struct {
	sizes []int  // by rank, 0 outside the group
	fault string // why they cannot be made; "" if they can
}

// newSegments reads what all ranks have said of theirs.
func newSegments(cards [][]byte, group []Rank) *segments {
	x := &segments{sizes: make([]int, len(cards))}
	for r, b := range cards {
		if len(b) != memoryBytes {
			x.fault = fmt.Sprintf("rank %d is in another call than %s", r, segmentCall)
		} else if _, in := slices.BinarySearch(group, Rank(r)); in {
			x.sizes[r] = decodeMemory(b).segment
		}
	}
	return x
}

// memoryBytes is the length of what memory.encode returns.
const memoryBytes = 2 * 8

func (m *memory) encode() []byte {
	b := make([]byte, 0, cardBytes)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.segment))
	return binary.LittleEndian.AppendUint64(b, uint64(m.conduit))
}

// decodeMemory reads what b begins with, which encode wrote.
func decodeMemory(b []byte) memory {
	return memory{int(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))}
}
