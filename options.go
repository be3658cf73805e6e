package aqueduct

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// mode says what a rank is.
type mode uint8

const (
	processes mode = iota
	goroutines
	model
)

// settings are what options and environment come to.
type settings struct {
	mode     mode
	ranks    int
	cfg      core.Config
	trace    string         // file that receives the model's trace; "": none
	record   record.Outputs // where what is recorded of the job goes
	report   bool           // print the model's report
	pprof    string         // directory that receives profiles; "": none
	freezing freezing       // who waits for a debugger
	by       *core.Launcher // that has started this process, see outsider
	socket   *int           // to the model's process, if this is a rank's; see Stepped
}

// Option chooses how a job runs when the environment does not say.
type Option func(*settings)

// Goroutines runs n ranks as goroutines of this process, live.
func Goroutines(n int) Option {
	return func(s *settings) { s.mode, s.ranks = goroutines, n }
}

// Model runs n ranks as coroutines of this process, in virtual time, on a model: a
// conduit, which stands for its default machine, or conduit/profile such as "sci/d339".
// docs/model.md describes what runs so.
func Model(name string, n int) Option {
	return func(s *settings) {
		s.mode, s.ranks = model, n
		s.cfg.Conduit, s.cfg.Profile = CutModel(name)
	}
}

// Seed seeds all that is random in a model.
func Seed(seed uint64) Option { return func(s *settings) { s.cfg.Seed = seed } }

// Lose has a rank's machine stop at a virtual time; see docs/model.md. It may be given
// several times.
func Lose(rank core.Rank, at core.Time) Option {
	return func(s *settings) { s.cfg.Losses = append(slices.Clip(s.cfg.Losses), core.Loss{Rank: rank, At: at}) }
}

// Trace has a modelled job write a line for everything that happens to w.
func Trace(w io.Writer) Option { return func(s *settings) { s.cfg.Trace = w } }

// Conduit chooses the conduit by name.
func Conduit(name string) Option { return func(s *settings) { s.cfg.Conduit = name } }

// Profile chooses a profile of the conduit.
func Profile(name string) Option { return func(s *settings) { s.cfg.Profile = name } }

// Setting sets one further setting of the conduit.
func Setting(key, value string) Option {
	return func(s *settings) { s.set(key, value) }
}

// Segment sets the default size of a rank's segment, e.g. "64MB" or "50%": where
// core.AttachSpec.Segment says nothing.
func Segment(size string) Option { return func(s *settings) { s.cfg.Segment = size } }

// Single promises that one goroutine per rank calls the library; see core.Single.
func Single() Option { return func(s *settings) { s.cfg.Threads = core.Single } }

// Collectives forces algorithms of collective operations, e.g.
// "allreduce=ring,broadcast=knomial:4"; see package extended/coll.
func Collectives(choice string) Option { return func(s *settings) { s.cfg.Collectives = choice } }

// Debug checks what handlers and callers may do; misuse ends the job with a message.
func Debug() Option { return func(s *settings) { s.cfg.Debug = true } }

// Stall has a live wait that takes longer than d reported, once, by default 10 s; 0 has none reported.
// Under a model it is how long a rank may
// block other than through the job before that ends the job.
func Stall(d time.Duration) Option { return func(s *settings) { s.setStall(d) } }

// Config replaces the whole configuration at once; later options change it.
func Config(cfg core.Config) Option { return func(s *settings) { s.cfg = cfg } }

func (s *settings) set(key, value string) {
	m := maps.Clone(s.cfg.Settings)
	if m == nil {
		m = make(map[string]string)
	}
	m[key] = value
	s.cfg.Settings = m
}

// settle applies the options, then the environment, then the defaults. The conduit of ranks that are processes depends on
// where they are: unless it is named, connect chooses it.
func settle(opts []Option) (settings, error) {
	s := settings{ranks: 1}
	for _, o := range opts {
		o(&s)
	}
	if launched() {
		s.mode, s.ranks = processes, 1 // this process is one rank, whatever the program prefers
	}
	for _, v := range variables {
		value := os.Getenv(v.name)
		if value == "" {
			continue
		}
		if err := v.apply(&s, value); err != nil {
			return s, fmt.Errorf("aqueduct: environment variable %s=%q: %w", v.name, value, err)
		}
	}
	s.by = outsider(s.cfg.Conduit)
	if err := s.check(); err != nil {
		return s, err
	}
	if s.cfg.Conduit == "" {
		switch {
		case s.mode == model:
			s.cfg.Conduit = "loopback"
		case s.mode == processes && s.by != nil && s.by.Conduit != "":
			s.cfg.Conduit = s.by.Conduit
		case s.mode == goroutines:
			s.cfg.Conduit = "sci"
		}
	}
	s.watch()
	s.warnOfUnknown()
	if s.cfg.Conduit == "" {
		return s, nil // connect chooses
	}
	_, err := core.DriverByName(s.cfg.Conduit)
	return s, err
}

