package aqueduct

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
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
	mode  mode
	ranks int
	cfg   core.Config
}

// Option chooses how a job runs when the environment does not say.
type Option func(*settings)

// Goroutines runs n ranks as goroutines of this process, live.
func Goroutines(n int) Option {
	return func(s *settings) { s.mode, s.ranks = goroutines, n }
}

// Model runs n ranks as coroutines of this process, in virtual time, over the named
// conduit's model.
func Model(conduit string, n int) Option {
	return func(s *settings) { s.mode, s.ranks, s.cfg.Conduit = model, n, conduit }
}

// Conduit chooses the conduit by name.
func Conduit(name string) Option { return func(s *settings) { s.cfg.Conduit = name } }

// Profile chooses a profile of the conduit.
func Profile(name string) Option { return func(s *settings) { s.cfg.Profile = name } }

// Setting sets one further setting of the conduit.
func Setting(key, value string) Option {
	return func(s *settings) { s.set(key, value) }
}

// Segment sets the default size of a rank's segment, e.g. "64MB" or "50%".
func Segment(size string) Option { return func(s *settings) { s.cfg.Segment = size } }

// Single promises that one goroutine per rank calls the library; see core.Single.
func Single() Option { return func(s *settings) { s.cfg.Threads = core.Single } }

// Debug checks what handlers and callers may do; misuse ends the job with a message.
func Debug() Option { return func(s *settings) { s.cfg.Debug = true } }

// Stall reports waits that take longer than d.
func Stall(d time.Duration) Option { return func(s *settings) { s.cfg.Stall = d } }

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

// settle applies the options, then the environment, then the defaults.
func settle(opts []Option) (settings, error) {
	s := settings{ranks: 1}
	for _, o := range opts {
		o(&s)
	}
	for _, v := range variables {
		value, ok := os.LookupEnv(v.name)
		if !ok || value == "" {
			continue
		}
		if err := v.apply(&s, value); err != nil {
			return s, fmt.Errorf("aqueduct: environment variable %s=%q: %w", v.name, value, err)
		}
	}
	if s.ranks < 1 {
		return s, fmt.Errorf("aqueduct: a job of %d ranks; need at least 1", s.ranks)
	}
	if s.cfg.Conduit == "" {
		s.cfg.Conduit = "sci"
		if s.mode == model {
			s.cfg.Conduit = "loopback"
		}
	}
	_, err := core.DriverByName(s.cfg.Conduit)
	return s, err
}

// variables are the environment variables that a job's ranks read, besides those of the
// bootstrap.
var variables = []struct {
	name  string
	apply func(*settings, string) error
}{
	{"AQUEDUCT_CONDUIT", func(s *settings, v string) error { s.cfg.Conduit = v; return nil }},
	{"AQUEDUCT_PROFILE", func(s *settings, v string) error { s.cfg.Profile = v; return nil }},
	{"AQUEDUCT_SEGMENT", func(s *settings, v string) error { s.cfg.Segment = v; return nil }},
	{"AQUEDUCT_RANKS", func(s *settings, v string) (err error) { s.ranks, err = strconv.Atoi(v); return err }},
	{"AQUEDUCT_MODE", setMode},
	{"AQUEDUCT_THREADS", setThreads},
	{"AQUEDUCT_DEBUG", func(s *settings, v string) (err error) { s.cfg.Debug, err = strconv.ParseBool(v); return err }},
	{"AQUEDUCT_STALL", func(s *settings, v string) (err error) { s.cfg.Stall, err = time.ParseDuration(v); return err }},
	{"AQUEDUCT_SEED", func(s *settings, v string) (err error) { s.cfg.Seed, err = strconv.ParseUint(v, 0, 64); return err }},
	{"AQUEDUCT_SETTINGS", setSettings},
	{"AQUEDUCT_REACH", setReach},
	{"AQUEDUCT_GRACE", setGrace},
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
		return fmt.Errorf("want processes, goroutines or model")
	}
	return nil
}

// setGrace takes the launcher's grace period, and ends somewhat earlier than it, so that a
// rank can leave by itself.
func setGrace(s *settings, v string) error {
	d, err := time.ParseDuration(v)
	s.cfg.Grace = max(1, d*9/10)
	return err
}

func setThreads(s *settings, v string) error {
	switch v {
	case "single":
		s.cfg.Threads = core.Single
	case "many":
		s.cfg.Threads = core.Many
	default:
		return fmt.Errorf("want single or many")
	}
	return nil
}

func setReach(s *settings, v string) error {
	switch v {
	case "on":
		s.cfg.NoReach = false
	case "off":
		s.cfg.NoReach = true
	default:
		return fmt.Errorf("want on or off")
	}
	return nil
}

// setSettings reads key=value pairs separated by commas.
func setSettings(s *settings, v string) error {
	for pair := range strings.SplitSeq(v, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("want key=value,key=value")
		}
		s.set(key, value)
	}
	return nil
}
