//go:build !race

package clients_test

import (
	"strings"
	"testing"
)

func TestVIS(t *testing.T) {
	everywhere(t, "vis", "are right", 1, 2, 4)
}

// TestVISMisuse ends jobs with a message that names the rank and the call.
func TestVISMisuse(t *testing.T) {
	program := client{source: "vismisuse", mode: "seq"}.build(t)
	for name, want := range map[string]string{
		"outside": "gasnet_putv_bulk: entry 1 of rank 1's segment",
		"totals":  "gasnet_geti_nb_bulk: 8 bytes of rank 1's segment against 12 of the local buffer",
		"null":    "gasnet_putv_bulk: the buffer is NULL",
		"list":    "gasnet_getv_bulk: a list is NULL",
		"rank":    "gasnet_puts_bulk: ",
		"near":    "gasnet_gets_nbi_bulk: the buffer is NULL, or longer than any memory",
	} {
		t.Run(name, func(t *testing.T) {
			out, status := job(t, 2, "sci", program, name)
			if status == 0 || !strings.Contains(out, want) {
				t.Errorf("status %d; want a failure and %q:\n%s", status, want, out)
			}
		})
	}
}