// onlyModelled names the setting that means something in virtual time only, or "".
func (s *settings) onlyModelled() string {
	switch {
	case len(s.cfg.Losses) > 0:
		return "the loss of a rank (AQUEDUCT_LOSE, option Lose)"
	case s.trace != "" || s.cfg.Trace != nil:
		return "a trace (AQUEDUCT_TRACE, option Trace)"
	case s.report:
		return "the model's report (AQUEDUCT_MODEL_REPORT)"
	}
	return ""
}

// check refuses what no job can have.
func (s *settings) check() error {
	switch {
	case s.ranks < 1 || s.ranks > spawner.MaxRanks:
		return fmt.Errorf("aqueduct: a job of %d ranks; want 1 to %d", s.ranks, spawner.MaxRanks)
	case s.mode == processes && s.ranks > 1 && !spawner.Launched() && s.by == nil:
		return fmt.Errorf("aqueduct: %d ranks as processes need the launcher: aqrun -n %[1]d %s; or set AQUEDUCT_MODE=goroutines",
			s.ranks, filepath.Base(os.Args[0]))
	case s.mode != processes && s.by != nil:
		return fmt.Errorf("aqueduct: %s has started several processes, each of which would be a job of its own: unset AQUEDUCT_MODE, or start %s by itself",
			s.by.Name, filepath.Base(os.Args[0]))
	case s.mode != model && s.onlyModelled() != "":
		return fmt.Errorf("aqueduct: %s is for jobs in virtual time; run them with aqrun --model or the option Model", s.onlyModelled())
	case s.trace != "" && s.cfg.Trace != nil:
		return errors.New("aqueduct: AQUEDUCT_TRACE is set, but the program writes the trace itself (option Trace)")
	case s.cfg.Stall < 0 && s.cfg.Stall != core.NoStall || min(s.cfg.Sleep, s.cfg.Grace) < 0:
		return fmt.Errorf("aqueduct: Stall %v, Sleep %v and Grace %v must not be negative", s.cfg.Stall, s.cfg.Sleep, s.cfg.Grace)
	}
	return nil
}

// variables are the environment variables that a job's ranks read, besides those of the
// bootstrap. The package comment lists them for users.
var variables = []struct {
	name  string
	apply func(*settings, string) error
}{
	{"AQUEDUCT_CONDUIT", setConduit},
	{"AQUEDUCT_PROFILE", func(s *settings, v string) error { s.cfg.Profile = v; return nil }},
	{"AQUEDUCT_SETTINGS", setSettings},
	{"AQUEDUCT_SEGMENT", setSegment},
	{"AQUEDUCT_REACH", setReach},
	{"AQUEDUCT_NATIVE", setNative},
	{"AQUEDUCT_NEAR", func(s *settings, v string) (err error) { s.cfg.Near, err = core.ParseNear(v); return err }},
	{"AQUEDUCT_COLLECTIVES", func(s *settings, v string) error { s.cfg.Collectives = v; return nil }},
	{"AQUEDUCT_THREADS", setThreads},
	{"AQUEDUCT_DEBUG", setDebug},
	{"AQUEDUCT_VERBOSE", setVerbose},
	{"AQUEDUCT_STALL", setStall},
	{"AQUEDUCT_SEED", setSeed},
	{"AQUEDUCT_LOSE", setLosses},
	{"AQUEDUCT_STATS", func(s *settings, v string) (err error) { s.record.Stats, err = record.ParseStats(v); return err }},
	{"AQUEDUCT_TRACE", setTrace},
	{"AQUEDUCT_TRACE_EVENTS", func(s *settings, v string) (err error) { s.cfg.Events, err = ParseEvents(v); return err }},
	{"AQUEDUCT_TRACE_SAMPLE", func(s *settings, v string) (err error) { s.cfg.EventSample, err = ParseSample(v); return err }},
	{"AQUEDUCT_MODEL_REPORT", setReport},
	{"AQUEDUCT_GRACE", setGrace},
	{"AQUEDUCT_FREEZE", setFreeze},
	{"AQUEDUCT_FREEZE_ON_ERROR", setFreezeOnError},
	{"AQUEDUCT_PPROF", func(s *settings, v string) error { s.pprof = v; return nil }},
	{"AQUEDUCT_MODE", setMode},
	{"AQUEDUCT_RANKS", setRanks},
}

// foreign are the variables that others read: the launcher's part of a job, and programs
// of this project.
var foreign = []string{spawner.EnvRank, spawner.EnvSize, spawner.EnvSocket, spawner.EnvSecret, spawner.EnvJob,
	spawner.EnvRoot, spawner.EnvKeyFile, spawner.EnvStartTimeout, spawner.EnvHostTimeout, "AQUEDUCT_BENCH", "AQUEDUCT_C_FAST"}

// warned is set when the process has warned of unknown variables.
var warned sync.Once

