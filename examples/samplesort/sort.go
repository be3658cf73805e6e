package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// sorter is one rank's part of the sort.
type sorter struct {
	ep   *extended.Endpoint
	heap *pgas.Heap
}

func newSorter(job *core.Job) (*sorter, error) {
	ep, err := extended.Attach(job, core.AttachSpec{})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	return &sorter{ep, heap}, err
}

// samples is how many lines of each rank divide the whole: more make the ranks' shares
// more equal.
const samples = 64

// sample is the beginning of a line. The beginning is as good a divider as the line, except
// among lines that share it, which all go to one rank.
type sample struct {
	N    uint8
	Text [63]byte
}

func sampleOf(line []byte) (s sample) {
	s.N = uint8(copy(s.Text[:], line))
	return s
}

func (s *sample) bytes() []byte { return s.Text[:s.N] }

// sort returns the rank's share of the sorted lines of all ranks: those of rank 0 come
// first. Collective. It reorders its argument.
func (s *sorter) sort(own [][]byte) ([][]byte, error) {
	slices.SortFunc(own, bytes.Compare)
	cuts, err := s.divide(own)
	if err != nil {
		return nil, err
	}
	text, err := s.exchange(own, cuts)
	if err != nil {
		return nil, err
	}
	sorted := lines(text)
	slices.SortFunc(sorted, bytes.Compare)
	return sorted, nil
}

// divide returns where each rank's lines begin in own, which is sorted, and its length.
func (s *sorter) divide(own [][]byte) ([]int, error) {
	w := s.ep.World()
	mine := make([]sample, samples)
	for i := range mine {
		if len(own) > 0 { // else empty samples, which do little harm
			mine[i] = sampleOf(own[i*len(own)/samples])
		}
	}
	all := make([]sample, samples*w.Size())
	if err := pgas.AllGather(&s.ep.Context, w, all, mine); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b sample) int { return bytes.Compare(a.bytes(), b.bytes()) })
	cuts := make([]int, w.Size()+1)
	for r := 1; r < w.Size(); r++ {
		cuts[r], _ = slices.BinarySearchFunc(own, all[r*samples].bytes(), bytes.Compare)
	}
	cuts[w.Size()] = len(own)
	return cuts, nil
}

// exchange sends every rank its lines and returns what has come for this one.
func (s *sorter) exchange(own [][]byte, cuts []int) ([]byte, error) {
	c, w := &s.ep.Context, s.ep.World()
	n, me := w.Size(), w.Rank()
	texts, lengths := make([][]byte, n), make([]int64, n)
	for r := range n {
		for _, line := range own[cuts[r]:cuts[r+1]] {
			texts[r] = append(append(texts[r], line...), '\n')
		}
		lengths[r] = int64(len(texts[r]))
	}
	all := make([]int64, n*n) // bytes by sender and receiver
	if err := pgas.AllGather(c, w, all, lengths); err != nil {
		return nil, err
	}
	var most int64
	at, total := make([]int64, n), make([]int64, n) // where this rank's text goes, and what comes, by receiver
	for from := range n {
		for r := range n {
			if from == me {
				at[r] = total[r]
			}
			total[r] += all[from*n+r]
			most = max(most, total[r])
		}
	}
	room, err := pgas.Alloc[byte](c, s.heap, int(most))
	if err != nil {
		return nil, fmt.Errorf("samplesort: a rank's share of %d bytes: %w", most, err)
	}
	for i := range n {
		r := (me + i) % n // not all at once to the same rank
		if err := room.On(w.Jobrank(r)).Add(int(at[r])).PutSliceNBI(c, texts[r], extended.LCDefer); err != nil {
			return nil, err
		}
	}
	if err := c.WaitNBI(extended.Puts); err != nil {
		return nil, err
	}
	if err := w.Barrier(c); err != nil {
		return nil, err
	}
	mine, _ := room.LocalSlice(s.ep, int(total[me]))
	return mine, nil
}
