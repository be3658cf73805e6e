// Package record is what is recorded of a job that is watched: the figures of its ranks (Figures), the events of its
// ranks (Events), and the forms in which people and programs get them. It knows no job: package core records, and the
// launcher, or the process of all ranks, writes.
//
// Times are in picoseconds of the job's clock: virtual time under a model. Bytes are those of payloads; arguments of
// messages, headers and what a network sends again do not count.
package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Record is all that one rank has recorded.
type Record struct {
	Rank    int
	Host    string   `json:",omitempty"` // set by who gathers records, if the ranks are on several hosts
	Conduit string   // and its profile, as in "sci/live"
	Virtual bool     // the job runs in virtual time
	Figures *Figures `json:",omitempty"`
	Events  *Events  `json:",omitempty"`
}

// Encode returns the record in the form that Decode reads.
func (r *Record) Encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return b
}

// Decode reads what Encode has returned, of a rank of a job of n, which may be another process and wrong.
func Decode(b []byte, rank, n int) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("record: of rank %d: %w", rank, err)
	}
	if r.Rank != rank {
		return nil, fmt.Errorf("record: rank %d sent what rank %d has recorded", rank, r.Rank)
	}
	if f := r.Figures; f != nil {
		for _, p := range f.Peers {
			if p.Rank < 0 || p.Rank >= n || len(p.Received) > int(MessageCategories) || len(p.OneSided) > int(OneSidedCategories) {
				return nil, fmt.Errorf("record: rank %d tells of rank %d of a job of %d", rank, p.Rank, n)
			}
		}
	}
	if e := r.Events; e != nil {
		if err := e.check(n); err != nil {
			return nil, fmt.Errorf("record: of rank %d: %w", rank, err)
		}
	}
	return r, nil
}

// Count is how many messages or operations there were, and their bytes.
type Count struct{ N, Bytes uint64 }

// Add adds another count.
func (c *Count) Add(d Count) { c.N, c.Bytes = c.N+d.N, c.Bytes+d.Bytes }

// Category says what was sent.
type Category uint8

// The categories. The first are those of messages, in the order of core's headers; then come one-sided operations.
const (
	ShortRequest Category = iota
	MediumRequest
	LongRequest
	_ // core has no fourth kind of message
	ShortReply
	MediumReply
	LongReply
	_
	MessageCategories // how many there are

	Put           = MessageCategories + iota - 9 // by the network itself
	Get                                          //
	Atomic                                       //
	PutInPlace                                   // by this rank's processor, in a segment that it reaches
	GetInPlace                                   //
	AtomicInPlace                                //
	categories

	OneSidedCategories = categories - MessageCategories // how many there are
)

var categoryNames = [...]string{"short request", "medium request", "long request", "", "short reply", "medium reply", "long reply", "",
	"put", "get", "atomic", "put in place", "get in place", "atomic in place"}

// String names the category.
func (c Category) String() string {
	if int(c) < len(categoryNames) {
		return categoryNames[c]
	}
	return fmt.Sprintf("Category(%d)", uint8(c))
}

// Peer is what passed between a rank and another.
type Peer struct {
	Rank              int
	Requests, Replies uint64  // sent to it
	Received          []Count // from it, by Category
	OneSided          []Count // put there, got from there and done there, by Category less MessageCategories
}

// Some reports whether there is anything.
func (p *Peer) Some() bool {
	return p.Requests+p.Replies > 0 || total(p.Received).N > 0 || total(p.OneSided).N > 0
}

// total returns the sum of counts.
func total(counts []Count) (sum Count) {
	for _, c := range counts {
		sum.Add(c)
	}
	return sum
}

// Named is what a name stands for: messages by handler, calls by collective.
type Named struct {
	Name string
	Count
}

// Wait is waits of one name.
type Wait struct {
	Name string
	N    uint64
	Time vtime.Time // that they took together
}

// Figures are what a rank has counted.
type Figures struct {
	Time        vtime.Time // for which it has counted
	Peers       []Peer     // with whom there was something, ascending
	Handlers    []Named    // messages received, by handler, in the order of the handlers' indices
	Collectives []Named    // calls begun, by name; bytes of this rank's part
	Waits       []Wait     // by name
	Full, Empty uint64     // polls that found something, and that did not
	Stalls      uint64     // waits for room to send
	Memory      uint64     // resident bytes of the process at their peak; 0: not known, or shared by all ranks
}

// Sent returns how many messages were sent, to all peers together.
func (f *Figures) Sent() (n uint64) {
	for _, p := range f.Peers {
		n += p.Requests + p.Replies
	}
	return n
}

// Received returns the messages received, from all peers together.
func (f *Figures) Received() (sum Count) {
	for _, p := range f.Peers {
		sum.Add(total(p.Received))
	}
	return sum
}

// OneSided returns the one-sided operations.
func (f *Figures) OneSided() (sum Count) {
	for _, p := range f.Peers {
		sum.Add(total(p.OneSided))
	}
	return sum
}

// peer returns what passed between a rank and another, nil if it is not known.
func (r *Record) peer(rank int) *Peer {
	if r == nil || r.Figures == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(r.Figures.Peers, rank, func(p Peer, rank int) int { return p.Rank - rank })
	if !ok {
		return nil
	}
	return &r.Figures.Peers[i]
}

// between returns what went from one rank to another: messages as their sender has counted them, or their receiver if the
// sender has told nothing, with the bytes that the receiver has received, and one-sided operations that the first has begun.
func between(records []*Record, from, to int) (all Count) {
	there := records[to].peer(from)
	if there != nil {
		all = total(there.Received)
	}
	if here := records[from].peer(to); here != nil {
		all.N = here.Requests + here.Replies
		all.Add(total(here.OneSided))
	}
	return all
}

// Waiting returns the time of all waits together.
func (f *Figures) Waiting() (sum vtime.Time) {
	for _, w := range f.Waits {
		sum += w.Time
	}
	return sum
}

// Sort puts what has no order of its own into that of names.
func (f *Figures) Sort() {
	slices.SortFunc(f.Collectives, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.Waits, func(a, b Wait) int { return strings.Compare(a.Name, b.Name) })
}
