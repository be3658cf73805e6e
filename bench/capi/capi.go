// Package capi measures the C library beside the API in Go: the same operations, of programs in C whose calls do in C what
// they can, of the same programs with every call crossing into Go, and of a program in Go; where an installation of
// GASNet is given, of the same source with that. Each is a job of two ranks of its own, which all take turns on the same two CPUs.
// It also measures what two threads of a rank do at once, beside what it costs threads to hand something over at all.
package capi

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
)

//go:embed client
var sources embed.FS

// The operations.
const (
	PingPong = "pingpong" // a short request, and its reply
	Flood    = "flood"    // short requests one way
	Poll     = "poll"     // that finds nothing
	Put      = "put"      // of 8 bytes, blocking
	Get      = "get"      // likewise
	Barrier  = "barrier"  // notify and wait
)

// What two threads of a rank alone do at once, in GASNET_PAR.
const (
	ThreadsPoll     = "threads-poll"     // empty polls
	ThreadsPingPong = "threads-pingpong" // round trips to the rank itself
)

// Ops returns the operations in the order of the report.
func Ops() []string { return slices.Concat(rankOps, []string{ThreadsPoll, ThreadsPingPong}) }

var rankOps = []string{PingPong, Flood, Poll, Put, Get, Barrier}

// NetworkOps returns the operations that tell something of a conduit whose messages all cross into Go.
func NetworkOps() []string { return []string{PingPong, Flood} }

// sampleTime is how long a sample lasts.
const sampleTime = 10 * time.Millisecond

// Plan is what to measure.
type Plan struct {
	Conduit string
	Ops     []string
	Samples int
	CPUs    []int  // of the two ranks, different ones
	Prefix  string // where the C library is: with include and lib
	Aqrun   string // the launcher
	GASNet  string // where an installation of GASNet is, whose conduit smp is measured too; "": nowhere
}

// Locate returns where the C library and the launcher are that belong to this program: in the folder of a build, or as they
// are installed.
func Locate() (prefix, aqrun string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	dir := filepath.Dir(exe)
	aqrun = filepath.Join(dir, "aqrun")
	for _, prefix := range []string{filepath.Join(dir, "capi"), filepath.Dir(dir)} {
		if _, err := os.Stat(filepath.Join(prefix, "include", "gasnet.h")); err == nil {
			_, err = os.Stat(aqrun)
			return prefix, aqrun, err
		}
	}
	return "", "", fmt.Errorf("the C library is not beside %s: run make build, with a C compiler, and use bin/aqbench", exe)
}

// Run measures and hands each series to report. Cancelling ctx ends it.
func Run(ctx context.Context, p Plan, report func(*bench.Series) error) error {
	dir, err := os.MkdirTemp("", "aqbench-capi-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, sources); err != nil {
		return err
	}
	c := client{p, filepath.Join(dir, "client", "client.c"), filepath.Join(dir, "ours"), filepath.Join(dir, "theirs"), filepath.Join(dir, "threads")}
	own := func(mode string) []string {
		return []string{"-I" + filepath.Join(p.Prefix, "include"), "-L" + filepath.Join(p.Prefix, "lib"), "-l:libaqueduct-" + mode + ".a", "-l:libaqueduct.a", "-lpthread"}
	}
	if err := c.compile(ctx, "SEQ", c.source, c.ours, own("seq")...); err != nil {
		return err
	}
	if slices.ContainsFunc(p.Ops, ofThreads) {
		if err := c.compile(ctx, "PAR", filepath.Join(dir, "client", "threads.c"), c.threads, own("par")...); err != nil {
			return err
		}
	}
	if p.GASNet != "" {
		include := filepath.Join(p.GASNet, "include")
		if err := c.compile(ctx, "SEQ", c.source, c.theirs, "-I"+include, "-I"+filepath.Join(include, "smp-conduit"), "-L"+filepath.Join(p.GASNet, "lib"),
			"-Wl,-rpath,"+filepath.Join(p.GASNet, "lib"), "-lgasnet-smp-seq", "-lpthread", "-lrt", "-lm"); err != nil {
			return err
		}
	}
	for _, op := range p.Ops {
		if err := c.measure(ctx, op, report); err != nil {
			return fmt.Errorf("capi: %s: %w", op, err)
		}
	}
	return nil
}

// client is the program in C.
type client struct {
	Plan
	source, ours, theirs string
	threads              string // the program whose threads work at once
}

// ofThreads reports whether an operation is one of two threads.
func ofThreads(op string) bool { return op == ThreadsPoll || op == ThreadsPingPong }

// compile makes a program of the source for a thread mode, with the options behind it.
func (c *client) compile(ctx context.Context, mode, source, exe string, options ...string) error {
	cc := strings.Fields(os.Getenv("CC"))
	if len(cc) == 0 {
		cc = []string{"cc"}
	}
	argv := slices.Concat(cc[1:], []string{"-O2", "-std=gnu11", "-DGASNET_" + mode, "-o", exe, source}, options)
	if out, err := exec.CommandContext(ctx, cc[0], argv...).CombinedOutput(); err != nil {
		return fmt.Errorf("capi: %s %s: %w\n%s", cc[0], strings.Join(argv, " "), err, out)
	}
	return nil
}

