package loopback_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// complaints records what a test would say.
type complaints struct {
	testing.TB
	said []string
}

func (c *complaints) Helper() {}

func (c *complaints) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func TestTwice(t *testing.T) {
	runs := 0
	for _, c := range []struct {
		want string
		body func(*core.Job) error
	}{
		{"", func(job *core.Job) error { job.Compute(1000); return nil }},
		{"line 3 of the trace", func(job *core.Job) error {
			job.Compute(1000)
			if job.Rank() == 1 && runs%2 == 0 {
				job.Compute(1)
			}
			return nil
		}},
		{"the next with", func(job *core.Job) error {
			if runs == 2 {
				return fmt.Errorf("bad luck")
			}
			return nil
		}},
	} {
		runs = 0
		seen := &complaints{TB: t}
		_ = coretest.Twice(seen, 2, core.Config{Conduit: "loopback"}, func(job *core.Job) error {
			if job.Rank() == 0 {
				runs++
			}
			return c.body(job)
		})
		if said := strings.Join(seen.said, "\n"); !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
			t.Errorf("want %q, said %q", c.want, said)
		}
	}
}
