package core

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// roster is what the ranks of a group know about it, the same on all of them and never
// changed. Those in one process share one, since n rosters of n ranks are too many where n
// is large.
type roster struct {
	group  []Rank
	absent []bool // by rank: not in the group; nil if all are in it
	fault  string // why the group cannot attach; "" if it can

	attached []int // by rank: bytes of the segment that Attach makes, 0 outside the group
}

// connected reports whether a rank is one of the job and in the group.
func (x *roster) connected(r Rank) bool {
	return uint(r) < uint(len(x.attached)) && (x.absent == nil || !x.absent[r])
}

// card is what a rank tells the others before it attaches.
type card struct {
	memory
	config, group uint64 // digests
	settings      string // settings.Table.Shared
}

// cardBytes is the length of a card without its settings; live, the rank's mask of CPUs follows.
const cardBytes = 5 * 8

func (c *card) encode() []byte {
	b := c.memory.encode()
	for _, w := range [...]uint64{c.config, c.group, uint64(len(c.settings))} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return append(b, c.settings...)
}

// whole reports whether b begins with a card.
func whole(b []byte) bool {
	return len(b) >= cardBytes && binary.LittleEndian.Uint64(b[32:]) <= uint64(len(b)-cardBytes)
}

// decodeCard reads what encode wrote, and returns what follows it. The card must be whole.
func decodeCard(b []byte) (c card, rest []byte) {
	c.memory = decodeMemory(b)
	c.config, c.group = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	end := cardBytes + int(binary.LittleEndian.Uint64(b[32:]))
	c.settings = string(b[cardBytes:end])
	return c, b[end:]
}

// group checks the list of ranks and returns it sorted.
func (j *Job) group(ranks []Rank) ([]Rank, error) {
	if ranks == nil {
		if all := j.boot.Local(); len(all) == j.size {
			return all, nil
		}
		ranks = make([]Rank, j.size)
		for i := range ranks {
			ranks[i] = Rank(i)
		}
		return ranks, nil
	}
	g := slices.Clone(ranks)
	slices.Sort(g)
	if n := len(slices.Compact(slices.Clone(g))); n != len(g) {
		return nil, &UsageError{j.rank, "Attach", "a rank appears twice in the group"}
	}
	if len(g) == 0 || g[0] < 0 || int(g[len(g)-1]) >= j.size || !slices.Contains(g, j.rank) {
		return nil, &UsageError{j.rank, "Attach", fmt.Sprintf("group %v must hold the caller and only ranks of a job of %d", g, j.size)}
	}
	return g, nil
}

// meet tells every rank the others' segment sizes and finds out how ranks should wait. It refuses jobs
// whose ranks disagree on the configuration or the groups, and checks the host's memory before any
// segment is made. given is what settings.Table.Shared returned, of the table stated.
func (ep *Endpoint) meet(need memory, given string, stated func() settings.Table) error {
	j := ep.job
	mine := card{need, j.digest(), groupDigest(ep.group, j.size), given}
	b := mine.encode()
	if j.proc == nil {
		b = cpuMask(b)
	}
	cards, err := j.boot.Exchange(b)
	if err != nil {
		return err
	}
	disagree := func(theirs string, r Rank) error {
		return stated().Disagree(j.cfg.Conduit, mine.settings, theirs, int(r))
	}
	key := fmt.Sprintf("core roster %x %x %q", mine.config, mine.group, mine.settings)
	ep.roster = Shared(j, key, func() *roster { return newRoster(cards, &mine, ep.group, disagree) })
	if ep.fault != "" {
		return fmt.Errorf("core: rank %d: %s", j.rank, ep.fault)
	}
	if ep.idle.hot, ep.idle.pause = hotPolls, pausePolls; j.crowded(func(r Rank) []byte { _, mask := decodeCard(cards[r]); return mask }) {
		ep.idle.hot, ep.idle.pause, ep.idle.crowded = 1, 0, true
	}
	return j.checkMemory(cards)
}

// newRoster makes the roster of a group out of the cards of all ranks. mine is that of one
// of its members, and so that of all; disagree says in which setting another one's differ, or nil.
func newRoster(cards [][]byte, mine *card, group []Rank, disagree func(theirs string, r Rank) error) *roster {
	x := &roster{group: group, attached: make([]int, len(cards))}
	for r, b := range cards {
		if len(b) == 0 {
			attaches := slices.IndexFunc(cards, func(b []byte) bool { return len(b) > 0 })
			x.fault = returnedUnattached(Rank(r), Rank(attaches)).Error()
			return x
		}
		if !whole(b) {
			x.fault = fmt.Sprintf("rank %d is in another call, or runs another version of the library", r)
			return x
		}
		if theirs := decodeMemory(b); (theirs.segment == segmentLater) != (mine.segment == segmentLater) {
			x.fault = fmt.Sprintf("rank %d differs in AttachSpec.SegmentLater; all ranks must agree", r)
			return x
		}
	}
	if len(group) < len(cards) {
		x.absent = slices.Repeat([]bool{true}, len(cards))
	}
	for _, r := range group {
		switch c, _ := decodeCard(cards[r]); {
		case c.config != mine.config:
			x.fault = fmt.Sprintf("rank %d attaches with another conduit, profile or configuration; they must agree", r)
			return x
		case c.group != mine.group:
			x.fault = fmt.Sprintf("rank %d, which is in the group, attaches with another group; they must agree", r)
			return x
		case c.settings != mine.settings:
			x.fault = disagree(c.settings, r).Error()
			return x
		default:
			x.attached[r] = max(0, c.segment)
		}
		if x.absent != nil {
			x.absent[r] = false
		}
	}
	return x
}

// Shared returns what make returns: among the ranks of one process that give the same key,
// to the first of them. Nobody changes it.
func Shared[T any](j *Job, key string, make func() T) T {
	s, ok := j.boot.(ProcessSharer)
	if !ok {
		return make()
	}
	return s.Share(key, func() any { return make() }).(T)
}

// digest stands for what, besides settings, must be the same on all ranks.
func (j *Job) digest() uint64 {
	h, c := fnv.New64a(), j.cfg
	b := append(make([]byte, 0, 128), c.Conduit...)
	b = append(append(b, 0), j.profile...)
	b = append(append(b, 0), c.Collectives...)
	b = append(b, 0, byte(c.Threads))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.EventSample))
	for _, on := range [...]bool{c.NoReach, c.NoNative, c.Debug, c.Stats, c.Events > 0} {
		b = strconv.AppendBool(b, on)
	}
	h.Write(b)
	return h.Sum64()
}

// groupDigest stands for a sorted group: 0 for all ranks of the job.
func groupDigest(group []Rank, size int) uint64 {
	if len(group) == size {
		return 0
	}
	h := fnv.New64a()
	var b [8]byte
	for _, r := range group {
		binary.LittleEndian.PutUint64(b[:], uint64(r))
		h.Write(b[:])
	}
	return h.Sum64()
}
