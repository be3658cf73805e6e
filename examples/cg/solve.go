package main

import (
	"fmt"
	"math"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// solver is one rank's part of the solution: a block of rows.
type solver struct {
	ep     *extended.Endpoint
	a      *matrix
	shared *pgas.Array[float64] // the direction vector, later the solution
	from   int                  // the first row of this rank
	own    []float64            // this rank's part of shared
	full   []float64            // a copy of shared, as far as this rank's rows need it
	needs  []span               // what to get of it
	x, r   []float64            // this rank's parts of the solution and the residual
	q      []float64            // of A times the direction
	sum    pgas.Op[float64]
}

// span is a range of indices.
type span struct{ from, to int }

func newSolver(job *core.Job, a *matrix, b []float64) (*solver, error) {
	ep, err := extended.Attach(job, core.AttachSpec{})
	if err != nil {
		return nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	if err != nil {
		return nil, err
	}
	s := &solver{ep: ep, a: a, full: make([]float64, a.n), sum: pgas.Add[float64]()}
	if s.shared, err = pgas.NewArray[float64](&ep.Context, heap, a.n, 0); err != nil {
		return nil, err
	}
	s.own, s.from = s.shared.Own(), min(s.shared.Index(0), a.n)
	n := len(s.own)
	s.x, s.r, s.q = make([]float64, n), make([]float64, n), make([]float64, n)
	copy(s.r, b[s.from:]) // x begins as zero
	s.needs = s.foreign()
	return s, nil
}

// foreign returns the runs of indices of other ranks that this rank's rows refer to. Short
// gaps are closed: a transfer costs more than some elements.
func (s *solver) foreign() []span {
	const gap = 16
	needed := make([]bool, s.a.n)
	to := s.from + len(s.own)
	if len(s.own) > 0 {
		for _, j := range s.a.cols[s.a.rows[s.from]:s.a.rows[to]] {
			needed[j] = j < s.from || j >= to
		}
	}
	var runs []span
	for j, yes := range needed {
		switch last := len(runs) - 1; {
		case !yes:
		case last >= 0 && j-runs[last].to < gap:
			runs[last].to = j + 1
		default:
			runs = append(runs, span{j, j + 1})
		}
	}
	return runs
}

// solve iterates until the norm of the residual is below tolerance times that of b, and
// returns the number of steps. Collective.
func (s *solver) solve(tolerance float64, limit int) (int, error) {
	rr, err := s.dot(s.r, s.r)
	if err != nil {
		return 0, err
	}
	goal := tolerance * tolerance * rr
	copy(s.own, s.r)
	for step := 0; ; step++ {
		if rr <= goal {
			return step, nil
		}
		if step == limit {
			return 0, fmt.Errorf("cg: no solution after %d steps: the residual is %.3g, want %.3g; is the matrix positive definite?", limit, math.Sqrt(rr), math.Sqrt(goal))
		}
		if err := s.multiply(); err != nil {
			return 0, err
		}
		// This sum has a part of every rank, so after it all have got what they need of own.
		pq, err := s.dot(s.own, s.q)
		if err != nil {
			return 0, err
		}
		if !(pq > 0) {
			return 0, fmt.Errorf("cg: step %d: p·A·p is %v; the matrix is not positive definite", step, pq)
		}
		alpha := rr / pq
		for i, p := range s.own {
			s.x[i] += alpha * p
			s.r[i] -= alpha * s.q[i]
		}
		next, err := s.dot(s.r, s.r)
		if err != nil {
			return 0, err
		}
		for i := range s.own {
			s.own[i] = s.r[i] + next/rr*s.own[i]
		}
		rr = next
	}
}

// multiply sets q to A times the direction vector, when all ranks have set their parts.
func (s *solver) multiply() error {
	c := &s.ep.Context
	if err := s.ep.World().Barrier(c); err != nil {
		return err
	}
	for _, n := range s.needs {
		if err := s.shared.GetRange(c, s.full[n.from:n.to], n.from); err != nil {
			return err
		}
	}
	copy(s.full[s.from:], s.own)
	for i := range s.q {
		s.q[i] = s.a.row(s.from+i, s.full)
	}
	return nil
}

// dot returns the scalar product of two vectors of which every rank has a part. Collective.
func (s *solver) dot(a, b []float64) (float64, error) {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return pgas.AllReduceValue(&s.ep.Context, s.ep.World(), sum, s.sum)
}

// publish puts the solution where others can get it. Collective.
func (s *solver) publish() error {
	copy(s.own, s.x)
	return s.ep.World().Barrier(&s.ep.Context)
}

// collect returns the published solution.
func (s *solver) collect() ([]float64, error) {
	err := s.shared.GetRange(&s.ep.Context, s.full, 0)
	return s.full, err
}
