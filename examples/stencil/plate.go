package main

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// plate is one rank's part of the grid: its rows, with a halo row above and below, twice.
// Steps go from one grid to the other, so that a neighbour may fill the next halo while
// this rank still reads the present one: a single barrier per step is enough.
type plate struct {
	spec
	ep      *extended.Endpoint
	from    int // the first row of this rank
	rows    int // how many rows it has
	grids   [2]pgas.Ptr[float64]
	cells   [2][]float64
	present int // the grid that holds the present
}

func newPlate(job *core.Job, s spec) (*plate, error) {
	if s.rows < job.Size() {
		return nil, fmt.Errorf("stencil: %d rows for %d ranks; raise --rows or start fewer ranks", s.rows, job.Size())
	}
	ep, err := extended.Attach(job, core.AttachSpec{})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	p := &plate{spec: s, ep: ep}
	p.from, p.rows = p.part(int(job.Rank()))
	most := (s.rows + job.Size() - 1) / job.Size()
	for g := range p.grids {
		if p.grids[g], err = pgas.Alloc[float64](&ep.Context, heap, (most+2)*s.cols); err != nil {
			return nil, err
		}
		p.cells[g], _ = p.grids[g].LocalSlice(ep, (p.rows+2)*s.cols)
		for i := -1; i <= p.rows; i++ { // the halos and the border too
			s.heat(p.from+i, p.row(g, i))
		}
	}
	return p, ep.World().Barrier(&ep.Context)
}

// part returns the first row of a rank and how many it has.
func (p *plate) part(rank int) (from, rows int) {
	n := p.ep.Size()
	from = p.spec.rows * rank / n
	return from, p.spec.rows*(rank+1)/n - from
}

// row returns this rank's row i of grid g; -1 and p.rows are the halos.
func (p *plate) row(g, i int) []float64 { return p.cells[g][(i+1)*p.cols:][:p.cols] }

// step computes the next grid: the outermost rows first, which travel while the others are
// computed.
func (p *plate) step() error {
	now, next := p.present, 1-p.present
	update := func(i int) { relax(p.row(next, i), p.row(now, i-1), p.row(now, i), p.row(now, i+1)) }
	update(0)
	if p.rows > 1 {
		update(p.rows - 1)
	}
	var evs [2]extended.Event
	var err error
	if me := p.ep.Rank(); me > 0 {
		_, above := p.part(int(me) - 1)
		if evs[0], err = p.send(me-1, above, 0); err != nil {
			return err
		}
	}
	if me := p.ep.Rank(); int(me) < p.ep.Size()-1 {
		if evs[1], err = p.send(me+1, -1, p.rows-1); err != nil {
			return err
		}
	}
	for i := 1; i < p.rows-1; i++ {
		update(i)
	}
	if err := p.ep.WaitAll(evs[:]); err != nil {
		return err
	}
	p.present = next
	return p.ep.World().Barrier(&p.ep.Context)
}

// send puts this rank's next row i into row at of another rank.
func (p *plate) send(rank core.Rank, at, i int) (extended.Event, error) {
	next := 1 - p.present
	return p.grids[next].On(rank).Add((at+1)*p.cols).PutSliceNB(&p.ep.Context, p.row(next, i), extended.LCDefer)
}

// collect gets the present grid from all ranks.
func (p *plate) collect() ([]float64, error) {
	all := make([]float64, p.spec.rows*p.cols)
	for r := range p.ep.Size() {
		from, rows := p.part(r)
		src := p.grids[p.present].On(core.Rank(r)).Add(p.cols)
		if err := src.GetSlice(&p.ep.Context, all[from*p.cols:][:rows*p.cols]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
