package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
)

const (
	onCounts core.HandlerIndex = 128 + iota // words and counts for their owner
	onTotals                                // an owner's words and counts, for rank 0
	onDone                                  // a sender has sent everything: phase, messages, bytes (64 bits)
)

// maxWord bounds a word so that a record always fits a message.
const maxWord = 255

// table counts words.
type table map[string]uint64

// The phases of the count.
const (
	spreading  = iota // every rank sends every owner its counts
	collecting        // the owners send theirs to rank 0
	phases
)

// counter is one rank's part of the count.
type counter struct {
	job     *core.Job
	ep      *core.Endpoint
	own     table  // the words this rank owns
	total   result // rank 0: what the owners reported
	arrived [phases]arrivals
	out     []batch // by destination
	failed  error   // a malformed message
}

// arrivals tells when a phase is over: messages of different kinds may overtake each
// other, so each sender says how many it has sent.
type arrivals struct{ messages, announced, done int }

// batch is a message in the making, and the number sent before it.
type batch struct {
	data []byte
	sent int
}

// result is the whole count.
type result struct {
	bytes, words, distinct uint64
	counts                 table
}

func newCounter(job *core.Job) (*counter, error) {
	c := &counter{job: job, own: table{}, total: result{counts: table{}}, out: make([]batch, job.Size())}
	ep, err := job.Attach(core.AttachSpec{Segment: "0", Handlers: []core.HandlerEntry{
		{Index: onCounts, Name: "counts", Func: func(_ *core.Token, _ []uint32, data []byte) { c.add(spreading, c.own, data) }},
		{Index: onTotals, Name: "totals", Func: func(_ *core.Token, _ []uint32, data []byte) { c.add(collecting, c.total.counts, data) }},
		{Index: onDone, Name: "done", Func: c.onDone},
	}})
	c.ep = ep
	return c, err
}

// add merges the records of a message into t.
func (c *counter) add(phase int, t table, data []byte) {
	c.arrived[phase].messages++
	for len(data) > 0 {
		n := int(data[0])
		if len(data) < 9+n {
			c.failed = errors.New("wordcount: truncated record")
			return
		}
		t[string(data[9:9+n])] += binary.LittleEndian.Uint64(data[1:])
		data = data[9+n:]
	}
}

func (c *counter) onDone(_ *core.Token, args []uint32, _ []byte) {
	a := &c.arrived[args[0]]
	a.done++
	a.announced += int(args[1])
	c.total.bytes += uint64(args[2]) | uint64(args[3])<<32
}

// countFiles counts this rank's share of the files and sends every word's count to its
// owner. It returns the bytes read, when all ranks' counts have arrived here.
func (c *counter) countFiles(files []string) (bytes uint64, err error) {
	n := c.job.Size()
	local := table{}
	for i := int(c.job.Rank()); i < len(files); i += n {
		text, err := os.ReadFile(files[i])
		if err != nil {
			return 0, fmt.Errorf("wordcount: %w", err)
		}
		bytes += uint64(len(text))
		words(text, func(w []byte) { local[string(w)]++ })
		if err := c.ep.Poll(); err != nil { // serve the others between files
			return 0, err
		}
	}
	for _, w := range slices.Sorted(maps.Keys(local)) { // in one order, so that every run is the same in virtual time
		if err := c.put(onCounts, owner(w, n), w, local[w]); err != nil {
			return 0, err
		}
	}
	for r := range n {
		if err := c.finish(onCounts, core.Rank(r), spreading, 0); err != nil {
			return 0, err
		}
	}
	return bytes, c.await(spreading)
}

// collect brings all counts to rank 0.
func (c *counter) collect(bytes uint64) (result, error) {
	for _, w := range slices.Sorted(maps.Keys(c.own)) {
		if err := c.put(onTotals, 0, w, c.own[w]); err != nil {
			return result{}, err
		}
	}
	if err := c.finish(onTotals, 0, collecting, bytes); err != nil || c.job.Rank() != 0 {
		return result{}, err
	}
	if err := c.await(collecting); err != nil {
		return result{}, err
	}
	for _, k := range c.total.counts {
		c.total.words += k
		c.total.distinct++
	}
	return c.total, c.failed
}

// put adds a record for rank to its batch, which is sent when full.
func (c *counter) put(h core.HandlerIndex, rank core.Rank, word string, k uint64) error {
	b := &c.out[rank]
	if len(b.data)+9+len(word) > c.ep.Limits().MaxMediumRequest {
		if err := c.flush(h, rank); err != nil {
			return err
		}
	}
	b.data = append(b.data, byte(len(word)))
	b.data = binary.LittleEndian.AppendUint64(b.data, k)
	b.data = append(b.data, word...)
	return nil
}

// flush sends the batch for rank.
func (c *counter) flush(h core.HandlerIndex, rank core.Rank) error {
	b := &c.out[rank]
	if len(b.data) == 0 {
		return nil
	}
	err := c.ep.RequestMedium(rank, h, b.data)
	b.data = b.data[:0]
	b.sent++
	return err
}

// finish sends what is left for rank and says that it was the last of the phase.
func (c *counter) finish(h core.HandlerIndex, rank core.Rank, phase int, bytes uint64) error {
	if err := c.flush(h, rank); err != nil {
		return err
	}
	sent := c.out[rank].sent
	c.out[rank].sent = 0
	return c.ep.RequestShort(rank, onDone, uint32(phase), uint32(sent), uint32(bytes), uint32(bytes>>32))
}

// await waits until every rank has finished the phase and all its messages are here.
func (c *counter) await(phase int) error {
	a := &c.arrived[phase]
	if err := c.ep.WaitUntil(func() bool { return a.done >= c.job.Size() && a.messages >= a.announced }); err != nil {
		return err
	}
	return c.failed
}

// owner returns the rank that keeps a word's count.
func owner(word string, n int) core.Rank {
	h := fnv.New32a()
	h.Write([]byte(word))
	return core.Rank(h.Sum32() % uint32(n))
}

// compare counts the files sequentially and reports the first difference.
func (r result) compare(files []string) error {
	want := table{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("wordcount: %w", err)
		}
		words(text, func(w []byte) { want[string(w)]++ })
	}
	for w, k := range want {
		if r.counts[w] != k {
			return fmt.Errorf("wordcount: %q was counted %d times; the sequential count is %d", w, r.counts[w], k)
		}
	}
	if len(want) != len(r.counts) {
		return fmt.Errorf("wordcount: %d different words; the sequential count has %d", len(r.counts), len(want))
	}
	return nil
}

// mostFrequent returns the n most frequent words, ties in alphabetical order.
func mostFrequent(t table, n int) []string {
	ws := slices.Collect(maps.Keys(t))
	slices.SortFunc(ws, func(a, b string) int {
		switch {
		case t[a] != t[b] && t[a] > t[b]:
			return -1
		case t[a] != t[b]:
			return 1
		case a < b:
			return -1
		}
		return 1
	})
	return ws[:min(n, len(ws))]
}
