package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

const header = "%%MatrixMarket matrix coordinate real symmetric\n"

func TestReadMatrix(t *testing.T) {
	for _, text := range []string{
		header + "% a comment\n\n3 3 4\n1 1 2\n3 1 -1.5e0\n\n% another\n2 2 4\n3 3 5\n",
		"%%MatrixMarket MATRIX Coordinate integer General\n3 3 5\n1 1 2\n3 1 -1.5\n1 3 -1.5\n2 2 4\n3 3 5",
	} {
		a, err := readMatrix(strings.NewReader(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if y := a.times([]float64{1, 10, 100}); !slices.Equal(y, []float64{-148, 40, 498.5}) {
			t.Errorf("A·x is %v", y)
		}
	}
}

func TestReadMatrixErrors(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "the file is empty"},
		{"3 3 1\n", "line 1: want the header"},
		{"%%MatrixMarket matrix array real general\n", "line 1: want the header"},
		{"%%MatrixMarket matrix coordinate complex general\n", "line 1: want the header"},
		{header, "line 1: unexpected EOF"},
		{header + "3 3\n", "line 2: want rows, columns and entries"},
		{header + "3 x 1\n", `line 2: strconv.Atoi: parsing "x"`},
		{header + "3 4 1\n", "line 2: 3 × 4"},
		{header + "0 0 0\n", "line 2: 0 × 0"},
		{header + "999999999999 999999999999 1\n", "line 2: 999999999999 × 999999999999 with 1 entries"},
		{header + "2 2 2\n1 1 1\n", "line 3: unexpected EOF"},
		{header + "1 1 1\n1 1\n", "line 3: want row, column and value"},
		{header + "1 1 1\n1 1 one\n", "line 3: strconv.ParseFloat"},
		{header + "1 1 1\n1 1 NaN\n", "line 3: entry (1, 1) is NaN"},
		{header + "1 1 1\n4 1 1\n", "line 3: entry (4, 1) lies outside"},
		{header + "1 1 1\n0 1 1\n", "line 3: entry (0, 1) lies outside"},
		{header + "2 2 2\n1 2 1\n", "line 3: entry (1, 2) lies above the diagonal"},
		{header + "1 1 1\n1 1 1\n2 2 2\n", `line 4: "2 2 2" follows`},
		{header + "2 2 2\n1 1 1\n1 1 2\n", "entry (1, 1) is given twice"},
		{strings.Replace(header, "symmetric", "general", 1) + "2 2 2\n2 1 1\n2 2 1\n", "mirror image"},
		{header + strings.Repeat("9", 1<<20), "line 1: bufio.Scanner: token too long"},
	} {
		if _, err := readMatrix(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80q: %v; want %q", c.text, err, c.says)
		}
	}
}

// TestResidual checks the verification: it is 0 for the solution, and not for another.
func TestResidual(t *testing.T) {
	a, err := readMatrix(bytes.NewReader(laplace30))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, a.n)
	for i := range x {
		x[i] = float64(i % 7)
	}
	b := a.times(x)
	if r := a.residual(x, b); r != 0 {
		t.Errorf("the residual of the solution is %v", r)
	}
	x[450] += 1e-6
	if r := a.residual(x, b); r < 1e-9 {
		t.Errorf("the residual of another vector is %v", r)
	}
}

func FuzzReadMatrix(f *testing.F) {
	f.Add([]byte(header + "2 2 2\n1 1 1\n2 1 3\n"))
	f.Add([]byte("%%MatrixMarket matrix coordinate integer general\n2 2 2\n2 1 3\n1 2 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := readMatrix(bytes.NewReader(text))
		if err != nil {
			return
		}
		if a.rows[a.n] != len(a.values) || len(a.values) != len(a.cols) || !slices.IsSorted(a.rows) {
			t.Errorf("an inconsistent matrix of %d rows and %d entries", a.n, len(a.values))
		}
	})
}
