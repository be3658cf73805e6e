//go:build !race

package clients_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withoutFast has the calls of the programs that the test runs cross into Go.
func withoutFast(t *testing.T) { t.Setenv("AQUEDUCT_C_FAST", "off") }

// TestCrossing has all calls cross into Go, of clients that otherwise do them in C.
func TestCrossing(t *testing.T) {
	withoutFast(t)
	everywhere(t, "messages", "are right", 1, 2)
	everywhere(t, "transfers", "are right", 1, 2)
}

// TestStress has ranks send messages of all sizes to each other, and to themselves, while some sleep. Where the library can
// do without Go it must have done so, and where it cannot it must not.
func TestStress(t *testing.T) {
	for _, c := range []struct {
		mode    string
		ranks   int
		rounds  int
		options string // of aqrun
		env     string // AQUEDUCT_C_FAST
		fast    string // see ../testdata/stress.c
	}{
		{"seq", 1, 1000, "--conduit sci", "on", "fast"},
		{"seq", 2, 1500, "--conduit sci", "on", "fast"},
		{"seq", 4, 500, "--conduit sci", "on", "fast"},
		{"par", 1, 1000, "--conduit sci", "on", "fast"},
		{"par", 2, 1500, "--conduit sci", "on", "fast"},
		{"parsync", 3, 500, "--conduit sci", "on", "fast"},
		{"seq", 2, 500, "--conduit sci --set publish=fence", "on", "fast"},
		{"seq", 18, 30, "--conduit sci", "on", "fast"},
		{"seq", 18, 30, "--conduit sci --set forced-scan=1", "on", "fast"},
		{"seq", 2, 500, "--conduit sci", "off", "slow"},
		{"par", 3, 300, "--conduit sci", "off", "slow"},
		{"seq", 2, 500, "--conduit sci --profile paper", "on", "slow"},
		{"seq", 2, 200, "--conduit sci -x AQUEDUCT_DEBUG=1", "on", "slow"},
		{"seq", 2, 200, "--conduit udp", "on", "slow"},
	} {
		t.Run(fmt.Sprintf("%s/%d/%s/%s", c.mode, c.ranks, c.options, c.env), func(t *testing.T) {
			program := client{source: "stress", mode: c.mode, flags: []string{"-D_POSIX_C_SOURCE=200809L"}}.build(t)
			t.Setenv("AQUEDUCT_C_FAST", c.env)
			out, status := launch(t, c.ranks, strings.Fields(c.options), program, fmt.Sprint(c.rounds), c.fast)
			if status != 0 || strings.Count(out, "is over") != c.ranks {
				t.Errorf("status %d; want 0 and a line of each of %d ranks:\n%s", status, c.ranks, out)
			}
		})
	}
}

// TestCrowd has several threads of each rank at the rings at once, some of which end in handlers.
func TestCrowd(t *testing.T) {
	for _, c := range []struct {
		conduit string
		ranks   int
		env     string // AQUEDUCT_C_FAST
		says    string // see ../testdata/crowd.c
	}{{"sci", 1, "on", "fast"}, {"sci", 3, "on", "fast"}, {"sci", 2, "off", "slow"}, {"udp", 2, "on", "slow"}} {
		t.Run(fmt.Sprintf("%s/%d/%s", c.conduit, c.ranks, c.env), func(t *testing.T) {
			t.Setenv("AQUEDUCT_C_FAST", c.env)
			program := client{source: "crowd", mode: "par", flags: []string{"-std=gnu11", "-D_GNU_SOURCE"}}.build(t)
			out, status := job(t, c.ranks, c.conduit, program, "500", c.says)
			if status != 0 || strings.Count(out, "is gone") != c.ranks {
				t.Errorf("status %d; want 0 and a line of each of %d ranks:\n%s", status, c.ranks, out)
			}
		})
	}
}

// TestBarriers has barriers of one thread and of two, in C and in Go.
func TestBarriers(t *testing.T) {
	for _, c := range []struct {
		conduit string
		ranks   int
		env     string // AQUEDUCT_C_FAST
		says    string // see ../testdata/barriers.c
	}{{"sci", 1, "on", "fast"}, {"sci", 3, "on", "fast"}, {"sci", 2, "off", "slow"}, {"udp", 2, "on", "slow"}} {
		t.Setenv("AQUEDUCT_C_FAST", c.env)
		out, status := job(t, c.ranks, c.conduit, client{source: "barriers", mode: "par"}.build(t), c.says)
		if status != 0 || strings.Count(out, "are right") != c.ranks {
			t.Errorf("%s, %d ranks, %s: status %d:\n%s", c.conduit, c.ranks, c.env, status, out)
		}
	}
}

// TestCancelledInHandler has a thread end in a handler, where the fast path calls that. The handler's message is taken all the
// same, and the library is free for other threads.
func TestCancelledInHandler(t *testing.T) {
	for setting, says := range map[string]string{"on": "fast", "off": "slow"} {
		t.Setenv("AQUEDUCT_C_FAST", setting)
		out, status := job(t, 2, "sci", client{source: "cancel", mode: "par"}.build(t), says)
		if status != 0 || strings.Count(out, "goes on") != 2 {
			t.Errorf("%s: status %d:\n%s", setting, status, out)
		}
	}
}

// TestFastSetting gives the variable a value that it does not have.
func TestFastSetting(t *testing.T) {
	t.Setenv("AQUEDUCT_C_FAST", "perhaps")
	out, status := job(t, 1, "sci", client{source: "hello", mode: "seq"}.build(t))
	if status == 0 || !strings.Contains(out, "gasnet_init: AQUEDUCT_C_FAST=perhaps: want on") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

// TestMixed has ranks in C, with the fast path, and in Go in one job.
func TestMixed(t *testing.T) {
	program := client{source: "stress", mode: "seq", flags: []string{"-D_POSIX_C_SOURCE=200809L"}}.build(t)
	peer := filepath.Join(dir, "goranks")
	if out, err := exec.Command("go", "build", "-o", peer, "../testdata/goranks").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct{ inC, inGo int }{{1, 1}, {2, 2}} {
		t.Run(fmt.Sprintf("%d+%d", c.inC, c.inGo), func(t *testing.T) {
			const rounds = "1500"
			out, status := launch(t, c.inC, []string{"--conduit", "sci"}, program, rounds, "fast", ":", "-n", fmt.Sprint(c.inGo), peer, rounds)
			if status != 0 || strings.Count(out, "is over") != c.inC+c.inGo {
				t.Errorf("status %d; want 0 and a line of each rank:\n%s", status, out)
			}
		})
	}
}
