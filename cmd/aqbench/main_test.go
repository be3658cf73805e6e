package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/am"
)

// envSelf makes the test binary behave as aqbench.
const envSelf = "AQBENCH_TEST_SELF"

func TestMain(m *testing.M) {
	am.RankMain()
	if os.Getenv(envSelf) != "" {
		os.Unsetenv(envSelf)
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestAM runs a small measurement of every operation and reads the result back.
func TestAM(t *testing.T) {
	for _, profile := range []string{"live", "paper"} {
		t.Run(profile, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run(t.Context(), []string{"am", "--profile", profile, "--threads", "many", "--sizes", "8,100000",
				"--samples", "1", "--ranks", "2", "--format", "json", "--quick=false"}, &out, &errs)
			if status != 0 {
				t.Fatalf("status %d: %s", status, &errs)
			}
			ops := map[string]bool{}
			for line := range strings.Lines(out.String()) {
				var r map[string]any
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%v in %q", err, line)
				}
				for _, op := range am.Ops() {
					if strings.Contains(line, string(op)) {
						ops[string(op)] = true
					}
				}
			}
			for _, op := range am.Ops() {
				if !ops[string(op)] {
					t.Errorf("nothing about %s in\n%s", op, &out)
				}
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "usage"},
		{[]string{"fly"}, "unknown verb"},
		{[]string{"am", "--conduit", "fly"}, "unknown conduit"},
		{[]string{"am", "--profile", "fly"}, "no profile"},
		{[]string{"am", "--op", "fly"}, "unknown operation"},
		{[]string{"am", "--samples", "0"}, "--samples 0"},
		{[]string{"am", "--sizes", "0"}, "--sizes"},
		{[]string{"am", "--ranks", "0"}, "--ranks"},
		{[]string{"am", "--threads", "few"}, "--threads"},
		{[]string{"am", "--format", "fly"}, "unknown format"},
		{[]string{"am", "extra"}, "unexpected argument"},
		{[]string{"am", "--fly"}, "unknown flag"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), c.args, &out, &errs); status != 2 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: status %d; want 2 and %q in %q", c.args, status, c.says, &errs)
		}
	}
}

// TestHelp wants help on standard output's side with status 0.
func TestHelp(t *testing.T) {
	cmd := exec.Command(os.Args[0], "--help")
	cmd.Env = append(os.Environ(), envSelf+"=1")
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "usage") {
		t.Errorf("%v: %q", err, out)
	}
}
