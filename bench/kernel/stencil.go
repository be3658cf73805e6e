package kernel

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// The part of the grid that each rank has. bench/mpipeer's programs have the same.
const (
	plateRows = 16
	plateCols = 512
)

// checkedSteps is how many steps are compared with those of one rank alone.
const checkedSteps = 8

// plate is one rank's rows of the grid, with a halo row above and below, twice. Steps go from one grid to the other, so that a
// neighbour may fill the next halo while this rank reads the present one: one barrier a step is enough.
type plate struct {
	ep      *extended.Endpoint
	grids   [2]pgas.Ptr[float64]
	cells   [2][]float64
	present int // the grid that holds the present
}

const gridCells = (plateRows + 2) * plateCols

func newPlate(ep *extended.Endpoint) (*plate, error) {
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	p := &plate{ep: ep}
	for g := range p.grids {
		if p.grids[g], err = pgas.Alloc[float64](&ep.Context, heap, gridCells); err != nil {
			return nil, err
		}
		p.cells[g], _ = p.grids[g].LocalSlice(ep, gridCells)
	}
	p.begin()
	return p, ep.World().Barrier(&ep.Context)
}

// begin sets the first temperatures of this rank's rows, and of the rows beside them.
func (p *plate) begin() {
	for g := range p.cells {
		for i := -1; i <= plateRows; i++ {
			heat(int(p.ep.Rank())*plateRows+i, p.ep.Size()*plateRows, p.row(g, i))
		}
	}
	p.present = 0
}

// heat sets row i of so many to its first temperatures. The rows above and below the grid stay as they are.
func heat(i, rows int, row []float64) {
	for j := range row {
		row[j] = float64((i*31 + j*17) % 100)
		if i < 0 || i >= rows {
			row[j] = 50
		}
	}
}

// relax computes one row of the next step. Left and right of the grid it is 0.
func relax(next, above, row, below []float64) {
	const k = 0.2 // of the difference flows to each neighbour in a step; stable up to 1/4
	last := len(row) - 1
	above, below, next = above[:len(row)], below[:len(row)], next[:len(row)]
	next[0] = row[0] + k*(above[0]+below[0]+row[1]-4*row[0])
	for j := 1; j < last; j++ {
		next[j] = row[j] + k*(above[j]+below[j]+row[j-1]+row[j+1]-4*row[j])
	}
	next[last] = row[last] + k*(above[last]+below[last]+row[last-1]-4*row[last])
}

// row returns this rank's row i of grid g; -1 and plateRows are the halos.
func (p *plate) row(g, i int) []float64 { return p.cells[g][(i+1)*plateCols:][:plateCols] }

// steps computes n steps.
func (r *rank) steps(n int) error {
	for range n {
		if err := r.plate.step(); err != nil {
			return err
		}
	}
	return nil
}

// step computes the next grid: the outermost rows first, which travel while the others are computed.
func (p *plate) step() (err error) {
	now, next := p.present, 1-p.present
	update := func(i int) { relax(p.row(next, i), p.row(now, i-1), p.row(now, i), p.row(now, i+1)) }
	update(0)
	update(plateRows - 1)
	me := p.ep.Rank()
	var evs [2]extended.Event
	if me > 0 {
		if evs[0], err = p.send(me-1, plateRows, 0); err != nil {
			return err
		}
	}
	if int(me) < p.ep.Size()-1 {
		if evs[1], err = p.send(me+1, -1, plateRows-1); err != nil {
			return err
		}
	}
	for i := 1; i < plateRows-1; i++ {
		update(i)
	}
	if err := p.ep.WaitAll(evs[:]); err != nil {
		return err
	}
	p.present = next
	return p.ep.World().Barrier(&p.ep.Context)
}

// send puts this rank's next row i into row at of another rank.
func (p *plate) send(to core.Rank, at, i int) (extended.Event, error) {
	next := 1 - p.present
	return p.grids[next].On(to).Add((at+1)*plateCols).PutSliceNB(&p.ep.Context, p.row(next, i), extended.LCDefer)
}

// checkPlate begins again, and has rank 0 compare some steps with those of a grid that it computes alone.
func (r *rank) checkPlate() error {
	p := r.plate
	p.begin()
	if err := r.barrier(); err != nil {
		return err
	}
	if err := r.steps(checkedSteps); err != nil {
		return err
	}
	if r.ep.Rank() == 0 {
		if err := p.compare(); err != nil {
			return err
		}
	}
	return r.barrier()
}

// compare compares every cell with a grid that was computed alone.
func (p *plate) compare() error {
	rows := p.ep.Size() * plateRows
	var grids [2][]float64
	for g := range grids {
		grids[g] = make([]float64, (rows+2)*plateCols)
		for i := -1; i <= rows; i++ {
			heat(i, rows, grids[g][(i+1)*plateCols:][:plateCols])
		}
	}
	for s := range checkedSteps {
		now, next := grids[s%2], grids[1-s%2]
		at := func(grid []float64, i int) []float64 { return grid[i*plateCols:][:plateCols] }
		for i := 1; i <= rows; i++ {
			relax(at(next, i), at(now, i-1), at(now, i), at(now, i+1))
		}
	}
	want, got := grids[checkedSteps%2][plateCols:], make([]float64, plateRows*plateCols)
	for to := range p.ep.Size() {
		if err := p.grids[p.present].On(core.Rank(to)).Add(plateCols).GetSlice(&p.ep.Context, got); err != nil {
			return err
		}
		for i, v := range got {
			if w := want[to*plateRows*plateCols+i]; v != w {
				return fmt.Errorf("kernel: row %d, column %d of rank %d is %v; computed alone it is %v", i/plateCols, i%plateCols, to, v, w)
			}
		}
	}
	return nil
}
