// Package runner is what the benchmarks have in common. A benchmark's launcher calls Launch,
// which starts a job whose ranks are the same program again. There RankMain recognises them
// and hands them to the benchmark's own body, in which a Rank leads or follows. Rank 0
// measures, interleaved with references (Ref) on the same CPUs, and emits series, which go
// back to the launcher through its standard output as lines of JSON.
package runner

import (
	"slices"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// Soon is an Idle for ranks that each have a CPU and never wait for long within a sample:
// it leaves the CPUs to the references at once. With more ranks than CPUs, or long
// transfers, ranks would really sleep in the middle of the work, so there the library's
// default is the fair choice.
const Soon = 100 * time.Microsecond

// sampleTime is how long a calibrated sample lasts at weight 1.
const sampleTime = 10 * time.Millisecond

// segment is the size of every rank's segment.
const segment = "16MB"

// MaxSize is the largest payload, in bytes, that can be measured.
const MaxSize = 4 << 20

// Plan is what to measure. Launcher and ranks have the same.
type Plan struct {
	Conduit  string
	Profile  string
	Settings map[string]string // of the conduit, beside those of the profile
	Threads  core.Threads
	Mode     spawner.Mode // where the ranks live
	Ops      []string     // of those that the benchmark knows, in the order of the report
	Sizes    []int        // payload bytes, up to MaxSize
	Contexts int          // of rank 0, where that is what is measured
	Samples  int          // of each point
	CPUs     []int        // rank i runs on CPUs[i % len(CPUs)], and so do the floors; nil: not pinned, no floors
	Weight   float64      // operations per sample, relative to the usual number
	Hosts    []string     // among which ranks are divided in order, by agents as aqrun has them; nil: this host, without an agent
	Launcher string       // of the agents; "": ssh
	Alone    bool         // nothing is measured beside it, and samples of all operations are of the same length, see Rank.Iters

	Idle time.Duration // how soon a waiting rank goes to sleep; 0: the library's default
}

// Modelled reports whether the job runs in virtual time.
func (p *Plan) Modelled() bool { return p.Mode == spawner.Modelled }

// Pair returns the CPUs of ranks 0 and 1, or nil where these are not pinned to two
// different ones, which floors that spin need.
func (p *Plan) Pair() []int {
	if len(p.CPUs) < 2 {
		return nil
	}
	return p.CPUs[:2]
}

// Spread returns the CPUs of n ranks, or nil where they are not pinned.
func (p *Plan) Spread(n int) []int { return bench.Spread(p.CPUs, n) }

// Count scales a usual number of operations.
func (p *Plan) Count(usual int) int { return max(1, int(float64(usual)*p.Weight)) }

// Params name a series of the plan.
func (p *Plan) Params(op string, more ...bench.Param) []bench.Param {
	profile := p.Profile
	if profile == "" {
		profile = "default"
	}
	return slices.Concat([]bench.Param{{Key: "op", Value: op}}, more, []bench.Param{
		{Key: "conduit", Value: p.Conduit}, {Key: "profile", Value: profile}, {Key: "threads", Value: p.Threads.String()},
	})
}

// config is the configuration of a job's ranks.
func (p *Plan) config() core.Config {
	c := core.Config{Conduit: p.Conduit, Profile: p.Profile, Settings: p.Settings, Threads: p.Threads, Segment: segment, Sleep: p.Idle, Near: core.NearOff}
	if p.Modelled() {
		c.Segment = "" // a model may limit segments, and takes memory only where it is touched
	} else {
		c.Stall = core.NoStall // ranks wait long while one of them measures floors; AQUEDUCT_STALL has it otherwise
	}
	return c
}

// CPUs returns the CPUs this process may use, the two best for a pair of ranks first.
func CPUs() ([]int, error) {
	cpus, err := bench.CPUs()
	if err != nil || len(cpus) < 2 {
		return cpus, err
	}
	pair := bench.Pairs(cpus)[0]
	rest := slices.DeleteFunc(cpus, func(cpu int) bool { return cpu == pair[0] || cpu == pair[1] })
	return slices.Concat(pair[:], rest), nil
}
