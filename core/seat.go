package core

import "github.com/aqueduct-go/aqueduct/internal/vtime"

// Stepped is the membership of a rank that is in virtual time, but not in the model's process: in one of its own, which runs
// while the model waits for it, and waits while the model runs. In the model's process a Seat stands for it.
type Stepped interface {
	Bootstrap
	Process
	// NewConduit makes this rank's end of the job's conduit, which is in the model's process.
	NewConduit() Conduit
}

// JoinStepped makes the calling process a rank of a modelled job. It is Join for such a rank; the process leaves by ExitOf(s). The
// configuration is the model's.
func JoinStepped(s Stepped, cfg Config) (*Job, error) {
	drv, err := DriverByName(cfg.Conduit)
	if err != nil {
		return nil, err
	}
	if cfg.Profile, err = drv.ModelProfile(cfg.Profile); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	j := newJob(s, &cfg, s)
	j.stepped = s
	j.exit = cfg.exitOf(s)
	return j, nil
}

// newConduit makes the rank's end of the conduit.
func (j *Job) newConduit(drv *Driver) Conduit {
	if j.stepped != nil {
		return j.stepped.NewConduit()
	}
	return drv.New(j.profile)
}

// Seat is the place of a rank in a model whose program runs elsewhere. Its methods are for the coroutine that stands for the rank.
type Seat struct {
	run      *modelRun
	member   *member
	proc     *coroutine
	detector LossDetector
	returned bool
}

// RunSeats is RunModel for ranks whose programs run elsewhere: serve does for each, on its coroutine, what the program wants of the
// job, and returns when the rank has closed its bootstrap. If the job ends otherwise, serve is unwound, with its deferred calls.
func RunSeats(n int, cfg Config, serve func(*Seat)) error {
	m, err := newModelRun(n, cfg)
	if err != nil {
		return err
	}
	for r := range n {
		s := &Seat{run: m, member: m.ranks[r]}
		m.seats[r] = s
		m.coroutine(s.member, func(c *coroutine) {
			s.proc = c
			serve(s)
		})
	}
	return m.run()
}

// Boot returns the rank's bootstrap.
func (s *Seat) Boot() Bootstrap { return s.member }

// Proc returns the rank's process in virtual time.
func (s *Seat) Proc() *vtime.Proc { return s.proc.Proc }

// Process returns the same as core uses it.
func (s *Seat) Process() Process { return s.proc }

// NewConduit makes the rank's end of the job's conduit.
func (s *Seat) NewConduit() (Conduit, error) {
	drv, err := DriverByName(s.run.cfg.Conduit)
	if err != nil {
		return nil, err
	}
	return drv.New(s.run.cfg.Profile), nil
}

// Attached tells what the conduit can do, which has attached.
func (s *Seat) Attached(p Powers) { s.detector = p.LossDetector }

// Returned tells that the body of the rank has returned.
func (s *Seat) Returned() { s.returned = true }

// Config returns the job's configuration.
func (s *Seat) Config() *Config { return &s.run.cfg }
