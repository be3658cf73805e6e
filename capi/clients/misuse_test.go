//go:build !race

package clients_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// TestMisuse has a program do what it may not: there is an error code for it, or the job ends with a message that names
// the rank and the call.
func TestMisuse(t *testing.T) {
	for what, says := range map[string]string{
		"":              "codes of rank 1 are right",
		"before init":   "gasnet_AMPoll: called before gasnet_init",
		"before attach": "gasnet_put: called before gasnet_attach",
		"outside":       "status 1: gasnet_put: 8 bytes at",
		"rank":          "status 1: gasnet_get: no rank 77 in a job of 2",
		"null":          "gasnet_put: the buffer is NULL",
		"value":         "status 1: gasnet_put_val: a value of 9 bytes",
		"handle":        "status 1: gasnet_wait_syncnb:",
		"handles":       "status 1: gasnet_try_syncnb_some: the array of handles is NULL",
		"barrier":       "status 1: gasnet_barrier_wait: no barrier was notified",
		"region":        "status 1: gasnet_end_nbi_accessregion:",
		"handler":       "status 1: gasnet_barrier_notify: called from the handler",
		"unregistered":  "255",
	} {
		for m, mode := range []string{"seq", "par"} {
			if !coretest.InTurn(t, what, m, 2) {
				continue
			}
			t.Run(what+"/"+mode, func(t *testing.T) {
				out, status := job(t, 2, "sci", client{source: "misuse", mode: mode}.build(t), what)
				if (status == 0) != (what == "") || !strings.Contains(out, says) || strings.Contains(out, "goroutine ") {
					t.Errorf("status %d; want a failure, and %q in:\n%s", status, says, out)
				}
			})
		}
	}
}

// TestEnvironment has the environment limit segments, and values without a meaning refused.
func TestEnvironment(t *testing.T) {
	for setting, says := range map[string]string{
		"GASNET_MAX_SEGSIZE=256KB/P":   "codes of rank 1 are right",
		"GASNET_MAX_SEGSIZE=much":      "status 1: gasnet_init: GASNET_MAX_SEGSIZE=much:",
		"GASNET_EXITTIMEOUT=never":     "status 1: gasnet_init: GASNET_EXITTIMEOUT=never: want a number of seconds",
		"GASNET_EXITTIMEOUT_FACTOR=-1": "status 1: gasnet_init: GASNET_EXITTIMEOUT_FACTOR=-1:",
	} {
		t.Run(setting, func(t *testing.T) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv("GASNET_MAX_SEGSIZE", "256KB/P")
			t.Setenv(name, value)
			out, _ := job(t, 2, "sci", client{source: "misuse", mode: "seq"}.build(t), "limit")
			if !strings.Contains(out, says) || strings.Contains(out, "goroutine ") {
				t.Errorf("want %q in:\n%s", says, out)
			}
		})
	}
}

// TestFreeze has a rank wait for a debugger before its job begins.
func TestFreeze(t *testing.T) {
	t.Setenv("GASNET_FREEZE", "yes")
	cmd := exec.Command(client{source: "hello", mode: "seq"}.build(t))
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "Process frozen for debugger: host=") {
		t.Errorf("it says %q: %v", line, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// TestLocks has debugging find what is wrong with locks and sections without interrupts.
func TestLocks(t *testing.T) {
	for what, says := range map[string]string{
		"":                "locks of rank 0 are well",
		"section twice":   "gasnet_hold_interrupts: called in a section without interrupts",
		"no section":      "gasnet_resume_interrupts: no section without interrupts was begun",
		"init twice":      "gasnet_hsl_init: the lock was initialised before",
		"destroy twice":   "gasnet_hsl_destroy: the lock was destroyed",
		"destroy held":    "gasnet_hsl_destroy: the lock is held",
		"no init":         "gasnet_hsl_lock: the lock was not initialised",
		"not held":        "gasnet_hsl_unlock: the thread does not hold the lock",
		"order":           "gasnet_hsl_unlock: locks are released in reverse order",
		"lock twice":      "gasnet_hsl_lock: the thread holds the lock already",
		"try twice":       "gasnet_hsl_trylock: the thread holds the lock already",
		"poll held":       "gasnet_AMPoll: called while holding a handler-safe lock",
		"poll in section": "gasnet_AMPoll: called in a section without interrupts",
		"request held":    "gasnet_AMRequestShort: called while holding a handler-safe lock",
		"kept":            "a handler: returned while holding a handler-safe lock",
		"reply held":      "gasnet_AMReplyShort: called while holding a handler-safe lock",
	} {
		for m, mode := range modes {
			if !coretest.InTurn(t, what, m, len(modes)) {
				continue
			}
			t.Run(what+"/"+mode, func(t *testing.T) {
				out, status := job(t, 1, "sci", client{source: "locks", mode: mode, flags: []string{"-DGASNET_DEBUG"}}.build(t), what)
				if (status == 0) != (what == "") || !strings.Contains(out, says) {
					t.Errorf("status %d; want a failure, and %q in:\n%s", status, says, out)
				}
			})
		}
	}
}
