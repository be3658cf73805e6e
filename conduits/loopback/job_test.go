package loopback_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// The tests of this file are of core's part in virtual time; they need a conduit with a model.

// modelled is the configuration of the tests below.
func modelled() core.Config { return core.Config{Conduit: "loopback"} }

// TestLoss loses ranks in states of every kind.
func TestLoss(t *testing.T) {
	for name, body := range map[string]func(*core.Job) error{
		"before attach": func(job *core.Job) error {
			if job.Rank() == 1 {
				job.Compute(time.Second)
			}
			_, err := job.Attach(core.AttachSpec{})
			return err
		},
		"in a wait": func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			return ep.WaitUntil(func() bool { return false })
		},
		"in the final barrier": func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil || job.Rank() == 1 {
				return err
			}
			return ep.WaitUntil(func() bool { return false })
		},
	} {
		unwound := 0
		cfg := modelled()
		cfg.Losses = []core.Loss{{Rank: 1, At: 1_500_000_000}}
		err := core.RunModel(3, cfg, func(job *core.Job) error {
			defer func() { unwound++ }()
			return body(job)
		})
		if core.StatusOf(err) != 137 || fmt.Sprint(err) != "rank 1 was lost at 1.5ms (virtual)" {
			t.Errorf("%s: the job ended with %v", name, err)
		}
		if unwound != 3 && name != "in the final barrier" {
			t.Errorf("%s: deferred calls of %d ranks ran", name, unwound)
		}
	}
	cfg := modelled()
	cfg.Losses = []core.Loss{{Rank: 1, At: 1_000_000_000_000}}
	if err := core.RunModel(3, cfg, func(*core.Job) error { return nil }); err != nil {
		t.Errorf("a loss after the end: %v", err)
	}
	cfg.Losses[0].Rank = 3
	if err := core.RunModel(3, cfg, nil); err == nil || !strings.Contains(err.Error(), "rank 3") {
		t.Errorf("the loss of a rank that is not there: %v", err)
	}
}

// detecting is loopback with hardware that notices losses, or does not.
type detecting struct {
	core.Conduit
	notices bool
	port    *core.Port
}

func (d *detecting) Attach(a *core.Attachment) error {
	d.port = a.Port
	return d.Conduit.Attach(a)
}

func (d *detecting) Powers() core.Powers {
	p := d.Conduit.Powers()
	p.LossDetector = d
	return p
}

func (d *detecting) Lost() {
	if d.notices {
		d.port.Fail(&core.ExitError{Status: core.StatusLost, Reason: "link to rank 1 is dead"})
	}
}

func TestLossDetector(t *testing.T) {
	loopback, err := core.DriverByName("loopback")
	if err != nil {
		t.Fatal(err)
	}
	core.Register(core.Driver{Name: "detecting", Models: []string{"blind", "sighted"}, New: func(model string) core.Conduit {
		return &detecting{Conduit: loopback.New(""), notices: model == "sighted"}
	}})
	for model, want := range map[string]string{
		"sighted": "link to rank 1 is dead",
		"blind":   "rank 1 was lost at 1ms (virtual), and the conduit has not noticed it within 1s",
	} {
		cfg := core.Config{Conduit: "detecting", Profile: model, Losses: []core.Loss{{Rank: 1, At: 1_000_000_000}}}
		err := core.RunModel(2, cfg, func(job *core.Job) error {
			ep, err := job.Attach(core.AttachSpec{})
			if err != nil {
				return err
			}
			return ep.WaitUntil(func() bool { return false })
		})
		if core.StatusOf(err) != 137 || fmt.Sprint(err) != want {
			t.Errorf("%s: the job ended with %v", model, err)
		}
	}
}

