package main

import "fmt"

// spec is the size of the problem.
type spec struct{ rows, cols, steps int }

// heat sets row i to its first temperatures: the plate is cold, with a hot square in the
// middle. Outside the grid, above and below, lies a warm border that stays as it is.
func (s spec) heat(i int, row []float64) {
	for j := range row {
		switch {
		case i < 0 || i >= s.rows:
			row[j] = 50
		case i*4 >= s.rows && i*4 < s.rows*3 && j*4 >= s.cols && j*4 < s.cols*3:
			row[j] = 100
		default:
			row[j] = 0
		}
	}
}

// relax computes one row of the next step. Left and right of the grid it is 0.
func relax(next, above, row, below []float64) {
	const k = 0.2 // of the difference flows to each neighbour in a step; stable up to 1/4
	for j := range next {
		var left, right float64
		if j > 0 {
			left = row[j-1]
		}
		if j < len(row)-1 {
			right = row[j+1]
		}
		next[j] = row[j] + k*(above[j]+below[j]+left+right-4*row[j])
	}
}

// sequential computes the whole grid.
func (s spec) sequential() []float64 {
	n := (s.rows + 2) * s.cols
	now, next := make([]float64, n), make([]float64, n)
	for i := -1; i <= s.rows; i++ {
		s.heat(i, now[(i+1)*s.cols:][:s.cols])
		s.heat(i, next[(i+1)*s.cols:][:s.cols])
	}
	for range s.steps {
		for i := range s.rows {
			at := func(k int) []float64 { return now[k*s.cols:][:s.cols] }
			relax(next[(i+1)*s.cols:][:s.cols], at(i), at(i+1), at(i+2))
		}
		now, next = next, now
	}
	return now[s.cols:][:s.rows*s.cols]
}

// compare compares a grid with the sequential one and reports the first difference.
func (s spec) compare(got []float64) error {
	for i, want := range s.sequential() {
		if got[i] != want {
			return fmt.Errorf("stencil: cell (%d, %d) is %v; the sequential grid has %v", i/s.cols, i%s.cols, got[i], want)
		}
	}
	return nil
}
