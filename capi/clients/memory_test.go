//go:build !race

package clients_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// inClient is a line of valgrind's about what the client's own code does.
var inClient = regexp.MustCompile(`at 0x[0-9A-F]+: \w+ \(overrun\.c:`)

// TestValgrind has valgrind find a read beyond a block in the code of one rank, and nothing in that of the other, which does not do that:
// docs/debugging.md.
func TestValgrind(t *testing.T) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skipf("needs valgrind: %v", err)
	}
	prog := client{source: "overrun", mode: "seq"}.build(t)
	out, status := launch(t, 1, []string{"--launch-prefix", "valgrind -q --suppressions=../../docs/valgrind.supp"}, prog, ":", "-n", "1", prog, "beyond")
	if status != 0 || len(inClient.FindAllString(out, -1)) != 1 || !strings.Contains(out, "Invalid read of size 4") {
		t.Errorf("status %d; want valgrind to find one read beyond a block, and nothing besides in its code:\n%s", status, out)
	}
}

// TestAddressSanitizer has the sanitizer find the same.
func TestAddressSanitizer(t *testing.T) {
	prog := client{source: "overrun", mode: "seq", flags: []string{"-fsanitize=address"}}.build(t)
	if out, status := launch(t, 2, nil, prog); status != 0 || strings.Contains(out, "AddressSanitizer") {
		t.Errorf("status %d; the sanitizer finds something in a program that is right:\n%s", status, out)
	}
	out, status := launch(t, 2, nil, prog, "beyond")
	if status == 0 || !strings.Contains(out, "heap-buffer-overflow") || !strings.Contains(out, "overrun.c:") {
		t.Errorf("status %d; the sanitizer does not find the read beyond the block:\n%s", status, out)
	}
}
