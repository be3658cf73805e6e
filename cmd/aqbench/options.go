package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/bench/tune"
	"github.com/aqueduct-go/aqueduct/core"
	choices "github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// options are those of a verb, checked.
type options struct {
	*common
	chosen
	verb     *verb
	conduit  string
	profiles []string
	settings map[string]string // of the conduit
	threads  []core.Threads
	mode     spawner.Mode
	sizes    sizes
	loose    []int // numbers of ranks for what am does not pin
	contexts []int // numbers of contexts for what am measures by them
	samples  int
	weight   float64
	cpus     []int
	hosts    []string // among which ranks are divided
	launcher string   // of agents there
	beside   string   // another conduit

	// Of tune: a table is made of what was measured and of another one.
	tuner tune.Tuner
	table *choices.Table
	write string // the file it goes to; "" for none
}

// most are the largest numbers of ranks: of jobs on few CPUs, and of floor.Barrier.
const (
	mostRanks = 1024
	mostNP    = 256
)

// chosen are options that others decide about, until they are resolved.
type chosen struct {
	profile, threads, model string
	over                    map[string]*string // by conduit: the profile that its own option names
	goroutines, quick       bool
}

// flags adds the options of the verb to its command.
func (o *options) flags(cmd *cobra.Command) {
	f, c := newCommon(cmd, o.verb.ops, o.verb.ranks), &o.chosen
	o.common, o.sizes, c.over = f, slices.Clone(o.verb.sizes), make(map[string]*string)
	f.StringVar(&o.conduit, "conduit", "sci", about["conduit"])
	anyProfile, anyThreads := "all", "all"
	if o.verb.result != nil {
		anyProfile, anyThreads = "default", core.Single.String() // what is made of it is made of one
	}
	f.StringVar(&c.profile, "profile", anyProfile, about["profile"])
	for _, l := range core.Launchers() {
		c.over[l.Conduit] = f.String(l.Conduit, "", "as of aqrun: --conduit "+l.Conduit+" with a `PROFILE`; the ranks are started by its own "+l.Name)
	}
	f.StringToStringVar(&o.settings, "set", nil, about["set"])
	f.StringVar(&c.threads, "threads", anyThreads, about["threads"])
	f.BoolVar(&c.goroutines, "goroutines", false, about["goroutines"])
	f.StringVar(&c.model, "model", "", about["model"])
	if o.verb.sizes != nil {
		f.Var(&o.sizes, "sizes", about["sizes"])
		cli.Unknown(cmd, "sizes")
	}
	f.IntVar(&o.samples, "samples", 10, about["samples"])
	f.BoolVar(&c.quick, "quick", false, about["quick"])
	f.StringSliceVar(&o.hosts, "host", nil, about["host"])
	f.StringVar(&o.launcher, "launcher", "", about["launcher"])
	if slices.Contains(o.verb.ops, am.PingPong) {
		f.StringVar(&o.beside, "beside", "", about["beside"])
		cli.Values(cmd, "beside", known.Conduits)
	}
	if slices.Contains(o.verb.ops, am.Contexts) {
		f.IntSliceVar(&o.contexts, "contexts", []int{1, 2, 4, 16}, about["contexts"])
		cli.Unknown(cmd, "contexts")
	}
	if o.verb.result != nil {
		f.StringVar(&o.write, "write", "", about["write"])
	}
	cmd.Long += "\n\nIn virtual time there is one sample, unless --samples says otherwise, as they are all alike."
	known.Complete(cmd, func() string { return o.conduit })
	cli.Values(cmd, "threads", func() []string { return []string{"single", "many", "all"} })
	cli.Values(cmd, "launcher", func() []string { return []string{"ssh", "local"} })
	cli.Unknown(cmd, "samples", "host")
}

