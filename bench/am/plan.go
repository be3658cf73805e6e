// Package am measures active messages: latency, flood rate, bandwidth, the cost of empty
// polls and the start of a job. A launcher (Run) starts jobs whose ranks are the same
// program again (RankMain); rank 0 measures, interleaved with the floors, and writes its
// series to standard output as lines of JSON that the launcher collects.
package am

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
)

// Op is an operation to measure.
type Op string

// The operations.
const (
	PingPong Op = "pingpong" // a request and its reply of the same category and size
	Flood    Op = "flood"    // one-way Shorts
	Stream   Op = "stream"   // one-way Mediums or Longs, which the receiver copies out
	Poll     Op = "poll"     // polls that find nothing, by number of ranks
	Start    Op = "start"    // a whole job that attaches and ends, by number of ranks
)

// Ops lists the operations in the order of a report.
func Ops() []Op { return []Op{PingPong, Flood, Stream, Poll, Start} }

// Plan is what to measure.
type Plan struct {
	Conduit string
	Profile string
	Threads core.Threads
	Ops     []Op
	Sizes   []int // payload bytes
	Ranks   []int // sizes of job for Poll and Start
	Samples int
	CPUs    []int   // for rank 0 and 1, and the floors; nil: not pinned
	Weight  float64 // operations per sample, relative to the usual number
}

// job is what a rank is told of one job.
type job struct {
	Plan
	Op Op // Poll, or "" for all that two ranks measure
}

// envJob holds a job in JSON.
const envJob = "AQUEDUCT_BENCH_AM"

// env returns the variable that makes a process a rank of the job.
func (j job) env() []string {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return []string{envJob + "=" + string(b)}
}

// config is the configuration of a job's ranks. They go to sleep soon, so that they leave
// the CPUs to the floors.
func (p *Plan) config() core.Config {
	return core.Config{
		Conduit: p.Conduit, Profile: p.Profile, Threads: p.Threads,
		Segment: "16MB", Sleep: idle,
	}
}

// params name a series of the plan.
func (p *Plan) params(op Op, more ...bench.Param) []bench.Param {
	ps := append([]bench.Param{{Key: "op", Value: string(op)}}, more...)
	profile := p.Profile
	if profile == "" {
		profile = "default"
	}
	return append(ps, bench.Param{Key: "conduit", Value: p.Conduit},
		bench.Param{Key: "profile", Value: profile}, bench.Param{Key: "threads", Value: p.Threads.String()})
}

// emit writes a series for the launcher.
func emit(s *bench.Series) error {
	b, err := json.Marshal(s)
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%s%s\n", seriesMark, b)
	}
	return err
}

// seriesMark begins a line that holds a series.
const seriesMark = "aqbench-series: "
