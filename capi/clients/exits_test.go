//go:build !race

package clients_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// TestExits ends jobs of three in every way.
func TestExits(t *testing.T) {
	for _, c := range []struct {
		first, others string
		status        int
		says          string // what must be printed besides, by ranks that stdio has kept it for too
		mode          string // "": seq and par
	}{
		{"exit", "polls", 7, "rank 0 was here", ""},
		{"exit", "computes", 7, "rank 1 was here", ""},
		{"exit", "waits", 7, "rank 2 was here", ""},
		{"exit", "barrier", 7, "rank 1 was here", ""},
		{"exit", "leaves", 7, "", ""},
		{"exit", "catches", 7, "told of the end", ""},
		{"early", "waits", 15, "", ""},
		{"handler", "waits", 9, "rank 0 was here", ""},
		{"handlers", "waits", 0, "rank 1 was here", ""},
		{"thread", "waits", 8, "rank 0 was here", "par"},
		{"lock", "polls", 10, "", ""},
		{"signal", "waits", 6, "rank 0 was here", ""},
		{"busy", "computes", 6, "rank 0 was here", ""},
		{"return", "waits", 11, "rank 0 was here", ""},
		{"stdlib", "barrier", 12, "rank 0 was here", ""},
		{"abort", "waits", 128 + 6, "rank 1 was here", ""},
		{"fault", "waits", 128 + 11, "rank 1 was here", ""},
		{"kill", "computes", 128 + 9, "rank 1 was here", ""},
		{"kill", "polls", 128 + 9, "", ""},
		{"quick", "waits", 13, "", ""},
		{"zero", "leaves", 0, "rank 2 was here", ""},
		{"zero", "is late", 0, "rank 2 was here and went on", ""},
		{"zero", "computes", 0, "rank 2 was here", ""}, // after a time
		{"fork", "leaves", 0, "called in a child process of a rank", ""},
	} {
		modes := []string{"seq", "par"}
		if c.mode != "" {
			modes = []string{c.mode}
		}
		for m, mode := range modes {
			if !coretest.InTurn(t, c.first+c.others, m, len(modes)) {
				continue
			}
			t.Run(c.first+"/"+c.others+"/"+mode, func(t *testing.T) {
				t.Parallel()
				out, status := job(t, 3, "sci", client{source: "exits", mode: mode, flags: []string{"-D_DEFAULT_SOURCE"}}.build(t), c.first, c.others)
				if status != c.status || !strings.Contains(out, c.says) {
					t.Errorf("status %d; want %d and %q in:\n%s", status, c.status, c.says, out)
				}
			})
		}
	}
}

// TestLeaveBeside has a thread end the job in good order while another one goes on.
func TestLeaveBeside(t *testing.T) {
	program := client{source: "beside", mode: "par"}.build(t)
	for _, who := range []string{"main", "other"} {
		for _, fast := range []string{"on", "off"} {
			t.Run(who+"/"+fast, func(t *testing.T) {
				t.Setenv("AQUEDUCT_C_FAST", fast)
				for range 3 {
					if out, status := job(t, 2, "sci", program, who); status != 0 || out != "" {
						t.Errorf("status %d; want 0 and nothing:\n%s", status, out)
					}
				}
			})
		}
	}
}

// TestSignals has handlers of signals that were installed for no stack in particular come all the time.
func TestSignals(t *testing.T) {
	for m, mode := range []string{"seq", "par"} {
		if !coretest.InTurn(t, "", m, 2) {
			continue
		}
		out, status := job(t, 2, "sci", client{source: "signals", mode: mode, flags: []string{"-D_DEFAULT_SOURCE"}}.build(t))
		if status != 0 || strings.Count(out, "are well") != 2 {
			t.Errorf("%s: status %d; want 0 and both ranks well:\n%s", mode, status, out)
		}
	}
}