func TestMeasure(t *testing.T) {
	var report core.ModelReport
	var trace bytes.Buffer
	cfg := modelled()
	cfg.Trace, cfg.Report = &trace, func(r core.ModelReport) { report = r }
	ran := false
	err := core.RunModel(2, cfg, func(job *core.Job) error {
		if job.Rank() == 0 {
			return nil
		}
		job.Measure(0, func() { ran = true })
		if job.Now() != 0 {
			return fmt.Errorf("scaled by 0 it took %v", job.Now())
		}
		start := time.Now()
		job.Measure(1000, runtime.GC)
		if most := 1000 * time.Since(start); job.Now() == 0 || job.Now().Duration() > most {
			return fmt.Errorf("it took %v, at most %v on the host", job.Now(), most)
		}
		return nil
	})
	if err != nil || !ran {
		t.Errorf("the job ended with %v; run: %v", err, ran)
	}
	if !strings.Contains(report.Disturbed, "rank 1 has measured") || !strings.Contains(trace.String(), "# not deterministic from 0 on: rank 1") {
		t.Errorf("report: %+v, trace:\n%s", report, trace.String())
	}
	err = core.RunModel(1, modelled(), func(job *core.Job) error {
		job.Measure(1, func() { job.Compute(1) })
		return nil
	})
	if core.StatusOf(err) != 2 || !strings.Contains(err.Error(), "what is measured has used the job") {
		t.Errorf("measuring what uses the job: %v", err)
	}
}

func TestModelReport(t *testing.T) {
	var report core.ModelReport
	cfg := modelled()
	cfg.Report = func(r core.ModelReport) { report = r }
	if err := core.RunModel(3, cfg, func(job *core.Job) error {
		job.Compute(2 * time.Second)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if report.Model != "loopback/default" || report.Ranks != 3 || report.Time.Duration() != 2*time.Second || report.Events < 6 || report.Disturbed != "" {
		t.Errorf("report %+v", report)
	}
}

// TestBlockedRank has a rank wait for a goroutine of its own: the job ends, says who and
// where, and the rank that comes back later does no harm.
func TestBlockedRank(t *testing.T) {
	free, gone := make(chan struct{}), make(chan struct{})
	cfg := modelled()
	cfg.Stall = 20 * time.Millisecond
	err := core.RunModel(2, cfg, func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		if job.Rank() == 1 {
			defer close(gone)
			<-free
			return ep.Barrier()
		}
		return ep.Barrier()
	})
	if core.StatusOf(err) != 1 || !strings.Contains(err.Error(), "rank 1 blocks its goroutine (chan receive) at ") || !strings.Contains(err.Error(), "job_test.go:") {
		t.Errorf("the job ended with %v", err)
	}
	close(free)
	<-gone
}

// TestForeignGoroutine has a goroutine of the program's own use the job.
func TestForeignGoroutine(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("goroutines cannot be told apart on this architecture")
	}
	err := core.RunModel(1, modelled(), func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{{Index: 128, Func: func(*core.Token, []uint32, []byte) {}}}})
		if err != nil {
			return err
		}
		for name, use := range map[string]func() error{
			"Poll":         ep.Poll,
			"RequestShort": func() error { return ep.RequestShort(0, 128) },
		} {
			said := make(chan any)
			go func() {
				defer func() { said <- recover() }()
				_ = use()
			}()
			if text := fmt.Sprint(<-said); !strings.Contains(text, "called by a goroutine that the program has started") {
				return fmt.Errorf("%s from elsewhere: %s", name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Computing for longer than virtual time lasts ends the job, which says who and how long.
func TestComputeTooLong(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	for name, compute := range map[string]func(j *core.Job){
		"at once":        func(j *core.Job) { j.Compute(century) },
		"all together":   func(j *core.Job) { j.Compute(60 * 24 * time.Hour); j.Compute(60 * 24 * time.Hour) },
		"measured":       func(j *core.Job) { j.Measure(1e300, func() {}) },
		"after a month":  func(j *core.Job) { j.Compute(30 * 24 * time.Hour); j.Compute(math.MaxInt64) },
		"not even begun": func(j *core.Job) { j.Compute(-1) },
	} {
		err := core.RunModel(2, modelled(), func(j *core.Job) error {
			if _, err := j.Attach(core.AttachSpec{}); err != nil || j.Rank() == 0 {
				return err
			}
			compute(j)
			return nil
		})
		if core.StatusOf(err) != 2 || !strings.Contains(err.Error(), "rank 1") || !strings.Contains(err.Error(), "106 days") && name != "not even begun" {
			t.Errorf("%s: status %d, %v", name, core.StatusOf(err), err)
		}
	}
}
