package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"slices"

	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// sum tells sets of lines apart, whatever their order.
type sum struct{ Lines, Bytes, Hashes uint64 }

func sumOf(lines [][]byte) (s sum) {
	for _, line := range lines {
		h := fnv.New64a()
		h.Write(line)
		s.Lines++
		s.Bytes += uint64(len(line)) + 1
		s.Hashes += h.Sum64()
	}
	return s
}

var addSums = pgas.Func(func(dst, src []sum) {
	for i, x := range src {
		dst[i].Lines += x.Lines
		dst[i].Bytes += x.Bytes
		dst[i].Hashes += x.Hashes
	}
})

// check verifies that the ranks' shares are sorted, within and from rank to rank, and hold
// the lines that were read. It returns the sum of all. Collective.
func (s *sorter) check(read, sorted [][]byte) (sum, error) {
	c, w := &s.ep.Context, s.ep.World()
	if !slices.IsSortedFunc(sorted, bytes.Compare) {
		return sum{}, fmt.Errorf("samplesort: the lines of rank %d are not sorted", w.Rank())
	}
	if err := s.checkBorder(sorted); err != nil {
		return sum{}, err
	}
	before, err := pgas.AllReduceValue(c, w, sumOf(read), addSums)
	if err != nil {
		return sum{}, err
	}
	after, err := pgas.AllReduceValue(c, w, sumOf(sorted), addSums)
	if err == nil && before != after {
		err = fmt.Errorf("samplesort: %d lines, %d bytes, hash %x were read, but %d lines, %d bytes, hash %x are sorted",
			before.Lines, before.Bytes, before.Hashes, after.Lines, after.Bytes, after.Hashes)
	}
	return after, err
}

// checkBorder compares the rank's first line with the last of the ranks before it.
func (s *sorter) checkBorder(sorted [][]byte) error {
	c, w := &s.ep.Context, s.ep.World()
	var last []byte
	if len(sorted) > 0 {
		last = sorted[len(sorted)-1]
	}
	lengths := make([]int64, w.Size()) // of the last lines; -1 where there is none
	mine := int64(len(last))
	if len(sorted) == 0 {
		mine = -1
	}
	if err := pgas.AllGather(c, w, lengths, []int64{mine}); err != nil {
		return err
	}
	room := make([]byte, max(0, slices.Max(lengths)))
	all := make([]byte, len(room)*w.Size())
	copy(room, last)
	if err := pgas.AllGather(c, w, all, room); err != nil {
		return err
	}
	for r := w.Rank() - 1; r >= 0 && len(sorted) > 0; r-- {
		if lengths[r] < 0 {
			continue
		}
		if theirs := all[r*len(room):][:lengths[r]]; bytes.Compare(theirs, sorted[0]) > 0 {
			return fmt.Errorf("samplesort: rank %d ends with %q, rank %d begins with %q", r, theirs, w.Rank(), sorted[0])
		}
		break
	}
	return nil
}

// write writes the rank's lines at their place of a file. Collective.
func (s *sorter) write(file string, sorted [][]byte) error {
	c, w := &s.ep.Context, s.ep.World()
	text := append(bytes.Join(sorted, []byte{'\n'}), '\n')[:sumOf(sorted).Bytes]
	lengths := make([]int64, w.Size())
	if err := pgas.AllGather(c, w, lengths, []int64{int64(len(text))}); err != nil {
		return err
	}
	if w.Rank() == 0 { // empties an older file before anybody writes
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return fmt.Errorf("samplesort: %w", err)
		}
	}
	if err := w.Barrier(c); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("samplesort: %w", err)
	}
	var at int64
	for _, n := range lengths[:w.Rank()] {
		at += n
	}
	if _, err := f.WriteAt(text, at); err != nil {
		f.Close()
		return fmt.Errorf("samplesort: %w", err)
	}
	return f.Close()
}
