// Package capi measures the C library beside the API in Go: the same operations, of programs in C whose calls do in C what
// they can, of the same programs with every call crossing into Go, and of a program in Go; where an installation of
// GASNet is given, of the same source with that. Each is a job of two ranks of its own, which all take turns on the same two CPUs.
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

//go:embed client/client.c
var source embed.FS

// The operations.
const (
	PingPong = "pingpong" // a short request, and its reply
	Flood    = "flood"    // short requests one way
	Poll     = "poll"     // that finds nothing
	Put      = "put"      // of 8 bytes, blocking
	Get      = "get"      // likewise
	Barrier  = "barrier"  // notify and wait
)

// Ops returns the operations in the order of the report.
func Ops() []string { return []string{PingPong, Flood, Poll, Put, Get, Barrier} }

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
	text, err := source.ReadFile("client/client.c")
	if err != nil {
		return err
	}
	c := client{p, filepath.Join(dir, "client.c"), filepath.Join(dir, "client"), filepath.Join(dir, "gasnet")}
	if err := os.WriteFile(c.source, text, 0o600); err != nil {
		return err
	}
	lib := filepath.Join(p.Prefix, "lib")
	if err := c.compile(ctx, c.ours, "-I"+filepath.Join(p.Prefix, "include"), "-L"+lib, "-l:libaqueduct-seq.a", "-l:libaqueduct.a", "-lpthread"); err != nil {
		return err
	}
	if p.GASNet != "" {
		include := filepath.Join(p.GASNet, "include")
		if err := c.compile(ctx, c.theirs, "-I"+include, "-I"+filepath.Join(include, "smp-conduit"), "-L"+filepath.Join(p.GASNet, "lib"),
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
}

// compile makes a program of the source, with the options behind it.
func (c *client) compile(ctx context.Context, exe string, options ...string) error {
	cc := strings.Fields(os.Getenv("CC"))
	if len(cc) == 0 {
		cc = []string{"cc"}
	}
	argv := slices.Concat(cc[1:], []string{"-O2", "-std=gnu11", "-DGASNET_SEQ", "-o", exe, c.source}, options)
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

// variants returns the program to be measured, and those that it is compared with.
func (c *client) variants(op string) ([]variant, error) {
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
	s := &bench.Series{
		Family: "CAPI", Title: op + " in C", Quantity: bench.Duration,
		Params: []bench.Param{{Key: "op", Value: op}, {Key: "conduit", Value: c.Conduit}, {Key: "threads", Value: "seq"}},
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
	s.Results = []bench.Result{{Ranks: 2, Iters: iters, Outcome: out}}
	return report(s)
}
