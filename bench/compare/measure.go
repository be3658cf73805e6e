package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
)

// Watch is told how measuring goes on; functions that are nil are not called.
type Watch struct {
	// Begin: the i-th of n tasks begins, and the rest takes about as long as left says, which is 0 if nobody knows.
	Begin func(i, n int, left time.Duration, t *Task)
	// Note has something that a reader of the figures must know, said once.
	Note func(text string)
}

// Measure carries out the tasks that the store has not. A subject whose task fails is measured no further, and what failed is the error when
// the others have been measured. Of a task over its limit of time there is what it has measured until then, and no task begins when the budget is spent:
// both are noted. So it is with models when half of the budget is spent. Measure ends at once when ctx does, with its cause; what was measured until then is in the store.
func Measure(ctx context.Context, tasks []Task, store *Store, w Watch) error {
	m := &measurement{Watch: w, store: store, machine: bench.Conditions(), start: time.Now(), failed: map[*Subject]bool{}}
	if w.Note == nil {
		m.Note = func(string) {}
	}
	for i := range tasks {
		if t := &tasks[i]; !store.Has(t) {
			m.left++
		}
	}
	m.all = m.left
	m.noise.begin()
	slow := false // models
	for i := range tasks {
		t := &tasks[i]
		if late := time.Since(m.start) > t.share(); late && t.Subject.Modelled() && !store.Has(t) {
			if !slow {
				m.Note(fmt.Sprintf("left out, as %v are over and the rest is for what is live: %s, and the models behind it", t.share(), t.Name()))
			}
			slow = true
			m.left--
			continue
		} else if late && !t.Subject.Modelled() {
			m.Note(fmt.Sprintf("left out, as %v are over: %s, and what comes behind it", t.share(), t.Name()))
			break
		}
		if t.Round != m.round {
			m.round, m.references = t.Round, nil
		}
		if err := m.task(ctx, t); err != nil {
			return err
		}
		if t.Subject.references {
			m.references = append(m.references, store.LinesOf(t)...)
		}
	}
	return errors.Join(m.errs...)
}

// share returns when it is too late for the task to begin, since the beginning. Models are measured first, and leave half to what is live.
func (t *Task) share() time.Duration {
	if t.Subject.Modelled() {
		return t.Extent.Budget / 2
	}
	return t.Extent.Budget
}

// measurement is Measure under way.
type measurement struct {
	Watch
	store      *Store
	machine    bench.Header
	start      time.Time
	noise      noise
	all, left  int // tasks that were missing at first, and now
	round      int
	references []*bench.Line // of the round
	failed     map[*Subject]bool
	errs       []error
}

// task carries one out unless there is a reason not to. The error is that nothing can go on.
func (m *measurement) task(ctx context.Context, t *Task) error {
	if m.store.Has(t) {
		return nil
	}
	done := m.all - m.left
	m.left--
	if m.failed[t.Subject] {
		return nil
	}
	if m.Begin != nil {
		var rest time.Duration
		if done > 0 {
			rest = time.Since(m.start) / time.Duration(done) * time.Duration(m.left+1)
		}
		m.Begin(done+1, m.all, rest, t)
	}
	series, err := t.Run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text := m.noise.end(t); text != "" {
		m.Note(text)
	}
	switch {
	case errors.Is(err, ErrLimit):
		m.Note("not all was measured: " + err.Error())
	case err != nil:
		m.failed[t.Subject] = true
		m.errs = append(m.errs, err)
		return nil
	}
	if !t.Subject.references && !t.Subject.Modelled() {
		t.refer(series, m.references)
	}
	return m.store.Add(t, t.Header(m.machine), series)
}