// resolve checks the options, and decides what they leave open.
func (o *options) resolve() error {
	f, profile, threads, over, model, goroutines, quick := o.common, o.profile, o.chosen.threads, o.over, o.model, o.goroutines, o.quick
	for conduit, p := range over {
		if *p == "" {
			continue
		}
		if f.Changed("conduit") && o.conduit != conduit || f.Changed("profile") && profile != *p || goroutines || model != "" {
			return fmt.Errorf("--%s %s means --conduit %[1]s --profile %[2]s, live, with processes; another option contradicts that", conduit, *p)
		}
		o.conduit, profile = conduit, *p
	}
	if c, own := aqueduct.CutModel(model); own != "" {
		if f.Changed("profile") && profile != own {
			return fmt.Errorf("--model %s and --profile %s contradict each other", model, profile)
		}
		model, profile = c, own
	}
	if goroutines && model != "" {
		return fmt.Errorf("--goroutines and --model exclude each other")
	}
	o.place(goroutines, model)
	if o.weight = 1; quick {
		o.hasten()
	}
	if o.mode == spawner.Modelled && !f.Changed("samples") {
		o.samples = 1
	}
	if err := o.choose(profile, threads); err != nil {
		return err
	}
	if err := o.check(); err != nil || o.verb.result == nil {
		return err
	}
	return o.prepare()
}

// quickWeight is runner.Plan.Weight with --quick. What is measured does not depend on it, so tests have it lower.
var quickWeight = 0.3

// hasten measures less, where no option says otherwise.
func (o *options) hasten() {
	o.weight = quickWeight
	if !o.Changed("samples") {
		o.samples = 3
	}
	if !o.Changed("sizes") {
		o.sizes = o.verb.quick
	}
	if !o.Changed("np") {
		o.loose = []int{2, 16}
	}
}

// prepare reads the table that a new one is made of, and sees that there is room for that.
func (o *options) prepare() (err error) {
	if len(o.profiles)*len(o.threads) > 1 {
		return fmt.Errorf("a table is of one profile and one kind of threads; give --profile one of %v and --threads single or many", o.profiles)
	}
	if o.write == standard {
		o.write = ""
	}
	if o.table, err = tune.Read(o.write); err != nil {
		return err
	}
	if o.write != "" {
		return writable(o.write)
	}
	if o.format != bench.Formats()[0] {
		return fmt.Errorf("standard output has the report, which in the format %s holds no table; give --write FILE", o.format)
	}
	return nil
}

// place decides where the ranks run.
func (o *options) place(goroutines bool, model string) {
	cpus, err := runner.CPUs()
	if err != nil {
		cpus = nil
	}
	if o.loose = o.np; !o.Changed("np") && o.verb.np != nil {
		o.np, o.loose = o.verb.np(max(1, len(cpus))), []int{2, 16, 64}
	}
	switch {
	case model != "":
		o.mode, o.conduit = spawner.Modelled, model
	case goroutines:
		o.mode = spawner.Goroutines
	default:
		o.cpus = cpus
	}
}

// choose resolves what depends on the conduit, and the operations.
func (o *options) choose(profile, threads string) error {
	d, err := core.DriverByName(o.conduit)
	if err != nil {
		return err
	}
	if o.Changed("contexts") && len(o.ops) == 0 {
		o.ops = []string{am.Contexts}
		if !o.Changed("threads") {
			threads = core.Many.String()
		}
	}
	names, resolve := d.Profiles, d.LiveProfile
	if o.mode == spawner.Modelled {
		names, resolve = d.Models, d.ModelProfile
	}
	switch profile {
	case "all":
		profile = ""
		o.profiles = names
	case "default":
		profile = ""
	}
	chosen, err := resolve(profile)
	if err != nil {
		return err
	}
	if o.profiles == nil {
		o.profiles = []string{chosen}
	}
	var ok bool
	o.threads, ok = map[string][]core.Threads{
		"all": {core.Single, core.Many}, "single": {core.Single}, "many": {core.Many},
	}[threads]
	if !ok {
		return fmt.Errorf("--threads %q; want single, many or all", threads)
	}
	if o.mode == spawner.Modelled && threads == "all" {
		o.threads = o.threads[:1] // a modelled rank is one coroutine in both modes
	}
	if len(o.ops) == 0 {
		o.ops = slices.Clone(o.verb.ops)
		if o.mode == spawner.Modelled { // the start of a job takes no virtual time
			o.ops = slices.DeleteFunc(o.ops, func(op string) bool { return op == am.Startup || op == am.Contexts })
		}
	}
	return nil
}

