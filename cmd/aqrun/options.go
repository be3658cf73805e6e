package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/binding"
	"github.com/spf13/pflag"
)

// options are what the command line says.
type options struct {
	ranks                     int // that -n says; 0: none
	n                         int // of the job
	conduit, profile, segment string
	goroutines                bool
	model                     string
	over                      map[string]*string // by conduit that has a launcher: the profile that its own option names
	starter                   *core.Starter      // of the ranks, if aqrun is not to start them itself
	machine                   string             // the path of the model's machine file, if --wdir would change what it means
	seed                      uint64
	seeded                    bool // seed was given
	lose, set                 []string
	udpSecurity               string
	insecure                  bool
	report                    bool
	env                       []string
	wdir, bind, outputDir     string
	where                     where
	watch                     watching
	reportBindings            bool
	launchPrefix              string
	tag, stamp, verbose       bool
	timeout, grace            duration
	dryRun                    bool
	debug                     debugging
	command                   []string
	programs                  []spawner.Program // of a job that has several
}

// forModel are the options that mean something in virtual time only.
var forModel = []string{"seed", "lose", "model-report"}

// flags adds the options to a flag set, by group.
func (o *options) flags(fs *pflag.FlagSet) {
	cli.Group(fs, "The job", func(fs *pflag.FlagSet) {
		fs.VarP((*count)(&o.ranks), "np", "n", "number of ranks, `N`; not needed where hosts are named")
		fs.StringVar(&o.conduit, "conduit", "", "`NAME` of the conduit that carries the traffic")
		fs.StringVar(&o.profile, "profile", "", "`NAME` of a profile of the conduit")
		o.over = make(map[string]*string)
		for _, l := range core.Launchers() {
			o.over[l.Conduit] = fs.String(l.Conduit, "", "conduit "+l.Conduit+" with a `PROFILE`; the ranks are started by its own "+l.Name)
		}
		fs.StringVar(&o.segment, "segment", "", "memory that a rank registers: 65536, 64MB, 1.5GB, 50%; this `SIZE` wins over what PROGRAM asks for (default 64MB if that asks for nothing)")
		fs.BoolVar(&o.goroutines, "goroutines", false, "run the ranks as goroutines of one process")
		fs.StringArrayVar(&o.set, "set", nil, "further setting of the conduit, `KEY=VALUE`; repeatable; aqrun conduits NAME lists them")
		fs.StringVar(&o.udpSecurity, "udp-security", "", "conduit udp with security none, auth (default) or encrypt: --conduit udp --set security=`MODE`")
		fs.BoolVar(&o.insecure, "insecure", false, "conduit udp, security none permitted beyond the loopback")
		fs.StringArrayVarP(&o.env, "x", "x", nil, "set a variable for the ranks, `VAR[=VALUE]`, or insist that it is set; repeatable; not what other options set")
		fs.StringVar(&o.wdir, "wdir", "", "working directory `DIR` of the ranks; a relative PROGRAM is looked up there")
		fs.StringVar(&o.bind, "bind-to", string(spawner.BindNone), "bind ranks to none, core, socket or numa: see aqrun help binding; to `WHAT`")
		fs.BoolVar(&o.reportBindings, "report-bindings", false, "say which CPUs each rank may use")
		fs.StringVar(&o.launchPrefix, "launch-prefix", "", "start rank i through `CMD`, words separated by blanks, such as 'ip netns exec node{rank}'; {rank} becomes i")
	})
	cli.Group(fs, "Hosts (aqrun help hosts)", o.where.flags)
	cli.Group(fs, "Virtual time (aqrun help models)", func(fs *pflag.FlagSet) {
		fs.StringVar(&o.model, "model", "", "run the ranks in virtual time on the model `NAME`: CONDUIT for its default, CONDUIT/MODEL, or CONDUIT/PATH for a machine file; list lists them")
		fs.Uint64Var(&o.seed, "seed", 0, "seed `N` of all that is random (default 0)")
		fs.StringArrayVar(&o.lose, "lose", nil, "lose a rank at a virtual time, `RANK@TIME`, such as 3@1.5ms; repeatable")
		fs.BoolVar(&o.report, "model-report", false, "print virtual time, events and resources at the end")
	})
	cli.Group(fs, "Watching (aqrun help watching)", o.watch.flags)
	cli.Group(fs, "Output (aqrun help output)", func(fs *pflag.FlagSet) {
		fs.BoolVar(&o.tag, "tag-output", false, "begin every line with its rank")
		fs.BoolVar(&o.stamp, "timestamps", false, "begin every line with the time at which aqrun writes it, in UTC")
		fs.StringVar(&o.outputDir, "output-dir", "", "also write `DIR`/rank.N.out and DIR/rank.N.err")
		fs.BoolVarP(&o.verbose, "verbose", "v", false, "report every rank that starts and ends, and the addresses that conduit udp uses")
		fs.BoolVar(&o.dryRun, "dry-run", false, "print the commands, start nothing")
	})
	cli.Group(fs, "Debugging (aqrun help debugging)", o.debug.flags)
	cli.Group(fs, "The end (aqrun help failure)", func(fs *pflag.FlagSet) {
		fs.Var(&o.timeout, "timeout", "after `TIME` (30s, 5m, plain seconds) print the goroutines of all ranks and end with status 124")
		fs.Var(&o.grace, "grace", "how long ranks may live on when the job has failed, a `TIME`")
	})
}

