package vtime

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Resource is something that serves one user after the other, in the order in
// which they come: a bus, a link, a DMA engine. It may have several servers
// alike, such as the channels of an engine; then whoever comes gets the one
// that is free first.
type Resource struct {
	kernel *Kernel
	name   string
	free   []Time // when each server has finished what it was given
	last   Time   // when the last user came

	uses    uint64
	busy    Time
	waited  Time
	longest Time
}

// NewResource adds a resource to the kernel's report; the name is for that. It
// panics if there is no server.
func (k *Kernel) NewResource(name string, servers int) *Resource {
	if servers < 1 {
		panic(fmt.Sprintf("vtime: resource %q with %d servers; want at least 1", name, servers))
	}
	r := &Resource{kernel: k, name: name, free: make([]Time, servers)}
	k.resources = append(k.resources, r)
	return r
}

// Use occupies r for d, from time at on or, if it is busy then, as soon as it
// is free, and returns from when to when. Nothing waits: the caller schedules
// what follows. Users come in order of time, from events or from procs that
// have called Sync and not charged anything since; Use panics if at is before
// that of the call before, or if d is negative. It does not allocate.
func (r *Resource) Use(at, d Time) (start, end Time) {
	if at < r.last {
		panic(fmt.Sprintf("vtime: resource %q used at %v after a use at %v; users must come in order of time: use it from an event, or call Sync before", r.name, at, r.last))
	}
	if d < 0 {
		panic(fmt.Sprintf("vtime: resource %q used for %v; want no negative time", r.name, d))
	}
	server := 0
	for i, free := range r.free {
		if free < r.free[server] {
			server = i
		}
	}
	start = max(at, r.free[server])
	end = start + d
	r.free[server], r.last = end, at
	r.uses++
	r.busy += d
	r.waited += start - at
	r.longest = max(r.longest, start-at)
	return start, end
}

// Free returns from when on somebody who came now would be served.
func (r *Resource) Free() Time {
	return max(r.kernel.now, slices.Min(r.free))
}

// Usage is what a resource has been used for.
type Usage struct {
	Name    string
	Servers int
	Uses    uint64
	Busy    Time // of all servers together, uses under way included to their end
	Waited  Time // of all users together, before they were served
	Longest Time // that a user waited
}

// Usage returns what r has been used for so far.
func (r *Resource) Usage() Usage {
	return Usage{r.name, len(r.free), r.uses, r.busy, r.waited, r.longest}
}

// CountUsage adds to the kernel's report what a model counts by itself, because
// it has too many resources to make a Resource of each. Usage calls source, which
// returns them in the same order in every run.
func (k *Kernel) CountUsage(source func() []Usage) {
	k.counted = append(k.counted, source)
}

// Usage returns what the kernel's resources, and those counted by models, have
// been used for so far, the one first that was busy longest, equal ones in the
// order in which they were made.
func (k *Kernel) Usage() []Usage {
	all := make([]Usage, len(k.resources))
	for i, r := range k.resources {
		all[i] = r.Usage()
	}
	for _, source := range k.counted {
		all = append(all, source()...)
	}
	slices.SortStableFunc(all, func(x, y Usage) int {
		return cmp.Compare(y.Busy/Time(y.Servers), x.Busy/Time(x.Servers))
	})
	return all
}

// WriteUsage writes a table of the first resources of usage, most at most. The
// share of time in which one was busy is that of total, the time of the run.
func WriteUsage(w io.Writer, usage []Usage, total Time, most int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RESOURCE\tUSES\tBUSY\tMEAN WAIT\tLONGEST")
	for _, u := range usage[:min(most, len(usage))] {
		share := 100 * float64(u.Busy) / (float64(max(total, 1)) * float64(u.Servers))
		mean := u.Waited / Time(max(u.Uses, 1))
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%v\t%v\n", u.Name, u.Uses, share, mean, u.Longest)
	}
	if more := len(usage) - most; more > 0 {
		fmt.Fprintf(t, "and %d more\n", more)
	}
	return t.Flush()
}
