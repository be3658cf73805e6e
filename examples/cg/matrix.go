package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// matrix is a sparse square matrix by rows: row i has values[rows[i]:rows[i+1]] in the
// columns cols[rows[i]:rows[i+1]], ascending.
type matrix struct {
	n      int
	rows   []int
	cols   []int
	values []float64
}

// times returns a·x.
func (a *matrix) times(x []float64) []float64 {
	y := make([]float64, a.n)
	for i := range y {
		y[i] = a.row(i, x)
	}
	return y
}

// row returns the product of row i and x.
func (a *matrix) row(i int, x []float64) (sum float64) {
	for k := a.rows[i]; k < a.rows[i+1]; k++ {
		sum += a.values[k] * x[a.cols[k]]
	}
	return sum
}

// entry is a line of a file.
type entry struct {
	i, j  int
	value float64
}

// readMatrix reads a symmetric matrix in the coordinate format of Matrix Market (Boisvert,
// Pozo, Remington 1996): general files must be symmetric by themselves. Errors name the line.
func readMatrix(in io.Reader) (*matrix, error) {
	r := &reader{scan: bufio.NewScanner(in)}
	mirror, err := r.header()
	if err != nil {
		return nil, r.at(err)
	}
	n, count, err := r.sizes()
	if err != nil {
		return nil, r.at(err)
	}
	var entries []entry
	for range count {
		e, err := r.entry(n, mirror)
		if err != nil {
			return nil, r.at(err)
		}
		entries = append(entries, e)
		if mirror && e.i != e.j {
			entries = append(entries, entry{e.j, e.i, e.value})
		}
	}
	switch fields, err := r.next(); {
	case err == nil:
		return nil, r.at(fmt.Errorf("%q follows the %d entries that the sizes announce", strings.Join(fields, " "), count))
	case err != io.ErrUnexpectedEOF:
		return nil, r.at(err)
	}
	return assemble(n, entries)
}

// assemble sorts entries into a matrix.
func assemble(n int, entries []entry) (*matrix, error) {
	slices.SortFunc(entries, func(a, b entry) int {
		if a.i != b.i {
			return a.i - b.i
		}
		return a.j - b.j
	})
	a := &matrix{n: n, rows: make([]int, n+1)}
	for k, e := range entries {
		if k > 0 && entries[k-1].i == e.i && entries[k-1].j == e.j {
			return nil, fmt.Errorf("entry (%d, %d) is given twice", e.i+1, e.j+1)
		}
		a.cols, a.values = append(a.cols, e.j), append(a.values, e.value)
		a.rows[e.i+1] = k + 1
	}
	for i := range n { // rows without entries
		a.rows[i+1] = max(a.rows[i+1], a.rows[i])
	}
	return a, a.symmetric()
}

// symmetric returns an error that names an entry unequal to its mirror image.
func (a *matrix) symmetric() error {
	for i := range a.n {
		for k := a.rows[i]; k < a.rows[i+1]; k++ {
			j := a.cols[k]
			m, ok := slices.BinarySearch(a.cols[a.rows[j]:a.rows[j+1]], i)
			if !ok || a.values[a.rows[j]+m] != a.values[k] {
				return fmt.Errorf("entry (%d, %d) differs from its mirror image; conjugate gradients need a symmetric matrix", i+1, j+1)
			}
		}
	}
	return nil
}

// reader reads lines and counts them.
type reader struct {
	scan *bufio.Scanner
	line int
}

// at says where an error is.
func (r *reader) at(err error) error {
	switch {
	case r.line > 0:
		return fmt.Errorf("line %d: %w", r.line, err)
	case err == io.ErrUnexpectedEOF:
		return errors.New("the file is empty")
	}
	return err // of reading it
}

// next returns the words of the next line that is not empty; io.ErrUnexpectedEOF after the
// last.
func (r *reader) next() ([]string, error) {
	for r.scan.Scan() {
		r.line++
		if f := strings.Fields(r.scan.Text()); len(f) > 0 && (f[0][0] != '%' || r.line == 1) {
			return f, nil
		}
	}
	if err := r.scan.Err(); err != nil {
		return nil, err
	}
	return nil, io.ErrUnexpectedEOF
}

// header reads the first line and returns whether only one triangle is given.
func (r *reader) header() (mirror bool, err error) {
	f, err := r.next()
	if err != nil {
		return false, err
	}
	want := errors.New("want the header %%MatrixMarket matrix coordinate real symmetric (or integer, or general)")
	if r.line != 1 || len(f) != 5 || f[0] != "%%MatrixMarket" {
		return false, want
	}
	for i := range f {
		f[i] = strings.ToLower(f[i])
	}
	if f[1] != "matrix" || f[2] != "coordinate" || f[3] != "real" && f[3] != "integer" || f[4] != "symmetric" && f[4] != "general" {
		return false, want
	}
	return f[4] == "symmetric", nil
}

// sizes reads rows, columns and entries.
func (r *reader) sizes() (n, count int, err error) {
	f, err := r.next()
	if err != nil {
		return 0, 0, err
	}
	var v [3]int
	for i := range v {
		if len(f) != 3 {
			return 0, 0, fmt.Errorf("want rows, columns and entries, not %d words", len(f))
		}
		if v[i], err = strconv.Atoi(f[i]); err != nil {
			return 0, 0, err
		}
	}
	if v[0] != v[1] || v[0] < 1 || v[2] < v[0] { // so that memory is taken only for what was read
		return 0, 0, fmt.Errorf("%d × %d with %d entries: want a square matrix with an entry for each place of the diagonal, which are positive", v[0], v[1], v[2])
	}
	return v[0], v[2], nil
}

// entry reads row, column and value.
func (r *reader) entry(n int, lower bool) (e entry, err error) {
	f, err := r.next()
	if err != nil {
		return e, err
	}
	if len(f) != 3 {
		return e, fmt.Errorf("want row, column and value, not %d words", len(f))
	}
	if e.i, err = strconv.Atoi(f[0]); err != nil {
		return e, err
	}
	if e.j, err = strconv.Atoi(f[1]); err != nil {
		return e, err
	}
	if e.value, err = strconv.ParseFloat(f[2], 64); err != nil {
		return e, err
	}
	switch {
	case e.i < 1 || e.i > n || e.j < 1 || e.j > n:
		return e, fmt.Errorf("entry (%d, %d) lies outside %d × %d", e.i, e.j, n, n)
	case lower && e.j > e.i:
		return e, fmt.Errorf("entry (%d, %d) lies above the diagonal of a symmetric matrix", e.i, e.j)
	case math.IsNaN(e.value) || math.IsInf(e.value, 0):
		return e, fmt.Errorf("entry (%d, %d) is %v", e.i, e.j, e.value)
	}
	e.i, e.j = e.i-1, e.j-1
	return e, nil
}