// complete makes of the options of a command line, which has been read into o by fs, those of a job, and refuses what makes no
// sense.
func (o *options) complete(fs *pflag.FlagSet) error {
	if err := checkEmpty(fs); err != nil {
		return err
	}
	var rest []string
	if o.command, rest = cutProgram(fs); rest != nil {
		if err := o.parseMore(rest); err != nil {
			return err
		}
	} else if err := resolveEnv(o.env); err != nil {
		return err
	}
	if err := o.takeOver(); err != nil {
		return err
	}
	var err error
	if o.n, err = o.where.place(fs, max(o.n, o.ranks), o.goroutines || o.model != ""); err != nil {
		return err
	}
	if err := o.check(fs); err != nil {
		return err
	}
	return o.checkConduit()
}

// checkEmpty refuses options whose value is the empty text.
func checkEmpty(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" {
			err = fmt.Errorf("--%s needs a value", f.Name)
		}
	})
	return err
}

// check refuses missing, impossible and conflicting options.
func (o *options) check(fs *pflag.FlagSet) error {
	inProcess := o.goroutines || o.model != ""
	conduit, profile := aqueduct.CutModel(o.model)
	switch {
	case o.n == 0:
		return errors.New("the number of ranks is missing; give it with -n, or name hosts by --host or --hostfile")
	case len(o.command) == 0 || o.command[0] == "":
		return errors.New("the program is missing")
	case o.goroutines && o.model != "":
		return errors.New("--goroutines runs live and --model in virtual time; give one of them")
	case o.model != "" && o.conduit != "" && conduit != o.conduit:
		return fmt.Errorf("--model %s and --conduit %s contradict each other; --model alone chooses the conduit", o.model, o.conduit)
	case profile != "" && o.profile != "" && profile != o.profile:
		return fmt.Errorf("--model %s and --profile %s contradict each other; --model alone chooses both", o.model, o.profile)
	case inProcess && (o.bind != string(spawner.BindNone) || o.reportBindings):
		return errors.New("--bind-to and --report-bindings need a process per rank; with --goroutines or --model the ranks share one")
	case inProcess && (o.tag || o.outputDir != ""):
		return errors.New("--tag-output and --output-dir need a process per rank; with --goroutines or --model the ranks share one")
	case inProcess && o.programs != nil:
		return errors.New("several programs need a process per rank; with --goroutines or --model the ranks share one: give one program, or none of the two")
	case inProcess && o.launchPrefix != "":
		return errors.New("--launch-prefix needs a process per rank; with --goroutines or --model the ranks share one")
	case inProcess && o.where.placement != nil:
		return errors.New("ranks on several hosts are processes; with --goroutines or --model they share one: leave --host and --hostfile out")
	case fs.Changed("launch-prefix") && len(strings.Fields(o.launchPrefix)) == 0:
		return errors.New("--launch-prefix needs a value")
	case strings.ContainsAny(o.launchPrefix, `'"\`):
		return fmt.Errorf("--launch-prefix %s: its words are separated by blanks and cannot be quoted; put into a script what needs quotes", o.launchPrefix)
	}
	if _, err := binding.ParseKind(o.bind); err != nil {
		return err
	}
	if err := o.debug.check(o, fs); err != nil {
		return err
	}
	if err := o.checkModel(fs); err != nil {
		return err
	}
	if err := o.takeUDP(fs); err != nil {
		return err
	}
	if o.segment != "" {
		const anyMemory = 1 << 40 // the ranks know how much there is; here the form counts
		if _, err := core.ParseSize(o.segment, anyMemory); err != nil {
			return fmt.Errorf("--segment: %w", err)
		}
	}
	return nil
}

// takeOver takes the options that are named after conduits as what they stand for.
func (o *options) takeOver() error {
	for _, l := range core.Launchers() {
		conduit, profile := l.Conduit, o.over[l.Conduit]
		switch {
		case *profile == "":
			continue
		case o.model != "":
			return fmt.Errorf("--%s runs live and --model %s in virtual time; give one of them", conduit, o.model)
		case o.conduit != "" && o.conduit != conduit:
			return fmt.Errorf("--%s %s and --conduit %s contradict each other", conduit, *profile, o.conduit)
		case o.profile != "" && o.profile != *profile:
			return fmt.Errorf("--%s %s and --profile %s contradict each other; they mean the same", conduit, *profile, o.profile)
		}
		o.conduit, o.profile = conduit, *profile
	}
	return nil
}

// resolveEnv gives every -x VAR its value.
func resolveEnv(env []string) error {
	values := map[string]string{}
	for i, s := range env {
		name, value, ok := strings.Cut(s, "=")
		if name == "" {
			return fmt.Errorf("-x %q: want VAR or VAR=value", s)
		}
		if !ok {
			if value, ok = os.LookupEnv(name); !ok {
				return fmt.Errorf("-x %s: it is not set here; give it as -x %[1]s=value", name)
			}
		}
		if old, given := values[name]; given && old != value {
			return fmt.Errorf("-x %s is given two values, %q and %q; give one", name, old, value)
		}
		values[name] = value
		env[i] = name + "=" + value
	}
	return nil
}

// checkModel refuses options of a model without one, and losses that cannot be.
func (o *options) checkModel(fs *pflag.FlagSet) error {
	o.seeded = fs.Changed("seed")
	if err := o.watch.check(o.model != ""); err != nil {
		return err
	}
	for _, name := range forModel {
		if fs.Changed(name) && o.model == "" {
			return fmt.Errorf("--%s is for jobs in virtual time; it needs --model", name)
		}
	}
	for _, text := range o.lose {
		l, err := aqueduct.ParseLoss(text)
		if err != nil {
			return fmt.Errorf("--lose: %w", err)
		}
		if int(l.Rank) >= o.n {
			return fmt.Errorf("--lose %s: there are ranks 0 to %d", text, o.n-1)
		}
	}
	for _, text := range o.set {
		if key, _, ok := strings.Cut(text, "="); !ok || key == "" || strings.Contains(text, ",") {
			return fmt.Errorf("--set %q: want KEY=VALUE without a comma", text)
		}
	}
	return nil
}

// takeUDP takes the options of conduit udp as what they stand for, or refuses them where they
// mean nothing.
func (o *options) takeUDP(fs *pflag.FlagSet) error {
	for _, name := range []string{"udp-security", "insecure"} {
		switch {
		case !fs.Changed(name):
		case o.model != "":
			return fmt.Errorf("--%s is for conduit udp, which runs live only, not with --model", name)
		case o.conduit != "" && o.conduit != "udp":
			return fmt.Errorf("--%s is for conduit udp, not for %s", name, o.conduit)
		}
	}
	switch o.udpSecurity {
	case "none", "auth", "encrypt":
		o.set = append(o.set, "security="+o.udpSecurity)
	case "":
	default:
		return fmt.Errorf("--udp-security %q: want none, auth or encrypt", o.udpSecurity)
	}
	if o.insecure {
		o.set = append(o.set, "insecure=yes")
	}
	if o.insecure || o.udpSecurity != "" {
		o.conduit = "udp"
	}
	return o.checkSettings()
}

// settings returns the settings by key.
func (o *options) settings() map[string]string {
	values := make(map[string]string)
	for _, text := range o.set {
		key, value, _ := strings.Cut(text, "=")
		values[key] = value
	}
	return values
}

// checkSettings refuses a setting that is given two values.
func (o *options) checkSettings() error {
	values := map[string]string{}
	for _, text := range o.set {
		key, value, _ := strings.Cut(text, "=")
		if old, ok := values[key]; ok && old != value {
			return fmt.Errorf("setting %s is given two values, %q and %q; give one", key, old, value)
		}
		values[key] = value
	}
	return nil
}

// checkConduit refuses a conduit or profile that does not exist. The environment may name
// them in place of options.
func (o *options) checkConduit() error {
	name, profile := o.conduit, o.profile
	if o.model != "" {
		var own string
		if name, own = aqueduct.CutModel(o.model); own != "" {
			profile = own
		}
	}
	if name == "" {
		name = os.Getenv(spawner.EnvConduit)
	}
	if name == "" {
		return nil // the program's own default; its ranks check the profile
	}
	d, err := core.DriverByName(name)
	if err != nil {
		return plain(err)
	}
	if profile == "" {
		profile = os.Getenv(spawner.EnvProfile)
	}
	resolve := d.LiveProfile
	if o.model != "" {
		resolve = d.ModelProfile
	}
	if profile, err = resolve(profile); err != nil {
		return plain(err)
	}
	if err := d.Table(profile).Read(d.Name, o.settings()); err != nil {
		return err
	}
	if d.Fits != nil {
		if err := d.Fits(profile, o.n, o.settings()); err != nil {
			return err
		}
	}
	if o.moves() {
		if err := o.anchor(&d, profile); err != nil {
			return err
		}
	}
	switch l := core.LauncherOf(name); {
	case o.model != "":
		return nil
	case l != nil:
		return o.findStarter(l, profile) // which checks that profile alone
	case d.Check == nil:
		return nil
	}
	if err := d.Check(nil, nil); err != nil {
		return fmt.Errorf("conduit %s is not available here: %w", name, err)
	}
	return checkPlaced(&d, o.where.placement)
}

// anchor makes the files that the model and the settings name begin here, and not where --wdir
// leads.
func (o *options) anchor(d *core.Driver, profile string) (err error) {
	if o.model != "" && !slices.Contains(d.Models, profile) {
		if o.machine, err = filepath.Abs(profile); err != nil {
			return err
		}
	}
	table := d.Table(profile)
	for i, text := range o.set {
		key, value, _ := strings.Cut(text, "=")
		if !table.IsFile(key, value) {
			continue
		}
		path, err := filepath.Abs(value)
		if err != nil {
			return err
		}
		if strings.Contains(path, ",") {
			return fmt.Errorf("--set %s: its path, %s, has a comma, which separates settings; use another directory", text, path)
		}
		o.set[i] = key + "=" + path
	}
	return nil
}

// findStarter has the launcher of the conduit start the ranks. It binds them, too.
func (o *options) findStarter(l *core.Launcher, profile string) (err error) {
	if o.goroutines {
		return fmt.Errorf("conduit %s needs a process per rank; with --goroutines the ranks share one", l.Conduit)
	}
	if o.where.allocated() {
		o.where.placement = nil // the launcher knows of allocations what it wants to know
	}
	if o.where.placement != nil {
		return fmt.Errorf("conduit %s: its ranks are started by %s, on this host alone: leave --host and --hostfile out", l.Conduit, l.Name)
	}
	if o.programs != nil {
		return fmt.Errorf("conduit %s: its ranks are started by %s, to which aqrun gives one program; start several by %[2]s itself, as in `%[2]s -n 1 a : -n 3 b`", l.Conduit, l.Name)
	}
	if o.debug.debugger != "" {
		return fmt.Errorf("--debugger attaches to ranks that aqrun starts itself; those of conduit %s are started by %s: give --freeze in its place", l.Conduit, l.Name)
	}
	if o.tag || o.outputDir != "" || o.launchPrefix != "" {
		return fmt.Errorf("--tag-output, --output-dir and --launch-prefix need ranks that aqrun starts itself; those of conduit %s are started by %s: "+
			"let the program print its rank, or start it by %[2]s itself, with %s", l.Conduit, l.Name, l.Output)
	}
	if o.reportBindings || o.bind != string(spawner.BindNone) && o.bind != string(spawner.BindCore) {
		return fmt.Errorf("conduit %s: its ranks are started by %s, which binds them to cores or not at all: give --bind-to core or none, and no --report-bindings", l.Conduit, l.Name)
	}
	o.starter, err = l.Starter(profile, o.n, o.bind == string(spawner.BindCore))
	o.bind = string(spawner.BindNone)
	return err
}

// plain returns the error without the package that it comes from.
func plain(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "core: ")) }

// spec returns the job that the options describe.
func (o *options) spec() spawner.Spec {
	s := spawner.Spec{
		N: o.n, Prefix: strings.Fields(o.launchPrefix),
		Starter: o.starter, Conduit: o.conduit, Profile: o.profile, Segment: o.segment,
		Bind: spawner.Binding(o.bind), ReportBindings: o.reportBindings, Timeout: time.Duration(o.timeout), Grace: time.Duration(o.grace),
		TagOutput: o.tag, Timestamps: o.stamp, OutputDir: o.outputDir, Verbose: o.verbose,
	}
	switch {
	case o.goroutines:
		s.Mode = spawner.Goroutines
	case o.model != "":
		s.Mode = spawner.Modelled
		conduit, profile := aqueduct.CutModel(o.model)
		s.Conduit = conduit
		if profile != "" {
			s.Profile = profile
		}
		if o.machine != "" {
			s.Profile = o.machine
		}
	}
	o.where.spec(&s)
	if o.programs == nil {
		s.Prog, s.Args, s.Env, s.Dir = o.command[0], o.command[1:], append(o.env, o.further()...), o.wdir
	}
	for _, p := range o.programs {
		p.Env = append(p.Env, o.further()...)
		s.Programs = append(s.Programs, p)
	}
	if s.Grace == 0 {
		s.Grace = -1 // none at all
	}
	return s
}

// further returns the variables of options that the spawner does not know. They win over -x.
func (o *options) further() []string {
	var more []string
	set := func(name, value string) {
		if value != "" {
			more = append(more, name+"="+value)
		}
	}
	set("AQUEDUCT_SETTINGS", strings.Join(o.set, ","))
	set("AQUEDUCT_FREEZE", o.debug.frozen())
	if o.debug.pprof != "" {
		path, err := filepath.Abs(o.debug.pprof) // here, not where --wdir leads
		if err != nil {
			path = o.debug.pprof
		}
		set("AQUEDUCT_PPROF", path)
	}
	if o.debug.onError {
		set("AQUEDUCT_FREEZE_ON_ERROR", "1")
	}
	set("AQUEDUCT_LOSE", strings.Join(o.lose, ","))
	if o.verbose {
		set("AQUEDUCT_VERBOSE", "1")
	}
	more = append(more, o.watch.further()...)
	if o.model == "" {
		return more
	}
	if o.seeded {
		set("AQUEDUCT_SEED", strconv.FormatUint(o.seed, 10))
	}
	if o.report {
		set("AQUEDUCT_MODEL_REPORT", "1")
	}
	return more
}

// count is a number of ranks, hosts or agents.
type count int

// Set implements pflag.Value.
func (c *count) Set(s string) error {
	if s == "p" {
		return errors.New("-np is spelt --np or -n")
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > spawner.MaxRanks {
		return fmt.Errorf("want a number from 1 to %d", spawner.MaxRanks)
	}
	*c = count(n)
	return nil
}

// String implements pflag.Value.
func (c *count) String() string { return strconv.Itoa(int(*c)) }

// Type implements pflag.Value.
func (*count) Type() string { return "count" }

// duration is a time span: like 90s or 1.5m, or in plain seconds.
type duration time.Duration

// Set implements pflag.Value.
func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		v, err = time.ParseDuration(s + "s")
	}
	if err != nil || v < 0 {
		return errors.New("want a time such as 30s, 5m or 30")
	}
	*d = duration(v)
	return nil
}

// String implements pflag.Value.
func (d *duration) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (*duration) Type() string { return "time" }