// check refuses what cannot be measured.
func (o *options) check() error {
	switch {
	case len(o.hosts) > 0 && o.mode != spawner.Processes:
		return fmt.Errorf("--host is for ranks that are processes, without --goroutines and --model")
	case o.Changed("launcher") && len(o.hosts) == 0:
		return fmt.Errorf("--launcher starts agents on the hosts that --host names, and there are none")
	case o.beside != "" && !slices.Equal(o.ops, []string{am.PingPong}):
		return fmt.Errorf("--beside is of the operation %s alone: give --op %[1]s", am.PingPong)
	}
	if err := o.besides(); err != nil {
		return err
	}
	if slices.Contains(o.ops, am.Startup) && o.mode == spawner.Modelled {
		return fmt.Errorf("operation %s takes no virtual time; measure it without --model", am.Startup)
	}
	if slices.Contains(o.ops, am.Contexts) && o.mode == spawner.Modelled {
		return fmt.Errorf("operation %s has several goroutines per rank, a model one; measure it without --model", am.Contexts)
	}
	if o.Changed("contexts") {
		switch {
		case !slices.Contains(o.ops, am.Contexts):
			return fmt.Errorf("--contexts is of the operation %s, which --op leaves out", am.Contexts)
		case !slices.Contains(o.threads, core.Many):
			return fmt.Errorf("--contexts wants --threads many: otherwise a rank has one goroutine")
		case len(o.contexts) == 0 || slices.ContainsFunc(o.contexts, func(n int) bool { return n < 1 || n > am.MostContexts }):
			return fmt.Errorf("--contexts %v; want numbers from 1 to %d", o.contexts, am.MostContexts)
		}
	}
	switch {
	case o.samples < 1:
		return fmt.Errorf("--samples %d; want at least 1", o.samples)
	case slices.ContainsFunc(o.sizes, func(n int) bool { return n < 1 || n > runner.MaxSize || n%o.verb.multiple != 0 }):
		return fmt.Errorf("--sizes %s; want 1 to %d bytes, multiples of %d", &o.sizes, runner.MaxSize, o.verb.multiple)
	}
	if !o.Changed("np") {
		return nil
	}
	return o.checkRanks()
}

// besides refuses another conduit that there is not.
func (o *options) besides() error {
	if o.beside == "" {
		return nil
	}
	name, profile, _ := strings.Cut(o.beside, "/")
	d, err := core.DriverByName(name)
	if err == nil && o.mode == spawner.Modelled {
		_, err = d.ModelProfile(profile)
	} else if err == nil {
		_, err = d.LiveProfile(profile)
	}
	if err != nil {
		return fmt.Errorf("--beside %s: %w", o.beside, err)
	}
	return nil
}

// checkRanks wants numbers of ranks that all operations can have which do not always have two.
func (o *options) checkRanks() error {
	pairs := true
	for _, op := range o.ops {
		least, most := o.verb.bounds(op)
		if least == most {
			continue
		}
		pairs = false
		if slices.ContainsFunc(o.np, func(n int) bool { return n < least || n > most }) {
			return fmt.Errorf("-n %v; %s wants %d to %d ranks", o.np, op, least, most)
		}
	}
	if pairs && !slices.Equal(o.np, []int{2}) {
		return fmt.Errorf("-n %v; always of 2 ranks: %s", o.np, strings.Join(o.ops, ", "))
	}
	return nil
}

// plans returns one plan for each profile and thread mode.
func (o *options) plans() []runner.Plan {
	var plans []runner.Plan
	for _, profile := range o.profiles {
		for _, t := range o.threads {
			plans = append(plans, runner.Plan{
				Conduit: o.conduit, Profile: profile, Settings: o.settings, Threads: t, Mode: o.mode, Ops: o.ops,
				Sizes: o.sizes, Samples: o.samples, CPUs: o.cpus, Weight: o.weight,
				Hosts: o.hosts, Launcher: o.launcher,
			})
		}
	}
	return plans
}
