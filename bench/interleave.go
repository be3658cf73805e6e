package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Uneven is the factor from which the two samples that bracket another count as different:
// the machine changed in between, and the sample in the middle says nothing. Tests of what is
// measured, and not of how long it takes, raise it: on a busy machine nothing is even.
var Uneven = 1.3

// patience bounds the attempts for each sample wanted.
const patience = 3

// ErrDisturbed says that the machine did not hold still for a single sample.
var ErrDisturbed = errors.New("bench: the references before and after every sample differ by 30 % or more; end what else runs on these CPUs and measure again")

// A Meter takes one sample and returns the nanoseconds per operation.
type Meter func() (float64, error)

// A Reference is something that a workload is compared with.
type Reference struct {
	Unit   string // of the ratio: "x-floor", "x-<peer>"; "" if only Places counts
	Meter  Meter
	Places bool // a flag ping-pong on the workload's CPUs: its round trip tells the placement
	Peer   bool // another implementation, or one for information: where its brackets are uneven only this ratio is dropped
}

// A Sample is one measurement of a workload.
type Sample struct {
	Ns        float64            // nanoseconds per operation
	Metrics   map[string]float64 // by unit: ratios ("x-floor"), "allocs/op"; may be nil
	Placement Placement          // of the CPUs during this sample
}

// Bracket judges a sample by the samples of a reference just before and after it. It
// returns the sample's ratio to their mean, and whether the two were alike.
func Bracket(before, sample, after float64) (ratio float64, ok bool) {
	low, high := min(before, after), max(before, after)
	return sample / ((before + after) / 2), low > 0 && high < Uneven*low
}

// Outcome is what interleaved measuring gave.
type Outcome struct {
	Samples   []Sample  // of one placement, the one that had the most
	Placement Placement // of these samples
	Uneven    int       // samples dropped because the machine changed meanwhile
	Elsewhere int       // samples dropped because they belong to other placements
}

// Interleave measures work until it has the given number of samples, each between two
// samples of every reference, and drops those with uneven brackets; it gives up after
// three times as many. A peer's brackets count for its own ratio only, since another
// implementation has slow runs of its own. With no reference every sample counts. The
// samples of the placement that had the most are returned. It fails with ErrDisturbed if
// nothing is left, with the first error of a meter, or with ctx's.
func Interleave(ctx context.Context, samples int, refs []Reference, work Meter) (Outcome, error) {
	if samples < 1 {
		return Outcome{}, fmt.Errorf("bench: %d samples; want at least 1", samples)
	}
	before, err := measure(refs)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	var kept []Sample
	for try := 0; len(kept) < samples && try < patience*samples; try++ {
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		ns, err := work()
		if err != nil {
			return Outcome{}, err
		}
		after, err := measure(refs)
		if err != nil {
			return Outcome{}, err
		}
		if s, ok := judge(refs, before, ns, after); ok {
			kept = append(kept, s)
		} else {
			out.Uneven++
		}
		before = after
	}
	if len(kept) == 0 {
		return out, ErrDisturbed
	}
	out.Samples, out.Placement = largestGroup(kept)
	out.Elsewhere = len(kept) - len(out.Samples)
	return out, nil
}

// measure takes a sample of every reference.
func measure(refs []Reference) ([]float64, error) {
	ns := make([]float64, len(refs))
	for i, r := range refs {
		var err error
		if ns[i], err = r.Meter(); err != nil {
			return nil, err
		}
	}
	return ns, nil
}

// judge compares a sample with its brackets; ok is false if those of a floor are uneven.
func judge(refs []Reference, before []float64, ns float64, after []float64) (s Sample, ok bool) {
	s = Sample{Ns: ns, Metrics: map[string]float64{}, Placement: Unknown}
	for i, r := range refs {
		ratio, even := Bracket(before[i], ns, after[i])
		switch {
		case !even && r.Peer:
			continue
		case !even:
			return Sample{}, false
		}
		if r.Unit != "" {
			s.Metrics[r.Unit] = ratio
		}
		if r.Places {
			s.Placement = PlacementOf((before[i] + after[i]) / 2)
		}
	}
	return s, true
}

// largestGroup returns the samples of the placement that has most of them, the earliest
// seen if several have.
func largestGroup(all []Sample) ([]Sample, Placement) {
	groups := map[Placement][]Sample{}
	most := all[0].Placement
	for _, s := range all {
		groups[s.Placement] = append(groups[s.Placement], s)
	}
	for _, s := range all {
		if len(groups[s.Placement]) > len(groups[most]) {
			most = s.Placement
		}
	}
	return groups[most], most
}

// Calibrate returns how many operations make a sample last about as long as wanted. run
// performs n operations and returns the nanoseconds that each took.
func Calibrate(want time.Duration, run func(n int) (float64, error)) (int, error) {
	const most = 1 << 30
	for n := 1; ; n *= 4 {
		ns, err := run(n)
		if err != nil {
			return 0, err
		}
		// A quarter of the wanted time is long enough to extrapolate from.
		if took := ns * float64(n); took >= float64(want)/4 {
			return max(1, min(most, int(float64(want)/ns))), nil
		}
		if n >= most/4 {
			return most, nil
		}
	}
}
