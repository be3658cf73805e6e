package page

import (
	"fmt"
	"math"
)

// mostRanks bounds a communication matrix: a page with a million cells is none that anybody reads.
const mostRanks = 256

// A grid is a communication matrix as a heat map: rows send, columns receive.
type grid struct {
	Title   string
	Ranks   []int
	Rows    []gridRow
	Numbers bool // few enough ranks to write bytes into the cells
}

type gridRow struct {
	From  int
	Cells []gridCell
}

// gridCell is a cell. Heat is from 0 to 100, by the logarithm of the bytes between one and the most.
type gridCell struct {
	Heat        int
	Text, About string
}

// grid sums cells of the same two ranks.
func (m *matrix) grid() *grid {
	n := 0
	for _, c := range m.Cells {
		n = max(n, c.From+1, c.To+1)
	}
	g := &grid{Title: m.Title, Numbers: n <= 16}
	if g.Title == "" {
		g.Title = "Communication matrix"
	}
	sums := make([]cell, n*n)
	most := int64(1)
	for _, c := range m.Cells {
		s := &sums[c.From*n+c.To]
		s.Messages, s.Bytes = s.Messages+c.Messages, s.Bytes+c.Bytes
		most = max(most, s.Bytes)
	}
	for from := range n {
		g.Ranks = append(g.Ranks, from)
		r := gridRow{From: from}
		for to := range n {
			s := sums[from*n+to]
			c := gridCell{About: fmt.Sprintf("rank %d to %d: %s messages, %s bytes", from, to, number(float64(s.Messages)), number(float64(s.Bytes)))}
			if s.Messages > 0 || s.Bytes > 0 {
				c.Heat = 8 + int(92*math.Log1p(float64(s.Bytes))/math.Log1p(float64(most)))
				c.Text = compact(s.Bytes)
			}
			r.Cells = append(r.Cells, c)
		}
		g.Rows = append(g.Rows, r)
	}
	return g
}

// compact writes bytes shortly: 640, 12K, 3M.
func compact(bytes int64) string {
	unit := 0
	for bytes >= 10240 && unit < 4 {
		bytes, unit = bytes>>10, unit+1
	}
	return fmt.Sprintf("%d%s", bytes, []string{"", "K", "M", "G", "T"}[unit])
}