// variant is a program that does an operation.
type variant struct {
	unit string // as a reference
	what string
	argv []string // for env
}

// threadVariants is variants for an operation of two threads.
func (c *client) threadVariants(op string) []variant {
	program := func(op string, threads int) []string {
		return []string{c.Aqrun, "-n", "1", "--conduit", c.Conduit, c.threads, op, floor.List(c.CPUs), fmt.Sprint(threads)}
	}
	op = strings.TrimPrefix(op, "threads-")
	return []variant{
		{"", "", program(op, 2)},
		{"x-one", "the same by one thread, which is the only one", program(op, 1)},
		{"x-mutex", "a pthread mutex that two threads take all the time", program("mutex", 2)},
		{"x-word", "a word that two threads hand to each other and back, spinning", program("word", 2)},
		{"x-cond", "the same by a pthread condition variable, sleeping", program("cond", 2)},
	}
}

// variants returns the program to be measured, and those that it is compared with.
func (c *client) variants(op string) ([]variant, error) {
	if ofThreads(op) {
		return c.threadVariants(op), nil
	}
	task, err := json.Marshal(runner.Task{Verb: verb, Plan: runner.Plan{
		Conduit: c.Conduit, Threads: core.Single, Ops: []string{op}, CPUs: c.CPUs,
	}})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	launch := []string{c.Aqrun, "-n", "2", "--conduit", c.Conduit}
	program := []string{c.ours, op, floor.List(c.CPUs)}
	vs := []variant{
		{"", "", slices.Concat(launch, program)},
		{"x-go", "the same in Go", slices.Concat([]string{runner.EnvTask + "=" + string(task)}, launch, []string{self})},
		{"x-crossing", "the same in C, every call crossing into Go", slices.Concat([]string{"AQUEDUCT_C_FAST=off"}, launch, program)},
	}
	if c.GASNet != "" {
		vs = append(vs, variant{"x-gasnet", "the same source over GASNet's conduit smp", []string{filepath.Join(c.GASNet, "bin", "gasnetrun_smp"), "-n", "2", c.theirs, op, floor.List(c.CPUs)}})
	}
	if plain := map[string]string{Put: "store", Get: "load"}[op]; plain != "" && c.Conduit == "sci" {
		vs = append(vs, variant{"x-floor", "a plain " + plain + " through the mapping", slices.Concat(launch, []string{c.ours, plain, floor.List(c.CPUs)})})
	}
	return vs, nil
}

// floors are those of operations that a kind of floor program does.
var floors = map[string]floor.Kind{PingPong: floor.PingPong, Flood: floor.Ring, Barrier: floor.Barrier}

// measure measures one operation.
func (c *client) measure(ctx context.Context, op string, report func(*bench.Series) error) (err error) {
	ranks, mode := 2, "seq"
	if ofThreads(op) {
		ranks, mode = 1, "par"
	}
	s := &bench.Series{
		Family: "CAPI", Title: op + " in C", Quantity: bench.Duration,
		Params: []bench.Param{{Key: "op", Value: op}, {Key: "conduit", Value: c.Conduit}, {Key: "threads", Value: mode}},
	}
	vs, err := c.variants(op)
	if err != nil {
		return err
	}
	var work bench.Meter
	var iters int
	var refs []bench.Reference
	for _, v := range vs {
		f, e := floor.Command(ctx, cmp.Or(v.what, op+" in C"), "env", v.argv...)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		n, e := bench.Calibrate(sampleTime, func(n int) (float64, error) { return f.Meter(n)() })
		if e != nil {
			return e
		}
		if v.unit == "" {
			work, iters = f.Meter(n), n
			continue
		}
		refs = append(refs, bench.Reference{Unit: v.unit, Meter: f.Meter(n), Peer: true})
		s.Against = append(s.Against, bench.Param{Key: v.unit, Value: v.what})
	}
	if kind, ok := floors[op]; ok && c.Conduit == "sci" {
		f, e := floor.Start(ctx, kind, c.CPUs)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		n, e := bench.Calibrate(sampleTime, func(n int) (float64, error) { return f.Meter(n)() })
		if e != nil {
			return e
		}
		refs = append(refs, bench.Reference{Unit: "x-floor", Meter: f.Meter(n), Peer: true})
		s.Against = append(s.Against, bench.Param{Key: "x-floor", Value: "the floor " + string(kind)})
	}
	out, err := bench.Interleave(ctx, c.Samples, refs, work)
	if err != nil {
		return err
	}
	s.Results = []bench.Result{{Ranks: ranks, Iters: iters, Outcome: out}}
	return report(s)
}
