package sci

import (
	"reflect"
	"runtime"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// ends are the ends of the four rings that this rank has with a peer. Code in another language of the same process,
// which core.Foreign lets send and take messages, uses them too; they have no pointers to the Go heap then.
type ends struct {
	in   [lanes]inRing
	out  [lanes]outRing
	hint *uint8 // in the peer's memory: this rank has written

	requests uint64 // messages sent by code in another language
	replies  uint64
	received uint64 // and taken
}

// rings are what core.Foreign.Rings points to.
type rings struct {
	ends       *ends   // by position in the group
	asleep     *uint32 // likewise: the number of the peer's present sleep, or 0
	hints      *uint8  // likewise: 1 if the sender has written; a whole number of double words
	peers      uint32  // in the group, the caller included
	forcedScan uint64  // empty polls in a row after which all rings are looked at in spite of the hints; 0: never
	fenced     bool    // publish with a full barrier
	hinted     bool    // look at hints first, and set them
}

// makeEnds makes the ends of the rings with n peers, outside of the Go heap if code in another language
// is to use them.
func (c *live) makeEnds(n int, foreign bool) error {
	if !foreign {
		c.ends = make([]ends, n)
		return nil
	}
	const first = int(unsafe.Sizeof(rings{})+63) &^ 63
	region, err := shm.NewRegion(first+n*int(unsafe.Sizeof(ends{})), shm.Local)
	if err != nil {
		return err
	}
	base := unsafe.Pointer(unsafe.SliceData(region.Bytes()))
	c.ends = unsafe.Slice((*ends)(unsafe.Add(base, first)), n)
	c.rings = (*rings)(base)
	*c.rings = rings{
		ends: &c.ends[0], asleep: &c.asleep[0], hints: &c.hints[0],
		peers: uint32(n), forcedScan: uint64(c.forcedScan), fenced: c.fenced, hinted: c.hinted,
	}
	runtime.AddCleanup(c, func(r *shm.Region) { _ = r.Close() }, region)
	return nil
}

// foreign returns what code in another language needs, if there shall be any.
func (c *live) foreign() *core.Foreign {
	if c.rings == nil {
		return nil
	}
	return &core.Foreign{
		Rings: unsafe.Pointer(c.rings),
		Wake:  c.wake,
		Counts: func(r core.Rank) core.Counts {
			if uint(r) < uint(len(c.byRank)) && c.byRank[r] != nil {
				p := c.byRank[r]
				return core.Counts{Requests: p.requests, Replies: p.replies, Received: p.received}
			}
			return core.Counts{}
		},
	}
}

// ForeignTypes returns the types of core.Foreign.Rings and of what it points to, each after those that it consists of,
// with the name of each.
func ForeignTypes() (types []reflect.Type, names []string) {
	for _, x := range []any{slot{}, inRing{}, outRing{}, ends{}, rings{}} {
		types = append(types, reflect.TypeOf(x))
	}
	return types, []string{"slot", "in_ring", "out_ring", "ends", "rings"}
}

// ForeignConstants returns the constants of the layout of messages that such code needs, with their names.
func ForeignConstants() (values []int, names []string) {
	for _, x := range []struct {
		name  string
		value int
	}{
		{"slot_size", slotSize}, {"depth_shift", depthShift}, {"depth", depth},
		{"payload_ring", payloadRing}, {"payload_unit", payloadUnit}, {"max_medium", maxMedium},
		{"credit_every", creditEvery}, {"pay_every", payEvery}, {"flag_inline", flagInline},
		{"prefetch_out", prefetchOut}, {"prefetch_in", prefetchIn}, {"backlog", backlog},
		{"requests", int(requests)}, {"replies", int(replies)},
	} {
		values, names = append(values, x.value), append(names, x.name)
	}
	return values, names
}
