package vtime

import (
	"cmp"
	"slices"
)

// Resource is something that serves one user after the other, in the order in
// which they ask: a bus, a link, half of an adapter. The zero value is idle. It
// has no name, because a model may have hundreds of thousands: the model names
// those that were used when it is asked for its report, see Loop.CountUsage.
type Resource struct {
	free    Time // when it has done all that it was asked to
	busy    Time
	waited  Time
	longest Time
	uses    uint64
}

// Use asks for d of r's time, from at on or, if it is busy then, as soon as it
// is free, and returns when that is over. Nothing waits: the caller schedules
// what follows. Users are served in the order of the calls, so they ask in order
// of time, from events or from procs that have called Sync and not charged
// anything since. Neither time may be negative. It does not allocate.
func (r *Resource) Use(at, d Time) (end Time) {
	wait := max(0, r.free-at)
	r.free = at + wait + d
	r.busy += d
	r.waited += wait
	r.longest = max(r.longest, wait)
	r.uses++
	return r.free
}

// Busy returns how long r has worked, uses under way included to their end.
func (r *Resource) Busy() Time { return r.busy }

// Usage is what a resource has been used for.
type Usage struct {
	Name    string
	Uses    uint64
	Busy    Time // uses under way included to their end
	Waited  Time // of all users together, before they were served
	Longest Time // that a user waited
}

// Usage returns what r has been used for so far, under a name for the report.
func (r *Resource) Usage(name string) Usage {
	return Usage{name, r.uses, r.busy, r.waited, r.longest}
}

// Used reports whether r was used at all.
func (r *Resource) Used() bool { return r.uses > 0 }

// CountUsage adds the resources of a model to the loop's report. Usage calls
// source, which returns them in the same order in every run.
func (l *Loop) CountUsage(source func() []Usage) {
	l.counted = append(l.counted, source)
}

// Usage returns what the models' resources have been used for so far, the one
// first that was busy longest, equal ones in the order in which they were counted.
func (l *Loop) Usage() (all []Usage) {
	for _, source := range l.counted {
		all = append(all, source()...)
	}
	slices.SortStableFunc(all, func(x, y Usage) int { return cmp.Compare(y.Busy, x.Busy) })
	return all
}