// warnOfUnknown warns, once and on rank 0 only, of variables that nobody reads.
func (s *settings) warnOfUnknown() {
	r := spawner.RankText()
	if s.by != nil {
		r, _ = s.by.Rank()
	}
	if r != "" && r != "0" || s.socket != nil {
		return
	}
	known := slices.Clone(foreign)
	for _, l := range core.Launchers() {
		known = append(known, l.Variables...)
	}
	for _, v := range variables {
		known = append(known, v.name)
	}
	warned.Do(func() {
		for _, e := range os.Environ() {
			name, _, _ := strings.Cut(e, "=")
			if strings.HasPrefix(name, "AQUEDUCT_") && !slices.Contains(known, name) {
				s.cfg.Logger().Warn("unknown environment variable ignored; see 'go doc github.com/aqueduct-go/aqueduct'", "name", name)
			}
		}
	})
}

// setConduit takes the name of a conduit. A profile of another that the program prefers
// goes with that.
func setConduit(s *settings, v string) error {
	if v != s.cfg.Conduit {
		s.cfg.Conduit, s.cfg.Profile = v, ""
	}
	return nil
}

// setSegment takes the launcher's word on segments, which wins over the program's.
func setSegment(s *settings, v string) error {
	const anyMemory = 1 << 40 // the ranks know how much there is; here the form counts
	_, err := core.ParseSize(v, anyMemory)
	s.cfg.Segment, s.cfg.SegmentWins = v, true
	return err
}

func setMode(s *settings, v string) error {
	switch v {
	case "processes":
		s.mode = processes
	case "goroutines":
		s.mode = goroutines
	case "model":
		s.mode = model
	default:
		return errors.New("want processes, goroutines or model")
	}
	return nil
}

// setGrace takes the launcher's grace period, and ends somewhat earlier than it, so that a
// rank can leave by itself.
func setGrace(s *settings, v string) error {
	d, err := duration(v)
	s.cfg.Grace = max(1, d-d/10)
	return err
}

func setRanks(s *settings, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > spawner.MaxRanks {
		return fmt.Errorf("want a number of ranks from 1 to %d", spawner.MaxRanks)
	}
	s.ranks = n
	return nil
}

// setStall takes a time, or off.
func setStall(s *settings, v string) error {
	if v == "off" {
		v = "0"
	}
	d, err := duration(v)
	if err != nil {
		return fmt.Errorf("%w; or off", err)
	}
	s.setStall(d)
	return nil
}

// setStall has waits reported that take longer than d; none if that is 0.
func (s *settings) setStall(d time.Duration) {
	if s.cfg.Stall = d; d == 0 {
		s.cfg.Stall = core.NoStall
	}
}

func setDebug(s *settings, v string) (err error) {
	if s.cfg.Debug, err = strconv.ParseBool(v); err != nil {
		return errors.New("want 1 or 0")
	}
	return nil
}

func setVerbose(s *settings, v string) (err error) {
	if s.cfg.Verbose, err = strconv.ParseBool(v); err != nil {
		return errors.New("want 1 or 0")
	}
	return nil
}

func setSeed(s *settings, v string) (err error) {
	if s.cfg.Seed, err = strconv.ParseUint(v, 0, 64); err != nil {
		return errors.New("want a whole number from 0 to 2^64-1")
	}
	return nil
}

// setLosses reads RANK@TIME, separated by commas.
func setLosses(s *settings, v string) error {
	s.cfg.Losses = nil
	for text := range strings.SplitSeq(v, ",") {
		l, err := ParseLoss(text)
		if err != nil {
			return err
		}
		s.cfg.Losses = append(s.cfg.Losses, l)
	}
	return nil
}

func setReport(s *settings, v string) (err error) {
	if s.report, err = strconv.ParseBool(v); err != nil {
		return errors.New("want 1 or 0")
	}
	return nil
}

// duration reads a time span that is not negative.
func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, errors.New("want a time such as 10s or 500ms")
	}
	return d, nil
}

func setThreads(s *settings, v string) error {
	switch v {
	case "single":
		s.cfg.Threads = core.Single
	case "many":
		s.cfg.Threads = core.Many
	default:
		return errors.New("want single or many")
	}
	return nil
}

func setReach(s *settings, v string) (err error) {
	s.cfg.NoReach, err = off(v)
	return err
}

func setNative(s *settings, v string) (err error) {
	s.cfg.NoNative, err = off(v)
	return err
}

// off reads on or off, and reports off.
func off(v string) (bool, error) {
	switch v {
	case "on":
		return false, nil
	case "off":
		return true, nil
	}
	return false, errors.New("want on or off")
}

// setSettings reads key=value pairs separated by commas.
func setSettings(s *settings, v string) error {
	for pair := range strings.SplitSeq(v, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || key == "" {
			return errors.New("want key=value,key=value")
		}
		s.set(key, value)
	}
	return nil
}
