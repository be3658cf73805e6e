package main

import (
	"strings"
	"testing"
)

// TestDebugMisuse gives options of debuggers that contradict each other. What they do is tested in docs, by what docs/debugging.md
// says.
func TestDebugMisuse(t *testing.T) {
	for args, says := range map[string]string{
		"-n 2 --debugger edb true":                        "want gdb or dlv",
		"-n 2 --ranks 0 true":                             "give one of them",
		"-n 2 --freeze --ranks 0,2 true":                  "want numbers from 0 to 1",
		"-n 2 --freeze --ranks first true":                "want numbers from 0 to 1",
		"-n 2 --freeze --ranks 0 --goroutines true":       "the ranks share one",
		"-n 2 --debugger gdb --launch-prefix nice true":   "give --freeze in place of",
		"--debugger gdb --launcher local --host a,b true": "attach there",
	} {
		status, _, errs := output(t, "", strings.Fields(args)...)
		if status == 0 || !strings.Contains(errs, says) {
			t.Errorf("aqrun %s: status %d, want %q: %s", args, status, says, errs)
		}
	}
	status, out, errs := output(t, "", "-n", "2", "--freeze", "--ranks", "1,0,1", "--freeze-on-error", "--dry-run", "true")
	for _, want := range []string{"AQUEDUCT_FREEZE=1,0,1", "AQUEDUCT_FREEZE_ON_ERROR=1"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d; the ranks do not get %s:\n%s%s", status, want, out, errs)
		}
	}
}
